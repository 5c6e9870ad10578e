"""Two people with keys on one hub, on each kind of store."""

from __future__ import annotations

import pytest
from doors_kit import Person, Rest, person, with_keys

from hivelore.work import Hub


@pytest.fixture
def keyed(hub: Hub) -> Hub:
    """A hub that asks for keys; Alice and Bob have one each."""
    return with_keys(hub)


@pytest.fixture
def alice(keyed: Hub) -> Person:
    return person(keyed, "alice")


@pytest.fixture
def bob(keyed: Hub) -> Person:
    return person(keyed, "bob")


@pytest.fixture
def rest(alice: Person) -> Rest:
    """Alice's REST client."""
    return Rest(alice)


@pytest.fixture
def bobs_rest(bob: Person) -> Rest:
    return Rest(bob)
