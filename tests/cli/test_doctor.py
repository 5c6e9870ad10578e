"""`hivelore doctor`: what it finds in healthy and broken installations, what it shows, and that it changes nothing."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing

import pytest
from embeddings_endpoint import serve as serving_embeddings
from sqlalchemy import text
from transcript_kit import many_turns

from hivelore.cli import doctor
from hivelore.core.settings import Settings
from hivelore.importers.run import import_claude_code
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from hivelore.sql import schema
from hivelore.sql.database import Database
from support.hubs import Store, call_as, opened, run_jobs
from support.permissions import ordinary_user, public_folder

PASSWORD = "s3cret-passw0rd"


@pytest.fixture(autouse=True)
def quick_model(own_world, monkeypatch):
    """Hash vectors: no model is loaded."""
    monkeypatch.setenv("HIVELORE_EMBEDDER", "hash")


@pytest.fixture
def folder(own_world):
    """The usual data folder, as `serve` makes it."""
    path = own_world / "home" / ".hivelore"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def filled(store, tmp_path):
    """A store with three memories, a session and imported turns; chunks have their vectors but for two."""
    with opened(store, tmp_path) as hub:
        call = call_as(hub, "alice")
        for number in range(3):
            memory.remember(call, f"memory number {number}")
        transcripts.save_session(call, "today", "A session about nothing.")
        run_jobs(hub)
        import_claude_code(call, many_turns(2).write(tmp_path / "s.jsonl"))
    return store


@pytest.fixture
def examine(run):
    """Run the doctor: (exit code, findings by name of the check). A check may find several things."""

    def call(*argv):
        ran = run("doctor", "--json", *argv)
        assert ran.err == ""
        found: dict[str, list[tuple[str, str]]] = {}
        for finding in ran.json:
            assert set(finding) == {"check", "status", "message"}
            found.setdefault(finding["check"], []).append((finding["status"], finding["message"]))
        return ran.code, found

    return call


def on(store):
    return ("--database-url", store.url)


def contents(path):
    """Names and digests of all files below a folder."""
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in path.rglob("*") if file.is_file()}


# -- healthy -----------------------------------------------------------------------------------------------------------


def test_on_a_fresh_machine_all_is_well_and_no_database_is_made(examine, own_world):
    code, found = examine()
    assert code == 0
    assert {status for findings in found.values() for status, _ in findings} == {"ok"}
    assert found["folder"][0][1].startswith(str(own_world / "home" / ".hivelore"))
    assert "no database yet" in found["store"][0][1]
    assert "not running" in found["server"][0][1]
    assert found["network"] == [("ok", "nothing leaves this machine with these settings")]
    assert not (own_world / "home" / ".hivelore" / "hivelore.db").exists()


def test_a_healthy_store_is_counted(examine, filled):
    code, found = examine(*on(filled))
    assert code == 0
    words = "sqlite" if filled.kind == "sqlite" else "postgresql"
    [(status, message)] = found["store"]
    assert (status, message.startswith(f"{words}, schema {schema.HEAD}, ")) == ("ok", True)
    assert found["memories"] == [("ok", "3 note, 1 session, 2 turn")]
    assert found["index"] == [("ok", "6 chunks, 4 vectors, 2 waiting for one")]
    assert found["jobs"] == [("ok", "1 waiting, 0 failed for good")]
    assert found["embedder"] == [("ok", "hash: hash/256 is ready")]


def test_it_changes_nothing(examine, run, sqlite_store, filled, folder):
    assert examine(*on(sqlite_store))[0] == 0
    before = contents(sqlite_store.path.parent)
    assert run("doctor", *on(sqlite_store)).code == 0
    assert contents(sqlite_store.path.parent) == before
    assert not list(folder.iterdir())


def test_people_read_one_line_a_finding_and_the_same_words(run, examine, folder, filled):
    ran = run("doctor", *on(filled))
    assert (ran.code, ran.err) == (0, "")
    _, found = examine(*on(filled))
    expected = [
        f"{status:<7}  {check:<12} {message}" for check, findings in found.items() for status, message in findings
    ]
    lines = ran.out.splitlines()
    assert len(lines) == len(expected)
    for line, words in zip(lines, expected, strict=True):
        if not words[9:].startswith(("disk", "store", "sizes")):  # sizes change from moment to moment
            assert line == words


# -- the store is broken -----------------------------------------------------------------------------------------------


def test_texts_that_the_index_lacks_are_an_error_with_numbers(examine, filled):
    db = Database(filled.url, pool_size=1)
    with db.write() as connection:
        if filled.kind == "sqlite":
            connection.execute(text("DELETE FROM search_text WHERE rowid IN (SELECT min(id) FROM search_chunk)"))
        else:
            connection.execute(text("DELETE FROM search_tokens WHERE chunk IN (SELECT min(id) FROM search_chunk)"))
    db.close()
    code, found = examine(*on(filled))
    assert code == 69
    table = "search_text" if filled.kind == "sqlite" else "search_tokens"
    words = f"chunks whose words are missing or wrong in the text index: 1 ({table}); run `hivelore reindex`"
    assert found["index"] == [("error", words)]
    assert found["memories"][0][0] == "ok"


def test_a_job_that_failed_for_good_is_a_warning(examine, filled):
    db = Database(filled.url, pool_size=1)
    with db.write() as connection:
        connection.execute(text("UPDATE job SET status = 'failed'"))
    db.close()
    code, found = examine(*on(filled))
    [(status, message)] = found["jobs"]
    assert (code, status, message.partition(";")[0]) == (0, "warning", "0 waiting, 1 failed for good")
    assert "hivelore reindex" in message


def test_a_store_of_a_newer_version_is_named_as_such(examine, store):
    db = Database(store.url, pool_size=1)
    with db.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    try:
        code, found = examine(*on(store))
    finally:
        with db.write() as connection:
            connection.execute(text(f"UPDATE alembic_version SET version_num = '{schema.HEAD}'"))
        db.close()
    assert code == 69
    [(status, message)] = found["store"]
    assert status == "error"
    assert "schema 0999" in message
    assert "newer hivelore" in message
    assert "memories" not in found


def test_a_store_that_is_behind_says_what_to_run(examine, store, monkeypatch):
    monkeypatch.setattr(schema, "KNOWN", (*schema.KNOWN, "next"))
    monkeypatch.setattr(schema, "HEAD", "next")
    code, found = examine(*on(store))
    assert code == 69
    assert found["store"][0][0] == "error"
    assert "hivelore migrate" in found["store"][0][1]


def test_a_database_of_another_program_is_refused_and_not_touched(examine, folder):
    with closing(sqlite3.connect(folder / "hivelore.db")) as other:
        other.execute("CREATE TABLE recipes (text)")
        other.execute("INSERT INTO recipes VALUES ('soup')")
        other.commit()
    before = contents(folder)
    code, found = examine()
    assert code == 69
    assert found["store"] == [
        (
            "error",
            "This database belongs to another program: it has tables, but none of hivelore's. Nothing was changed.",
        )
    ]
    assert contents(folder) == before


@pytest.mark.parametrize("raw", [b"my holiday notes, please keep them\n" * 300, b"SQLite format 3\0" + b"\xff" * 9_000])
def test_a_file_that_is_no_database_is_an_error_and_not_touched(examine, folder, raw):
    (folder / "hivelore.db").write_bytes(raw)
    before = contents(folder)
    code, found = examine()
    assert code == 69
    assert found["store"][0][0] == "error"
    assert "damaged" in found["store"][0][1]
    assert contents(folder) == before


def test_a_database_that_does_not_answer_is_an_error_without_its_password(examine, run):
    url = f"postgresql://ana:{PASSWORD}@127.0.0.1:9/none"
    code, found = examine("--database-url", url)
    assert code == 69
    assert found["store"][0][0] == "error"
    assert "does not answer" in found["store"][0][1]
    assert PASSWORD not in json.dumps(found)
    assert PASSWORD not in run("doctor", "--database-url", url).out


def test_a_store_in_memory_is_a_warning(examine):
    code, found = examine("--database-url", "memory")
    assert code == 0
    assert found["store"][0][0] == "warning"
    assert "gone" in found["store"][0][1]


def test_a_setting_without_its_database_is_an_error_of_that_check_alone(examine, monkeypatch):
    monkeypatch.setenv("HIVELORE_REQUIRE_DATABASE", "true")
    code, found = examine()
    assert code == 69
    assert found["store"][0][0] == "error"
    assert "HIVELORE_DATABASE_URL" in found["store"][0][1]
    assert found["embedder"][0][0] == "ok"


# -- the folder --------------------------------------------------------------------------------------------------------


def test_a_folder_that_others_can_read_is_a_warning_with_its_mode(examine, folder):
    folder.chmod(0o755)
    code, found = examine()
    assert code == 0
    assert found["folder"] == [("warning", f"{folder} (mode 755) can be read by others: chmod 700 it")]
    folder.chmod(0o700)
    assert examine()[1]["folder"] == [("ok", f"{folder} (mode 700)")]


def test_a_disk_that_is_nearly_full_is_a_warning(examine, folder, monkeypatch):
    monkeypatch.setattr(doctor, "LOW_DISK_BYTES", 1 << 60)
    code, found = examine()
    assert (code, found["disk"][0][0]) == (0, "warning")
    assert "free" in found["disk"][0][1]


def test_a_folder_that_is_a_file_is_an_error(examine, own_world):
    (own_world / "work" / "data").write_text("")
    code, found = examine("--data", "data")
    assert code == 69
    assert found["folder"][0][0] == "error"
    assert "--data" in found["folder"][0][1]


@pytest.mark.parametrize("mode", [0o000, 0o500])
def test_a_folder_that_may_not_be_used_is_an_error_and_the_other_checks_go_on(mode):
    with public_folder() as place:
        closed = place / "closed"
        closed.mkdir()
        closed.chmod(mode)
        with ordinary_user():
            findings = [
                finding
                for check in doctor.CHECKS
                for finding in doctor._guarded(check, Settings(data_dir=str(closed), embedder="hash"))
            ]
        closed.chmod(0o700)
    statuses = {(finding.check, finding.status) for finding in findings}
    assert ("folder", "error") in statuses
    assert ("embedder", "ok") in statuses
    assert ("network", "ok") in statuses


def test_a_store_below_a_folder_that_may_not_be_entered_is_an_error():
    with public_folder() as place:
        (place / "closed" / "data").mkdir(parents=True)
        (place / "closed").chmod(0)
        settings = Settings(data_dir=str(place / "closed" / "data"), embedder="hash")
        with ordinary_user():
            findings = [f for check in doctor.CHECKS for f in doctor._guarded(check, settings)]
        (place / "closed").chmod(0o700)
    assert {finding.check for finding in findings if finding.status == "error"} >= {"folder", "store"}
    assert not any(part in finding.message for finding in findings for part in ("Traceback", "Errno"))


# -- model and server --------------------------------------------------------------------------------------------------


def test_an_embedder_that_is_off_is_a_warning(examine, monkeypatch):
    monkeypatch.setenv("HIVELORE_EMBEDDER", "off")
    code, found = examine()
    assert (code, found["embedder"]) == (0, [("warning", "off: memories are found by their words only")])


def test_an_embedding_server_is_tried_and_its_key_is_not_shown(run, monkeypatch):
    monkeypatch.setenv("HIVELORE_EMBEDDER", "http")
    monkeypatch.setenv("HIVELORE_EMBED_MODEL", "some-model")
    monkeypatch.setenv("HIVELORE_EMBED_API_KEY", PASSWORD)
    with serving_embeddings() as endpoint:
        monkeypatch.setenv("HIVELORE_EMBED_URL", endpoint.url)
        ran = run("doctor", "--json")
        found = {finding["check"]: finding for finding in ran.json}
        assert ran.code == 0, ran.out
        assert found["embedder"]["status"] == "ok"
        assert endpoint.requests[0].authorization == f"Bearer {PASSWORD}"
    gone = run("doctor", "--json")
    found = {finding["check"]: finding for finding in gone.json}
    assert gone.code == 69
    assert found["embedder"]["status"] == "error"
    assert PASSWORD not in ran.out + ran.err + gone.out + gone.err


def test_a_running_server_is_named_and_a_note_of_one_that_is_gone_is_not_believed(examine, server, folder):
    (folder / "server.json").write_text(json.dumps({"pid": 1, "url": server.url, "mcp_path": "/mcp"}))
    assert examine()[1]["server"] == [("ok", f"running at {server.url}")]
    (folder / "server.json").write_text(json.dumps({"pid": 1, "url": "http://127.0.0.1:9", "mcp_path": "/mcp"}))
    assert "not running" in examine()[1]["server"][0][1]


# -- what could leave the machine --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, []),
        ({"embedder": "e5"}, []),
        ({"embedder": "light"}, []),
        ({"host": "localhost"}, []),
        ({"host": "::1"}, []),
        ({"database_url": "sqlite:////srv/hivelore.db"}, []),
        ({"embed_url": "https://unused.example.com"}, []),
        ({"embedder": "http", "embed_url": f"https://u:{PASSWORD}@models.example.com/v1"}, ["models.example.com"]),
        ({"embedder": "fastembed"}, ["downloads its model"]),
        ({"database_url": f"postgresql://ana:{PASSWORD}@db.example.com:5432/x"}, ["on db.example.com"]),
        ({"database_url": f"postgres://ana:{PASSWORD}@[2001:db8::7]/x?sslmode=require"}, ["on 2001:db8::7"]),
        ({"database_url": f"postgresql:///x?host=db.example.com&password={PASSWORD}"}, ["on db.example.com"]),
        ({"host": "0.0.0.0"}, ["host=0.0.0.0 lets other machines connect"]),
        ({"host": "::"}, ["host=:: lets other machines connect"]),
        (
            {"embedder": "fastembed", "host": "10.0.0.7", "database_url": "postgresql://db/x"},
            ["downloads its model", "on db", "host=10.0.0.7"],
        ),
    ],
)
def test_every_setting_that_opens_a_way_out_is_named_without_its_secrets(settings, words):
    said = list(doctor.outgoing(Settings(**settings)))
    assert len(said) == len(words)
    for sentence, expected in zip(said, words, strict=True):
        assert expected in sentence
        assert PASSWORD not in sentence
    findings = list(doctor.check_network(Settings(**settings)))
    assert [finding.status for finding in findings] == (["warning"] * len(words) or ["ok"])


def test_ways_out_are_warnings_and_no_errors(examine, postgres_store, monkeypatch):
    monkeypatch.setenv("HIVELORE_HOST", "0.0.0.0")
    monkeypatch.setenv("HIVELORE_API_KEYS", f"{PASSWORD}:ana")
    code, found = examine(*on(postgres_store))
    assert code == 0
    assert [status for status, _ in found["network"]] == ["warning"]  # a database on this machine is no way out
    assert "0.0.0.0" in found["network"][0][1]
    assert PASSWORD not in json.dumps(found)


# -- the checks themselves ---------------------------------------------------------------------------------------------


def test_a_check_that_breaks_is_an_error_and_shows_nothing_inside(run, monkeypatch):
    def check_weather(settings):
        raise ValueError("select secret from /inner/path")
        yield

    monkeypatch.setattr(doctor, "CHECKS", (check_weather, doctor.check_network))
    ran = run("doctor", "--json")
    assert ran.code == 69
    assert [finding["check"] for finding in ran.json] == ["weather", "network"]
    assert ran.json[0] == {"check": "weather", "status": "error", "message": "could not be checked (ValueError)"}


def test_only_errors_make_it_fail(run, monkeypatch):
    def finding(status):
        def check_something(settings):
            yield doctor.Finding("something", status, "words")

        return check_something

    codes = {}
    for status in ("ok", "warning", "error"):
        monkeypatch.setattr(doctor, "CHECKS", (finding(status),))
        codes[status] = run("doctor").code
    assert codes == {"ok": 0, "warning": 0, "error": 69}


def test_messages_cannot_drive_the_terminal(run, own_world):
    (own_world / "work" / "a\x1b[2Jb").mkdir(mode=0o700)
    ran = run("doctor", "--data", "a\x1b[2Jb")
    assert ran.code == 0
    assert "\x1b" not in ran.out


def test_a_store_named_for_the_test_is_the_one_that_is_looked_at(examine, tmp_path):
    path = tmp_path / "other.db"
    with opened(Store("sqlite", f"sqlite:///{path}"), tmp_path) as hub:
        memory.remember(call_as(hub, "alice"), "only here")
    assert examine("--database-url", f"sqlite:///{path}")[1]["memories"] == [("ok", "1 note")]
