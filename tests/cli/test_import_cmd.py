"""`hivelore import`: from the command line into a store, and the account that people and programs read."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import stat
import sys
from pathlib import Path

import pytest
from doors_kit import Person
from sqlalchemy import text
from transcript_kit import SAMPLE, Conversation, many_turns

from hivelore.base.identity.service import BearerKeyAuth
from hivelore.cli import import_cmd
from hivelore.cli.main import main
from hivelore.core.settings import Settings
from hivelore.importers import run as importing
from hivelore.sql.database import Database
from support.hubs import opened, run_jobs

DOCS = Path(__file__).parents[2] / "docs"
KEY = "a-key-that-is-long-enough"


@pytest.fixture(autouse=True)
def same_umask():
    """The command makes whatever it writes private; the test process goes on as it was."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def claude(own_world):
    """The folder of Claude Code in the home folder, with two sessions in it."""
    folder = own_world / "home" / ".claude"
    many_turns(3).ask("not answered").write(folder / "projects" / "-srv-shop" / "s.jsonl")
    sample = folder / "projects" / "-srv-shop" / "sample.jsonl"
    sample.write_text(SAMPLE)
    return folder


@pytest.fixture
def at(store):
    """Options that name the store of the test."""
    return ("--database-url", store.url)


def recall(store, folder, query: str, user: str = "local", **arguments):
    """What a user finds in the store afterwards, through the tool."""
    with opened(store, folder) as hub:
        run_jobs(hub)
        keyed = dataclasses.replace(hub, authenticator=BearerKeyAuth((f"key:{user}",)))
        return Person(keyed, user, "key")("recall", query=query, namespace="*", **arguments)["items"]


# -- what comes in -----------------------------------------------------------------------------------------------------


def test_the_usual_folder_is_imported_and_found_by_the_tools(run, store, at, claude, tmp_path):
    ran = run("import", "claude-code", *at)
    assert (ran.code, ran.err) == (0, "")
    [hit] = recall(store, tmp_path, "which port does the memory service use?", limit=1)
    assert (hit["kind"], hit["source"], hit["namespace"]) == ("turn", "claude_code", "transcripts")
    db = Database(store.url, pool_size=1)
    with db.read() as connection:
        rows = connection.execute(text("SELECT DISTINCT owner, agent, door FROM memory")).all()
    db.close()
    assert rows == [("local", "hivelore import", "import")]


def test_the_account_is_words_for_people(run, store, at, claude):
    rows = dict(re.split(r"\s+", line, maxsplit=1) for line in run("import", "claude-code", *at).out.splitlines())
    assert rows["files"] == "2 read, 0 unchanged"
    assert re.fullmatch(r"16 read, 0 bad; skipped: 1 meta, 1 sidechain, 1 snapshot, 1 summary, 1 system", rows["lines"])
    assert rows["turns"] == "4 complete, 1 incomplete"
    assert rows["stored"] == "4 new, 0 grown, 0 already known, 0 removed before and left out"
    assert rows["namespace"] == "transcripts"
    assert rows["to"] == "embed   4 chunks, which happens when the server runs; words are found already"

    again = run("import", "claude-code", *at).out
    assert "2 read, 2 unchanged" in again
    assert "0 new, 0 grown, 0 already known, 0 removed" in again


def test_the_account_for_programs_says_the_same_as_the_documentation(run, store, at, claude):
    ran = run("import", "claude-code", "--json", *at)
    report = ran.json
    assert {name: report[name] for name in report if name != "read"} == {
        "source": "claude_code",
        "namespace": "transcripts",
        "stored": True,
        "turns_new": 4,
        "turns_grown": 0,
        "turns_known": 0,
        "turns_removed_before": 0,
        "still_to_embed": 4,
    }
    described = (DOCS / "importing.md").read_text()
    for name in report["read"]:
        assert f"`{name}`" in described, name


def test_what_was_redacted_and_mended_is_told_and_no_secret_is_shown(run, store, at, own_world):
    secret = "gh" + "p_" + "Kx9fWq3ZrT8bN2mYv7LpQd5sJh4GcAe1uRiX"
    path = Conversation().turn(f"my token is {secret}", "nul\0here").write(own_world / "s.jsonl")
    for options in ((), ("--json",)):
        ran = run("import", "claude-code", str(path), "--dry-run", *options, *at)
        assert secret not in ran.out + ran.err
    ran = run("import", "claude-code", str(path), *at)
    assert re.search(r"^redacted\s+1 github_token$", ran.out, re.MULTILINE)
    assert re.search(r"^repaired\s+1 NUL characters removed$", ran.out, re.MULTILINE)


def test_names_in_the_account_cannot_drive_the_terminal(run, store, at, own_world):
    many_turns(1).write(own_world / "s.jsonl")
    ran = run("import", "claude-code", str(own_world / "s.jsonl"), "--namespace", "a\x1b[2Jb", *at)
    assert ran.code == 0
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("source", ["claude-code", "claude_code"])
def test_the_source_has_its_name_in_either_spelling(run, store, at, claude, source):
    assert run("import", source, *at).code == 0


def test_the_folder_that_claude_code_itself_was_told_is_the_usual_one(run, store, at, own_world, monkeypatch):
    many_turns(1).write(own_world / "elsewhere" / "projects" / "p" / "s.jsonl")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "~/../elsewhere")
    assert run("import", "claude-code", "--json", *at).json["turns_new"] == 1


@pytest.mark.parametrize("path", ["~/.claude", "../home/.claude/projects", "~/.claude/projects/-srv-shop/s.jsonl"])
def test_a_path_may_be_a_folder_at_any_level_or_a_file(run, store, at, claude, path):
    assert run("import", "claude-code", path, "--json", *at).json["turns_new"] >= 3


def test_one_file_reached_by_two_paths_is_read_once(run, store, at, claude):
    run("import", "claude-code", "~/.claude", *at)
    again = run("import", "claude-code", "../home/.claude/projects", "--json", *at).json
    assert (again["read"]["files_unchanged"], again["turns_new"], again["turns_known"]) == (2, 0, 0)


# -- options -----------------------------------------------------------------------------------------------------------


def test_a_dry_run_says_what_is_there_and_stores_nothing(run, store, at, claude, tmp_path):
    ran = run("import", "claude-code", "--dry-run", *at)
    assert ran.code == 0
    assert "4 complete, 1 incomplete" in ran.out
    assert re.search(r"^stored\s+nothing: this was a dry run$", ran.out, re.MULTILINE)
    assert recall(store, tmp_path, "port") == []
    report = run("import", "claude-code", "--json", *at).json
    assert (report["turns_new"], report["read"]["files_unchanged"]) == (4, 0)


def test_namespace_and_user_are_those_that_were_named(run, store, at, claude, tmp_path):
    ran = run("import", "claude-code", "--namespace", "archive 保管", "--user", "ana", "--json", *at)
    assert ran.json["namespace"] == "archive 保管"
    assert recall(store, tmp_path, "question", user="local") == []
    hits = recall(store, tmp_path, "question 1", user="ana")
    assert {hit["namespace"] for hit in hits} == {"archive 保管"}


def test_import_and_worker_do_their_work_when_keys_are_asked_for(run, store, at, claude, tmp_path, monkeypatch):
    monkeypatch.setenv("HIVELORE_API_KEYS", f"{KEY}:ana")
    ran = run("import", "claude-code", "--json", *at)
    assert (ran.code, ran.json["turns_new"]) == (0, 4)
    assert KEY not in ran.out + ran.err
    hits = recall(store, tmp_path, "which port does the memory service use?", user="ana", limit=1)
    assert "18960" in hits[0]["content"]
    assert recall(store, tmp_path, "question 1", user="local") == []


def test_with_keys_of_several_users_it_asks_whose_memories_are_meant(run, store, at, claude, tmp_path, monkeypatch):
    monkeypatch.setenv("HIVELORE_API_KEYS", f"{KEY}-1:ana,{KEY}-2:bob")
    ran = run("import", "claude-code", *at)
    assert ran.code == 64
    assert "ana, bob" in ran.err
    assert "--user" in ran.err
    assert KEY not in ran.err
    assert run("import", "claude-code", "--user", "bob", *at).code == 0
    assert recall(store, tmp_path, "question 1", user="bob")
    assert recall(store, tmp_path, "question 1", user="ana") == []


def test_the_bar_is_fed_unless_it_is_unwanted(run, store, at, claude, monkeypatch):
    fed = []
    plain = importing.import_claude_code

    def watched(call, root, **options):
        fed.append(options["progress"])
        return plain(call, root, **options)

    monkeypatch.setattr(importing, "import_claude_code", watched)
    run("import", "claude-code", *at)
    run("import", "claude-code", "--no-progress", *at)
    assert callable(fed[0])
    assert fed[1] is None


def test_a_terminal_sees_progress_on_standard_error_and_a_clean_line_afterwards(store, at, claude, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    assert main(["import", "claude-code", *at]) == 0
    assert "Importing" in seen.getvalue()
    assert seen.getvalue().endswith("\r\x1b[K")
    assert "Importing" not in capsys.readouterr().out


def test_the_account_says_when_a_running_server_does_the_rest(run, server, own_world, claude):
    folder = own_world / "home" / ".hivelore"
    folder.mkdir()
    (folder / "server.json").write_text(json.dumps({"url": server.url, "mcp_path": "/mcp"}))
    assert "which the running server now does" in run("import", "claude-code").out
    assert [asked.path for asked in server.asked] == ["/healthz"]


def test_without_a_model_nothing_waits_for_one_and_words_are_found(run, store, at, claude, tmp_path, monkeypatch):
    monkeypatch.setenv("HIVELORE_EMBEDDER", "off")
    ran = run("import", "claude-code", *at)
    assert re.search(r"^to embed\s+0 chunks$", ran.out, re.MULTILINE)
    assert recall(store, tmp_path, "memory service port", limit=1)[0]["source"] == "claude_code"


# -- the data folder ---------------------------------------------------------------------------------------------------


def test_the_store_of_its_own_is_private_and_in_the_home_folder(run, own_world, claude):
    assert run("import", "claude-code").code == 0
    folder = own_world / "home" / ".hivelore"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert folder / "hivelore.db" in files
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in files} == {0}


def test_transcripts_are_opened_for_reading_only(run, store, at, claude):
    def look():
        return {
            path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else sorted(os.listdir(path)))
            for path in claude.rglob("*")
        }

    before = look()
    run("import", "claude-code", *at)
    assert look() == before


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_an_unknown_source_is_refused_with_the_known_ones(run, own_world):
    ran = run("import", "codex")
    assert ran.code == 64
    assert "codex" in ran.err
    assert all(source in ran.err for source in import_cmd.SOURCES)
    assert not (own_world / "home" / ".hivelore").exists()


@pytest.mark.parametrize("path", ["nowhere", "nowhere/s.jsonl"])
def test_a_path_with_nothing_there_is_66_and_makes_no_store(run, own_world, path):
    ran = run("import", "claude-code", path)
    assert (ran.code, ran.out) == (66, "")
    assert "no such file or folder" in ran.err
    assert not (own_world / "home" / ".hivelore").exists()


def test_a_folder_without_transcripts_is_66_and_no_success_with_zeros(run, own_world):
    (own_world / "work" / "notes.txt").write_text("none here")
    ran = run("import", "claude-code", ".")
    assert (ran.code, ran.out) == (66, "")
    assert "no transcript" in ran.err
    assert not (own_world / "home" / ".hivelore").exists()


@pytest.mark.parametrize("name", ["*", "n" * 300])
def test_a_namespace_that_cannot_be_one_is_64(run, store, at, claude, name):
    ran = run("import", "claude-code", "--namespace", name, *at)
    assert ran.code == 64
    assert "namespace" in ran.err


def test_a_data_folder_that_cannot_be_is_69_in_words(run, own_world, claude):
    (own_world / "work" / "file").write_text("")
    ran = run("import", "claude-code", "--data", "file/below")
    assert (ran.code, ran.out) == (69, "")
    assert "Cannot use the data folder" in ran.err
    assert "--data" in ran.err


def test_the_usual_folder_is_below_home_unless_told_otherwise(monkeypatch, own_world):
    assert import_cmd.default_root() == own_world / "home" / ".claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "")
    assert import_cmd.default_root() == own_world / "home" / ".claude"
    assert Settings().transcript_namespace == "transcripts"
