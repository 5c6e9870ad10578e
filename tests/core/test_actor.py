"""Roles include the lower ones; names resolve to spaces; a space's id is its identity."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.actor import Principal, Role, Scope, Space, space_of

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)
SHARED = frozenset({"shared", "team"})


def test_a_role_includes_the_lower_ones():
    for mine in Role:
        for needed in Role:
            assert Principal("alice", mine).may(needed) == (mine >= needed)


def test_roles_are_ordered_from_reader_to_owner():
    assert sorted(Role) == [Role.READER, Role.AGENT, Role.ADMIN, Role.OWNER]


def test_a_listed_name_is_shared_and_any_other_belongs_to_the_caller():
    assert space_of("team", "alice", SHARED) == Space("shared", "", "team")
    assert space_of("Team", "alice", SHARED) == Space("private", "alice", "Team")
    assert space_of("notes", "alice", SHARED) == Space("private", "alice", "notes")


def test_everybody_means_the_same_shared_space():
    assert space_of("team", "alice", SHARED).id == space_of("team", "bob", SHARED).id


@given(names, names, names, names)
def test_private_spaces_are_told_apart_by_owner_and_name(owner, name, other_owner, other_name):
    same = (owner, name) == (other_owner, other_name)
    assert (Space("private", owner, name).id == Space("private", other_owner, other_name).id) == same


def test_kinds_are_told_apart_though_names_are_equal():
    ids = {Space("private", "", "x").id, Space("project", "", "x").id, Space("shared", "", "x").id}
    assert len(ids) == 3
    assert {id[:3] for id in ids} == {"pr_", "sh_"}


def test_a_scope_without_spaces_is_everything_and_an_empty_one_is_nothing():
    assert Scope(None).everything
    assert not Scope(()).everything
