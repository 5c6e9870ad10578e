"""Looking words up in a store of any size: the same on both stores, bounded, and as good as reading everything."""

from __future__ import annotations

import shutil
from contextlib import ExitStack

import pytest

from hivelore.base.memories import service as memories
from hivelore.base.memories.model import Draft
from hivelore.base.search import store as search_store
from hivelore.base.search import words
from hivelore.base.search.model import Filters
from hivelore.core.actor import Scope, space_of
from support import postgres
from support.embedders import StatefulEmbedder
from support.hubs import Store, call_as, opened

SHARED = frozenset({"shared"})


@pytest.fixture(scope="module")
def hubs(sqlite_template, postgres_server, tmp_path_factory):
    """Filled hubs on both stores, which the tests only read."""
    with ExitStack() as stack:
        made = {}
        for kind in ("sqlite", "postgres"):
            folder = tmp_path_factory.mktemp(kind)
            if kind == "sqlite":
                shutil.copyfile(sqlite_template, folder / "hivelore.db")
                store = Store(kind, f"sqlite:///{folder}/hivelore.db", folder / "hivelore.db")
            else:
                store = Store(kind, stack.enter_context(postgres.database(postgres_server)))
            without = StatefulEmbedder(status="off", reason="off")
            made[kind] = stack.enter_context(opened(store, folder, embedder=without))
            fill(made[kind])
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def hub(request, hubs):
    return hubs[request.param]


def fill(hub) -> None:
    """400 texts: `deploy` and `server` are in nearly all, each `rareN` in two, every eighth text in `side`."""
    with call_as(hub, "alice").write() as w:
        for n in range(400):
            said = f"deploy of the server rare{n // 2}" if n % 10 else f"lunch number{n} and the deploy"
            name = "side" if n % 8 == 0 else "main"
            tags = ("wanted",) if n == 7 else ()
            memories.add(w, Draft(space_of(name, "alice", SHARED), "note", f"{said} item{n}", tags=tags))


def look(hub, terms: list[str], names: tuple[str, ...] = (), *, limit: int = 20, tags: tuple[str, ...] = ()):
    """Texts of what is found, best first."""
    scope = Scope(tuple(space_of(name, "alice", SHARED) for name in names) or None)
    with call_as(hub, "alice").read() as v:
        found = search_store.match_text(v, terms, scope, Filters(tags=tags), limit)
        texts = search_store.texts(v, [each.chunk for each in found])
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    return [texts[each.chunk][0] for each in found]


def shrink(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    """A store of 400 texts is then as large as one of many millions."""
    for index in (search_store.sqlite, search_store.postgres):
        monkeypatch.setattr(index, "MOST_READ", limits.get("MOST_READ", index.MOST_READ))
    limits = {"SMALL": 0} | limits
    for name, value in limits.items():
        if name == "MOST_READ":
            continue
        monkeypatch.setattr(words, name, value)


def test_rare_words_decide_however_common_the_others_are(hub, monkeypatch):
    whole = look(hub, ["rare77", "deploy", "server"], limit=2)
    assert len(whole) == 2
    assert all("rare77 " in text for text in whole)
    shrink(monkeypatch, COUNTED=20, MOST_READ=10, PAIRED=30, RESCORED=10)
    assert look(hub, ["rare77", "deploy", "server"], limit=2) == whole


def test_of_common_words_alone_those_that_stand_together_win(hub, monkeypatch):
    shrink(monkeypatch, COUNTED=20, MOST_READ=10, PAIRED=30, RESCORED=10)
    found = look(hub, ["deploy", "server"])
    assert len(found) == 20
    assert all("server" in text for text in found)


def test_one_common_word_alone_finds_the_newest_texts_with_it(hub, monkeypatch):
    shrink(monkeypatch, COUNTED=20, MOST_READ=10, PAIRED=30, RESCORED=10)
    found = look(hub, ["deploy"], limit=50)
    assert len(found) == 30
    numbers = [int(text.rsplit("item", 1)[1]) for text in found]
    assert min(numbers) >= 370


@pytest.mark.parametrize(
    "limits",
    [{"TINY": 1_000, "NARROW": 2_000}, {"TINY": 2, "NARROW": 2_000}, {"TINY": 2, "NARROW": 10}],
    ids=["tiny", "narrow", "broad"],
)
def test_a_scope_finds_the_same_whichever_way_it_is_looked_up(hub, monkeypatch, limits):
    shrink(monkeypatch, **limits)
    found = look(hub, ["deploy", "server", "rare4"], ("side",), limit=100)
    assert len(found) == 50
    assert found[0].startswith("deploy of the server rare4 ")
    assert {int(text.rsplit("item", 1)[1]) % 8 for text in found} == {0}


def test_a_word_of_another_scope_is_not_found(hub):
    assert look(hub, ["item1"], ("main",)) == ["deploy of the server rare0 item1"]
    for name in ("side", "nowhere"):
        assert look(hub, ["item1"], (name, "empty")) == []


def test_candidates_that_the_conditions_refuse_are_passed_over(hub, monkeypatch):
    shrink(monkeypatch, RESCORED=5)
    assert look(hub, ["deploy", "server"], tags=("wanted",), limit=5) == ["deploy of the server rare3 item7"]


def test_the_name_of_a_space_is_no_word_of_its_texts(hub):
    space = space_of("side", "alice", SHARED).id
    assert look(hub, [space]) == []
    assert look(hub, space.split("_")) == []


def test_a_term_is_counted_exactly_up_to_a_limit_and_estimated_beyond(hub):
    with hub.db.read() as connection:
        index = search_store.sqlite if hub.db.dialect == "sqlite" else search_store.postgres
        assert index.frequency(connection, "deploy", 1_000, 400) == 400
        assert index.frequency(connection, "rare3", 10, 400) == 2
        assert index.frequency(connection, "absent", 10, 400) == 0
        assert 50 <= index.frequency(connection, "deploy", 50, 400) <= 400


def test_both_stores_score_alike(hubs, monkeypatch):
    shrink(monkeypatch)
    asked = [["deploy", "rare7", "lunch"], ["server", "item11"], ["dep*"]]
    for terms in asked:
        assert look(hubs["sqlite"], terms, limit=60) == look(hubs["postgres"], terms, limit=60)
