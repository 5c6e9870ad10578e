"""The generated documentation is fresh, complete and true."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from hivelore.cli.commands import COMMANDS
from hivelore.cli.config_files import parse_dotenv
from hivelore.cli.main import EXIT_CODES
from hivelore.core.settings import setting_names
from hivelore.core.settings_load import load, metadata_of, variable_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "gen_docs.py"


@pytest.fixture
def gen_docs(monkeypatch, tmp_path):
    """The generator as a module, writing into a copy of the documentation."""
    spec = importlib.util.spec_from_file_location("gen_docs_under_test", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec.loader.exec_module(module)
    for name, _ in module.GENERATORS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def test_the_documentation_is_fresh():
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [".env.example", "docs/settings.md", "docs/cli.md"])
def test_a_stale_page_is_found_named_and_written(gen_docs, tmp_path, capsys, name):
    page = tmp_path / name
    fresh = page.read_text(encoding="utf-8")
    page.write_text(fresh.replace("8420", "8421").replace("64 ", "63 "), encoding="utf-8")
    assert gen_docs.main(["--check"]) == 1
    assert f"stale: {name}" in capsys.readouterr().out
    assert gen_docs.main([]) == 0
    assert page.read_text(encoding="utf-8") == fresh
    assert gen_docs.main(["--check"]) == 0


def test_a_page_without_its_markers_is_an_error_not_an_overwrite(gen_docs, tmp_path):
    page = tmp_path / "docs" / "cli.md"
    page.write_text("hand-written", encoding="utf-8")
    with pytest.raises(SystemExit, match="no markers"):
        gen_docs.main([])
    assert page.read_text(encoding="utf-8") == "hand-written"


@pytest.mark.promise("P-033", "P-078")
def test_the_example_file_holds_every_setting_and_is_inert_until_edited():
    text = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert parse_dotenv(text) == ({}, [])
    opened = "\n".join(line.removeprefix("# ") if line.startswith("# HIVELORE_") else line for line in text.split("\n"))
    variables, skipped = parse_dotenv(opened)
    assert skipped == []
    assert tuple(variables) == tuple(variable_of(name) for name in setting_names())
    assert load({"HOME": "/h"}, env_files=[(".env", variables)]).settings == load({"HOME": "/h"}).settings


def test_the_settings_page_names_every_setting_alias_and_description():
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for name in setting_names():
        for word in (name, variable_of(name), *metadata_of(name)["aliases"]):
            assert f"`{word}`" in text
        assert metadata_of(name)["doc"] in text


def test_the_command_page_names_every_command_option_example_and_exit_code():
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"### hivelore {command.name}\n" in text
        for option in command.all_options:
            assert option.help in text
        for line, _ in command.examples:
            assert line in text
    for code, meaning, _ in EXIT_CODES:
        assert f"| {code} | {meaning} |" in text
