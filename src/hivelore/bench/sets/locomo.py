"""LoCoMo: long conversations in sessions, questions with the ids of the turns that answer them (`D3:5`).

Two corpora: every turn a memory, judged by turn and by session, and every session saved whole, judged by session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hivelore.bench.model import Corpus, Document, EvalSet, Question
from hivelore.bench.sets.reading import as_kind, check_set, counted, date_ms, need

CLASSES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)")


def matches(value: Any) -> bool:
    """Whether a file of this shape is LoCoMo."""
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], dict)
        and {"qa", "conversation"} <= set(value[0])
    )


def load(value: Any, path: Path, name: str) -> list[EvalSet]:
    """The set by turns and the set by saved sessions. Questions whose evidence is missing are left out and counted."""
    turns: list[Document] = []
    sessions: list[Document] = []
    questions: list[Question] = []
    left_out: list[str] = []
    for number, each in enumerate(as_kind(value, list, str(path))):
        where = f"{path}, conversation {number}"
        group = str(as_kind(each, dict, where).get("sample_id", number))
        conversation = need(each, "conversation", dict, where)
        for id, date, spoken in _sessions(conversation, where):
            happened_ms = date_ms(date, "%I:%M %p on %d %B, %Y")
            texts = [(need(turn, "dia_id", str, where), _spoken(turn, where)) for turn in spoken]
            turns += (
                Document(turn, group, text, {"turn": turn, "session": id}, event_ms=happened_ms) for turn, text in texts
            )
            whole = "\n".join([date, *(text for _, text in texts)])
            sessions.append(Document(id, group, whole, {"session": id}, event_ms=happened_ms, whole_session=True))
        known = {turn.id for turn in turns if turn.group == group}
        for index, asked in enumerate(need(each, "qa", list, where)):
            question = _question(asked, f"{group}/{index}", group, known, f"{where}, question {index}")
            if question is None:
                left_out.append("evidence is not among the turns")
            else:
                questions.append(question)
    check_set(path, turns, questions)
    asked_of = tuple(questions)
    return [
        EvalSet(
            f"{name} turns", Corpus(f"{name}-turns", tuple(turns)), asked_of, ("turn", "session"), counted(left_out)
        ),
        EvalSet(
            f"{name} sessions", Corpus(f"{name}-sessions", tuple(sessions)), asked_of, ("session",), counted(left_out)
        ),
    ]


def _sessions(conversation: dict[str, Any], where: str) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Id, date as written and turns of each session, in order."""
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    for number in numbers:
        spoken = need(conversation, f"session_{number}", list, where)
        turns = [as_kind(turn, dict, f"{where}, session {number}") for turn in spoken]
        yield f"D{number}", str(conversation.get(f"session_{number}_date_time", "")), turns


def _spoken(turn: dict[str, Any], where: str) -> str:
    """A turn as text, with the caption of the picture that was shared in it."""
    text = f"{need(turn, 'speaker', str, where)}: {need(turn, 'text', str, where)}"
    return f"{text} {turn['blip_caption']}" if turn.get("blip_caption") else text


def _question(asked: Any, id: str, group: str, known: set[str], where: str) -> Question | None:
    written = " ".join(map(str, as_kind(as_kind(asked, dict, where).get("evidence", []), list, where)))
    evidence = frozenset(turn for turn in _EVIDENCE.findall(written) if turn in known)
    if not evidence:
        return None
    category = asked.get("category")
    return Question(
        id=id,
        group=group,
        text=need(asked, "question", str, where),
        kind=CLASSES.get(category, f"category {category}"),
        relevant={"turn": evidence, "session": frozenset(turn.partition(":")[0] for turn in evidence)},
    )
