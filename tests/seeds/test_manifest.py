"""The manifest and the marks of the tests say the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from seeds.manifest import PROMISES
from support.source import ROOT

TESTS = ROOT / "tests"


def _marks(path: Path) -> Iterator[tuple[str, str]]:
    """(test, promise) for every `@pytest.mark.promise("P-…", …)` in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.promise":
                    for word in decorator.args:
                        yield f"{path.relative_to(TESTS).as_posix()}::{node.name}", ast.literal_eval(word)


MARKED = {pair for path in sorted(TESTS.rglob("test_*.py")) for pair in _marks(path)}
LISTED = {(test, id) for id, promise in PROMISES.items() for test in promise.tests}


def test_every_test_that_the_manifest_names_exists_and_carries_the_mark():
    assert sorted(LISTED - MARKED) == []


def test_every_mark_is_in_the_manifest():
    assert sorted(MARKED - LISTED) == []


@pytest.mark.parametrize("id", PROMISES)
def test_a_promise_says_what_holds_and_has_a_proof(id: str):
    assert id[:2] in ("P-", "M-")
    assert id[2:].isdigit()
    assert len(id) == 5
    assert PROMISES[id].tests
    assert PROMISES[id].holds.endswith(".")
    assert len(PROMISES[id].holds) < 120
