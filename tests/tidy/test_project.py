"""What must stay true of the repository: settings are documented, scripts run, nothing names this or that machine."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib

import pytest

from hivelore.core.settings import Settings, setting_names
from hivelore.core.settings_load import variable_of
from support.source import ROOT, name_of, project_files

# Put together here, so that this file does not hold what it looks for.
REGISTRIES = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "np" + "mjs.org",
    "npm" + "js.com",
    "deb." + "debian.org",
]
ELSEWHERE = ["../" + "shared", "/work/" + "shared", "/work/" + "main"]


@pytest.mark.parametrize("word", [*REGISTRIES, *ELSEWHERE])
def test_no_file_names_a_registry_or_another_folder_of_a_machine(word):
    for path in project_files():
        assert word.encode() not in path.read_bytes(), f"{name_of(path)} names {word}"


def test_no_file_holds_what_looks_like_a_real_key():
    shapes = re.compile(rb"\b(sk-ant-api\d\d-[\w-]{40,}|ghp_[A-Za-z0-9]{36}|AKIA[0-9A-Z]{16}|AIza[\w-]{35})\b")
    for path in project_files():
        found = shapes.search(path.read_bytes())
        assert not found, f"{name_of(path)} holds {found and found[0][:12]!r}…: put invented keys together at run time"


@pytest.mark.parametrize("name", setting_names())
def test_every_setting_is_explained_where_people_look(name):
    assert Settings.__dataclass_fields__[name].metadata["doc"].strip().endswith((".", ")", "`"))
    for page in ("docs/settings.md", ".env.example"):
        assert variable_of(name) in (ROOT / page).read_text(), f"{page} does not know {variable_of(name)}"


@pytest.mark.parametrize("name", ["fix", "lint", "pin", "serve", "setup", "test"])
def test_every_script_is_executable_and_parses(name):
    path = ROOT / "scripts" / name
    assert os.access(path, os.X_OK)
    assert path.read_text().startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in path.read_text()
    subprocess.run(["bash", "-n", path], check=True)


def test_ci_runs_what_a_developer_runs():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "exec scripts/test" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-uv.txt"])
def test_requirements_are_pinned_with_hashes(name):
    blocks = re.split(r"\n(?=[a-z])", (ROOT / name).read_text())
    pinned = [block for block in blocks if not block.startswith("#")]
    assert pinned
    for block in pinned:
        assert re.match(r"[a-z0-9._-]+(\[[a-z,-]+\])?==\S+", block), block.splitlines()[0]
        assert "--hash=sha256:" in block, block.splitlines()[0]


def test_development_installs_the_versions_that_users_get():
    def versions(name: str) -> set[str]:
        return set(re.findall(r"^([a-z0-9._-]+==[^\s;]+)", (ROOT / name).read_text(), re.MULTILINE))

    assert versions("requirements.txt") <= versions("requirements-dev.txt")


def test_test_clients_are_pinned_exactly():
    import json

    wanted = json.loads((ROOT / "tests" / "node" / "package.json").read_text())["dependencies"]
    assert wanted
    assert all(re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?", version) for version in wanted.values())


def test_the_package_has_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/hivelore/__init__.py"


def test_the_container_setup_has_no_password_and_no_open_database():
    import yaml

    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    text = (ROOT / "compose.yaml").read_text()
    assert "ports" not in services["postgres"]
    assert "${POSTGRES_PASSWORD:?" in text
    assert "${HIVELORE_API_KEYS:?" in text
    for line in text.splitlines():
        assert not re.match(r" *\w*(PASSWORD|KEYS?|URL): *[^$\s]*\w+ *$", line), line
