"""Every setting of hivelore, declared once: name, type, default, one sentence, older names it also answers to.

`.env.example`, `docs/settings.md`, `hivelore config` and the loader read these declarations. Settings is frozen and
loaded once, by `hivelore.cli` (see `core/settings_load.py`); everything else is handed the object or single values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def _setting(default: Any, doc: str, *, aliases: tuple[str, ...] = (), secret: bool = False, group: str = "") -> Any:
    """Declare one setting. `aliases` are environment variables of systems that hivelore replaces."""
    return field(default=default, metadata={"doc": doc, "aliases": aliases, "secret": secret, "group": group})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings with their defaults. The environment variable of `data_dir` is `HIVELORE_DATA_DIR`, and so on."""

    # -- where things are kept
    data_dir: str = _setting(
        "~/.hivelore",
        "Folder for the database file, model files and logs; created with mode 0700.",
        group="store",
    )
    database_url: str = _setting(
        "",
        "Empty: one SQLite file in data_dir. `memory`: nothing is kept. Else `sqlite:///PATH` or `postgresql://…`.",
        aliases=("POLYMNEMO_DATABASE_URL", "MEMMY_MEMORY_DB", "MEMORY_SERVICE_DB", "DATABASE_URL"),
        secret=True,
        group="store",
    )
    require_database: bool = _setting(
        False,
        "Refuse to start unless database_url names a database (for containers whose disk is not kept).",
        aliases=("POLYMNEMO_REQUIRE_DATABASE",),
        group="store",
    )
    max_revisions: int = _setting(20, "How many earlier texts of a memory are kept; 0 keeps none.", group="store")

    # -- the server
    host: str = _setting(
        "127.0.0.1",
        "Address to listen on. Anything but loopback is refused unless api_keys is set.",
        aliases=("POLYMNEMO_HOST", "MEMMY_MEMORY_HOST", "MEMORY_SERVICE_HOST"),
        group="server",
    )
    port: int = _setting(
        8420,
        "Port to listen on; 0 picks a free one.",
        aliases=("POLYMNEMO_PORT", "MEMMY_MEMORY_PORT", "MEMORY_SERVICE_PORT", "PORT"),
        group="server",
    )
    mcp_path: str = _setting("/mcp", "Path of the MCP endpoint.", aliases=("POLYMNEMO_MCP_PATH",), group="server")
    mcp_profile: str = _setting(
        "memory", "Which tools mcp_path offers: a profile name (see docs/tools.md).", group="server"
    )
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "Host header values accepted besides loopback, comma separated; `*` after the colon allows any port.",
        group="server",
    )
    allowed_origins: tuple[str, ...] = _setting(
        (), "Origin header values accepted besides loopback, comma separated.", group="server"
    )
    max_request_bytes: int = _setting(16 * 1024 * 1024, "Largest MCP request body in bytes.", group="server")
    max_rest_request_bytes: int = _setting(2 * 1024 * 1024, "Largest REST request body in bytes.", group="server")
    worker_threads: int = _setting(
        16, "How many calls run at once; also the size of the Postgres pool.", group="server"
    )
    log_level: str = _setting(
        "INFO", "DEBUG, INFO, WARNING or ERROR.", aliases=("POLYMNEMO_LOG_LEVEL", "MEMMY_LOG_LEVEL"), group="server"
    )
    log_format: str = _setting(
        "text", "`text` or `json` (one object a line).", aliases=("POLYMNEMO_LOG_FORMAT",), group="server"
    )

    # -- who may do what
    auth: str = _setting(
        "auto",
        "`auto`: bearer keys when api_keys is set, else the user `local` on loopback. `bearer` or `local` force one.",
        aliases=("POLYMNEMO_AUTH_BACKEND",),
        group="identity",
    )
    api_keys: tuple[str, ...] = _setting(
        (),
        "Bearer keys as `key:user` pairs, comma separated.",
        aliases=("POLYMNEMO_API_KEYS", "MEMMY_MEMORY_TOKEN", "MEMORY_SERVICE_TOKEN"),
        secret=True,
        group="identity",
    )
    shared_namespaces: tuple[str, ...] = _setting(
        ("shared",),
        "Namespaces that every user may read; all others belong to the user who writes them.",
        aliases=("POLYMNEMO_SHARED_NAMESPACES",),
        group="identity",
    )

    # -- memory tools
    default_namespace: str = _setting(
        "shared",
        "Namespace of remember, recall and list_memories when none is given.",
        aliases=("POLYMNEMO_DEFAULT_NAMESPACE",),
        group="memory",
    )
    session_namespace: str = _setting(
        "sessions",
        "Namespace of save_session when none is given.",
        aliases=("POLYMNEMO_SESSION_NAMESPACE",),
        group="memory",
    )
    transcript_namespace: str = _setting("transcripts", "Namespace that imported transcripts go to.", group="memory")
    recall_limit: int = _setting(
        8, "Hits of a recall that names no limit.", aliases=("POLYMNEMO_RECALL_LIMIT",), group="memory"
    )
    list_limit: int = _setting(
        20,
        "Items of list_memories and of the resource when no limit is named.",
        aliases=("POLYMNEMO_LIST_LIMIT",),
        group="memory",
    )
    timezone: str = _setting(
        "UTC",
        'Where the days of a question such as "yesterday" begin: an IANA name such as `Asia/Tokyo`.',
        group="memory",
    )
    chunk_tokens: int = _setting(
        120,
        "Target size of a chunk, the unit of search, in tokens.",
        aliases=("POLYMNEMO_CHUNK_TOKENS",),
        group="memory",
    )
    chunk_overlap_tokens: int = _setting(
        20,
        "How many tokens of the chunk before are embedded with a chunk, so that a thought cut in two is still found.",
        aliases=("POLYMNEMO_CHUNK_OVERLAP_TOKENS",),
        group="memory",
    )

    # -- limits on input
    max_content_chars: int = _setting(
        200_000, "Longest text of remember, update and memory/add, in characters.", group="limits"
    )
    max_session_chars: int = _setting(8_000_000, "Longest saved session in characters.", group="limits")
    max_query_chars: int = _setting(8_000, "Longest recall query in characters.", group="limits")
    max_limit: int = _setting(
        200, "Most items a recall or list returns at once; a larger limit is lowered to it.", group="limits"
    )
    max_page_chars: int = _setting(
        200_000, "Largest page of load_session in characters; a larger one is lowered to it.", group="limits"
    )
    max_tags: int = _setting(64, "Most tags of one memory.", group="limits")
    max_name_chars: int = _setting(256, "Longest namespace, tag, source or session id in characters.", group="limits")

    # -- embeddings
    embedder: str = _setting(
        "e5",
        "`e5` (bundled, multilingual, local), `light` (bundled, small), `fastembed`, `http`, `hash` (tests) or `off`.",
        aliases=("POLYMNEMO_EMBED_BACKEND", "MEMMY_EMBEDDING_PROVIDER"),
        group="embeddings",
    )
    embed_model: str = _setting(
        "",
        "Model name for `fastembed` and `http`.",
        aliases=("POLYMNEMO_EMBED_MODEL", "MEMMY_EMBEDDING_MODEL"),
        group="embeddings",
    )
    embed_dims: int = _setting(
        0, "Vector size of the `http` model; 0 asks the endpoint.", aliases=("POLYMNEMO_EMBED_DIM",), group="embeddings"
    )
    embed_folder: str = _setting(
        "", "Folder with model weights to use instead of the bundled ones.", group="embeddings"
    )
    embed_url: str = _setting(
        "",
        "Base URL of an OpenAI-compatible embeddings endpoint. Text is sent there when embedder is `http`.",
        aliases=("MEMMY_EMBEDDING_ENDPOINT",),
        group="embeddings",
    )
    embed_api_key: str = _setting(
        "", "Key for embed_url.", aliases=("MEMMY_EMBEDDING_API_KEY",), secret=True, group="embeddings"
    )
    embed_threads: int = _setting(1, "Threads of the local model; more help only on idle machines.", group="embeddings")
    embed_eager_ms: int = _setting(
        250,
        "How long a recall waits for the vectors of what was stored just before; a write never waits.",
        group="embeddings",
    )


def setting_names() -> tuple[str, ...]:
    """Names of all settings in the order of declaration."""
    return tuple(Settings.__dataclass_fields__)
