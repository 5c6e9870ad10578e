"""A server's life: how it becomes ready, ends, meets another server, and what it keeps private."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import socket
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from wirekit.processes import COMMAND, SOURCE, STOP_LIMIT_S, Server, environment, run, serving
from wirekit.waiting import until
from wirekit.web import Caller, ask, done

MODEL_LIMIT_S = 180.0
READY_KEYS = {"ready", "store", "schema", "embedder", "embedder_model", "pending", "version"}


# -- ready -------------------------------------------------------------------------------------------------------------


@pytest.mark.promise("M-030")
def test_a_server_says_that_it_is_alive_and_what_is_ready(server: Server) -> None:
    alive = ask(server.url, "GET", "/healthz")
    assert (alive.status, alive.json["ok"]) == (200, True)

    ready = ask(server.url, "GET", "/readyz")
    assert ready.status == 200
    assert ready.json.keys() >= READY_KEYS
    assert ready.json["ready"] is True
    assert (ready.json["store"], ready.json["embedder"], ready.json["pending"]) == ("ready", "ready", 0)
    assert ready.json["version"] == alive.json["version"]


def test_a_server_without_an_embedder_is_ready_and_says_why_vectors_are_missing(serve: Callable[..., Server]) -> None:
    ready = ask(serve(embedder=("--embedder", "off")).url, "GET", "/readyz")
    assert ready.status == 200
    assert ready.json["embedder"] == "unavailable"
    assert "HIVELORE_EMBEDDER" in ready.json["embedder_reason"]


def test_a_server_tells_how_to_connect_and_leaves_a_note_for_other_commands(shared_server: Server) -> None:
    server = shared_server
    said = server.said.read_text()
    assert server.mcp in said
    assert "claude mcp add" in said
    note = json.loads((server.folder / "server.json").read_text())
    assert note == {"pid": server.process.pid, "url": server.url, "mcp_path": "/mcp"}


@pytest.mark.promise("P-085")
def test_another_path_for_the_endpoint_is_served(serve: Callable[..., Server]) -> None:
    running = serve(env=environment(HIVELORE_MCP_PATH="/agents/mcp"))
    assert running.mcp.endswith("/agents/mcp")
    assert done(running.mcp, "ping")["ok"] is True
    assert ask(running.url, "POST", "/mcp", "{}").status == 404


# -- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_server_that_is_told_to_end_leaves_nothing_behind(server: Server, data: Path, number: signal.Signals) -> None:
    with closing(Caller(server.mcp)) as client:
        client.call("remember", content="Kept.")
        # A client that is still connected does not keep the server from ending.
        server.process.send_signal(number)
        assert server.process.wait(STOP_LIMIT_S) == 0
    assert sorted(path.name for path in data.iterdir()) == ["hivelore.db"]  # no log of writes, no note
    assert "Traceback" not in server.log


@pytest.mark.promise("M-001", "M-026")
def test_what_was_stored_is_there_when_the_server_starts_again(serve: Callable[..., Server]) -> None:
    first = serve()
    (id,) = done(first.mcp, "remember", content="Kept over the restart.")["ids"]
    first.stop()
    assert done(serve().mcp, "get_memory", id=id)["content"] == "Kept over the restart."


def test_a_server_that_was_killed_starts_again_by_itself(serve: Callable[..., Server], data: Path) -> None:
    first = serve()
    (id,) = done(first.mcp, "remember", content="Kept over the crash.")["ids"]
    first.kill()
    assert (data / "server.json").exists()  # a note of nobody
    assert run("health", "--url", first.url).code == 69

    second = serve()
    assert done(second.mcp, "get_memory", id=id)["content"] == "Kept over the crash."
    assert json.loads((data / "server.json").read_text())["pid"] == second.process.pid


def test_the_script_serves_from_any_folder_and_hands_signals_on(tmp_path: Path) -> None:
    """A copy of scripts/serve in a checkout whose environment is this one: setting up another is not its business."""
    checkout = tmp_path / "checkout"
    programs, scripts = checkout / ".venv" / "bin", checkout / "scripts"
    programs.mkdir(parents=True)
    scripts.mkdir()
    shutil.copy(SOURCE.parent / "scripts" / "serve", scripts)
    for path, text in ((programs / "hivelore", f'exec {shlex.join(COMMAND)} "$@"'), (scripts / "setup", "exit 0")):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    caller = tmp_path / "caller"
    caller.mkdir()
    with serving(caller / "trial", command=[str(scripts / "serve")], cwd=caller) as server:
        assert done(server.mcp, "ping")["ok"] is True
        assert json.loads((caller / "trial" / "server.json").read_text())["pid"] == server.process.pid
        assert server.stop() == 0


# -- two servers -------------------------------------------------------------------------------------------------------


def test_a_second_server_on_the_same_port_is_refused_with_words(shared_server: Server, tmp_path: Path) -> None:
    ran = run("serve", "--port", str(shared_server.port), "--data", str(tmp_path / "other"), "--embedder", "hash")
    assert ran.code == 69
    assert str(shared_server.port) in ran.err
    assert "HIVELORE_PORT" in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "other").exists()


def test_a_port_is_free_again_at_once(serve: Callable[..., Server]) -> None:
    first = serve()
    with closing(Caller(first.mcp)) as client:
        client.call("ping")
        first.stop()
        assert done(serve(port=first.port).mcp, "ping")["ok"] is True


def test_two_servers_on_one_folder_share_it_safely(serve: Callable[..., Server], data: Path) -> None:
    """CC-10: each sees what the other wrote, the newest owns the note, and neither harms the file."""
    first, second = serve(), serve()
    assert first.port != second.port
    for number in range(20):
        server, other = (first, second) if number % 2 else (second, first)
        (id,) = done(server.mcp, "remember", content=f"Fact {number} of two servers.")["ids"]
        assert done(other.mcp, "get_memory", id=id)["content"] == f"Fact {number} of two servers."
        found = done(other.mcp, "recall", query=f"fact {number} of two servers", limit=20)["items"]
        assert id in [item["id"] for item in found]
    assert json.loads((data / "server.json").read_text())["pid"] == second.process.pid

    assert first.stop() == 0  # takes nothing away from the other
    assert json.loads((data / "server.json").read_text())["pid"] == second.process.pid
    assert done(second.mcp, "list_memories")["total"] == 20
    assert second.stop() == 0
    with closing(sqlite3.connect(data / "hivelore.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.promise("M-039")
def test_a_folder_that_cannot_be_made_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ran = run("serve", "--port", "0", "--data", str(tmp_path / "file" / "data"))
    assert ran.code == 69
    assert "HIVELORE_DATA_DIR" in ran.err
    assert "Traceback" not in ran.err


def test_a_file_that_is_no_database_is_left_alone(data: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "hivelore.db").write_bytes(b"This is somebody's text file. " * 500)
    ran = run("serve", "--port", "0", "--data", str(data), "--embedder", "hash")
    assert ran.code == 69
    assert "damaged" in ran.err or "not a hivelore database" in ran.err
    assert (data / "hivelore.db").read_bytes() == b"This is somebody's text file. " * 500


# -- privacy -----------------------------------------------------------------------------------------------------------


def test_everything_in_the_data_folder_is_private_to_its_owner(shared_server: Server) -> None:
    done(shared_server.mcp, "remember", content="Private.")
    names = {path.name for path in shared_server.folder.iterdir()}
    assert {"hivelore.db", "hivelore.db-wal", "hivelore.db-shm", "server.json"} <= names
    assert public(shared_server.folder) == {}


@pytest.mark.model
def test_a_model_that_the_server_converts_itself_is_private_too(serve: Callable[..., Server], data: Path) -> None:
    running = serve(embedder=())
    until(lambda: ask(running.url, "GET", "/readyz").json["embedder"] == "ready", "the model", MODEL_LIMIT_S)
    files = {path: mode for path, mode in public(data).items() if Path(path).is_file()}
    assert files == {}
    assert public(data, deep=False) == {}


@pytest.mark.model
def test_a_folder_that_doctor_had_to_make_is_private(data: Path) -> None:
    checked = run("doctor", "--data", str(data))
    assert checked.code == 0, checked.out
    assert (data / "models").is_dir()
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


def test_a_folder_that_others_could_read_is_made_private(serve: Callable[..., Server], data: Path) -> None:
    data.mkdir(mode=0o755)
    serve()
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


def public(folder: Path, *, deep: bool = True) -> dict[str, str]:
    """Files and folders that anyone but the owner may read or write, with their modes."""
    found = [folder, *(folder.rglob("*") if deep else folder.iterdir())]
    return {str(path): oct(path.stat().st_mode) for path in found if path.stat().st_mode & 0o077}


@pytest.mark.promise("M-094")
def test_a_server_listens_on_one_address_of_this_machine_only(shared_server: Server) -> None:
    with socket.socket() as other:
        # Another address of the loopback network stands for any other address that this machine has.
        assert other.connect_ex(("127.0.0.2", shared_server.port)) != 0
