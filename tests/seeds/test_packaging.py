"""What the package promises to those who install it."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from support.source import PACKAGE, ROOT, imports_of, modules, name_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> zipfile.Path:
    """The wheel that `pip install -e .` installs, built without network."""
    folder = tmp_path_factory.mktemp("wheel")
    program = "import sys; from hatchling.build import build_editable; print(build_editable(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return zipfile.Path(folder / done.stdout.split()[-1])


def _file(wheel: zipfile.Path, ending: str) -> str:
    found = [name for name in wheel.root.namelist() if name.endswith(ending)]
    assert len(found) == 1
    return (wheel / found[0]).read_text(encoding="utf-8")


@pytest.mark.promise("P-030")
def test_an_editable_installation_leads_to_the_checkout_and_gives_the_command(editable: zipfile.Path):
    assert Path(_file(editable, ".pth").strip()) == PACKAGE.parent
    assert "hivelore = hivelore.cli.main:main" in _file(editable, "entry_points.txt")
    metadata = _file(editable, "METADATA")
    assert "Provides-Extra: dev" in metadata
    for tool in ("pytest", "ruff", "mypy"):
        assert f"Requires-Dist: {tool}" in metadata


def test_the_package_itself_needs_no_compiler(editable: zipfile.Path):
    assert "Tag: py3-none-any" in _file(editable, "WHEEL")
    assert not [path for path in PACKAGE.rglob("*") if path.suffix in (".so", ".pyd", ".c", ".pyx", ".node")]


@pytest.mark.promise("P-029")
def test_it_is_written_for_python_3_11_and_newer():
    assert PROJECT["requires-python"] == ">=3.11"
    for path in modules():
        ast.parse(path.read_text(encoding="utf-8"), name_of(path), feature_version=(3, 11))


@pytest.mark.promise("P-108")
def test_the_licence_is_mit():
    assert PROJECT["license"] == "MIT"
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.startswith("MIT License")
    assert "WITHOUT WARRANTY OF ANY KIND" in text


@pytest.mark.promise("P-021")
def test_implementations_are_chosen_in_the_composition_root_alone():
    for path in modules():
        if path.name == "app.py" or "adapters" in path.relative_to(PACKAGE).parts:
            continue
        chosen = [name for name in imports_of(path) if name.startswith("hivelore.adapters")]
        assert chosen == [], f"{name_of(path)} chooses an implementation"
