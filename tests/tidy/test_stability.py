"""The interfaces that docs/stability.md promises, against the snapshot in stability.json.

After a change on purpose: `python tests/tidy/test_stability.py` writes the snapshot anew; commit it with the change.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

SNAPSHOT = Path(__file__).with_name("stability.json")
ROOT = SNAPSHOT.parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))

from hivelore.cli.commands import COMMANDS  # noqa: E402
from hivelore.cli.main import EXIT_CODES  # noqa: E402
from hivelore.core.settings import setting_names  # noqa: E402
from hivelore.core.settings_load import metadata_of, variable_of  # noqa: E402
from hivelore.doors.memory import DIALECT  # noqa: E402
from hivelore.doors.rest import openapi  # noqa: E402
from hivelore.doors.rest.app import route_names  # noqa: E402


def interfaces() -> dict[str, Any]:
    """The stable interfaces as they are now, without words that may be improved."""
    return {
        "tools": {operation.name: _tool(operation) for operation in DIALECT.operations},
        "resources": [template.uri_template for template in DIALECT.resources],
        "routes": route_names(),
        "request fields": {
            path: sorted(body["properties"])
            for path, body in (("memory/add", openapi.ADD_BODY), ("memory/search", openapi.SEARCH_BODY))
        },
        "commands": {command.name: sorted(option.name for option in command.all_options) for command in COMMANDS},
        "exit codes": {str(code): [kind.__name__ for kind in kinds] for code, _, kinds in EXIT_CODES},
        "settings": {name: [variable_of(name), *metadata_of(name)["aliases"]] for name in setting_names()},
    }


def _tool(operation: Any) -> dict[str, Any]:
    schema = operation.input_schema()
    arguments = {
        name: {key: value for key, value in described.items() if key != "description"}
        for name, described in schema.get("properties", {}).items()
    }
    return {
        "required": schema.get("required", []),
        "arguments": arguments,
        "reads only": operation.read_only,
        "destructive": operation.destructive,
        "idempotent": operation.idempotent,
        "needs a key": operation.authenticated,
    }


def differences(before: Any, now: Any, place: str = "") -> list[str]:
    """What went, changed or came, one line each."""
    if isinstance(before, dict) and isinstance(now, dict):
        found = []
        for name in [*before, *(name for name in now if name not in before)]:
            where = f"{place} → {name}" if place else name
            if name not in now:
                found.append(f"gone: {where}")
            elif name not in before:
                found.append(f"new: {where}")
            else:
                found += differences(before[name], now[name], where)
        return found
    return [] if before == now else [f"changed: {place}: {before!r} is now {now!r}"]


@pytest.mark.promise("M-116")
def test_no_interface_changed_without_its_snapshot():
    now = json.loads(json.dumps(interfaces()))
    changed = differences(json.loads(SNAPSHOT.read_text(encoding="utf-8")), now)
    assert changed == [], (
        "docs/stability.md says what may change and how. If this is meant: python tests/tidy/test_stability.py"
    )


def test_the_page_names_every_kind_of_interface_in_the_snapshot():
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8").lower()
    for kind in interfaces():
        assert kind.removesuffix("s") in page


def test_a_difference_is_told_by_its_place():
    before = {"tools": {"recall": {"required": ["query"]}, "forget": {}}, "routes": ["a"]}
    now = {"tools": {"recall": {"required": []}, "ping": {}}, "routes": ["a"]}
    assert differences(before, now) == [
        "changed: tools → recall → required: ['query'] is now []",
        "gone: tools → forget",
        "new: tools → ping",
    ]


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(interfaces(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
