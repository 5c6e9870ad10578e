"""The servers that are compared: how each is installed, started, told a memory and asked, and what its answers say.

Tools and arguments are those that each server's own documentation and tool list name, with their defaults, except for
the number of results (ten) and what a `note` says.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = 10
MEMPALACE_LONGEST_QUERY_CHARS = 250  # "Max 250 chars" in its tool list

Json = dict[str, Any]
ToolCall = tuple[str, Json]


class Refusal(Exception):
    """The server did not store a memory because it holds the same text."""


class Failure(Exception):
    """The server answered with an error; the message is its own."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answered: its text, and its structured content if it has any."""

    text: str
    data: Json | None
    is_error: bool

    @property
    def json(self) -> Json:
        """The structured answer, or the text read as JSON. Raises `Failure`."""
        if self.is_error:
            raise Failure(first_line(self.text))
        if self.data is not None:
            return self.data
        try:
            read: Json = json.loads(self.text)
        except ValueError:
            raise Failure(f"not JSON: {first_line(self.text)}") from None
        return read


@dataclass(frozen=True, slots=True)
class Memory:
    """A text to store, with its name in the set and the conversation that it belongs to."""

    id: str
    group: str
    text: str


@dataclass(frozen=True, slots=True)
class Server:
    """One server. `added` gives the key under which `found` will name the memory; `settled` says whether an answer to
    a search searched all memories in every way."""

    name: str
    requirements: tuple[str, ...]  # none: it is in the project's own environment
    python: tuple[int, int]  # the oldest that it runs on
    sqlite_extensions: bool  # whether it needs a Python whose sqlite3 loads extensions
    command: Callable[[Path, Path], Sequence[str]]  # folder with its programs, home folder
    environment: Mapping[str, str]
    add: Callable[[Memory], ToolCall]
    added: Callable[[Answer, Memory], str]
    search: Callable[[str], ToolCall]
    found: Callable[[Answer], list[str]]
    settled: Callable[[Answer], bool]
    note: str


def first_line(text: str) -> str:
    """The first line of what a server said, short enough for a table."""
    line = text.strip().splitlines()[0] if text.strip() else "no text"
    return line[:200]


def _always(_: Answer) -> bool:
    return True


# -- hivelore and the plain table --------------------------------------------------------------------------------------


def _hivelore_found(answer: Answer) -> list[str]:
    return [item.get("group_id", item["id"]) for item in answer.json["items"]]


def _hivelore_settled(answer: Answer) -> bool:
    search = answer.json["search"]
    return search["pending"] == 0 and "vectors" in search["engines"]


HIVELORE = Server(
    name="hivelore",
    requirements=(),
    python=(3, 11),
    sqlite_extensions=False,
    command=lambda _, home: (sys.executable, "-m", "hivelore", "stdio", "--data", str(home)),
    environment={"HIVELORE_LOG_LEVEL": "WARNING", "PYTHONPATH": str(ROOT / "src")},
    add=lambda memory: ("remember", {"content": memory.text}),
    added=lambda answer, _: str(answer.json["group_id"]),
    search=lambda query: ("recall", {"query": query, "limit": RESULTS}),
    found=_hivelore_found,
    settled=_hivelore_settled,
    note="multilingual-e5-small, 8 bit, and words; vectors are made after the acknowledgement",
)

PLAIN = Server(
    name="plain FTS5",
    requirements=(),
    python=(3, 11),
    sqlite_extensions=False,
    command=lambda _, home: (sys.executable, str(ROOT / "bench/baseline_server.py"), "stdio", str(home / "plain.db")),
    environment={},
    add=lambda memory: ("add", {"content": memory.text}),
    added=lambda answer, memory: memory.text if answer.json["id"] else "",
    search=lambda query: ("search", {"query": query, "limit": RESULTS}),
    found=lambda answer: list(answer.json["items"]),
    settled=_always,
    note="words alone, in one table behind the bare SDK",
)


# -- mcp-memory-service ------------------------------------------------------------------------------------------------

_STORED = re.compile(r"\(hash: ([0-9a-f]{64})\)")
_HASH_LINE = re.compile(r"^\s+Hash: ([0-9a-f]{64})$", re.MULTILINE)


def _service_added(answer: Answer, _: Memory) -> str:
    if "Duplicate content detected" in answer.text:
        raise Refusal
    if answer.is_error or not (match := _STORED.search(answer.text)):
        raise Failure(first_line(answer.text))
    return match[1]


def _service_found(answer: Answer) -> list[str]:
    if answer.is_error or answer.text.startswith("Error"):
        raise Failure(first_line(answer.text))
    return _HASH_LINE.findall(answer.text)


MCP_MEMORY_SERVICE = Server(
    name="mcp-memory-service",
    requirements=("mcp-memory-service[sqlite]",),
    python=(3, 11),
    sqlite_extensions=True,
    command=lambda programs, _: (str(programs / "memory"), "server"),
    environment={
        "MCP_MEMORY_OFFLINE": "1",
        "MCP_MEMORY_ONNX_ALLOW_DOWNLOAD": "0",
        "MCP_MEMORY_ALLOW_HASH_EMBEDDINGS": "0",  # without its model it must fail, not store hashes as vectors
    },
    # `conversation_id` is its documented way to keep memories of one conversation that resemble each other.
    add=lambda memory: ("memory_store", {"content": memory.text, "conversation_id": memory.group or "bench"}),
    added=_service_added,
    search=lambda query: ("memory_search", {"query": query, "limit": RESULTS}),
    found=_service_found,
    settled=_always,
    note="all-MiniLM-L6-v2, 8 bit, on sqlite-vec; its mode `semantic`, the default",
)


# -- basic-memory ------------------------------------------------------------------------------------------------------


def _basic_result(answer: Answer) -> Json:
    data = answer.json
    result = data.get("result", data)
    if not isinstance(result, dict):
        raise Failure(first_line(str(result)))
    if result.get("error"):
        raise Failure(first_line(str(result["error"])))
    return result


def _basic_add(memory: Memory) -> ToolCall:
    title = "m-" + memory.id.encode().hex()  # a file is named by it, and must say nothing about the text
    return "write_note", {"title": title, "content": memory.text, "directory": "bench", "output_format": "json"}


BASIC_MEMORY = Server(
    name="basic-memory",
    requirements=("basic-memory",),
    python=(3, 12),
    sqlite_extensions=False,
    command=lambda programs, _: (str(programs / "basic-memory"), "mcp"),
    environment={"BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false", "FASTMCP_CHECK_FOR_UPDATES": "off"},
    add=_basic_add,
    added=lambda answer, _: str(_basic_result(answer)["permalink"]),
    search=lambda query: (
        "search_notes",
        {"query": query, "search_type": "text", "page_size": RESULTS, "output_format": "json"},
    ),
    found=lambda answer: [str(each["permalink"]) for each in _basic_result(answer)["results"]],
    settled=_always,
    note="full text search alone: its vectors need a model that it downloads",
)


# -- mempalace ---------------------------------------------------------------------------------------------------------


def _palace_result(answer: Answer) -> Json:
    data = answer.json
    if data.get("error") or data.get("success") is False:
        raise Failure(first_line(str(data.get("error", "no success"))))
    return data


_CHUNK = re.compile(r"_chunk_\d+$")  # a long drawer is found by its pieces, named after it


def _palace_found(answer: Answer) -> list[str]:
    return [_CHUNK.sub("", str(hit["drawer_id"])) for hit in _palace_result(answer)["results"]]


MEMPALACE = Server(
    name="mempalace",
    requirements=("mempalace",),
    python=(3, 11),
    sqlite_extensions=False,
    command=lambda programs, home: (str(programs / "mempalace-mcp"), "--palace", str(home / "palace")),
    environment={"ANONYMIZED_TELEMETRY": "False"},
    add=lambda memory: ("mempalace_add_drawer", {"wing": "bench", "room": "memories", "content": memory.text}),
    added=lambda answer, _: str(_palace_result(answer)["drawer_id"]),
    search=lambda query: ("mempalace_search", {"query": query[:MEMPALACE_LONGEST_QUERY_CHARS], "limit": RESULTS}),
    found=_palace_found,
    settled=_always,
    note="all-MiniLM-L6-v2, 8 bit, on ChromaDB, with its word score",
)

SERVERS = (HIVELORE, PLAIN, MCP_MEMORY_SERVICE, BASIC_MEMORY, MEMPALACE)
