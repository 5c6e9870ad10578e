"""Another embedding model: both answer until the new one has everything, then the former's vectors go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import func, select, text

from hivelore.adapters.embed_hash import HashEmbedder
from hivelore.app import make_former
from hivelore.base.search import handover, jobs
from hivelore.base.search.model import VECTORS
from hivelore.base.search.tables import models, vectors
from hivelore.core.errors import TextRefused, Unavailable
from hivelore.core.settings import Settings
from hivelore.rooms.memory import service as memory
from hivelore.work import Hub
from support.embedders import StatefulEmbedder
from support.hubs import Store, call_as, clock_of, run_jobs

MEANING = {"car": "automobile", "ship": "vessel"}  # what vectors know and words do not
OLD, NEW = "old/256", "new/256"


def remember(hub: Hub, content: str) -> str:
    return memory.remember(call_as(hub, "alice"), content, namespace="notes").memory.id


def recall(hub: Hub, query: str) -> memory.Recalled:
    return memory.recall(call_as(hub, "alice"), query, namespaces=["notes"], limit=10)


def near(hub: Hub, query: str) -> list[str]:
    """What is found by meaning alone, best first."""
    return [each.item.text for each in recall(hub, query).items if each.hit.cosine and each.hit.cosine > 0.5]


def by_model(hub: Hub) -> dict[str, int]:
    """How many vectors there are of each model."""
    joined = models.join(vectors, vectors.c.model == models.c.id)
    with hub.db.read() as connection:
        rows = connection.execute(select(models.c.name, func.count()).select_from(joined).group_by(models.c.name))
        return {row[0]: row[1] for row in rows}


@pytest.fixture
def old() -> StatefulEmbedder:
    return StatefulEmbedder(OLD, synonyms=MEANING)


@pytest.fixture
def new() -> StatefulEmbedder:
    return StatefulEmbedder(NEW, synonyms=MEANING)


@pytest.fixture
def before(store: Store, make_hub: Callable[..., Hub], old: StatefulEmbedder) -> Hub:
    """A store whose two memories have vectors of the former model."""
    hub = make_hub(store, embedder=old)
    remember(hub, "the automobile")
    remember(hub, "the vessel")
    run_jobs(hub)
    return hub


@pytest.fixture
def hub(
    store: Store, make_hub: Callable[..., Hub], before: Hub, old: StatefulEmbedder, new: StatefulEmbedder
) -> Iterator[Hub]:
    """The same store after a restart with another model in the settings."""
    hub = make_hub(store, embedder=new, former=lambda name: old if name == OLD else "unavailable")
    handover.prepare(hub)
    yield hub


def test_before_the_new_model_has_any_vector_the_former_one_answers(hub: Hub) -> None:
    found = recall(hub, "the car")
    assert found.items[0].item.text == "the automobile"
    assert (found.items[0].hit.vector_rank, found.items[0].hit.cosine) == (1, pytest.approx(1, abs=0.01))
    assert found.findings.engines == ("text", "vectors")
    change = found.findings.handover
    assert change is not None
    assert (change.model, change.former, change.answered, change.former_unavailable) == (NEW, OLD, (NEW, OLD), "")


def test_while_it_goes_on_each_model_answers_for_what_it_has(hub: Hub) -> None:
    jobs.reconcile(hub, {})
    remember(hub, "the car in the garage")
    jobs.BATCH, whole = 1, jobs.BATCH
    try:
        assert jobs.embed_batch(hub) == 1  # the newest comes first
    finally:
        jobs.BATCH = whole
    assert by_model(hub) == {OLD: 2, NEW: 1}
    assert near(hub, "the car") == ["the automobile", "the car in the garage"]
    assert recall(hub, "the car").findings.pending == 2
    assert near(hub, "the ship")[0] == "the vessel"


def test_once_the_new_model_has_everything_the_former_goes(hub: Hub, old: StatefulEmbedder) -> None:
    jobs.reconcile(hub, {})
    during = near(hub, "the car")
    run_jobs(hub)
    assert by_model(hub) == {OLD: 2, NEW: 2}  # not at once
    for _ in range(2):
        clock_of(hub).advance(minutes=1)
        run_jobs(hub)
    assert by_model(hub) == {NEW: 2}
    closed: list[bool] = []
    old.close = lambda: closed.append(True)  # type: ignore[method-assign]
    found = recall(hub, "the car")
    assert found.findings.handover is None
    assert near(hub, "the car") == during
    hub.helpers.submit(lambda: None).result(5)
    handover.prepare(hub)
    assert closed == [True]
    assert hub.former.wanted is None


def test_a_former_model_that_cannot_be_had_leaves_it_to_the_words_and_the_answer_says_so(
    store: Store, make_hub: Callable[..., Hub], before: Hub, new: StatefulEmbedder
) -> None:
    hub = make_hub(store, embedder=new, former=lambda name: "unavailable: this version cannot load it")
    handover.prepare(hub)
    found = recall(hub, "vessel")
    assert [each.item.text for each in found.items] == ["the vessel"]
    assert found.items[0].hit.cosine is None
    change = found.findings.handover
    assert change is not None
    assert (change.answered, change.former_unavailable) == ((NEW,), "unavailable: this version cannot load it")


def test_the_former_model_answers_while_the_new_one_loads(hub: Hub, new: StatefulEmbedder) -> None:
    new.now = type(new.now)("loading", "it is read from disk")
    found = recall(hub, "the car")
    assert found.items[0].item.text == "the automobile"
    assert (found.findings.engines, found.findings.unavailable) == (("text", "vectors"), {})
    assert found.findings.handover is not None
    assert found.findings.handover.answered == (OLD,)


def test_cosines_of_the_former_model_count_on_the_scale_of_the_present_one(hub: Hub, old: StatefulEmbedder) -> None:
    old.cosine_range = (0.8, 1.0)  # type: ignore[misc]  # as e5, beside hash's (0.0, 0.6)
    assert recall(hub, "the car").items[0].hit.cosine == pytest.approx(0.6, abs=0.01)


def test_embeddings_that_are_switched_off_bring_no_former_model_back(
    store: Store, make_hub: Callable[..., Hub], before: Hub
) -> None:
    asked: list[str] = []
    hub = make_hub(store, embedder=StatefulEmbedder("off", "off", "switched off"), former=asked.append)
    handover.prepare(hub)
    found = recall(hub, "vessel")
    assert found.findings.handover is None
    assert set(found.findings.unavailable) == {VECTORS}
    assert asked == []


# -- the end of it -----------------------------------------------------------------------------------------------------


def pass_minutes(hub: Hub, number: int) -> None:
    for _ in range(number):
        run_jobs(hub)
        clock_of(hub).advance(minutes=1)


def test_a_server_that_still_works_with_the_former_model_keeps_its_vectors(hub: Hub, before: Hub) -> None:
    jobs.reconcile(hub, {})
    pass_minutes(hub, 1)
    for number in range(3):
        remember(before, f"written by the other server, number {number}")
        while jobs.embed_batch(before):
            pass
        pass_minutes(hub, 1)
        assert by_model(hub)[OLD] == 3 + number
    pass_minutes(hub, 3)
    assert by_model(hub) == {NEW: 5}  # what the other one embedded has the new model's vectors, too


def test_a_text_that_the_new_model_refuses_does_not_keep_the_former_for_ever(hub: Hub, new: StatefulEmbedder) -> None:
    embed = new.embed

    def refuse(texts: Any, role: Any) -> list[bytes]:
        if any("vessel" in each for each in texts):
            raise TextRefused("no")
        return embed(texts, role)

    new.embed = refuse  # type: ignore[method-assign]
    jobs.reconcile(hub, {})
    pass_minutes(hub, 4)
    assert by_model(hub) == {NEW: 1}
    with hub.db.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM job WHERE name = 'search.retire'")).scalar_one() == 0


def test_while_the_new_model_is_away_the_former_stays(hub: Hub, new: StatefulEmbedder, monkeypatch: Any) -> None:
    jobs.reconcile(hub, {})
    pass_minutes(hub, 1)
    remember(hub, "waits for its vector")
    monkeypatch.setattr(jobs, "LOAD_TIMEOUT_S", 0.0)
    new.now = type(new.now)("unavailable", "the endpoint is away")
    pass_minutes(hub, 5)
    assert by_model(hub) == {OLD: 2, NEW: 2}
    new.now = type(new.now)("ready")
    pass_minutes(hub, 12)
    assert by_model(hub) == {NEW: 3}


def test_vectors_go_in_short_steps_and_a_stop_in_between_is_taken_up(hub: Hub, monkeypatch: Any) -> None:
    monkeypatch.setattr(handover, "DROPPED_ROWS", 1)
    jobs.reconcile(hub, {})
    run_jobs(hub)
    with hub.db.read() as connection:
        former = connection.execute(select(models.c.id).where(models.c.name == OLD)).scalar_one()
        newest = connection.execute(select(func.max(vectors.c.id)).where(vectors.c.model == former)).scalar_one()
    hub.stopping.set()
    with pytest.raises(Unavailable, match="takes this up"):
        handover.retire(hub, {"model": former, "newest": newest})
    hub.stopping.clear()
    assert by_model(hub) == {OLD: 1, NEW: 2}
    handover.retire(hub, {"model": former, "newest": newest})
    assert by_model(hub) == {NEW: 2}


# -- whether the former model can be had -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hash/256", "HashEmbedder"),
        ("multilingual-e5-small/mix8/384", "E5Embedder"),
        ("use-multilingual-v3/numpy/512", "LightEmbedder"),
        ("fastembed/BAAI/bge-small-en-v1.5/384", "FastembedEmbedder"),
    ],
)
def test_an_embedder_is_made_from_its_recorded_name(name: str, kind: str) -> None:
    made = make_former(Settings(), name)
    assert type(made).__name__ == kind
    made.close()  # type: ignore[union-attr]


def test_no_text_goes_to_an_endpoint_that_the_settings_no_longer_name() -> None:
    left = Settings(embedder="e5", embed_url="https://embeddings.example")
    assert "no text is sent" in make_former(left, "http/text-embedding-3/8")  # type: ignore[operator]
    kept = make_former(Settings(embedder="http", embed_url="http://127.0.0.1:9/v1", embed_model="b"), "http/a/8")
    assert (type(kept).__name__, kept.model) == ("HttpEmbedder", "http/a/8")  # type: ignore[union-attr]
    kept.close()  # type: ignore[union-attr]


def test_a_name_of_another_version_is_no_error() -> None:
    assert isinstance(make_former(Settings(), "some-model/of-the-future/7"), str)
    assert HashEmbedder.model != "hash/257"
    assert isinstance(make_former(Settings(), "hash/257"), str)
