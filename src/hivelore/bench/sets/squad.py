"""Sets in the form of SQuAD (JSQuAD, CMRC 2018, XQuAD …): every paragraph a memory, its questions look for it.

Files whose questions share ids are translations of each other: then the questions of all the others are asked about
each file's paragraphs too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hivelore.bench.model import Corpus, Document, EvalSet, Question
from hivelore.bench.sets.reading import as_kind, check_set, counted, need


def matches(value: Any) -> bool:
    """Whether a file of this shape is like SQuAD."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), list) or not value["data"]:
        return False
    return isinstance(value["data"][0], dict) and "paragraphs" in value["data"][0]


def load(value: Any, path: Path, name: str) -> list[EvalSet]:
    """The questions of a file about its own paragraphs."""
    documents: list[Document] = []
    questions: list[Question] = []
    left_out: list[str] = []
    for number, article in enumerate(need(as_kind(value, dict, str(path)), "data", list, str(path))):
        where = f"{path}, article {number}"
        for paragraph in need(as_kind(article, dict, where), "paragraphs", list, where):
            id = str(len(documents))
            context = need(as_kind(paragraph, dict, where), "context", str, where)
            documents.append(Document(id, "", context, {"paragraph": id}))
            for asked in need(paragraph, "qas", list, where):
                if as_kind(asked, dict, where).get("is_impossible"):
                    left_out.append("cannot be answered")
                    continue
                text = need(asked, "question", str, where)
                question = Question(
                    id=str(asked.get("id", f"{id}/{len(questions)}")),
                    group="",
                    text=text,
                    kind="same language",
                    relevant={"paragraph": frozenset({id})},
                )
                questions.append(question)
    check_set(path, documents, questions)
    return [EvalSet(name, Corpus(name, tuple(documents)), tuple(questions), ("paragraph",), counted(left_out))]


def across(sets: Sequence[EvalSet]) -> list[EvalSet]:
    """For each set, the questions of the others that have an answer in it under the same id, by language asked in."""
    answers = {each.name: {q.id: q.relevant for q in each.questions} for each in sets}
    found: list[EvalSet] = []
    for target in sets:
        questions = [
            Question(f"{other.name}/{q.id}", q.group, q.text, f"asked in {other.name}", answers[target.name][q.id])
            for other in sets
            if other is not target
            for q in other.questions
            if q.id in answers[target.name]
        ]
        if questions:
            found.append(EvalSet(f"{target.name} across languages", target.corpus, tuple(questions), target.units))
    return found
