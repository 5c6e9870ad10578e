"""`hivelore stdio`: when it relays to a server, when it does the work itself, for whom, and with which key."""

from __future__ import annotations

import json

import pytest

from hivelore.cli import stdio
from hivelore.cli.client import relay
from hivelore.core.settings import Settings
from hivelore.doors.mcp import stdio as door
from hivelore.doors.profiles import PROFILES

KEY = "a-key-that-is-long-enough"


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch, own_world):
    """Neither the relay nor the door reads standard input; no watcher is left behind; the umask stays."""
    monkeypatch.setattr(relay, "end_with_parent", lambda: None)
    monkeypatch.setattr("os.umask", lambda mask: 0o022)
    monkeypatch.setenv("HIVELORE_EMBEDDER", "hash")


@pytest.fixture
def relayed(monkeypatch):
    """What the relay was started with."""
    calls = []
    monkeypatch.setattr(relay, "run", lambda endpoint, key: (calls.append((endpoint, key)), 0)[1])
    return calls


@pytest.fixture
def served(monkeypatch):
    """What the door was started with: (user, role, tools)."""
    calls = []

    def serve(hub, tools, authorization):
        principal = hub.authenticator.authenticate(authorization)
        calls.append((principal.id, principal.role.name, tools))

    monkeypatch.setattr(door, "serve", serve)
    return calls


@pytest.fixture
def folder(own_world):
    path = own_world / "home" / ".hivelore"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def running(server, folder):
    """A server that answers and has left its note."""
    (folder / "server.json").write_text(json.dumps({"pid": 1, "url": server.url, "mcp_path": "/tools"}))
    return server


# -- relay or not ------------------------------------------------------------------------------------------------------


def test_with_a_server_it_relays_to_it_and_opens_no_store(run, running, relayed, served, folder):
    assert run("stdio").code == 0
    [(endpoint, key)] = relayed
    assert (endpoint.folder, endpoint.host, endpoint.port, endpoint.path) == (
        folder,
        "127.0.0.1",
        running.port,
        "/tools",
    )
    assert key == ""
    assert served == []
    assert not (folder / "hivelore.db").exists()
    assert [asked.path for asked in running.asked] == ["/healthz"]


def test_without_a_server_the_work_is_done_here(run, relayed, served, folder):
    ran = run("stdio")
    assert (ran.code, ran.out) == (0, "")
    assert served == [("local", "OWNER", PROFILES["memory"])]
    assert relayed == []
    assert (folder / "hivelore.db").exists()


@pytest.mark.parametrize(
    "note",
    [
        "",
        "half a no",
        "null",
        "[]",
        "7",
        "{}",
        '{"url": "http://127.0.0.1:9", "mcp_path": "/mcp"}',
        '{"url": "http://127.0.0.1:99999999", "mcp_path": "/mcp"}',
        '{"url": 7, "mcp_path": "/mcp"}',
        '{"url": null, "mcp_path": "/mcp"}',
        '{"url": ["x"], "mcp_path": "/mcp"}',
        '{"url": "http://[::1", "mcp_path": "/mcp"}',
        '{"url": "http://127.0.0.1:9"}',
        "\udcff\udcfe",
        "[" * 100_000,
    ],
)
def test_a_note_that_leads_nowhere_is_not_believed(run, relayed, served, folder, note):
    (folder / "server.json").write_bytes(note.encode(errors="surrogateescape"))
    ran = run("stdio")
    assert (ran.code, ran.err) == (0, "")
    assert len(served) == 1
    assert relayed == []


@pytest.mark.parametrize("status", [404, 500, 503])
def test_a_server_that_is_not_well_is_not_relayed_to(run, running, relayed, served, status):
    running.answer("GET /healthz", status, {})
    assert run("stdio").code == 0
    assert (len(relayed), len(served)) == (0, 1)


def test_the_note_of_another_folder_does_not_count(run, running, relayed, served, own_world):
    assert run("stdio", "--data", str(own_world / "trial")).code == 0
    assert (len(relayed), len(served)) == (0, 1)
    assert (own_world / "trial" / "hivelore.db").exists()
    assert running.asked == []


@pytest.mark.parametrize("options", [("--in-process",), ("--user", "ana"), ("--in-process", "--user", "ana")])
def test_who_asks_for_this_process_or_for_a_user_gets_this_process(run, running, relayed, served, options):
    assert run("stdio", *options).code == 0
    assert relayed == []
    assert served[0][0] == ("ana" if "--user" in options else "local")
    assert running.asked == []


def test_a_database_of_its_own_is_opened_here(run, running, relayed, served, tmp_path):
    assert run("stdio", "--database-url", f"sqlite:///{tmp_path}/own.db").code == 0
    assert (len(relayed), len(served)) == (0, 1)
    assert (tmp_path / "own.db").exists()


def test_a_folder_written_with_a_tilde_is_the_servers_folder(run, running, relayed, served, folder):
    for written in ("~/.hivelore", "../home/.hivelore", str(folder)):
        assert run("stdio", "--data", written).code == 0
    assert len(relayed) == 3
    assert served == []


def test_the_exit_code_of_the_relay_is_handed_on(run, running, monkeypatch):
    monkeypatch.setattr(relay, "run", lambda endpoint, key: 7)
    assert run("stdio").code == 7


# -- whose memories ----------------------------------------------------------------------------------------------------


def test_the_relay_presents_the_key_of_the_settings(run, running, relayed, monkeypatch):
    monkeypatch.setenv("HIVELORE_API_KEYS", f"{KEY}:ana")
    assert run("stdio").code == 0
    assert relayed[0][1] == KEY


def test_in_process_the_memories_are_those_of_the_only_key(run, served, monkeypatch):
    monkeypatch.setenv("HIVELORE_API_KEYS", f"{KEY}:ana")
    assert run("stdio").code == 0
    assert served[0][:2] == ("ana", "AGENT")


def test_with_keys_of_several_users_it_asks_whose_memories_are_meant(run, relayed, served, monkeypatch):
    monkeypatch.setenv("HIVELORE_API_KEYS", f"{KEY}-1:ana,{KEY}-2:bob")
    ran = run("stdio")
    assert (ran.code, ran.out) == (64, "")
    assert "ana, bob" in ran.err
    assert KEY not in ran.err
    assert (relayed, served) == ([], [])
    assert run("stdio", "--user", "bob").code == 0
    assert served[0][0] == "bob"


def test_with_keys_of_several_users_it_does_not_relay_as_the_first_of_them(run, running, relayed, served, monkeypatch):
    monkeypatch.setenv("HIVELORE_API_KEYS", f"{KEY}-1:ana,{KEY}-2:bob")
    ran = run("stdio")
    assert ran.code == 64
    assert "--user" in ran.err
    assert (relayed, served) == ([], [])


@pytest.mark.parametrize(
    ("keys", "expected"),
    [((), ""), ((f"{KEY}:ana",), KEY), ((f"{KEY}:team:ops",), KEY), ((f"{KEY}:ana", "other-key:ana"), KEY)],
)
def test_the_first_key_is_what_stands_before_the_first_colon(keys, expected):
    assert stdio.first_key(Settings(api_keys=keys)) == expected


# -- options -----------------------------------------------------------------------------------------------------------


def test_an_unknown_profile_is_refused_before_anything_is_opened(run, served, own_world):
    ran = run("stdio", "--profile", "everything")
    assert ran.code == 64
    assert "everything" in ran.err
    assert served == []
    assert not (own_world / "home" / ".hivelore" / "hivelore.db").exists()


def test_a_store_that_cannot_be_opened_is_told_on_standard_error_only(run, served, own_world):
    (own_world / "work" / "file").write_text("")
    ran = run("stdio", "--data", "file/below")
    assert (ran.code, ran.out) == (69, "")
    assert "Cannot use the data folder" in ran.err
    assert served == []
