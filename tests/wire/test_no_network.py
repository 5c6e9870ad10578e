"""By default nothing leaves the machine: not from the server, nor from any command, with the real model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from wirekit.pipes import piped
from wirekit.processes import run, serving
from wirekit.spy import Spy, remote_peers, spy
from wirekit.web import done

DEFAULT_EMBEDDER = ()  # no option: what a user gets who sets nothing

TRANSCRIPT = (
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Which port does staging use?"}},
    {
        "type": "assistant",
        "uuid": "a1",
        "parentUuid": "u1",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Staging uses port 5433."}]},
    },
)


@pytest.fixture
def watched(tmp_path: Path) -> Spy:
    return spy(tmp_path)


def transcripts(folder: Path) -> Path:
    """A folder as Claude Code leaves it, with one conversation."""
    project = folder / "projects" / "-work-staging"
    project.mkdir(parents=True)
    common = {"sessionId": "s1", "timestamp": "2026-03-04T05:06:07.000Z", "cwd": "/work/staging", "version": "2.0.0"}
    lines = [json.dumps({**common, **line}) for line in TRANSCRIPT]
    (project / "s1.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.promise("M-088", "P-008", "P-009")
@pytest.mark.model
def test_nothing_leaves_the_machine_by_default(watched: Spy, data: Path, e5_models: Path, tmp_path: Path) -> None:
    data.mkdir()
    (data / "models").symlink_to(e5_models)
    with serving(data, embedder=DEFAULT_EMBEDDER, env=watched.env) as server:
        done(server.mcp, "remember", content="Staging uses port 5433.")
        assert done(server.mcp, "recall", query="port of staging")["items"]
        done(server.mcp, "save_session", session_id="s", content="A whole conversation.")
        added = run("add", "Written by hand.", "--url", server.url, env=watched.env)
        found = run("search", "by hand", "--url", server.url, env=watched.env)
        imported = run(
            "import", "claude-code", str(transcripts(tmp_path / "claude")), "--data", str(data), env=watched.env
        )
        checked = run("doctor", "--data", str(data), env=watched.env)
        peers = remote_peers(server.process.pid)
    with piped(data, "--in-process", embedder=DEFAULT_EMBEDDER, env=watched.env) as child:
        child.initialize()
        assert child.call("recall", query="port of staging", namespace="*")["items"]
        peers += remote_peers(child.process.pid)

    assert [ran.code for ran in (added, found, imported, checked)] == [0, 0, 0, 0], (imported, checked)
    assert watched.outside() == []
    assert peers == []
    # The commands' own calls of the server were seen, so others would have been.
    assert [address[0] for event, address in watched.events() if event == "socket.connect"].count("127.0.0.1") >= 2


@pytest.mark.parametrize(
    "event",
    [
        '"socket.connect", object(), ("192.0.2.1", 443)',
        '"socket.sendto", object(), ("192.0.2.1", 53)',
        '"socket.getaddrinfo", "192.0.2.1", 443, 0, 0, 0',
        '"socket.gethostbyname", "192.0.2.1"',
    ],
    ids=["connection", "datagram", "look-up", "old look-up"],
)
def test_the_spy_would_notice(watched: Spy, event: str) -> None:
    """The child only claims to do it, so that no packet leaves."""
    subprocess.run([sys.executable, "-c", f"import sys; sys.audit({event})"], env=watched.env, check=True, timeout=60)
    assert [address[0] for _, address in watched.outside()] == ["192.0.2.1"]
