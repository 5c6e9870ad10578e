"""A run of the benchmark: the real path in and out, on both stores, with hash vectors."""

from __future__ import annotations

import json

import pytest

from hivelore.base.memories import store as memories
from hivelore.bench import compare, report, runner
from hivelore.bench.ingest import namespace_of
from hivelore.bench.model import Corpus, Document, EvalSet, Question
from hivelore.bench.runner import Options
from hivelore.core.errors import Invalid, Unavailable
from hivelore.core.page import Offset
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from support.embedders import StatefulEmbedder
from support.hubs import call_as, clock_of

DAY_MS = 86_400_000
LONG = " ".join(f"Paragraph {i} says that the lighthouse keeper counts gulls, boats and lanterns." for i in range(60))


def document(id, text, *, group="g", session="", **more):
    units = {"turn": id, **({"session": session} if session else {})}
    return Document(id, group, text, units, **more)


def question(id, text, *turns, group="g", sessions=(), kind="all", **more):
    relevant = {"turn": frozenset(turns), **({"session": frozenset(sessions)} if sessions else {})}
    return Question(id, group, text, kind, relevant, **more)


def asked(documents, questions, *, name="talk", units=("turn",), left_out=None):
    return EvalSet(name, Corpus(name, tuple(documents)), tuple(questions), units, left_out or {})


TALK = asked(
    [
        document("t1", "Ann bought a kiln for the workshop.", session="s1", event_ms=1_700_000_000_000),
        document("t2", "The kiln needs a new plug.", session="s1", event_ms=1_700_000_000_000),
        document("t3", "A kiln may stand in the shed.", session="s2", event_ms=1_700_000_000_000 + DAY_MS),
        document("t4", "Bo likes red kites.", session="s2", event_ms=1_700_000_000_000 + DAY_MS),
        document("x1", "Ann bought a kiln in another talk.", group="other", session="s1"),
    ],
    [
        question("q1", "who bought a kiln", "t1", sessions=["s1"], kind="fact"),
        question("q2", "red kites", "t4", sessions=["s2"], kind="fact"),
        question("q3", "kiln", "t1", "t2", "t3", sessions=["s1", "s2"], kind="many"),
        question("q4", "kiln in another talk", "x1", group="other", sessions=["s1"]),
    ],
    units=("turn", "session"),
    left_out={"abstention": 2},
)


def ran(hub, sets, **options):
    return runner.run(hub, clock_of(hub), sets, Options(**options))


def ranks(results, unit="turn"):
    (found,) = (each for each in results.sets if each.unit == unit)
    return {one.question: one.ranks for one in found.judged}


@pytest.mark.parametrize("engine", ["text", "vector", "hybrid"])
def test_every_question_is_asked_in_its_own_group_and_judged_by_every_unit(hub, engine):
    results = ran(hub, [TALK], engine=engine)
    assert ranks(results)["q1"][0] == 1
    assert ranks(results)["q2"][0] == 1
    assert ranks(results)["q3"] == (1, 2, 3)
    assert ranks(results)["q4"] == (1,)
    assert ranks(results, "session") == {"q1": (1,), "q2": (1,), "q3": (1, 2), "q4": (1,)}
    found = results.sets[0]
    assert (found.set, found.texts, found.left_out) == ("talk", 5, {"abstention": 2})
    assert all(one.ms > 0 and one.tokens > 20 for one in found.judged)


def test_texts_are_remembered_and_sessions_saved_as_clients_do(hub):
    whole = Document("s1", "g", f"Ann: kiln.\n{LONG}", {"session": "s1"}, whole_session=True)
    sessions = EvalSet(
        "saved", Corpus("saved", (whole,)), (Question("q", "g", "gulls", "all", {"session": {"s1"}}),), ("session",)
    )
    results = ran(hub, [TALK, sessions])
    call = call_as(hub, runner.BENCH_USER)
    remembered = memory.list_items(call, namespace_of("talk", "g"), Offset(0), 10)
    assert {item.text for item in remembered.items} == {d.text for d in TALK.corpus.documents if d.group == "g"}
    assert {item.created_ms for item in remembered.items} == {1_700_000_000_000, 1_700_000_000_000 + DAY_MS}
    ((saved,), _) = transcripts.list_sessions(call, 0, 10)
    assert (saved.chars, saved.chunks > 5) == (len(whole.text), True)
    assert ranks(results_of(results, "saved"), "session") == {"q": (1,)}
    assert [(each.corpus, each.stored, each.known) for each in results.ingested] == [("talk", 5, 0), ("saved", 1, 0)]
    with hub.db.read() as connection:
        assert memories.statistics(connection) == {"note": 5, "session": 1}


def results_of(results, name):
    return runner.Results(tuple(each for each in results.sets if each.set == name), results.ingested)


def test_several_passages_of_one_text_are_one_place_of_the_ranking(hub):
    texts = [document("long", LONG), *(document(f"s{i}", f"The lighthouse keeper and boat {i}.") for i in range(11))]
    found = ran(hub, [asked(texts, [question("q", "lighthouse keeper counts gulls, boats and lanterns", "s3")])])
    (one,) = found.sets[0].judged
    assert one.relevant == 1
    call = call_as(hub, runner.BENCH_USER)
    page = memory.recall(
        call, "lighthouse keeper counts gulls, boats and lanterns", namespaces=("bench/talk/g",), limit=10
    )
    assert len({each.item.memory for each in page.items}) < 10  # what a ranking of memories alone would stop at
    deeper = ran(hub, [asked(texts, [question("q", "lighthouse keeper boat", *(f"s{i}" for i in range(11)), "long")])])
    assert len(deeper.sets[0].judged[0].ranks) == 10


def test_a_kept_store_is_ready_and_gives_the_same_ranks(store, make_hub):
    first = ran(make_hub(store), [TALK])
    again = ran(make_hub(store), [TALK])
    assert [(each.stored, each.known) for each in again.ingested] == [(0, 5)]
    assert (again.ingested[0].text_per_s, again.ingested[0].with_vectors_per_s) == (None, None)
    assert first.ingested[0].text_per_s > first.ingested[0].with_vectors_per_s > 0
    assert ranks(again) == ranks(first)


def test_a_text_that_changed_is_stored_again_and_one_that_went_is_reported(store, make_hub):
    ran(make_hub(store), [TALK])
    changed = asked([document("t1", "Ann sold the kiln."), *TALK.corpus.documents[1:]], TALK.questions)
    results = ran(make_hub(store), [changed])
    assert (results.ingested[0].stored, results.ingested[0].known) == (1, 4)
    shorter = asked(TALK.corpus.documents[1:], TALK.questions[1:])
    with pytest.raises(Invalid, match="1 texts of an earlier version of talk"):
        ran(make_hub(store), [shorter])


def test_a_change_of_model_gives_a_kept_store_new_vectors(store, make_hub):
    ran(make_hub(store), [TALK])
    other = StatefulEmbedder("another-model/256")
    ran(make_hub(store, embedder=other), [TALK], engine="vector")
    assert set(other.embedded) == {d.text for d in TALK.corpus.documents}


def test_a_store_that_somebody_uses_is_refused_untouched(hub):
    memory.remember(call_as(hub, "ana"), "Ana keeps this to herself.", namespace="ana")
    with pytest.raises(Invalid, match="other memories than those of benchmarks"):
        ran(hub, [TALK])
    with hub.db.read() as connection:
        assert memories.statistics(connection) == {"note": 1}


def test_an_engine_that_does_not_answer_stops_the_run(store, make_hub):
    embedder = StatefulEmbedder()
    hub = make_hub(store, embedder=embedder)
    ran(hub, [TALK])
    embedder.now = type(embedder.now)("unavailable", "the model file is gone")
    with pytest.raises(Unavailable, match="the model file is gone"):
        ran(hub, [TALK])
    assert ranks(ran(hub, [TALK], engine="text"))["q2"] == (1,)


def test_vectors_that_do_not_come_stop_the_run(store, make_hub):
    hub = make_hub(store, embedder=StatefulEmbedder(status="unavailable", reason="no model"))
    with pytest.raises(Unavailable, match="5 chunks got no vector"):
        ran(hub, [TALK])


def test_a_text_that_cannot_be_stored_is_named(hub):
    with pytest.raises(Invalid, match="talk, text 'blank': content is empty"):
        ran(hub, [asked([document("blank", "  ")], [question("q", "x", "blank")])])


def test_questions_are_asked_at_their_own_time_or_after_the_last_text(hub):
    seen = []

    def watch(what, done, total):
        if what.startswith("asking"):
            seen.append(clock_of(hub).now_ms())

    before_ms = clock_of(hub).now_ms()
    timed = asked(
        TALK.corpus.documents,
        [
            question("q", "kiln", "t1"),
            question("r", "kiln", "t1", asked_ms=5),
            question("s", "kiln", "x1", group="other"),
        ],
    )
    runner.run(hub, clock_of(hub), [timed], Options(), watch)
    assert seen[3:] == [1_700_000_000_000 + DAY_MS, 5, before_ms]
    assert clock_of(hub).now_ms() == before_ms


def test_halves_and_samples_choose_the_questions_and_not_the_texts(hub):
    dev, held_out = (ran(hub, [TALK], half=half) for half in ("dev", "held-out"))
    assert ranks(dev).keys() | ranks(held_out).keys() == {"q1", "q2", "q3", "q4"}
    assert not ranks(dev).keys() & ranks(held_out).keys()
    assert dev.sets[0].texts == 5
    assert len(ranks(ran(hub, [TALK], limit_questions=2))) == 2
    with pytest.raises(Invalid, match="No question of 'one'"):
        ran(hub, [asked(TALK.corpus.documents, [question("q1", "kiln", "t1")], name="one")], half="dev")


def test_an_unknown_engine_is_refused_before_anything_is_stored(hub):
    with pytest.raises(Invalid, match="text, vector, hybrid"):
        ran(hub, [TALK], engine="magic")
    with hub.db.read() as connection:
        assert memories.statistics(connection) == {}


# -- report and comparison


def test_the_json_has_figures_versions_and_settings_and_no_text(hub):
    results = ran(hub, [TALK])
    written = report.as_json(results, hub, Options(half="dev"), 1_767_225_600_000)
    assert json.loads(json.dumps(written)) == written
    assert (written["format"], written["made_at"]) == (1, "2026-01-01T00:00:00.000+00:00")
    assert written["store"].startswith(hub.db.dialect)
    assert written["model"] == hub.embedder.model
    assert written["options"] == {"engine": "hybrid", "half": "dev", "limit_questions": None}
    assert written["settings"]["chunk_tokens"] == 120
    assert not any("key" in name for name in written["settings"])
    by_turn, by_session = written["sets"]
    assert (by_turn["unit"], by_session["unit"], by_turn["left_out"]) == ("turn", "session", {"abstention": 2})
    assert by_turn["figures"]["questions"] == 4
    assert by_turn["classes"]["many"]["recall_at_1"] == pytest.approx(1 / 3)
    assert [each["id"] for each in by_turn["questions"]] == ["q1", "q2", "q3", "q4"]
    assert "kiln" not in json.dumps(written)


def test_the_table_has_a_row_for_each_set_unit_and_class(hub):
    rows = list(report.rows(ran(hub, [TALK])))
    assert [row[:3] for row in rows] == [
        ("talk, by turn", "all", "4"),
        ("", "fact", "2"),
        ("", "many", "1"),
        ("", "all", "1"),
        ("talk, by session", "all", "4"),
        ("", "fact", "2"),
        ("", "many", "1"),
        ("", "all", "1"),
    ]
    assert {len(row) for row in rows} == {len(report.HEADINGS)}
    assert rows[2][3:6] == ("33.3", "100.0", "100.0")


@pytest.fixture
def two_files(hub, tmp_path):
    """Results of words alone and of vectors alone, as files; and a way to change the second."""

    def make(change=lambda written: None):
        for name, engine in (("a.json", "text"), ("b.json", "hybrid")):
            written = report.as_json(ran(hub, [TALK], engine=engine), hub, Options(engine=engine), 0)
            if name == "b.json":
                change(written)
            (tmp_path / name).write_text(json.dumps(written))
        return tmp_path / "a.json", tmp_path / "b.json"

    return make


def test_a_comparison_counts_what_became_better_and_worse_on_common_questions(two_files):
    def change(written):
        questions = written["sets"][0]["questions"]
        questions[0]["ranks"] = []
        questions[1]["ranks"] = [7]
        questions.pop()
        written["sets"].pop()

    found = compare.compare(*two_files(change))
    (turn,) = found.changes
    assert (turn.name, turn.before.questions, turn.better, turn.worse) == ("talk, by turn", 3, 0, 2)
    assert turn.before.recall[0] - turn.after.recall[0] == pytest.approx(2 / 3)
    assert turn.chance == pytest.approx(0.5)
    assert found.apart == ("talk, by session",)
    assert found.conditions == (("options engine", "text", "hybrid"),)
    (row,) = compare.rows(found)
    assert len(row) == len(compare.HEADINGS)
    assert row[2].endswith("(-66.7)")


def test_chance_is_certain_when_nothing_changed_and_small_when_all_did():
    figures = compare.figures([compare.Judged("q", "all", (1,), 1, 1.0, 1)])
    assert compare.Change("x", figures, figures, 0, 0).chance == 1
    assert compare.Change("x", figures, figures, 12, 0).chance == pytest.approx(2 / 4096)
    assert compare.Change("x", figures, figures, 5_000, 5_000).chance == pytest.approx(1)


def test_files_without_a_common_question_or_of_another_kind_are_refused(two_files, tmp_path):
    def rename(written):
        for each in written["sets"]:
            each["set"] = "another"

    with pytest.raises(Invalid, match="no question in common"):
        compare.compare(*two_files(rename))
    with pytest.raises(Invalid, match="in format 1"):
        compare.compare(*two_files(lambda written: written.update(format=2)))
    (tmp_path / "b.json").write_text('{"format": 1, "sets": [{"set": "talk"}]}')
    with pytest.raises(Invalid, match=r"b\.json, set 0 has no field 'unit'"):
        compare.compare(tmp_path / "a.json", tmp_path / "b.json")
