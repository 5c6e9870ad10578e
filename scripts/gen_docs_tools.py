"""Writes docs/tools.md: every MCP tool with its arguments, its hints, and an answer that it really gave.

The examples run one after the other on a new store in memory, with time and ids that count, so that the page is the
same on every machine. `PAGE` is for `scripts/gen_docs.py`.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from hivelore.app import bound_handlers, build  # noqa: E402
from hivelore.core.clock import ManualClock  # noqa: E402
from hivelore.core.errors import HiveloreError  # noqa: E402
from hivelore.core.ids import CountingIds  # noqa: E402
from hivelore.core.settings import Settings, setting_names  # noqa: E402
from hivelore.core.settings_load import metadata_of, variable_of  # noqa: E402
from hivelore.doors.kit.dispatch import Credentials, dispatch  # noqa: E402
from hivelore.doors.kit.operation import Operation  # noqa: E402
from hivelore.doors.memory import DIALECT  # noqa: E402
from hivelore.jobs import worker  # noqa: E402
from hivelore.work import Hub  # noqa: E402

INTRODUCTION = """\
# MCP tools

What the MCP endpoint (`HIVELORE_MCP_PATH`, by default `/mcp`) and `hivelore stdio` offer in the profile `memory`. This
page is generated from the code by `scripts/gen_docs.py`. Each answer below was given by a real call, one after the
other on a new store, with a clock that stands still and ids that count.

## What holds for every tool

- **Answers** are JSON objects: as `structuredContent`, and once more as one text item. Fields may be added, so ignore
  those you do not know.
- **Errors** have `isError: true` and one text that names the argument, the limit and the way out. Unexpected errors
  show an id and nothing else; the server's log has the details under that id.
- **Arguments**: unknown names are refused. A number may be written as a string, a list as a JSON string; `null` for an
  optional argument means that it is absent.
- **Namespaces**: `shared` (and others that `HIVELORE_SHARED_NAMESPACES` lists) are read by every user; any other name
  is yours alone. Only what you wrote can be changed or removed by you. `*` reads everything that you may read.
- **Pages**: as long as `has_more` is true, pass `next_cursor` as `cursor`. A cursor that cannot be read means the
  beginning. `limit` is held between 1 and `HIVELORE_MAX_LIMIT`.
- **Ids**: the first 12 characters of an id stand for the whole, as long as they name one memory that you may read.
  Compact answers (`max_tokens`, `detail="index"`, `timeline`) show ids so.
- **Budgets**: an answer to `max_tokens` takes at most so many tokens of o200k, all of its JSON counted. It holds whole
  sentences, those that cover most of the query first, and each sentence once; `truncated` marks what is longer,
  `similar` names memories that only repeat it, `omitted` says how many found no room.
- **Keys**: with `HIVELORE_API_KEYS` set, every tool but `ping` needs `Authorization: Bearer KEY`.
- **Text** is kept as it came, without the blanks around it (sessions: to the letter). NUL characters are removed and
  half characters (lone surrogates) replaced; `notes` in the answer says so.
"""

# What the examples ask, in the order of the tools; "ID" is the id of the first memory.
EXAMPLES: dict[str, dict[str, Any]] = {
    "ping": {},
    "remember": {
        "content": "Acme's staging DB is Postgres 16 on port 5433 (2026-03-02).",
        "tags": ["acme", "staging"],
        "source": "runbook.md",
    },
    "recall": {"query": "which port does Acme's staging database use?", "tags": ["acme"], "limit": 1},
    "timeline": {"id": "ID", "before": 1, "after": 1},
    "list_memories": {"limit": 1},
    "get_memory": {"id": "ID"},
    "update": {"id": "ID", "content": "Acme's staging DB is Postgres 17 on port 5433 (2026-05-11)."},
    "forget": {"id": "ID"},
    "save_session": {
        "session_id": "2026-05-11 staging",
        "content": "user: is staging up?\nassistant: Yes, since noon.\n",
    },
    "load_session": {"session_id": "2026-05-11 staging", "page_size": 30},
    "list_sessions": {},
    "forget_session": {"session_id": "2026-05-11 staging"},
}
REFUSED: tuple[str, dict[str, Any]] = ("recall", {"query": "staging", "since": "last March"})


class _PageIds(CountingIds):
    """Ids that count at their beginning, which is what compact answers show."""

    def memory(self) -> str:
        return super().memory()[-12:].ljust(32, "0")


def tools_page(_: str) -> str:
    """The whole of docs/tools.md."""
    hub = build(Settings(database_url="memory", embedder="hash", embed_eager_ms=0), clock=ManualClock(), ids=_PageIds())
    try:
        return "\n".join([INTRODUCTION + _limits(), *_tools(hub), *_resources(), *_errors(hub)])
    finally:
        hub.embedder.close()
        hub.db.close()


def _limits() -> str:
    """The limits on input with their defaults, for the introduction."""
    limits = [name for name in setting_names() if metadata_of(name)["group"] == "limits"]
    shown = (f"`{variable_of(name)}` ({getattr(Settings(), name):,})" for name in limits)
    return textwrap.fill(f"- **Limits** on input are settings: {', '.join(shown)}.", 120, subsequent_indent="  ") + "\n"


def _tools(hub: Hub) -> Iterator[str]:
    yield "## Tools"
    yield ""
    yield from (f"- [`{operation.name}`](#{operation.name}): {_summary(operation)}" for operation in DIALECT.operations)
    yield ""
    first_id = ""
    for operation in DIALECT.operations:
        given = {name: first_id if value == "ID" else value for name, value in EXAMPLES[operation.name].items()}
        answer = dispatch(hub, operation, Credentials("docs"), given)
        if operation.name == "remember":
            first_id = answer["ids"][0]
            dispatch(hub, operation, Credentials("docs"), {"content": "The team meets on Mondays at ten."})
        worker.run_due(hub.db, bound_handlers(hub), hub.clock)
        yield from _tool(operation, given, answer)


def _summary(operation: Operation) -> str:
    """The first sentence of what models read."""
    return operation.description.replace("\n", " ").partition(". ")[0].removesuffix(".") + "."


def _tool(operation: Operation, given: dict[str, Any], answer: dict[str, Any]) -> Iterator[str]:
    yield from (f"### {operation.name}", "", "What models read:", "")
    yield from (f"> {line}".rstrip() for line in operation.description.splitlines())
    yield from ("", f"Hints: {_hints(operation)}.", "")
    yield from _arguments(operation)
    yield from ("Example:", "", "```json", _json({"name": operation.name, "arguments": given}), "```", "")
    yield from ("```json", _json(answer), "```", "")


def _hints(operation: Operation) -> str:
    if operation.read_only:
        return "reads only" if operation.authenticated else "reads only, needs no key"
    words = ["writes", "destructive" if operation.destructive else "not destructive"]
    return ", ".join([*words, *(["the same call twice does no more than once"] if operation.idempotent else [])])


def _arguments(operation: Operation) -> Iterator[str]:
    schema = operation.input_schema()
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    if not properties:
        yield from ("No arguments.", "")
        return
    yield from ("| Argument | Type | Default | Meaning |", "| --- | --- | --- | --- |")
    for name, described in properties.items():
        required = name in schema.get("required", [])
        default = "(required)" if required else f"`{json.dumps(described['default'])}`"
        meaning = described["description"].replace("|", "\\|")
        yield f"| `{name}` | {_type(described)} | {default} | {meaning} |"
    yield ""


def _type(described: dict[str, Any]) -> str:
    kinds = [kind for kind in described.get("anyOf", [described]) if kind["type"] != "null"]
    words = {"array": "list of strings", "string": "string", "integer": "whole number", "boolean": "true or false"}
    return " or ".join(words[kind["type"]] for kind in kinds)


def _resources() -> Iterator[str]:
    yield from ("## Resources", "")
    for template in DIALECT.resources:
        yield f"`{template.uri_template}` ({template.mime_type}): {template.description}"
        yield ""
    yield "A `/` in a namespace is written as `%2F`. The text is the answer of `list_memories` for that namespace."
    yield ""


def _errors(hub: Hub) -> Iterator[str]:
    name, given = REFUSED
    yield from ("## What an error looks like", "", "```json", _json({"name": name, "arguments": given}), "```", "")
    try:
        dispatch(hub, DIALECT.by_name[name], Credentials("docs"), given)
    except HiveloreError as exc:
        yield from ("```json", _json({"isError": True, "content": [{"type": "text", "text": exc.message}]}), "```", "")
    else:
        raise RuntimeError(f"{name} accepts {given}: choose an example that it refuses")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


PAGE: tuple[str, Callable[[str], str]] = ("docs/tools.md", tools_page)
