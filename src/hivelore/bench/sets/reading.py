"""Reading files of others with errors that name the file, the place and what is wrong there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hivelore.bench.model import Document, Question
from hivelore.core.clock import EPOCH
from hivelore.core.errors import Invalid, NotFound

_KINDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
}


def read_text(path: Path) -> str:
    """The text of a file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as exc:
        raise NotFound(f"There is no file {path}.") from exc
    except OSError as exc:
        raise Invalid(f"{path} cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise Invalid(f"{path} is not UTF-8 text (byte {exc.start}).") from exc


def read_json(path: Path) -> Any:
    """The one JSON value of a file."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as exc:
        raise Invalid(f"{path} is not JSON: {exc.msg} in line {exc.lineno}.") from exc
    except RecursionError as exc:
        raise Invalid(f"{path} is not JSON that can be read: it is nested too deeply.") from exc


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file with their places; blank lines are passed over."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as exc:
            raise Invalid(f"{where} is not JSON.") from exc
        yield where, as_kind(value, dict, where)


def as_kind(value: Any, kind: type, where: str) -> Any:
    """`value`, if it is of this kind. A truth value is no number."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Invalid(f"{where} must be {_KINDS[kind]}, not {type(value).__name__}.")
    return value


def need(holder: dict[str, Any], key: str, kind: type, where: str) -> Any:
    """A field that must be there and of this kind."""
    if key not in holder:
        raise Invalid(f"{where} has no field {key!r}.")
    return as_kind(holder[key], kind, f"{key!r} in {where}")


def need_any(holder: dict[str, Any], keys: Sequence[str], where: str) -> str:
    """The text of the first of these fields that is there."""
    for key in keys:
        if key in holder:
            return str(as_kind(holder[key], str, f"{key!r} in {where}"))
    raise Invalid(f"{where} has no field {keys[0]!r}.")


def texts(value: Any, where: str) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(as_kind(each, str, f"{where}[{i}]") for i, each in enumerate(as_kind(value, list, where)))


def date_ms(text: str, *formats: str) -> int | None:
    """A date as the sets write it, taken as UTC; None for one that no format fits."""
    for written in formats:
        try:
            moment = datetime.strptime(text.strip(), written).replace(tzinfo=UTC)
        except ValueError:
            continue
        return (moment - EPOCH) // timedelta(milliseconds=1)
    return None


def counted(reasons: Sequence[str]) -> dict[str, int]:
    """How often each reason occurs, most frequent first."""
    return dict(Counter(reasons).most_common())


def check_set(path: Path, documents: Sequence[Document], questions: Sequence[Question]) -> None:
    """Refuse a set that holds nothing or uses an id twice: its figures would mean nothing."""
    if not documents or not questions:
        what = "texts to store" if not documents else "questions with evidence"
        raise Invalid(f"{path} holds no {what}.")
    for what, ids in (
        ("text", Counter((d.group, d.id) for d in documents)),
        ("question", Counter(("", q.id) for q in questions)),
    ):
        (_, id), times = ids.most_common(1)[0]
        if times > 1:
            raise Invalid(f"{path} has the {what} id {id!r} {times} times; ids must be unique.")
