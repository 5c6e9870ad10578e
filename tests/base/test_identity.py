"""Who is calling: bearer keys, the local user, and what namespaces mean."""

from __future__ import annotations

import pytest

from hivelore.base.identity.service import (
    BearerKeyAuth,
    LocalAuth,
    clean_namespace,
    make_authenticator,
    resolve_scope,
)
from hivelore.core.actor import LOCAL_USER, Principal, Role, Space
from hivelore.core.errors import Invalid, Unauthenticated
from hivelore.core.settings import Settings

KEYS = BearerKeyAuth(("k-alice:alice", "k-bob:bob", "k-bob-2:bob", "key with:colon: in user"))


@pytest.mark.promise("P-016")
@pytest.mark.parametrize(
    ("header", "user"),
    [
        ("Bearer k-alice", "alice"),
        ("bearer k-bob", "bob"),
        ("BEARER   k-bob-2  ", "bob"),
    ],
)
def test_a_known_key_is_its_user(header, user):
    assert KEYS.authenticate(header) == Principal(user, Role.AGENT)


@pytest.mark.parametrize("header", [None, "", " "])
def test_no_credential_is_told_apart_from_a_wrong_one(header):
    with pytest.raises(Unauthenticated, match=r"(expected|must be): Bearer <key>"):
        KEYS.authenticate(header)


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Basic k-alice", "k-alice", "Bearer: k-alice", "Token k-alice"]
)
def test_another_scheme_or_an_empty_key_is_refused_with_the_right_form(header):
    with pytest.raises(Unauthenticated, match="Bearer <key>"):
        KEYS.authenticate(header)


@pytest.mark.parametrize(
    "key",
    [
        "k-alic",
        "k-alicee",
        "K-ALICE",
        "k-alice:alice",
        "alice",
        "k-alice k-bob",
        "*",
        "ключ",
        "k-alice\0",
        "\ud800",
        "x" * 100_000,
    ],
)
def test_a_wrong_key_is_refused_without_repeating_it(key):
    with pytest.raises(Unauthenticated) as caught:
        KEYS.authenticate(f"Bearer {key}")
    assert caught.value.message == "Authentication failed: invalid API key"


def test_keys_are_not_kept_in_clear():
    assert "k-alice" not in repr(vars(KEYS))


def test_without_keys_nobody_gets_in():
    with pytest.raises(Unauthenticated):
        BearerKeyAuth(()).authenticate("Bearer ")
    with pytest.raises(Unauthenticated):
        BearerKeyAuth(()).authenticate("Bearer x")


@pytest.mark.parametrize("header", [None, "", "Bearer anything", "nonsense"])
def test_on_loopback_everybody_is_the_local_user(header):
    assert LocalAuth().authenticate(header) == Principal(LOCAL_USER, Role.OWNER)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (Settings(), LocalAuth),
        (Settings(api_keys=("k:u",)), BearerKeyAuth),
        (Settings(auth="local", api_keys=("k:u",)), LocalAuth),
        (Settings(auth="bearer", api_keys=("k:u",)), BearerKeyAuth),
        (Settings(auth="bearer"), BearerKeyAuth),
    ],
)
def test_settings_choose_the_way_in(settings, kind):
    assert type(make_authenticator(settings)) is kind


# -- namespaces --------------------------------------------------------------------------------------------------------

ALICE = Principal("alice")
SETTINGS = Settings(shared_namespaces=("shared", "team"))


def test_names_resolve_to_shared_and_private_spaces_once_each():
    scope = resolve_scope(ALICE, SETTINGS, ("team", "notes", "team"))
    assert scope.spaces is not None
    assert scope.spaces[:2] == (Space("shared", "", "team"), Space("private", "alice", "notes"))
    # What alice kept as `team` before the name was shared stays within her reach.
    assert scope.spaces[2:] == (Space("private", "alice", "team"),)


@pytest.mark.parametrize("names", [("*",), ("notes", "*"), ("*", "nobody's")])
def test_a_star_means_everything_readable(names):
    assert resolve_scope(ALICE, SETTINGS, names).everything


def test_a_missing_namespace_means_the_default():
    for missing in (None, ""):
        assert clean_namespace(missing, "shared", 256) == "shared"
    assert clean_namespace(" notes ", "shared", 256) == " notes "


def test_a_namespace_that_is_too_long_is_refused_with_its_limit():
    assert clean_namespace("n" * 256, "shared", 256) == "n" * 256
    with pytest.raises(Invalid, match="257 characters; the limit is 256") as caught:
        clean_namespace("n" * 257, "shared", 256)
    assert caught.value.data["field"] == "namespace"
