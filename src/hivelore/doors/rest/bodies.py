"""Reading fields out of a request body: what must be there, what may be, and of which type."""

from __future__ import annotations

from typing import Any

from hivelore.core.errors import Invalid
from hivelore.core.text import clean

Body = dict[str, Any]


def required(body: Body, field: str, operation: str) -> str:
    """A string that must be there and must not be blank."""
    value = body.get(field)
    cleaned = clean(value).text if isinstance(value, str) else ""
    if not cleaned.strip():
        raise Invalid(f"{operation} requires {field}", field=field)
    return cleaned


def optional(body: Body, field: str, operation: str) -> str:
    value = body.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(f"{operation} {field} must be a string", field=field)
    return clean(value).text


def string_list(body: Body, field: str, operation: str) -> list[str]:
    value = body.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Invalid(f"{operation} {field} must be an array of strings", field=field)
    return [clean(each).text for each in value]


def whole_number(body: Body, field: str, operation: str, *, least: int) -> int | None:
    """A whole number of at least `least`; None when the field is absent."""
    value = body.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
        raise Invalid(f"{operation} {field} must be a whole number of at least {least}", field=field)
    return value
