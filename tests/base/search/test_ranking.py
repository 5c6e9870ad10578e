"""Scores: relative to the other candidates, with the help of neighbours, and alike on both stores."""

from __future__ import annotations

import numpy as np
import pytest

from hivelore.base.memories import service as memories
from hivelore.base.memories.model import Draft
from hivelore.base.search import ranking, store
from hivelore.base.search.model import Place, TermCounts
from hivelore.base.search.signatures import full_to_half
from hivelore.base.search.tokens import query_terms, tokens
from hivelore.core.actor import space_of
from support.corpus import QUESTIONS, TEXTS
from support.hubs import call_as

RANGE = (0.0, 1.0)
HOUR_MS = 3_600_000


def unit(*values: float) -> np.ndarray:
    vector = np.array(values, np.float32)
    return vector / np.linalg.norm(vector)


def place(ref: str, *, space: str = "s", event_ms: int = 0) -> Place:
    return Place("note", ref, ref, space, event_ms)


def pool_of(
    counts: dict[int, tuple[int, ...]], *, places=None, vectors=None, elsewhere=None, length: int = 10
) -> ranking.Pool:
    ids = sorted(counts)
    return ranking.pool(
        ids,
        {id: (places or {}).get(id, place(f"m{id}")) for id in ids},
        {id: TermCounts(length, found) for id, found in counts.items()},
        {id: full_to_half(vector.tobytes()) for id, vector in (vectors or {}).items()},
        elsewhere or {},
    )


def scored(pool: ranking.Pool, terms, query, bare=False) -> ranking.Scores:
    return ranking.score(pool, terms, None if query is None else query.astype("<f4").tobytes(), RANGE, bare=bare)


def scores_of(pool: ranking.Pool, terms=("alpha", "beta"), query=None) -> dict[int, float]:
    return dict(zip(pool.ids, scored(pool, terms, query).scores, strict=True))


def test_a_word_of_all_candidates_weighs_less_than_one_that_tells_them_apart():
    # Ten apart, so that nobody is anybody's neighbour.
    scores = scores_of(pool_of({10: (3, 0), 20: (1, 1), 30: (1, 0), 40: (1, 0)}))
    assert scores[20] > 2 * scores[10]


def test_a_direction_that_all_vectors_share_does_not_hide_which_one_is_near():
    shared = [8.0, 0.0, 0.0]
    vectors = {id * 10: unit(*shared, *np.eye(40)[id]) for id in range(40)}
    pool = pool_of(dict.fromkeys(vectors, ()), vectors=vectors)
    query = unit(8.0, 0.0, 0.0, *np.eye(40)[7])
    scores = scores_of(pool, (), query)
    others = [score for id, score in scores.items() if id != 70]
    cosines = scored(pool, (), query).cosines
    assert max(cosines) - min(cosines) < 0.02
    assert scores[70] > 1.5 * max(others)


def test_words_count_more_in_a_question_of_many_words():
    vectors = {10: unit(1, 0), 20: unit(0, 1)}
    few = scores_of(pool_of({10: (0,) * 3, 20: (1,) * 3}, vectors=vectors), ("a", "b", "c"), unit(1, 0))
    terms = tuple(f"t{n}" for n in range(60))
    many = scores_of(pool_of({10: (0,) * 60, 20: (1,) * 60}, vectors=vectors), terms, unit(1, 0))
    assert few[10] > few[20]
    assert many[20] > many[10]


def test_a_short_text_gains_by_what_was_stored_right_before_it():
    scores = scores_of(pool_of({1: (1, 1), 2: (0, 1), 9: (0, 1)}))
    assert scores[1] > scores[2] > scores[9]


def test_a_text_that_speaks_for_itself_hardly_gains_by_its_neighbour():
    short = scores_of(pool_of({1: (1, 1), 2: (0, 1), 9: (0, 1)}, length=10))
    long = scores_of(pool_of({1: (1, 1), 2: (0, 1), 9: (0, 1)}, length=300))
    assert long[2] - long[9] < 0.1 * (short[2] - short[9])


@pytest.mark.parametrize(
    "other",
    [
        place("elsewhere", space="t"),
        place("later", event_ms=HOUR_MS + 1),
        place("m1"),
    ],
    ids=["of another namespace", "of another hour", "of the same memory"],
)
def test_no_text_gains_by_one(other):
    scores = scores_of(pool_of({1: (1, 1), 2: (0, 1), 9: (0, 1)}, places={2: other}))
    assert scores[2] == pytest.approx(scores[9])


def test_endings_of_japanese_words_weigh_less_than_their_stems():
    scores = scores_of(pool_of({10: (1, 0), 20: (0, 1)}), ("設定", "され"))
    assert scores[10] > scores[20]


def test_words_alone_give_the_best_full_marks_and_no_candidate_gives_nothing():
    scores = scores_of(pool_of({10: (1, 0), 20: (2, 0), 30: (0, 1)}))
    assert max(scores.values()) == 1.0
    assert scored(pool_of({}), ("alpha",), None).scores == []


def test_scores_stay_within_0_and_1_with_one_candidate_equal_ones_and_ones_without_a_vector():
    same = unit(1, 0)
    for counts, vectors in (
        ({10: (1, 1)}, {10: same}),
        ({10: (1, 1), 20: (1, 1)}, {10: same, 20: same}),
        ({10: (1, 1), 20: (0, 1)}, {20: unit(-1, 0)}),
        ({10: (0, 0)}, {10: unit(-1, 0)}),
    ):
        found = scored(pool_of(counts, vectors=vectors), ("alpha", "beta"), same)
        assert all(0 <= score <= 1 for score in found.scores)
        assert [cosine is None for cosine in found.cosines] == [id not in vectors for id in sorted(counts)]


def test_a_chunk_without_a_vector_is_ranked_by_its_words():
    scores = scores_of(pool_of({10: (1, 1), 20: (0, 0)}, vectors={20: unit(0, 1)}), query=unit(1, 0))
    assert scores[10] > scores[20]


def test_a_cosine_of_another_model_counts_for_a_chunk_without_a_vector():
    counts = {10: (0, 0, 0), 20: (0, 0, 0), 30: (0, 0, 0)}
    pool = pool_of(counts, vectors={10: unit(0, 1)}, elsewhere={20: 0.9, 30: 0.1})
    scores = scores_of(pool, ("a", "b", "c"), unit(1, 0))
    assert scores[20] > scores[30]


def test_terms_are_counted_as_they_stand_in_the_text(store_hub):
    hub = store_hub
    space = space_of("notes", "alice", frozenset())
    with call_as(hub, "alice").write() as w:
        for _, content in TEXTS:
            memories.add(w, Draft(space, "note", content))
    with call_as(hub, "alice").read() as v:
        ids = store.matching_ids(v, [])
        texts = store.texts(v, ids)
        for question, _ in QUESTIONS:
            terms = query_terms(question)
            counted = store.engine(v).counts_of(v.connection, terms, ids)
            assert counted.keys() == set(ids)
            for id in ids:
                held = tokens(texts[id][0])
                found = tuple(
                    sum(token.startswith(term[:-1]) for token in held) if term.endswith("*") else held.count(term)
                    for term in terms
                )
                assert counted[id] == (len(held), found)


@pytest.fixture
def store_hub(store, make_hub):
    return make_hub(store)


def test_a_bare_word_finds_the_text_that_holds_it_and_a_question_with_it_need_not():
    vectors = {id: unit(1, *np.eye(30)[id // 10 - 1]) for id in range(10, 310, 10)}
    counts = dict.fromkeys(vectors, (0,)) | {300: (1,)}
    query = unit(1, *np.eye(30)[0])
    best = {
        bare: pool.ids[int(np.argmax(scored(pool, ("quetzal",), query, bare).scores))]
        for bare in (True, False)
        for pool in [pool_of(counts, vectors=vectors)]
    }
    assert best == {True: 300, False: 10}


def test_vectors_decide_more_when_words_of_the_question_are_nowhere():
    vectors = {id: unit(1, *np.eye(30)[id // 10 - 1]) for id in range(10, 310, 10)}
    counts = dict.fromkeys(vectors, (0,) * 6) | {300: (1,) + (0,) * 5}
    query = unit(1, *np.eye(30)[0])
    missing = scores_of(pool_of(counts, vectors=vectors), tuple("abcdef"), query)
    counts = dict.fromkeys(vectors, (0,)) | {300: (1,)}
    found = scores_of(pool_of(counts, vectors=vectors), ("a",), query)
    assert missing[10] - missing[300] > found[10] - found[300]
