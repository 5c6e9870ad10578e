"""Turns flags, environment variables and files into one checked `Settings`; also hides secrets for display.

Order, strongest first: flags, process environment, `.env`, config file, defaults. A variable has one own name
(`HIVELORE_PORT`) and perhaps older names (`POLYMNEMO_PORT`, then `PORT`): the better name wins wherever it
stands, the better place wins between equal names. So a `DATABASE_URL` exported for some other program never
beats a `HIVELORE_DATABASE_URL` in `.env`.

Reads no file and no environment itself: `hivelore.cli.config_files` hands in what it read.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hivelore.core.clock import is_zone
from hivelore.core.errors import Invalid
from hivelore.core.settings import Settings, setting_names

PREFIX = "HIVELORE_"
MASK = "****"

CHOICES: Mapping[str, tuple[str, ...]] = {
    "log_level": ("DEBUG", "INFO", "WARNING", "ERROR"),
    "log_format": ("text", "json"),
    "auth": ("auto", "bearer", "local"),
    "embedder": ("e5", "light", "fastembed", "http", "hash", "off"),
}

RANGES: Mapping[str, tuple[int, int]] = {
    "max_revisions": (0, 10_000),
    "port": (0, 65_535),
    "max_request_bytes": (1_024, 1 << 30),
    "max_rest_request_bytes": (1_024, 1 << 30),
    "worker_threads": (1, 256),
    "recall_limit": (1, 10_000),
    "list_limit": (1, 10_000),
    "chunk_tokens": (16, 8_192),
    "chunk_overlap_tokens": (0, 4_096),
    "max_content_chars": (1, 100_000_000),
    "max_session_chars": (1, 500_000_000),
    "max_query_chars": (1, 1_000_000),
    "max_limit": (1, 10_000),
    "max_page_chars": (1, 100_000_000),
    "max_tags": (1, 10_000),
    "max_name_chars": (1, 4_096),
    "embed_dims": (0, 65_536),
    "embed_threads": (1, 256),
    "embed_eager_ms": (0, 60_000),
}

# Variables with our prefix that are no settings: who reads them and what for.
OTHER_VARIABLES: Mapping[str, str] = {
    "HIVELORE_CONFIG": "Path of the config file instead of `~/.hivelore/config.yaml`.",
    "HIVELORE_URL": "Server that `hivelore search` and the other client commands talk to.",
    "HIVELORE_TOKEN": "Bearer key that the client commands send.",
    "HIVELORE_DEBUG": "`1` prints the traceback of an internal error.",
}

_PATHS = frozenset({"data_dir", "embed_folder"})
_NAMESPACES = ("default_namespace", "session_namespace", "transcript_namespace")
_KINDS = {"str": "text", "int": "number", "bool": "switch", "tuple[str, ...]": "list"}
_FLAGS = {"data_dir": "--data", "mcp_profile": "--profile"}
_MODEL_NAMERS = frozenset({"fastembed", "http"})
_E5_WINDOW_TOKENS = 512
_SHORT_KEY_CHARS = 8

# Values that other systems give the same thing. A value outside the table is refused, naming the table.
_ALIAS_TABLES: Mapping[str, Mapping[str, str]] = {
    "POLYMNEMO_EMBED_BACKEND": {"fastembed": "e5", "stub": "hash"},
    "MEMMY_EMBEDDING_PROVIDER": {"local": "e5", "openai_compatible": "http"},
    "POLYMNEMO_AUTH_BACKEND": {"static": "local", "bearer": "bearer"},
    "MEMMY_LOG_LEVEL": {"error": "ERROR", "warn": "WARNING", "info": "INFO", "debug": "DEBUG"},
}
_FILE_ALIASES = frozenset({"MEMMY_MEMORY_DB", "MEMORY_SERVICE_DB"})
_TOKEN_ALIASES = frozenset({"MEMMY_MEMORY_TOKEN", "MEMORY_SERVICE_TOKEN"})
_LEVEL_SYNONYMS = {"WARN": "WARNING", "CRITICAL": "ERROR", "FATAL": "ERROR"}
# What the replaced systems use when nothing is configured; naming it is no wish for another model than ours.
_OLD_DEFAULT_MODELS = frozenset(
    {"sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", "Xenova/all-MiniLM-L6-v2"}
)

# Kubernetes sets NAME_PORT=tcp://… and NAME_SERVICE_HOST for every service; one named "hivelore" is likely.
_SERVICE_LINK_VALUE = re.compile(r"(tcp|udp|sctp)://")
_SERVICE_LINK_NAME = re.compile(r"HIVELORE_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_\w+)?)")
_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)\}")
_POSTGRES = re.compile(r"postgres(ql)?(\+\w+)?://", re.IGNORECASE)

Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Checked settings, what to warn of, and where each value comes from.

    Origins read "default", "environment: PORT", ".env: HIVELORE_PORT", "--port", or the config file's label.
    """

    settings: Settings
    origins: dict[str, str]
    warnings: tuple[str, ...] = ()


class _Problem(Exception):
    """One thing wrong with one value; the text continues a sentence that begins with the value's name."""


@dataclass(frozen=True, slots=True)
class _Given:
    """A value somebody gave. `subject` names it in errors; `variable` is set for environment variables."""

    value: object
    subject: str
    origin: str
    variable: str = ""
    in_file: bool = False
    in_config: bool = False


# -- what is declared


def variable_of(name: str) -> str:
    """Environment variable of a setting: `data_dir` is HIVELORE_DATA_DIR."""
    return PREFIX + name.upper()


def flag_of(name: str) -> str:
    """Command line option of a setting, where a command offers one."""
    return _FLAGS.get(name) or "--" + name.replace("_", "-")


def metadata_of(name: str) -> Mapping[str, Any]:
    """What is declared beside the default: doc, aliases, secret, group."""
    return Settings.__dataclass_fields__[name].metadata


def default_of(name: str) -> Any:
    """The declared default."""
    return Settings.__dataclass_fields__[name].default


def kind_of(name: str) -> str:
    """`text`, `number`, `switch` or `list`."""
    return _KINDS[str(Settings.__dataclass_fields__[name].type)]


def allowed(name: str) -> str:
    """Say in a few words which values a setting takes; for errors and documentation."""
    if name in CHOICES:
        return "one of " + ", ".join(CHOICES[name])
    if name in RANGES:
        low, high = RANGES[name]
        return f"a whole number from {low} to {high}"
    if name == "database_url":
        return "`memory`, `sqlite:///PATH` or `postgresql://…`"
    if name == "api_keys":
        return "`key:user` pairs, comma separated"
    return {
        "text": "a text",
        "number": "a whole number",
        "switch": "true or false",
        "list": "a comma-separated list",
    }[kind_of(name)]


def shown(value: object) -> str:
    """Write a value as it would stand in an environment variable."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def mask(name: str, value: Any) -> Any:
    """Hide what is secret in a value: passwords of URLs, keys. The shape (text or tuple) stays."""
    if name == "api_keys":
        return tuple(f"{MASK}:{pair.partition(':')[2]}" for pair in value)
    if isinstance(value, str) and "://" in value:
        return _mask_url(value)
    if metadata_of(name).get("secret") and value and value != "memory":
        return MASK
    return value


def _mask_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if not scheme.lower().startswith("sqlite"):
        # The last @ ends the user part: a password written without %-escapes may hold @ / ? itself.
        userinfo, at, place = rest.rpartition("@")
        user, colon, _ = userinfo.partition(":")
        rest = f"{user}{colon and ':' + MASK}{at}{place}"
    rest = re.sub(r"(?i)([?&][^=&#]*(?:pass|secret|token|key)[^=&#]*=)[^&#]*", rf"\1{MASK}", rest)
    return f"{scheme}://{rest}"


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Suggest the nearest known word as ` Did you mean X?`, or nothing."""
    from difflib import get_close_matches  # only on the way to an error

    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f" Did you mean {near[0]}?" if near else ""


def is_loopback(host: str) -> bool:
    """Whether a host name or address can be reached from this machine only."""
    from ipaddress import ip_address  # 3 ms that most commands do not need

    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


# -- loading


def load(
    env: Mapping[str, str],
    files: Sequence[tuple[str, Mapping[Any, object]]] = (),
    flags: Mapping[str, object] | None = None,
    *,
    env_files: Sequence[tuple[str, Mapping[str, str]]] = (),
) -> Loaded:
    """Build the settings.

    `env`: the process environment. `files`: (label, content) of config files whose keys are setting names,
    later ones win. `env_files`: the same for `.env` files, whose keys are variables. `flags`: setting name to
    value, None where the flag was not given.

    Raises `Invalid` that lists every problem and never holds a secret's value.
    """
    flags = flags or {}
    known = setting_names()
    references = {key: value for _, content in env_files for key, value in content.items()} | dict(env)
    warnings: list[str] = []
    problems = [
        f"{label} has no setting {key}.{did_you_mean(str(key), known)}"
        for label, content in files
        for key in content
        if key not in known
    ]
    problems += [f"There is no setting {key}." for key in flags if key not in known]
    warnings += _unknown_variables(env, env_files)

    values: dict[str, Any] = {}
    origins = dict.fromkeys(known, "default")
    for name in known:
        for given in _given(name, env, files, flags, env_files):
            try:
                value = _read(name, given, references, warnings.append)
            except _Problem as problem:
                problems.append(f"{given.subject} {problem}")
                break
            if value is None:  # empty counts as not given
                continue
            values[name], origins[name] = value, given.origin
            if given.variable not in ("", variable_of(name)):
                warnings += [
                    f"{name} comes from the variable {given.variable}; the one in {label} is not used."
                    for label, content in files
                    if content.get(name) not in (None, "")
                ]
            break
    if problems:
        raise Invalid(_listed(problems))
    values.setdefault("data_dir", _absolute(default_of("data_dir"), references))
    _settle_model(values, origins, warnings.append)
    return Loaded(Settings(**values), origins, tuple(warnings))


def _given(
    name: str,
    env: Mapping[str, str],
    files: Sequence[tuple[str, Mapping[Any, object]]],
    flags: Mapping[str, object],
    env_files: Sequence[tuple[str, Mapping[str, str]]],
) -> Iterator[_Given]:
    """Everything given for a setting, strongest first."""
    if flags.get(name) is not None:
        yield _Given(flags[name], flag_of(name), flag_of(name))
    for variable in (variable_of(name), *metadata_of(name)["aliases"]):
        if variable in env:
            yield _Given(env[variable], variable, f"environment: {variable}", variable)
        for label, content in reversed(env_files):
            if variable in content:
                yield _Given(
                    content[variable],
                    f"{variable} in {label}",
                    f"{label}: {variable}",
                    variable,
                    in_file=True,
                )
    for label, content in reversed(files):
        if name in content:
            yield _Given(content[name], f"{name} in {label}", label, in_file=True, in_config=True)


def _read(name: str, given: _Given, references: Mapping[str, str], warn: Warn) -> Any:
    """Turn a given value into the setting's type; None when it is empty and so counts as not given."""
    value = given.value
    if given.in_file:
        value = _expand(value, references)
    if isinstance(value, str):
        value = value.strip()
    if value is None or value == "":
        return None
    if given.variable:
        value = _translate(given.variable, name, str(value), warn)
        if value is None:
            return None
    kind = kind_of(name)
    if kind == "number":
        return _number(name, value)
    if kind == "switch":
        return _switch(name, value)
    if kind == "list":
        items = _items(name, value)
        return _key_pairs(items, given.subject, warn) if name == "api_keys" else items
    return _text(name, value, given, references)


def _expand(value: object, references: Mapping[str, str]) -> object:
    """Replace `${NAME}` in texts (and in lists of texts) of a file; `$${` stands for a literal `${`."""
    if isinstance(value, list):
        return [_expand(item, references) for item in value]
    if not isinstance(value, str):
        return value

    def replacement(match: re.Match[str]) -> str:
        variable = match[1]
        if variable is None:
            return "${"
        if not re.fullmatch(r"[A-Za-z_]\w*", variable, re.ASCII):
            raise _Problem("holds a ${…} that is not the name of a variable; write $${ where ${ itself is meant.")
        if variable not in references:
            raise _Problem(f"refers to ${{{variable}}}, which is not set in the environment.")
        return references[variable]

    return _REFERENCE.sub(replacement, value)


def _translate(variable: str, name: str, value: str, warn: Warn) -> Any:
    """Say in our words what an environment variable of this name means."""
    if variable in _ALIAS_TABLES:
        table = _ALIAS_TABLES[variable]
        if value.lower() not in table:
            raise _Problem(
                f"must be {' or '.join(table)}: {_quoted(value)} is unsupported."
                f" {variable_of(name)} offers {', '.join(CHOICES[name])}."
            )
        return table[value.lower()]
    if variable == "POLYMNEMO_LOG_LEVEL" and _level(value) not in CHOICES["log_level"]:
        # Contract of the replaced server: an unknown level is INFO, not an error.
        warn(f"{variable} is not one of {', '.join(CHOICES[name])}; INFO is used.")
        return "INFO"
    if variable in _FILE_ALIASES:
        return f"sqlite:///{value}"
    if variable in _TOKEN_ALIASES:
        if ":" in value:
            raise _Problem("must not hold a colon: it is one key, which stands for the user `local`.")
        return (f"{value}:local",)
    if name == "port" and _SERVICE_LINK_VALUE.match(value):
        warn(f"{variable} is a link that Kubernetes set for a service of that name; it is not used.")
        return None
    return value


def _number(name: str, value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value):
        value = int(value)
    # bool is an int to Python, but `port: yes` in a file is a mistake
    if type(value) is not int or not _in_range(name, value):
        raise _wrong(name, value)
    return value


def _in_range(name: str, value: int) -> bool:
    low, high = RANGES[name]
    return low <= value <= high


def _switch(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "yes", "on", "1"):
        return True
    if isinstance(value, str) and value.lower() in ("false", "no", "off", "0"):
        return False
    raise _wrong(name, value)


def _items(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise _wrong(name, value)
    return tuple(item.strip() for item in value if item.strip())


def _key_pairs(pairs: tuple[str, ...], subject: str, warn: Warn) -> tuple[str, ...]:
    """Check `key:user` pairs. Problems name the position of a pair and never its text."""
    seen: dict[str, int] = {}
    cleaned = []
    for position, pair in enumerate(pairs, start=1):
        key, _, user = (part.strip() for part in pair.partition(":"))
        if not key or not user:
            raise _Problem(f"must hold `key:user` pairs; pair {position} of {len(pairs)} is none.")
        if not re.fullmatch(r"[!-~]+", key):  # it travels in an HTTP header
            raise _Problem(f"must hold keys of ASCII characters without spaces; pair {position} does not.")
        if key in seen:
            raise _Problem(f"must hold each key once; pairs {seen[key]} and {position} have the same.")
        if len(key) < _SHORT_KEY_CHARS:
            warn(f"{subject}: the key of pair {position} is short and easy to guess.")
        seen[key] = position
        cleaned.append(f"{key}:{user}")
    return tuple(cleaned)


def _text(name: str, value: object, given: _Given, references: Mapping[str, str]) -> str:
    if value is False and "off" in CHOICES.get(name, ()):
        value = "off"  # YAML reads a bare `off` as false
    if not isinstance(value, str):
        raise _wrong(name, value)
    if name in CHOICES:
        wanted = _level(value) if name == "log_level" else value.lower()
        if wanted not in CHOICES[name]:
            raise _wrong(name, value)
        return wanted
    if name == "database_url":
        return _database_url(value, given, references)
    if name == "host":
        return value.removeprefix("[").removesuffix("]")  # brackets belong to URLs; a socket wants none
    if name in _PATHS:
        return _placed(value, given, references)
    return value


def _level(value: str) -> str:
    return _LEVEL_SYNONYMS.get(value.upper(), value.upper())


def _database_url(value: str, given: _Given, references: Mapping[str, str]) -> str:
    if value.lower() == "memory":
        return "memory"
    if _POSTGRES.match(value):  # a driver after the + is another program's choice
        return _POSTGRES.sub("postgresql://", value, count=1)
    if value.lower().startswith("sqlite:///"):
        path = value[len("sqlite:///") :]
        if path in ("", ":memory:"):
            raise _Problem("must be `memory` to keep nothing; an SQLite database needs a path.")
        return "sqlite:///" + _placed(path, given, references)
    scheme = re.match(r"[a-z][a-z0-9+.-]{0,15}://", value, re.IGNORECASE)
    # The value may hold a password, so at most its scheme is repeated.
    found = f"a {scheme[0]} address" if scheme else "a text without one of these beginnings"
    way_out = f" Set {variable_of('database_url')} to ignore it." if given.variable == "DATABASE_URL" else ""
    raise _Problem(f"must be {allowed('database_url')}, not {found}.{way_out}")


def _placed(path: str, given: _Given, references: Mapping[str, str]) -> str:
    """Make a path absolute. In the config file it must be: the working directory there means nothing."""
    if given.in_config and not os.path.isabs(path) and not path.startswith("~"):
        raise _Problem("must be an absolute path or begin with ~/.")
    return _absolute(path, references)


def _absolute(path: str, references: Mapping[str, str]) -> str:
    home = references.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return os.path.abspath(os.path.expanduser(path))


def _wrong(name: str, value: object) -> _Problem:
    """Say what was wanted and what came: the value itself unless it is secret, else its kind."""
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
    kinds |= {dict: "a mapping", str: "a text"}
    came = kinds.get(type(value), "something else")
    quoted_hint = " Put it in quotes." if kind_of(name) == "text" and not isinstance(value, str | list | dict) else ""
    hint = ""
    if isinstance(value, str | int | float) and not metadata_of(name).get("secret"):
        came = _quoted(shown(value))
        hint = did_you_mean(shown(value), CHOICES.get(name, ()))
    return _Problem(f"must be {allowed(name)}, not {came}.{hint or quoted_hint}")


def _quoted(text: str) -> str:
    return f"“{text if len(text) <= 60 else text[:59] + '…'}”"


def _unknown_variables(env: Mapping[str, str], env_files: Sequence[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    known = [*(variable_of(name) for name in setting_names()), *OTHER_VARIABLES]
    for label, content in (("the environment", env), *env_files):
        for variable in sorted(content):
            link = _SERVICE_LINK_NAME.fullmatch(variable) or _SERVICE_LINK_VALUE.match(content[variable])
            if not variable.startswith(PREFIX) or link:
                continue
            if variable in OTHER_VARIABLES and content is not env:
                yield f"{variable} is read from the environment only, so the one in {label} is ignored."
            elif variable not in known:
                yield f"{variable} in {label} is not a setting and is ignored.{did_you_mean(variable, known)}"


def unread_variables(env: Mapping[str, str]) -> tuple[str, ...]:
    """Variables of the replaced systems that are set but mean nothing here; `hivelore config` lists them."""
    read = {alias for name in setting_names() for alias in metadata_of(name)["aliases"]}
    read |= {"MEMMY_MEMORY_URL", "MEMORY_SERVICE_URL"}  # the client commands read these
    prefixes = ("POLYMNEMO_", "MEMMY_", "MEMORY_SERVICE_")
    return tuple(sorted(v for v in env if v.startswith(prefixes) and v not in read and env[v].strip()))


def _settle_model(values: dict[str, Any], origins: dict[str, str], warn: Warn) -> None:
    """A model name means something to some embedders only; say so instead of leaving it without effect."""
    model, embedder = values.get("embed_model", ""), values.get("embedder", default_of("embedder"))
    if not model or embedder in _MODEL_NAMERS:
        return
    if model in _OLD_DEFAULT_MODELS:
        warn(f"{origins['embed_model']} names the default of another system; embedder `{embedder}` is used.")
        del values["embed_model"]
        origins["embed_model"] = "default"
    else:
        warn(
            f"{origins['embed_model']} names a model that embedder `{embedder}` does not use;"
            f" set {variable_of('embedder')} to fastembed or http for it."
        )


# -- cross-checks


def validate(settings: Settings, *, serving: bool = True) -> None:
    """Check what single values cannot show. Raises `Invalid` that lists every problem and its way out.

    `serving` adds the rules for a process that listens on the network.
    """
    problems = list(_value_problems(settings))
    problems += _combination_problems(settings)
    if serving:
        problems += _listening_problems(settings)
    if problems:
        raise Invalid(_listed(problems))


def _value_problems(settings: Settings) -> Iterator[str]:
    for name in setting_names():
        value = getattr(settings, name)
        if name in RANGES and not _in_range(name, value):
            yield f"{variable_of(name)} must be {allowed(name)}, not {value}."
        if name in CHOICES and value not in CHOICES[name]:
            yield f"{variable_of(name)} must be {allowed(name)}, not {_quoted(value)}."
    for name in ("data_dir", "host", "mcp_profile", *_NAMESPACES):
        if not getattr(settings, name).strip():
            yield f"{variable_of(name)} must not be empty."
    for name in _NAMESPACES:
        if len(getattr(settings, name)) > settings.max_name_chars:
            yield f"{variable_of(name)} must have at most HIVELORE_MAX_NAME_CHARS characters."
        if getattr(settings, name) == "*":
            yield f"{variable_of(name)} must name one namespace; * means everything that is readable."
    if "*" in settings.shared_namespaces:
        yield "HIVELORE_SHARED_NAMESPACES must name namespaces; * means everything that is readable."
    if not re.fullmatch(r"/[^\s?#]+", settings.mcp_path):
        yield "HIVELORE_MCP_PATH must begin with / and name a path without spaces, ? or #."
    if not is_zone(settings.timezone):
        yield "HIVELORE_TIMEZONE must be UTC or a time zone that this machine knows, such as Europe/Berlin."
    if any("/" in host for host in settings.allowed_hosts):
        yield "HIVELORE_ALLOWED_HOSTS must hold hosts such as memory.example.com or 10.0.0.5:8420, not URLs."
    if any(not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/]+", origin) for origin in settings.allowed_origins):
        yield "HIVELORE_ALLOWED_ORIGINS must hold origins such as https://app.example.com, without a path."


def _combination_problems(settings: Settings) -> Iterator[str]:
    if settings.chunk_overlap_tokens >= settings.chunk_tokens:
        yield (
            f"HIVELORE_CHUNK_OVERLAP_TOKENS ({settings.chunk_overlap_tokens}) must be smaller than"
            f" HIVELORE_CHUNK_TOKENS ({settings.chunk_tokens})."
        )
    window = settings.chunk_tokens + settings.chunk_overlap_tokens
    if settings.embedder == "e5" and window > _E5_WINDOW_TOKENS:
        yield (
            f"HIVELORE_CHUNK_TOKENS and HIVELORE_CHUNK_OVERLAP_TOKENS make {window} tokens together;"
            f" embedder `e5` reads {_E5_WINDOW_TOKENS} and would not see the rest."
        )
    for name in ("recall_limit", "list_limit"):
        if getattr(settings, name) > settings.max_limit:
            yield f"{variable_of(name)} must not be larger than HIVELORE_MAX_LIMIT ({settings.max_limit})."
    if settings.embedder == "http" and not re.match(r"https?://[^/\s]", settings.embed_url):
        yield "HIVELORE_EMBEDDER is http, so HIVELORE_EMBED_URL must be an http:// or https:// address."
    if settings.require_database and settings.database_url in ("", "memory"):
        yield "HIVELORE_REQUIRE_DATABASE is on, so HIVELORE_DATABASE_URL must name a database."


def _listening_problems(settings: Settings) -> Iterator[str]:
    exposed = not is_loopback(settings.host)
    if settings.auth == "bearer" and not settings.api_keys:
        yield "HIVELORE_AUTH is bearer, so HIVELORE_API_KEYS must hold at least one `key:user` pair."
    elif exposed and settings.auth == "local":
        yield (
            f"HIVELORE_AUTH is local, which makes everybody who reaches {settings.host} the user `local`."
            " Set HIVELORE_AUTH=bearer with HIVELORE_API_KEYS, or HIVELORE_HOST=127.0.0.1."
        )
    elif exposed and not settings.api_keys:
        yield (
            f"Listening on {settings.host} without keys would let the network read and change every memory."
            " Set HIVELORE_API_KEYS=key:user, or HIVELORE_HOST=127.0.0.1."
        )


def _listed(problems: Sequence[str]) -> str:
    if len(problems) == 1:
        return problems[0]
    return f"{len(problems)} settings are wrong:\n" + "\n".join(f"  - {problem}" for problem in problems)
