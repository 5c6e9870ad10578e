"""What a memory's time and status do to its score, and that equal ones stay as they are."""

from __future__ import annotations

from hivelore.base.search import priors
from hivelore.base.search.model import Place
from hivelore.base.search.when import When

DAY = 86_400_000


def place(event_ms: int = 0, status: str = "active") -> Place:
    return Place("note", "m", "m", "s", event_ms, status)


def test_among_memories_of_the_same_time_and_status_nothing_changes():
    scores = {1: 0.9, 2: 0.5, 3: -0.1}
    assert priors.adjusted(scores, {chunk: place(5 * DAY) for chunk in scores}) == scores


def test_of_equal_scores_the_newer_wins_and_never_by_more_than_the_share():
    places = {1: place(0), 2: place(180 * DAY), 3: place(1_000 * DAY)}
    found = priors.adjusted(dict.fromkeys(places, 0.5), places)
    assert 0.5 == found[3] > found[2] > found[1] >= 0.5 - priors.RECENCY_SHARE


def test_recency_cannot_lift_a_memory_over_one_that_answers_clearly_better():
    found = priors.adjusted({1: 0.5, 2: 0.48}, {1: place(0), 2: place(5_000 * DAY)})
    assert found[1] > found[2]


def test_a_memory_from_the_time_that_is_asked_for_gains_and_none_is_left_out():
    when = When("May", 0, 10 * DAY, 20 * DAY, 0.5)
    found = priors.adjusted({1: 0.5, 2: 0.5}, {1: place(15 * DAY), 2: place(20 * DAY)}, [when])
    assert found.keys() == {1, 2}
    assert found[1] > found[2] == 0.5


def test_an_event_that_was_not_found_says_nothing():
    when = When("before the move", 0, None, None, 0.4, "move", "before")
    assert priors.adjusted({1: 0.5}, {1: place()}, [when]) == {1: 0.5}


def test_superseded_and_archived_memories_fall_and_a_bad_score_does_not_rise():
    statuses = {1: "active", 2: "superseded", 3: "archived", 4: "superseded"}
    found = priors.adjusted(
        {1: 0.5, 2: 0.5, 3: 0.5, 4: -0.2}, {chunk: place(status=status) for chunk, status in statuses.items()}
    )
    assert found[1] == 0.5
    assert 0 < found[2] < 0.5
    assert 0 < found[3] < 0.5
    assert found[4] == -0.2


def test_without_candidates_there_is_nothing_to_score():
    assert priors.adjusted({}, {}) == {}
