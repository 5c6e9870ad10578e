"""`hivelore bench`: a real run from files to table and JSON, and which store it may touch."""

from __future__ import annotations

import json
import re

import pytest

from hivelore import app
from hivelore.core.settings import Settings

CORPUS = [
    {"id": "m1", "text": "The lighthouse is painted red."},
    {"id": "m2", "text": "The harbour closes at nine."},
    {"id": "m3", "text": "Gulls steal sandwiches."},
]
CASES = [
    {"id": "c1", "query": "lighthouse", "relevant": ["m1"], "class": "place"},
    {"id": "c2", "query": "when does the harbour close", "relevant": ["m2"], "class": "time"},
    {"id": "c3", "query": "nothing", "relevant": []},
]


@pytest.fixture
def mine(own_world):
    """A folder with a set of one's own."""
    folder = own_world / "work" / "mine"
    folder.mkdir()
    for name, lines in (("corpus.jsonl", CORPUS), ("cases.jsonl", CASES)):
        (folder / name).write_text("\n".join(map(json.dumps, lines)))
    return folder


def bench(run, *words):
    return run("bench", *map(str, words), "--embedder", "hash")


def test_a_set_is_measured_and_shown(run, mine):
    ran = bench(run, "recall", mine)
    assert (ran.code, ran.err) == (0, "")
    heading, whole, place, time, *rest = ran.out.splitlines()
    assert heading.split()[:4] == ["set", "class", "questions", "R@1"]
    assert re.match(r"mine, by memory +all +2 +100\.0 +100\.0 +100\.0 +100\.0 +1\.000 ", whole)
    assert place.split()[:2] == ["place", "1"]
    assert time.split()[:2] == ["time", "1"]
    assert rest[-1] == "mine: left out 1 (no memory is relevant)"
    assert re.match(r"mine +3 +0 +\d+ +\d+$", rest[2])


def test_results_are_written_and_compared(run, mine, own_world):
    a, b = own_world / "a.json", own_world / "b.json"
    assert bench(run, "recall", mine, "--data", own_world / "kept", "--engine", "text", "--json", a).code == 0
    assert bench(run, "recall", mine, "--data", own_world / "kept", "--json", b).code == 0
    written = json.loads(b.read_text())
    assert (written["model"], written["options"]["engine"]) == ("hash/256", "hybrid")
    assert (written["ingest"][0]["stored"], written["ingest"][0]["known"]) == (0, 3)
    ran = run("bench", "compare", str(a), str(b))
    assert ran.code == 0
    assert "100.0 → 100.0 (+0.0)" in ran.out
    assert "differs: options engine: text → hybrid" in ran.out


def test_only_named_sets_are_run(run, mine, own_world):
    other = own_world / "work" / "other"
    other.mkdir()
    for name in ("corpus.jsonl", "cases.jsonl"):
        (other / name).write_text((mine / name).read_text())
    ran = bench(run, "recall", own_world / "work", "--only", "oth")
    assert "other, by memory" in ran.out
    assert "mine" not in ran.out
    ran = bench(run, "recall", own_world / "work", "--only", "ours")
    assert ran.code == 64
    assert "the sets here are: mine, other" in ran.err


def test_the_users_own_store_is_never_touched(run, mine, own_world, monkeypatch):
    own = own_world / "own"
    monkeypatch.setenv("HIVELORE_DATABASE_URL", f"sqlite:///{own}.db")
    assert bench(run, "recall", mine).code == 0
    monkeypatch.delenv("HIVELORE_DATABASE_URL")
    app.build(Settings(data_dir=str(own), embedder="hash")).db.close()
    before = (own / app.DATABASE_FILE).read_bytes()
    assert bench(run, "recall", mine, "--data", own).code == 0
    assert not (own_world / "own.db").exists()
    assert (own / app.DATABASE_FILE).read_bytes() == before
    assert (own / "bench.db").exists()


def test_a_database_is_used_only_when_the_option_names_it(run, mine, own_world):
    path = own_world / "named.db"
    assert bench(run, "recall", mine, "--database-url", f"sqlite:///{path}").code == 0
    assert path.stat().st_size > 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["recall", "gone"], 66, "no file or folder gone"),
        (["recall", "mine", "--engine", "magic"], 64, "--engine must be one of text, vector, hybrid"),
        (["recall", "mine", "--half", "upper"], 64, "--half must be dev or held-out"),
        (["recall", "mine", "--limit-questions", "0"], 64, "must be a whole number from 1"),
        (["recall", "mine", "--format", "csv"], 64, "--format must be one of"),
        (["recall", "mine", "--json", "no/such/folder/x.json"], 64, "cannot be written"),
        (["recall"], 64, "PATH"),
        (["recal", "mine"], 64, "there is bench recall and bench speed and bench compare"),
    ],
)
def test_wrong_usage_is_explained(run, mine, words, code, message):
    ran = run("bench", *words, *(["--embedder", "hash"] if "mine" in words and words[0] == "recall" else []))
    assert ran.code == code
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_vectors_cannot_be_measured_without_a_model(run, mine):
    ran = run("bench", "recall", str(mine), "--embedder", "off")
    assert ran.code == 69
    assert "embedder is off" in ran.err
    assert run("bench", "recall", str(mine), "--embedder", "off", "--engine", "text").code == 0


def test_a_group_of_commands_alone_names_its_commands(run):
    ran = run("bench")
    assert ran.code == 64
    assert "there is bench recall and bench speed and bench compare" in ran.err
