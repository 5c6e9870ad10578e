"""Searching: both stores find the same, filters bind both engines, and what did not answer is named."""

from __future__ import annotations

import shutil
import threading
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from hivelore.base.memories import service as memories
from hivelore.base.memories import store as memory_store
from hivelore.base.memories.model import Draft
from hivelore.base.search import service as search
from hivelore.base.search.model import TEXT, VECTORS, Filters, Findings, Request
from hivelore.core.actor import Scope, space_of
from hivelore.rooms.memory import service as memory
from support import postgres
from support.corpus import QUESTIONS, TEXTS
from support.embedders import StatefulEmbedder
from support.hubs import Store, call_as, clock_of, opened, run_jobs

SHARED = frozenset({"shared"})


def remember(hub, content: str, **options) -> str:
    return memory.remember(call_as(hub, "alice"), content, **{"namespace": "notes"} | options).memory.id


def find(
    hub, query: str, *, filters: Filters = Filters(), limit: int = 8, offset: int = 0, who: str = "alice"
) -> Findings:
    call = call_as(hub, who)
    question = search.ask(hub, query)
    scope = Scope((space_of("notes", who, SHARED),))
    with call.read() as v:
        return search.find(hub, v, Request(question, scope, filters, limit, offset))


def remember_many(hub, contents: list[str], **options) -> list[str]:
    """Like `remember` for many texts, in one transaction."""
    space = space_of("notes", "alice", SHARED)
    with call_as(hub, "alice").write() as w:
        return [memories.add(w, Draft(space, "note", content, **options)).id for content in contents]


def found(hub, query: str, **options) -> list[str]:
    return [hit.ref for hit in find(hub, query, **options).hits]


# -- the same on both stores -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def open_once(sqlite_template, postgres_server, tmp_path_factory):
    """Open a hub on a new store of each kind that a whole module reads: `open_once("sqlite", embedder=…)`."""
    with ExitStack() as stack:

        def open_(kind: str, **options):
            folder = tmp_path_factory.mktemp("once")
            if kind == "sqlite":
                shutil.copyfile(sqlite_template, folder / "hivelore.db")
                store = Store(kind, f"sqlite:///{folder}/hivelore.db", folder / "hivelore.db")
            else:
                store = Store(kind, stack.enter_context(postgres.database(postgres_server)))
            return stack.enter_context(opened(store, folder, **options))

        yield open_


@pytest.fixture(scope="module")
def filled(open_once):
    """Hubs on both stores with the corpus in it, text index only, and the names of what was stored."""
    hubs = {}
    for kind in ("sqlite", "postgres"):
        hub = open_once(kind, embedder=StatefulEmbedder(status="off", reason="off"))
        ids = remember_many(hub, [content for _, content in TEXTS])
        hubs[kind] = (hub, dict(zip(ids, (name for name, _ in TEXTS), strict=True)))
    return hubs


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize(("question", "expected"), QUESTIONS, ids=[q for q, _ in QUESTIONS])
def test_words_alone_find_the_text_in_every_language(filled, kind, question, expected):
    hub, names = filled[kind]
    best = [names[ref] for ref in found(hub, question)][: len(expected)]
    assert set(best) == set(expected)


@pytest.mark.parametrize("question", [q for q, _ in QUESTIONS])
def test_both_stores_find_the_same_texts(filled, question):
    hits = {}
    for kind, (hub, names) in filled.items():
        hits[kind] = {names[ref] for ref in found(hub, question, limit=50)}
    assert hits["sqlite"] == hits["postgres"]


# -- engines that do not answer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "reason"), [("off", "switched off"), ("loading", "still loading"), ("unavailable", "no weights")]
)
def test_words_answer_while_the_model_does_not_and_the_reason_is_told(store, make_hub, status, reason):
    hub = make_hub(store, embedder=StatefulEmbedder(status=status, reason=reason))
    ids = {remember(hub, f"The deploy of service {n} is on Tuesday.") for n in range(23)}
    findings = find(hub, "deploy", limit=50)
    assert {hit.ref for hit in findings.hits} == ids
    assert findings.engines == (TEXT,)
    assert findings.unavailable == {VECTORS: f"{status}: {reason}"}


def test_a_model_that_fails_at_the_question_is_named_and_words_answer(store, make_hub):
    embedder = StatefulEmbedder()
    hub = make_hub(store, embedder=embedder)
    id = remember(hub, "The deploy is on Tuesday.")
    run_jobs(hub)

    def fail():
        from hivelore.core.errors import Unavailable

        raise Unavailable("the endpoint does not answer")

    embedder.before = fail
    findings = find(hub, "deploy")
    assert [hit.ref for hit in findings.hits] == [id]
    assert findings.unavailable == {VECTORS: "unavailable: the endpoint does not answer"}


def break_text_index(hub) -> None:
    table = "search_text" if hub.db.dialect == "sqlite" else "search_tokens"
    with hub.db.write() as connection:
        connection.execute(text(f"DROP TABLE {table}"))


def break_vectors(hub) -> None:
    with hub.db.write() as connection:
        connection.execute(text("ALTER TABLE search_vector RENAME TO hidden"))


@pytest.fixture
def own_hub(blank_store, make_hub):
    """A hub on a store that the test may break."""
    return make_hub(blank_store, embedder=StatefulEmbedder(synonyms={"roll-out": "deploy"}))


def test_a_broken_text_index_is_named_and_vectors_still_answer(own_hub, caplog):
    id = remember(own_hub, "deploy on Tuesday")
    run_jobs(own_hub)
    break_text_index(own_hub)
    findings = find(own_hub, "deploy")
    assert [hit.ref for hit in findings.hits] == [id]
    assert findings.engines == (VECTORS,)
    assert set(findings.unavailable) == {TEXT}
    assert "doctor" in findings.unavailable[TEXT]
    assert "search_t" not in findings.unavailable[TEXT]
    assert "search_t" in caplog.text


def test_broken_vectors_are_named_and_words_still_answer(own_hub, caplog):
    id = remember(own_hub, "deploy on Tuesday")
    run_jobs(own_hub)
    break_vectors(own_hub)
    findings = find(own_hub, "deploy")
    assert [hit.ref for hit in findings.hits] == [id]
    assert findings.engines == (TEXT,)
    assert set(findings.unavailable) == {VECTORS}


def test_an_empty_answer_of_a_broken_store_is_not_a_bare_one(own_hub, caplog):
    remember(own_hub, "deploy on Tuesday")
    run_jobs(own_hub)
    break_text_index(own_hub)
    break_vectors(own_hub)
    findings = find(own_hub, "deploy")
    assert findings.hits == ()
    assert findings.engines == ()
    assert set(findings.unavailable) == {TEXT, VECTORS}


@pytest.mark.promise("P-010", "P-062")
def test_vectors_find_what_no_word_can(store, make_hub):
    hub = make_hub(store, embedder=StatefulEmbedder(synonyms={"roll-out": "deploy"}))
    id = remember(hub, "deploy on Tuesday")
    remember(hub, "lunch on Friday")
    assert found(hub, "roll-out") == []
    run_jobs(hub)
    assert found(hub, "roll-out")[0] == id
    assert find(hub, "roll-out").engines == (TEXT, VECTORS)


# -- filters -----------------------------------------------------------------------------------------------------------

DAY = 86_400_000


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def busy_hub(request, open_once):
    """330 texts that answer better than the one that the filters want: an engine that filters afterwards misses it."""
    hub = open_once(request.param, embedder=StatefulEmbedder())
    noise = {"tags": ("other",), "source": "noise", "event_ms": 10 * DAY, "layer": "trace"}
    remember_many(hub, [f"deploy deploy deploy number {n}" for n in range(330)], **noise)
    signal = {"tags": ("wanted", "too"), "source": "signal", "event_ms": 2 * DAY, "layer": "skill"}
    remember_many(hub, ["one deploy among many things"], **signal)
    run_jobs(hub)
    return hub


@pytest.mark.parametrize(
    "filters",
    [
        Filters(tags=("wanted",)),
        Filters(tags=("wanted", "too")),
        Filters(sources=("signal",)),
        Filters(layers=("skill", "policy")),
        Filters(until_ms=3 * DAY),
        Filters(since_ms=2 * DAY, until_ms=2 * DAY + 1),
        Filters(
            tags=("wanted",), sources=("signal",), kinds=("note",), layers=("skill",), since_ms=DAY, until_ms=5 * DAY
        ),
    ],
)
def test_filters_bind_inside_each_engine(busy_hub, filters):
    findings = find(busy_hub, "deploy", filters=filters)
    assert [hit.text for hit in findings.hits] == ["one deploy among many things"]
    assert findings.hits[0].text_rank == 1
    assert findings.hits[0].vector_rank == 1


@pytest.mark.parametrize(
    "filters",
    [
        Filters(tags=("wante",)),
        Filters(tags=("wanted", "other")),
        Filters(sources=("sig",)),
        Filters(kinds=("session",)),
        Filters(layers=("policy",)),
        Filters(since_ms=11 * DAY),
        Filters(until_ms=2 * DAY),
    ],
)
def test_filters_that_nothing_satisfies_find_nothing_in_either_engine(busy_hub, filters):
    findings = find(busy_hub, "deploy", filters=filters)
    assert findings.hits == ()
    assert findings.engines == (TEXT, VECTORS)


TAGS = ["50%", "a_b", "x*", "c\\d", "日本語", "a,b", "'", '"', "[]", "null", "1", "é", "A_B", "axb", "50", "%"]


@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_matches_exactly(store, make_hub, tag):
    hub = make_hub(store)
    ids = {each: remember(hub, f"note about a tag {n}", tags=[each]) for n, each in enumerate(TAGS)}
    assert found(hub, "note", filters=Filters(tags=(tag,)), limit=50) == [ids[tag]]


def test_what_has_expired_is_not_found_without_any_sweep(hub):
    space = space_of("notes", "alice", SHARED)
    with call_as(hub, "alice").write() as w:
        memories.add(w, Draft(space, "note", "deploy is frozen this week", expires_ms=w.now_ms + 1_000))
    run_jobs(hub)
    assert len(found(hub, "deploy frozen")) == 1
    clock_of(hub).advance(ms=1_000)
    assert found(hub, "deploy frozen") == []


# -- paging ------------------------------------------------------------------------------------------------------------


def test_pages_follow_each_other_without_gaps_and_say_when_they_end(hub):
    ids = {remember(hub, f"deploy number {n}") for n in range(25)}
    run_jobs(hub)
    seen: list[str] = []
    for offset in range(0, 30, 10):
        findings = find(hub, "deploy number", limit=10, offset=offset)
        seen += [hit.ref for hit in findings.hits]
        assert findings.more == (offset < 20)
    assert len(seen) == len(set(seen)) == 25
    assert set(seen) == ids
    assert find(hub, "deploy number", limit=10, offset=30).hits == ()


def test_scores_lie_between_nothing_and_one_and_order_the_hits(hub):
    for n in range(30):
        remember(hub, f"deploy {'again ' * n} on Tuesday {n}")
    run_jobs(hub)
    scores = [hit.score for hit in find(hub, "deploy on Tuesday", limit=30).hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_of_two_texts_that_answer_alike_the_newer_comes_first(hub):
    remember(hub, "API limit is 100", event_ms=1)
    newer = remember(hub, "API limit is 250", event_ms=2)
    run_jobs(hub)
    assert found(hub, "API limit")[0] == newer


# -- any text, any question --------------------------------------------------------------------------------------------

QUERIES = [
    "foo-bar",
    "a OR",
    '"unclosed',
    "NEAR(",
    "C++",
    ":memory:",
    "*",
    "''",
    "tokens:x",
    "(a AND",
    "^x",
    "-x",
    "\\",
    "%",
    "_",
]


@pytest.mark.parametrize("query", [*QUERIES, "x " * 2_500, "日" * 5_000, "don't+ a+b+#"])
def test_a_question_with_operators_of_the_index_is_only_a_question(hub, query):
    remember(hub, "foo-bar and C++ and a OR b, NEAR (the) :memory: of x")
    run_jobs(hub)
    assert find(hub, query).engines == (TEXT, VECTORS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    content=st.text(min_size=1, max_size=300) | st.text("a+#'\"\\-_.*%()é日か\0\ud800 \n", min_size=1, max_size=80),
    query=st.text(max_size=60) | st.text("a+#'\"\\-_.*%():^é日か\0\ud800 \n", max_size=30),
)
@example(content="# heading\n" + "x" + "#" * 3_000, query="x" + "#" * 3_000)
@example(content="a+b+ don't+", query="a+b+ don't+")
@example(content="ﷺ" * 400, query="ﷺ" * 400)
@example(content="\u0e33\u0e33 \uf8ff \U000e0001", query="\u0e33")
def test_any_text_can_be_stored_and_any_question_asked(hub, content, query):
    from hivelore.core.errors import Invalid

    try:
        remember(hub, content)
        recalled = memory.recall(call_as(hub, "alice"), query, namespaces=["notes"], limit=5)
    except Invalid:
        return  # empty once cleaned: refused with words
    assert TEXT in recalled.findings.engines
    assert not recalled.findings.unavailable


# -- the in-memory signatures of SQLite --------------------------------------------------------------------------------


def test_forgotten_texts_do_not_crowd_out_those_that_are_left(sqlite_store, make_hub):
    """Vectors of 600 removed texts are nearer to the question than the one that is left."""
    hub = make_hub(sqlite_store, embedder=StatefulEmbedder(synonyms={"roll-out": "deploy"}))
    gone = remember_many(hub, [f"roll-out roll-out {n}" for n in range(600)])
    run_jobs(hub)
    assert found(hub, "deploy")
    with call_as(hub, "alice").write() as w:
        for id in gone:
            memories.remove(w, memory_store.by_id(w, id)[0])
    left = remember(hub, "roll-out of many other things that have nothing to do with it")
    run_jobs(hub)
    assert found(hub, "deploy") == [left]


def test_vectors_stored_by_another_program_are_found(store, make_hub):
    hub, other = (make_hub(store, embedder=StatefulEmbedder(synonyms={"roll-out": "deploy"})) for _ in range(2))
    remember(hub, "lunch on Friday")
    run_jobs(hub)
    assert found(hub, "roll-out")
    id = remember(other, "deploy on Tuesday")
    run_jobs(other)
    assert found(hub, "roll-out")[0] == id


def test_many_threads_search_and_write_at_once(store, make_hub):
    hub = make_hub(store, embedder=StatefulEmbedder())
    failures = []

    def work(number: int) -> None:
        try:
            for n in range(6):
                id = remember(hub, f"deploy {number} {n}")
                run_jobs(hub)
                assert id in found(hub, f"deploy {number} {n}", limit=60)
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []


@pytest.mark.parametrize("engine", [TEXT, VECTORS])
def test_one_engine_alone_can_be_asked_and_the_answer_says_so(hub, engine):
    remember(hub, "The lighthouse is painted red.")
    run_jobs(hub)
    call = call_as(hub, "alice")
    found = memory.recall(call, "lighthouse painted", namespaces=("notes",), limit=5, engines=(engine,)).findings
    assert (found.engines, found.unavailable) == ((engine,), {})
    (hit,) = found.hits
    assert (hit.text_rank, hit.vector_rank) == ((1, None) if engine == TEXT else (None, 1))
