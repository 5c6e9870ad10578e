"""Operations as values: schemas, lenient reading, explanations of what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from hivelore.core.errors import Invalid
from hivelore.doors.kit.operation import Dialect, Input, Operation
from hivelore.work import Call


class Given(Input):
    text: str = Field(description="Some text.")
    number: int = Field(3, description="A number.")
    names: list[str] | None = Field(None, description="Names.")


def probe(call: Call, given: Given) -> dict[str, Any]:
    """First line.
    Second line."""
    return {}


PROBE = Operation("probe", "Probe", Given, probe)


def test_the_description_is_the_docstring():
    assert PROBE.description == "First line.\nSecond line."


def test_the_schema_has_no_derived_titles_and_forbids_unknown_names():
    assert PROBE.input_schema() == {
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": "Some text."},
            "number": {"type": "integer", "default": 3, "description": "A number."},
            "names": {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "default": None,
                "description": "Names.",
            },
        },
    }


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"text": "x"}, {"text": "x", "number": 3, "names": None}),
        ({"text": "x", "number": "5"}, {"text": "x", "number": 5, "names": None}),
        ({"text": "x", "number": 5.0}, {"text": "x", "number": 5, "names": None}),
        ({"text": "x", "number": None}, {"text": "x", "number": 3, "names": None}),
        ({"text": "x", "names": '["a","b"]'}, {"text": "x", "number": 3, "names": ["a", "b"]}),
        ({"text": "x", "names": " [] "}, {"text": "x", "number": 3, "names": []}),
        ({"text": "[1]"}, {"text": "[1]", "number": 3, "names": None}),
    ],
)
def test_what_is_read_leniently(arguments: dict[str, Any], wanted: dict[str, Any]):
    assert PROBE.read(arguments).model_dump() == wanted


def test_null_counts_as_absent_so_that_settings_can_supply_the_default():
    assert PROBE.read({"text": "x", "number": None}).model_fields_set == {"text"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["text is required"]),
        ({"text": None}, ["text", "got None"]),
        ({"text": "x", "number": "five"}, ["number", "'five'"]),
        ({"text": "x", "names": ["a", 5]}, ["names.1", "got 5"]),
        ({"text": "x", "nmaes": []}, ["unknown argument 'nmaes'", "known: text, number, names"]),
        ({"number": [], "colour": 1}, ["text is required", "number", "unknown argument 'colour'"]),
    ],
)
def test_what_is_refused_is_named_with_all_that_is_wrong(arguments: dict[str, Any], words: list[str]):
    with pytest.raises(Invalid) as caught:
        PROBE.read(arguments)
    assert caught.value.message.startswith("probe: ")
    for word in words:
        assert word in caught.value.message


def test_a_long_value_is_not_echoed_whole():
    with pytest.raises(Invalid) as caught:
        PROBE.read({"text": "x", "number": "secret" * 10_000})
    assert len(caught.value.message) < 200


@given(
    st.dictionaries(
        st.text(max_size=8), st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5)
    )
)
def test_any_arguments_are_read_or_refused(arguments: dict[str, Any]):
    try:
        assert isinstance(PROBE.read(arguments), Given)
    except Invalid as exc:
        assert exc.message.startswith("probe: ")


def test_two_operations_of_one_name_are_a_mistake():
    with pytest.raises(ValueError, match="two operations of one name"):
        Dialect("test", (PROBE, PROBE))
