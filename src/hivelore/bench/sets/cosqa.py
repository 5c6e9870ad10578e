"""CoSQA: search queries and Python functions; label 1 says that the function answers the query.

Every function is a memory, also those that answer no query; a function that occurs several times is stored once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hivelore.bench.model import Corpus, Document, EvalSet, Question
from hivelore.bench.sets.reading import as_kind, check_set, counted, need


def matches(value: Any) -> bool:
    """Whether a file of this shape is CoSQA."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and {"doc", "code"} <= set(value[0])


def load(value: Any, path: Path, name: str) -> list[EvalSet]:
    """One set; pairs with another label than 1 give their function and no question."""
    ids: dict[str, str] = {}
    questions: list[Question] = []
    left_out: list[str] = []
    for number, pair in enumerate(as_kind(value, list, str(path))):
        where = f"{path}, pair {number}"
        code = need(as_kind(pair, dict, where), "code", str, where)
        text = need(pair, "doc", str, where)
        id = ids.setdefault(code, str(pair.get("idx", number)))
        if need(pair, "label", int, where) == 1:
            questions.append(Question(str(pair.get("idx", number)), "", text, "code", {"function": frozenset({id})}))
        else:
            left_out.append("the function does not answer the query")
    documents = tuple(Document(id, "", code, {"function": id}) for code, id in ids.items())
    check_set(path, documents, questions)
    return [EvalSet(name, Corpus(name, documents), tuple(questions), ("function",), counted(left_out))]
