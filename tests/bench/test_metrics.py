"""The measures, on rankings counted by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.bench.metrics import Judged, figures, first_places, percentile, ranks_of


def judged(ranks, relevant, ms=1.0, tokens=10, kind="all"):
    return Judged("q", kind, tuple(ranks), relevant, ms, tokens)


def test_recall_is_the_share_of_relevant_units_within_the_cut():
    one = judged((1, 4, 10), 4)
    assert [one.recall(cut) for cut in (1, 5, 10)] == [0.25, 0.5, 0.75]


def test_the_reciprocal_rank_is_that_of_the_first_relevant_unit():
    assert judged((4, 5), 2).reciprocal_rank == 0.25
    assert judged((), 2).reciprocal_rank == 0
    assert (judged((10,), 3).any_hit, judged((), 3).any_hit) == (True, False)


def test_only_the_first_ten_places_count():
    assert ranks_of([f"u{i}" for i in range(1, 12)], {"u1", "u10", "u11"}) == (1, 10)


def test_a_unit_that_repeats_counts_where_it_stands_first():
    assert first_places(["D1", "D2", "D1", "D3", "D2"]) == ["D1", "D2", "D3"]


def test_figures_are_means_over_questions():
    found = figures([judged((1,), 1, ms=2, tokens=10), judged((3, 6), 2, ms=4, tokens=30)])
    assert found.questions == 2
    assert found.recall == (0.5, 0.75, 1.0)
    assert found.any_hit == 1
    assert found.mrr == pytest.approx((1 + 1 / 3) / 2)
    assert (found.p50_ms, found.p95_ms, found.tokens) == (2, 4, 20)


def test_percentiles_are_values_that_occurred():
    values = [float(i) for i in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.95)) == (50, 95)
    assert percentile([7.0], 0.95) == 7


@given(
    st.lists(st.sampled_from("abcdefghijklmnop"), max_size=30), st.sets(st.sampled_from("abcdefghijklmnop"), min_size=1)
)
def test_measures_lie_between_none_and_all_and_grow_with_the_cut(units, relevant):
    one = judged(ranks_of(first_places(units), relevant), len(relevant))
    shares = [one.recall(cut) for cut in (1, 5, 10)]
    assert 0 <= shares[0] <= shares[1] <= shares[2] <= 1
    assert one.any_hit == (shares[2] > 0)
    assert 0 <= one.reciprocal_rank <= 1
