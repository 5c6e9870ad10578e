"""The MCP project's conformance suite on a real server: what applies passes, the rest is listed with its reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from wirekit.node import program
from wirekit.processes import Server

LIST = Path(__file__).parent / "conformance.yml"
REVISIONS = ("2025-11-25", "2026-07-28")
# How many scenarios the pinned version of the suite has for a server. Fewer would mean that some did not run.
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50}


@dataclass(frozen=True, order=True)
class Check:
    """One check of one scenario."""

    scenario: str
    id: str


def run_suite(server: Server, revision: str, folder: Path) -> dict[Check, str]:
    """Run all scenarios of a revision; returns the words with which each check that does not pass does not pass."""
    program("conformance", "server", "--url", server.mcp, "--requirements", revision, "-o", str(folder))
    reports = {path.parent: json.loads(path.read_text()) for path in folder.glob("*/checks.json")}
    assert len(reports) == SCENARIOS[revision], sorted(reports)
    return {
        Check(_scenario(path), check["id"]): f"{check['status']}: {check.get('errorMessage', '')}"
        for path, checks in reports.items()
        for check in checks
        if check["status"] == "FAILURE"
    }


def _scenario(folder: Path) -> str:
    """A scenario's name: the folder's without `server-` before it and `-2026-03-04T05-06-07-089Z` after it."""
    return folder.name[: -len("-2026-03-04T05-06-07-089Z")].removeprefix("server-")


def listed(revision: str) -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load(LIST.read_text())[revision]


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_check_passes_that_is_not_listed_as_not_applying(
    shared_server: Server, revision: str, tmp_path: Path
) -> None:
    failed = run_suite(shared_server, revision, tmp_path)
    named: set[Check] = set()
    for entry in listed(revision):
        for scenario in entry["scenarios"]:
            checks = {Check(scenario, id) for id in entry.get("checks", [])}
            named |= checks or {check for check in failed if check.scenario == scenario} or {Check(scenario, "all")}

    unexpected = {check: words for check, words in failed.items() if check not in named}
    assert not unexpected, "these fail and are not listed"
    assert not named - failed.keys(), "these pass and are listed as not applying"


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_entry_of_the_list_has_a_reason(revision: str) -> None:
    for entry in listed(revision):
        assert len(entry["because"]) > 20
        assert entry["scenarios"]
