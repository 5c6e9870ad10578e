"""The values of a benchmark: what is stored, what is asked, and what should be found."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Half = Literal["dev", "held-out"]
HALVES: tuple[Half, ...] = ("dev", "held-out")


@dataclass(frozen=True, slots=True)
class Document:
    """A text to store. `units` says what it counts as, by the name of the unit: {"turn": "D3:5", "session": "D3"}.

    `group` names the part of the corpus that a question searches (a conversation, a chat). `whole_session` texts are
    stored with `save_session`, all others with `remember`.
    """

    id: str
    group: str
    text: str
    units: Mapping[str, str]
    title: str = ""
    tags: tuple[str, ...] = ()
    layer: str = ""
    event_ms: int | None = None
    whole_session: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a class, with the units that answer it, by the name of the unit."""

    id: str
    group: str
    text: str
    kind: str
    relevant: Mapping[str, frozenset[str]]
    asked_ms: int | None = None

    @property
    def half(self) -> Half:
        """The half that it belongs to, for ever: weights are chosen on `dev` and confirmed on `held-out`."""
        return HALVES[self.digest[0] & 1]

    @property
    def digest(self) -> bytes:
        """What halves and samples are drawn by; it depends on the id alone."""
        return hashlib.sha256(self.id.encode()).digest()


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts that lie in the store together; several sets may ask about one corpus.

    `own_haystacks`: each question has a group of its own, so a sample of the questions needs their groups alone.
    """

    name: str
    documents: tuple[Document, ...]
    own_haystacks: bool = False


@dataclass(frozen=True, slots=True)
class EvalSet:
    """Questions about a corpus. `units` are the views under which rankings are judged, in the order of the report.
    `left_out` counts what the files hold and the set does not, by reason."""

    name: str
    corpus: Corpus
    questions: tuple[Question, ...]
    units: tuple[str, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def selected(found: EvalSet, half: Half | None, limit_questions: int | None) -> EvalSet:
    """The set with the questions of one half, or with a sample of them: those with the smallest digests, in the order
    of the file."""
    questions = [q for q in found.questions if half is None or q.half == half]
    if limit_questions is not None and len(questions) > limit_questions:
        drawn = {q.id for q in sorted(questions, key=lambda q: q.digest)[:limit_questions]}
        questions = [q for q in questions if q.id in drawn]
    return replace(found, questions=tuple(questions))


def needed(corpus: Corpus, groups: Collection[str]) -> tuple[Document, ...]:
    """What has to be stored to ask about these groups. Usually all: what else lies in a store shapes its word
    statistics."""
    if not corpus.own_haystacks:
        return corpus.documents
    return tuple(document for document in corpus.documents if document.group in groups)
