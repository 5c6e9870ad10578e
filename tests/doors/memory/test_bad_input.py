"""Every tool and every argument against bad values: refused by the argument's name, or a documented answer; never a
write."""

from __future__ import annotations

from typing import Any

import pytest
from doors_kit import Person, dump

from hivelore.doors.memory import DIALECT
from support.hubs import with_settings

LIMITS = {
    "max_content_chars": 200,
    "max_session_chars": 300,
    "max_query_chars": 100,
    "max_name_chars": 20,
    "max_tags": 3,
}
OVER = "x" * 400

# A good call of each tool; "ALICE", "PASSAGE", "BOB" and "NOBODY" stand for ids.
GOOD: dict[str, dict[str, Any]] = {
    "remember": {"content": "x", "namespace": "n", "tags": ["t"], "source": "s", "supersedes": "ALICE"},
    "recall": {
        "query": "x",
        "namespace": "n",
        "limit": 3,
        "cursor": "0",
        "namespaces": ["n"],
        "tags": ["t"],
        "source": "s",
        "kind": "text",
        "since": "2026-01-01",
        "until": "2026-02-01",
        "max_tokens": 500,
        "detail": "full",
        "context": 1,
        "format": "items",
        "explain": True,
    },
    "timeline": {"id": "ALICE", "before": 1, "after": 1},
    "list_memories": {"namespace": "n", "limit": 3, "cursor": "0"},
    "get_memory": {"id": "ALICE", "ids": ["ALICE"]},
    "update": {"id": "ALICE", "content": "x"},
    "forget": {"id": "ALICE"},
    "save_session": {"session_id": "s", "content": "x", "namespace": "n"},
    "load_session": {"session_id": "s", "page": 0, "page_size": 10},
    "list_sessions": {"limit": 3, "cursor": "0"},
    "forget_session": {"session_id": "s"},
}
TEXTS = {
    "content",
    "query",
    "namespace",
    "source",
    "kind",
    "since",
    "until",
    "id",
    "session_id",
    "cursor",
    "supersedes",
    "detail",
    "format",
}
LISTS = {"namespaces", "tags", "ids"}
NUMBERS = {"limit", "page", "page_size", "max_tokens", "context", "before", "after"}

EMPTY = {"empty": "", "blank": " \t\n", "nul": "\0"}


def _arguments(tool: str, field: str, value: object) -> dict[str, Any]:
    """The good call with one argument changed; a filter that would contradict the others stands alone."""
    given = {name: default for name, default in GOOD[tool].items() if name in ("content", "query", "id", "session_id")}
    return given | {field: value}


def _wrong_types() -> list[tuple[str, str, object]]:
    found: list[tuple[str, str, object]] = []
    for tool, arguments in GOOD.items():
        for field in arguments:
            wrong: list[object] = [{}, {"a": 1}]
            if field in TEXTS:
                wrong += [5, 1.5, True, ["x"], []]
            if field in LISTS:
                wrong += [5, True, "word", [5], [None], [["x"]], '["x"', "[5]", "[" * 100_000]
            if field in NUMBERS:
                wrong += ["five", "", "1.5", 1.5, [], [1], "1" * 5_000]
            found += [(tool, field, value) for value in wrong]
    return found


def _refused() -> list[tuple[str, str, object]]:
    """(tool, argument, value) that must be refused by the argument's name."""
    found = _wrong_types()
    for tool, fields in {
        "remember": ("content",),
        "recall": ("query",),
        "update": ("content",),
        "save_session": ("session_id",),
        "forget_session": ("session_id",),
    }.items():
        found += [(tool, field, value) for field in fields for value in EMPTY.values()]
    found += [("save_session", "content", value) for value in ("", "\0")]
    found += [
        (tool, "id", value)
        for tool in ("get_memory", "timeline", "update")
        for value in (*EMPTY.values(), OVER, "NOBODY", "BOB")
    ]
    for tool, arguments in GOOD.items():
        for field in arguments:
            if field in ("content", "query", "namespace", "source", "since", "until", "kind"):
                found.append((tool, field, OVER))
            if field == "session_id" and tool != "load_session":
                found.append((tool, field, OVER))
            if field == "tags":
                found += [(tool, field, [OVER]), (tool, field, ["a", "b", "c", "d"])]
            if field == "namespaces":
                found.append((tool, field, [OVER]))
    found += [("recall", field, value) for field in ("since", "until") for value in ("soon", " ", "\0")]
    found += [("recall", field, value) for field in ("detail", "format") for value in ("", "Index", "\0")]
    found += [("recall", "max_tokens", value) for value in (0, -1, 299)]
    found += [("recall", "explain", value) for value in ("perhaps", [], 7)]
    found += [("recall", "kind", value) for value in (" ", "\0", "note", "TEXT")]
    found += [("remember", "namespace", "*"), ("save_session", "namespace", "*")]
    found += [(tool, "id", "PASSAGE") for tool in ("update", "forget")]
    return found


def _by_argument() -> dict[str, list[object]]:
    """The values to refuse by `tool.argument`."""
    found: dict[str, list[object]] = {}
    for tool, field, value in _refused():
        found.setdefault(f"{tool}.{field}", []).append(value)
    return found


@pytest.fixture
def ids(alice: Person, bob: Person) -> dict[str, str]:
    """Something to damage: a note and a session of Alice, a private note of Bob."""
    alice("save_session", session_id="kept", content="x " * 100, namespace="kept")
    return {
        "ALICE": alice("remember", content="kept as it is", tags=["t"], source="s", namespace="kept")["ids"][0],
        "BOB": bob("remember", content="of bob", namespace="his")["ids"][0],
        "PASSAGE": next(
            i["id"] for i in alice("list_memories", namespace="kept")["items"] if i.get("kind") == "session"
        ),
        "NOBODY": "0" * 32,
    }


@pytest.fixture
def limited(alice: Person) -> Person:
    return alice.at(with_settings(alice.hub, **LIMITS))


REFUSED = _by_argument()


@pytest.mark.parametrize("place", REFUSED)
def test_a_bad_value_is_refused_by_name_and_nothing_is_stored(limited: Person, ids: dict[str, str], place: str):
    tool, _, field = place.partition(".")
    before = dump(limited.hub)
    for value in REFUSED[place]:
        given = _with_ids(_arguments(tool, field, value), ids)
        message = limited.refused(tool, **given)
        named = "passage" if value == "PASSAGE" else field.removesuffix("s")
        assert named in message, (value, message)
        assert "Internal error" not in message, value
        assert len(message) < 500, value
    assert dump(limited.hub) == before


def test_there_is_a_bad_value_for_every_argument_of_every_tool(alice: Person):
    """Only a cursor that cannot be read is always answered: it means the beginning."""
    for operation in DIALECT.operations:
        for field in operation.input.model_fields:
            assert f"{operation.name}.{field}" in REFUSED


def _with_ids(given: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    return {name: ids.get(value, value) if isinstance(value, str) else value for name, value in given.items()}


@pytest.mark.parametrize("tool", ["ping", *GOOD])
def test_an_unknown_argument_is_refused_by_name_and_nothing_is_stored(limited: Person, ids, tool: str):
    before = dump(limited.hub)
    for name in ("colour", "Query", "content ", "a" * 300, "日本"):
        message = limited.refused(tool, **_with_ids(GOOD.get(tool, {}), ids), **{name: "x"})
        assert f"unknown argument {name!r}" in message
    assert dump(limited.hub) == before


# Odd values with a documented answer: (tool, arguments, what the answer holds). None of them writes.
ANSWERED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("forget", {"id": ""}, {"deleted": False, "removed": 0}),
    ("forget", {"id": " "}, {"deleted": False}),
    ("forget", {"id": "\0"}, {"deleted": False}),
    ("forget", {"id": OVER}, {"deleted": False}),
    ("forget", {"id": "NOBODY"}, {"deleted": False}),
    ("forget", {"id": "BOB"}, {"deleted": False}),
    ("forget_session", {"session_id": "never"}, {"deleted": False}),
    *[
        ("load_session", {"session_id": id}, {"session_id": id, "found": False, "content": "", "total_chars": 0})
        for id in ("", " ", "\0", OVER, "never")
    ],
    ("load_session", {"session_id": "kept", "page": -1, "page_size": -1}, {"page": 0, "page_size": 1, "content": "x"}),
    ("list_memories", {"namespace": ""}, {"items": [], "total": 0}),
    ("list_memories", {"namespace": "\0"}, {"items": [], "total": 0}),
    ("list_memories", {"namespace": " "}, {"items": [], "total": 0}),
    ("list_memories", {"cursor": OVER, "limit": 0}, {"items": [], "has_more": False}),
    ("list_sessions", {"cursor": "x", "limit": -1}, {"total": 1, "has_more": False}),
    ("recall", {"query": "x", "cursor": "\0"}, {"has_more": False}),
    ("recall", {"query": "x", "tags": [], "namespaces": [], "source": "", "kind": "", "since": "", "until": ""}, {}),
    ("recall", {"query": "x", "tags": ["", " "]}, {"items": []}),
    ("recall", {"query": "x", "namespaces": [""]}, {"items": []}),
    ("ping", {}, {"ok": True}),
]


def test_an_odd_value_has_a_documented_answer_and_writes_nothing(limited: Person, ids: dict[str, str]):
    before = dump(limited.hub)
    for tool, given, wanted in ANSWERED:
        answer = limited(tool, **_with_ids(given, ids))
        assert {name: answer[name] for name in wanted} == wanted, (tool, given)
    assert dump(limited.hub) == before


def test_null_for_an_optional_argument_means_its_default(alice: Person):
    required = {
        operation.name: operation.input.model_json_schema().get("required", []) for operation in DIALECT.operations
    }
    for tool in ("remember", "save_session", "recall", "list_memories", "load_session", "list_sessions"):
        alice(tool, **{field: value if field in required[tool] else None for field, value in GOOD[tool].items()})
    assert alice("list_memories")["items"][0]["namespace"] == "shared"
    assert alice("list_sessions")["sessions"][0]["namespace"] == "sessions"
