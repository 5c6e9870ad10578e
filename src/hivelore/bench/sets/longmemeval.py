"""LongMemEval: each question has a haystack of its own, sessions of turns between a user and an assistant.

Fields: `question_id`, `question_type`, `question`, `question_date`, `haystack_session_ids`, `haystack_dates`,
`haystack_sessions` (lists of `{"role", "content", "has_answer"}`) and `answer_session_ids`. Two corpora, as for LoCoMo.
Questions whose id ends with `_abs` ask for what is not there and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivelore.bench.model import Corpus, Document, EvalSet, Question
from hivelore.bench.sets.reading import as_kind, check_set, counted, date_ms, need, texts
from hivelore.core.errors import Invalid

_WEEKDAY = re.compile(r"\s*\(\w+\)\s*")


def matches(value: Any) -> bool:
    """Whether a file of this shape is LongMemEval."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "haystack_sessions" in value[0]


@dataclass(frozen=True, slots=True)
class _Session:
    id: str
    happened_ms: int | None
    date: str
    turns: tuple[tuple[str, str, bool], ...]  # id, text, whether it answers


def load(value: Any, path: Path, name: str) -> list[EvalSet]:
    """The set by turns (those with `has_answer`) and sessions, and the set by saved sessions."""
    turns: list[Document] = []
    sessions: list[Document] = []
    questions: list[Question] = []
    left_out: list[str] = []
    for number, each in enumerate(as_kind(value, list, str(path))):
        where = f"{path}, question {number}"
        id = need(as_kind(each, dict, where), "question_id", str, where)
        if id.endswith("_abs"):
            left_out.append("abstention")
            continue
        haystack = list(_haystack(each, where))
        answers = frozenset(texts(need(each, "answer_session_ids", list, where), where)) & {s.id for s in haystack}
        if not answers:
            left_out.append("evidence is not in the haystack")
            continue
        for place, session in enumerate(haystack):
            turns += (
                Document(turn, id, text, {"turn": turn, "session": session.id}, event_ms=session.happened_ms)
                for turn, text, _ in session.turns
            )
            whole = "\n".join([session.date, *(text for _, text, _ in session.turns)])
            sessions.append(
                Document(
                    str(place), id, whole, {"session": session.id}, event_ms=session.happened_ms, whole_session=True
                )
            )
        with_answer = frozenset(turn for session in haystack for turn, _, answering in session.turns if answering)
        questions.append(
            Question(
                id=id,
                group=id,
                text=need(each, "question", str, where),
                kind=need(each, "question_type", str, where),
                relevant={"turn": with_answer, "session": answers},
                asked_ms=_date(each.get("question_date")),
            )
        )
    check_set(path, turns, questions)
    asked = tuple(questions)
    out = counted(left_out)
    by_turn = Corpus(f"{name}-turns", tuple(turns), own_haystacks=True)
    by_session = Corpus(f"{name}-sessions", tuple(sessions), own_haystacks=True)
    return [
        EvalSet(f"{name} turns", by_turn, asked, ("turn", "session"), out),
        EvalSet(f"{name} sessions", by_session, asked, ("session",), out),
    ]


def _haystack(each: dict[str, Any], where: str) -> Iterator[_Session]:
    """The sessions that have any text, with their turns."""
    ids = texts(need(each, "haystack_session_ids", list, where), where)
    contents = need(each, "haystack_sessions", list, where)
    dates = each.get("haystack_dates") or [""] * len(ids)
    if not len(ids) == len(contents) == len(dates):
        raise Invalid(
            f"{where} has {len(ids)} session ids, {len(contents)} sessions and {len(dates)} dates; "
            "there must be as many of each."
        )
    for place, (id, content, date) in enumerate(zip(ids, contents, dates, strict=True)):
        turns = []
        for index, turn in enumerate(as_kind(content, list, f"session {id} in {where}")):
            said = need(as_kind(turn, dict, where), "content", str, where).strip()
            if said:
                role = need(turn, "role", str, where)
                turns.append((f"{place}:{index}", f"{role}: {said}", bool(turn.get("has_answer"))))
        if turns:
            yield _Session(id, _date(date), str(date), tuple(turns))


def _date(written: Any) -> int | None:
    """`2023/05/20 (Sat) 02:21`, with or without weekday and time."""
    if not isinstance(written, str):
        return None
    return date_ms(_WEEKDAY.sub(" ", written), "%Y/%m/%d %H:%M", "%Y/%m/%d", "%Y-%m-%d")
