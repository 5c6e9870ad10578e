"""docs/tools.md is fresh, complete and true."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from types import ModuleType

import pytest

from hivelore.doors.memory import DIALECT
from support.source import ROOT

TEXT = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8") if (ROOT / "docs" / "tools.md").exists() else ""


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("gen_docs_tools_under_test", ROOT / "scripts" / "gen_docs_tools.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_generator_writes(generator: ModuleType):
    name, generate = generator.PAGE
    assert name == "docs/tools.md"
    assert generate(TEXT) == TEXT, "run scripts/gen_docs.py (or scripts/gen_docs_tools.py) and read what changed"


@pytest.mark.promise("P-076")
def test_every_tool_has_its_text_its_arguments_and_an_example(generator: ModuleType):
    assert list(generator.EXAMPLES) == [operation.name for operation in DIALECT.operations]
    for operation in DIALECT.operations:
        section = TEXT.partition(f"\n### {operation.name}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
        for line in operation.description.splitlines():
            assert f"> {line}" in section
        for name, described in operation.input_schema().get("properties", {}).items():
            assert f"| `{name}` |" in section
            assert described["description"].replace("|", "\\|") in section
        request, answer = (json.loads(block) for block in re.findall(r"```json\n(.*?)\n```", section, re.DOTALL))
        assert request["name"] == operation.name
        assert isinstance(answer, dict)
        assert "isError" not in answer
