"""A correction outranks what it corrects, says so, and what it corrected is kept, found and given back."""

from __future__ import annotations

import pytest

from hivelore.base.memories import store
from hivelore.core.actor import Role
from hivelore.core.errors import Invalid
from hivelore.rooms.memory import service as memory
from hivelore.rooms.memory.service import Recalled
from hivelore.rooms.transcripts import service as transcripts
from support.hubs import call_as, clock_of, run_jobs


def remember(hub, content: str, who: str = "alice", **options):
    stored = memory.remember(call_as(hub, who), content, **{"namespace": "notes"} | options).memory
    clock_of(hub).advance(days=1)
    run_jobs(hub)
    return stored


def recall(hub, query: str, who: str = "alice", **options) -> Recalled:
    return memory.recall(call_as(hub, who), query, **{"namespaces": ["notes"], "limit": 8} | options)


def item(hub, id: str, who: str = "alice"):
    return memory.get(call_as(hub, who), id)


# -- said by the author ------------------------------------------------------------------------------------------------


def test_a_correction_ranks_above_what_it_corrects_although_the_old_words_match_better(hub):
    old = remember(hub, "deploys of the shop happen on friday evening")
    new = remember(hub, "releases of the shop go out tuesdays, deploys included", supersedes=old.id)
    found = recall(hub, "deploys of the shop on friday evening")
    assert [each.item.id for each in found.items] == [new.id, old.id]
    assert found.items[1].item.superseded_by == new.id
    assert found.items[0].item.superseded_by == ""
    assert found.items[0].hit.score >= found.items[1].hit.score


def test_both_ends_name_each_other_and_a_chain_leads_to_the_newest(hub):
    first = remember(hub, "the key is under the mat")
    second = remember(hub, "the key is in the shed", supersedes=first.id)
    third = remember(hub, "the key is with the neighbour", supersedes=second.id)
    assert item(hub, first.id).superseded_by == third.id
    assert item(hub, second.id).superseded_by == third.id
    assert item(hub, second.id).supersedes == (first.id,)
    assert (item(hub, third.id).superseded_by, item(hub, third.id).status) == ("", "active")


def test_a_circle_of_corrections_ends(hub):
    one = remember(hub, "the key is under the mat")
    two = remember(hub, "the key is in the shed", supersedes=one.id)
    with call_as(hub, "alice").write() as w:
        store.link(w, one.space, one.id, "supersedes", two.id)
    assert item(hub, one.id).superseded_by in (one.id, two.id, "")


def test_what_was_corrected_holds_again_when_the_correction_is_forgotten(hub):
    first = remember(hub, "the key is under the mat")
    second = remember(hub, "the key is in the shed", supersedes=first.id)
    memory.forget(call_as(hub, "alice"), second.id)
    assert (item(hub, first.id).status, item(hub, first.id).superseded_by) == ("active", "")
    assert recall(hub, "key mat").items[0].hit.ref == first.id


def test_when_the_middle_of_a_chain_is_forgotten_its_ends_join(hub):
    first = remember(hub, "the key is under the mat")
    second = remember(hub, "the key is in the shed", supersedes=first.id)
    third = remember(hub, "the key is with the neighbour", supersedes=second.id)
    memory.forget(call_as(hub, "alice"), second.id)
    assert (item(hub, first.id).status, item(hub, first.id).superseded_by) == ("superseded", third.id)


def test_the_text_and_vectors_of_what_is_superseded_stay(hub):
    old = remember(hub, "the key is under the mat")
    remember(hub, "the key is in the shed", supersedes=old.id)
    found = item(hub, old.id)
    assert (found.text, found.updated_ms) == ("the key is under the mat", old.updated_ms)
    hit = next(each.hit for each in recall(hub, "key mat").items if each.hit.ref == old.id)
    assert hit.cosine is not None


def test_a_correction_goes_where_its_original_is_when_no_namespace_is_named(hub):
    old = remember(hub, "the key is under the mat")
    new = memory.remember(call_as(hub, "alice"), "the key is in the shed", supersedes=old.id).memory
    assert new.space == old.space


def stored(hub) -> int:
    """How many memories Alice has in the namespaces of this test."""
    return sum(recall(hub, "key", namespaces=[name]).total for name in ("notes", "other", "shared"))


def test_a_correction_that_cannot_be_tied_to_its_original_is_refused_and_not_stored(hub):
    old = remember(hub, "the key is under the mat")
    bobs = remember(hub, "the key is lost", who="bob", namespace="shared")
    long = remember(hub, "\n\n".join(f"Paragraph {n} about keys." + " word" * 90 for n in range(4)))
    transcripts.save_session(call_as(hub, "alice"), "s1", "user: where is the key?", "notes")
    before = stored(hub)
    alice = call_as(hub, "alice")
    for id, namespace, error, words in (
        ("0" * 32, "notes", memory.NoSuchMemory, "no memory with id"),
        (bobs.id, "shared", memory.NoSuchMemory, "no memory with id"),
        (old.id, "other", Invalid, "notes"),
        (long.parts[1].id, "notes", memory.PartOfWhole, long.id),
    ):
        with pytest.raises(error) as caught:
            memory.remember(alice, "the key is in the shed", namespace=namespace, supersedes=id)
        assert words in caught.value.message
    assert stored(hub) == before
    assert item(hub, old.id).status == "active"
    assert item(hub, bobs.id).status == "active"


def test_what_one_user_corrects_in_private_no_other_learns(hub):
    old = remember(hub, "the key is under the mat")
    with pytest.raises(memory.NoSuchMemory):
        memory.remember(call_as(hub, "bob"), "the key is mine", supersedes=old.id)
    assert item(hub, old.id).status == "active"


def test_an_admin_may_correct_what_another_wrote_for_all(hub):
    old = remember(hub, "the key is under the mat", namespace="shared")
    new = memory.remember(call_as(hub, "root", Role.ADMIN), "the key is in the shed", supersedes=old.id).memory
    assert item(hub, old.id).superseded_by == new.id


# -- seen at recall ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        ("API limit is 100", "API limit is now 250", "API limit is 100?"),
        ("APIの上限は100です", "APIの上限は現在250です", "APIの上限は100ですか"),
        ("API 限制是 100", "API 限制现在是 250", "API 限制是 100 吗"),
        ("Das API-Limit ist 100", "Das API-Limit ist jetzt 250", "Ist das API-Limit 100?"),
    ],
)
def test_the_newer_version_of_a_statement_goes_first_even_where_the_older_matches_better(hub, older, newer, query):
    old = remember(hub, older)
    remember(hub, "lunch is at noon")
    new = remember(hub, newer)
    found = recall(hub, query)
    assert [each.hit.ref for each in found.items][:2] == [new.id, old.id]
    assert [each.hit.older_version_of for each in found.items][:2] == ["", new.id]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Server 1 listens on port 8080", "Server 2 listens on port 9090"),
        ("サーバー1のポートは8080です", "サーバー2のポートは9090です"),
        ("服务器1的端口是8080", "服务器2的端口是9090"),
        ("Server A lauscht auf Port 8080", "Server B lauscht auf Port 9090"),
    ],
)
def test_facts_about_two_servers_are_two_facts(hub, one, other):
    ids = {remember(hub, one).id, remember(hub, other).id}
    found = recall(hub, one)
    assert {each.hit.ref for each in found.items} == ids
    assert {each.hit.older_version_of for each in found.items} == {""}


def test_copies_fold_into_one_hit_that_names_them_and_leave_room_on_the_page(hub):
    copies = [remember(hub, "The API limit is 100.", tags=[str(n)]).id for n in range(8)]
    other = remember(hub, "The API limit of the sandbox is 5").id
    found = recall(hub, "API limit", limit=2)
    assert {found.items[0].hit.ref, *found.items[0].hit.copies} == set(copies)
    assert [each.hit.ref for each in found.items][1] == other


def test_pages_neither_repeat_nor_skip_when_copies_fold_and_versions_move(hub):
    ids = [remember(hub, f"The API limit of service {n % 60} is {n}").id for n in range(120)]
    ids += [remember(hub, f"the api limit of service {n} is {n}").id for n in range(0, 60, 7)]
    seen: list[str] = []
    for offset in range(0, 200, 7):
        found = recall(hub, "the API limit of a service", limit=7, offset=offset)
        for each in found.items:
            seen += [each.hit.ref, *each.hit.copies]
    assert sorted(seen) == sorted(ids)
