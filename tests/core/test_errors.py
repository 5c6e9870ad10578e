"""Errors are nouns with a code, a default message and facts."""

from __future__ import annotations

import pytest

from hivelore.core.errors import KINDS, HiveloreError, Invalid, Unavailable


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_code_and_a_default_message_for_people(kind):
    error = kind()
    assert error.code == kind.code != HiveloreError.code
    assert error.message.endswith(".")
    assert str(error) == error.message


def test_codes_are_different():
    assert len({kind.code for kind in KINDS}) == len(KINDS) == 10


def test_a_message_and_facts_of_ones_own():
    error = Invalid("limit must be 1 or more.", field="limit", most=200)
    assert error.message == "limit must be 1 or more."
    assert error.data == {"field": "limit", "most": 200}


def test_a_subclass_speaks_with_its_own_docstring_and_stays_of_its_kind():
    class TapeFull(Unavailable):
        """The tape is full. Put in another one.

        This line is for developers.
        """

        code = "tape_full"

    error = TapeFull()
    assert (error.message, error.code) == ("The tape is full. Put in another one.", "tape_full")
    assert isinstance(error, Unavailable)
