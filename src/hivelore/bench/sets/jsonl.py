"""A set of one's own: a folder with `corpus.jsonl` and `cases.jsonl`, one object a line.

A memory: `id` and `text` (or `content`); optional `title`, `tags`, `layer`, `namespace`, `session` (memories of one
session are also judged as one), `happened_at` (or `created_at`; ISO 8601).

A case: `id`, `query` (or `question`) and `relevant`, a list of ids, or of objects with `id` (or `corpus_item_id`) and
`grade`, of which 0 means not relevant; optional `class` (or `category`), `namespace`, `asked_at`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hivelore.bench.model import Corpus, Document, EvalSet, Question
from hivelore.bench.sets.reading import as_kind, check_set, counted, need, need_any, read_lines, texts
from hivelore.core.clock import parse_iso_ms
from hivelore.core.errors import Invalid

CORPUS, CASES = "corpus.jsonl", "cases.jsonl"


def load(folder: Path, name: str) -> list[EvalSet]:
    """One set. A case without relevant memories is left out and counted; one that names an unknown one is refused."""
    documents = [_document(line, where) for where, line in read_lines(folder / CORPUS)]
    sessions = {document.id: document.units.get("session") for document in documents}
    questions: list[Question] = []
    left_out: list[str] = []
    for where, line in read_lines(folder / CASES):
        relevant = _relevant(line, sessions.keys(), where)
        if not relevant:
            left_out.append("no memory is relevant")
            continue
        units = {"memory": relevant}
        within = frozenset(session for id in relevant if (session := sessions[id]))
        questions.append(
            Question(
                id=need(line, "id", str, where),
                group=_text(line, "namespace", where),
                text=need_any(line, ("query", "question"), where),
                kind=_text(line, "class", where) or _text(line, "category", where) or "all",
                relevant=units | ({"session": within} if within else {}),
                asked_ms=_moment(line, ("asked_at",), where),
            )
        )
    check_set(folder, documents, questions)
    units_judged = ("memory", "session") if any(sessions.values()) else ("memory",)
    return [EvalSet(name, Corpus(name, tuple(documents)), tuple(questions), units_judged, counted(left_out))]


def _document(line: dict[str, Any], where: str) -> Document:
    id = need(line, "id", str, where)
    session = _text(line, "session", where)
    return Document(
        id=id,
        group=_text(line, "namespace", where),
        text=need_any(line, ("text", "content"), where),
        units={"memory": id, **({"session": session} if session else {})},
        title=_text(line, "title", where),
        tags=texts(line.get("tags", []), f"'tags' in {where}"),
        layer=_text(line, "layer", where),
        event_ms=_moment(line, ("happened_at", "created_at"), where),
    )


def _text(line: dict[str, Any], key: str, where: str) -> str:
    return str(as_kind(line.get(key) or "", str, f"{key!r} in {where}"))


def _moment(line: dict[str, Any], keys: tuple[str, ...], where: str) -> int | None:
    for key in keys:
        if line.get(key):
            return parse_iso_ms(_text(line, key, where), f"{key!r} in {where}")
    return None


def _relevant(line: dict[str, Any], known: Any, where: str) -> frozenset[str]:
    found = set()
    for each in need(line, "relevant", list, where):
        if isinstance(each, dict):
            id, grade = need_any(each, ("id", "corpus_item_id"), where), each.get("grade", 1)
        else:
            id, grade = as_kind(each, str, f"'relevant' in {where}"), 1
        if id not in known:
            raise Invalid(f"'relevant' in {where} names the memory {id!r}, which is not in {CORPUS}.")
        if as_kind(grade, int, f"'grade' in {where}") > 0:
            found.add(id)
    return frozenset(found)
