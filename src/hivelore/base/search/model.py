"""The values that search takes and gives.

Those that are made by the hundred in one search are named tuples, which cost a third of a frozen dataclass to make.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hivelore.base.search.when import When
from hivelore.core.actor import Scope

TEXT, VECTORS = "text", "vectors"
ENGINES = (TEXT, VECTORS)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an entry that callers may address on its own; most entries have one, with the entry's own id."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """Something findable, as its room registers it. `pieces` are chunked separately and in order."""

    kind: str
    ref: str
    space: str
    owner: str
    title: str
    pieces: tuple[Piece, ...]
    tags: tuple[str, ...] = ()
    source: str = ""
    layer: str = ""
    status: str = "active"
    event_ms: int = 0
    created_ms: int = 0
    expires_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit must satisfy besides its scope; empty tuples and None mean no condition. `tags` must all be
    present."""

    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def none(self) -> bool:
        return self == Filters()


class Former(NamedTuple):
    """A model whose vectors are there beside those of the present one."""

    id: int
    name: str


class FormerVector(NamedTuple):
    """A query's vector by a former model, with that model's typical cosines."""

    former: Former
    vector: bytes
    cosine_range: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Handover:
    """A change of the embedding model that is under way: which models answered, and why the former did not."""

    model: str
    former: str
    answered: tuple[str, ...]
    former_unavailable: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A query made ready outside any transaction: its terms, its vector if the embedder could give one, and the
    stretches of time it names."""

    text: str
    terms: tuple[str, ...]
    vector: bytes | None
    model: str
    cosine_range: tuple[float, float]
    unavailable: Mapping[str, str] = field(default_factory=dict)
    former: FormerVector | None = None
    whens: tuple[When, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """What the text index found for a question at one depth, or why it could not be asked.

    With it comes what can be read while the question's vector is still being made: the number of its model, those
    vectors of the model, in half precision, that the found chunks have, how many chunks of the scope wait for one, and
    which other model has vectors here.
    """

    candidates: tuple[Candidate, ...]
    depth: int
    unavailable: str = ""
    model: int | None = None
    vectors: Mapping[int, bytes] = field(default_factory=dict)
    pending: int = 0
    former: Former | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One search: a question within a scope. `corrections` names, for superseded memories by id, what took their
    place, as far as anything did."""

    question: Question
    scope: Scope
    filters: Filters = Filters()
    limit: int = 8
    offset: int = 0
    engines: Sequence[str] = ENGINES  # those that `begin` asked
    corrections: Callable[[Sequence[str]], Mapping[str, str]] | None = None
    explain: bool = False


class Hit(NamedTuple):
    """The best chunk of one piece. Ranks start at 1; None means that the engine did not return it.

    `older_version_of` is the id of a hit that says the same with a newer value; `copies` are ids of memories with the
    same text, which are no hits of their own.

    `score` lies in 0…1 and orders the hits; `cosine` is the plain similarity where a vector is known, `text_score` the
    text index's own. `parts`, when the request asked for it, says by name what each ranking rule added to the score.
    """

    chunk: int
    kind: str
    ref: str
    piece: str
    space: str
    text: str
    start: int
    score: float
    cosine: float | None
    text_rank: int | None
    vector_rank: int | None
    older_version_of: str = ""
    copies: tuple[str, ...] = ()
    text_score: float | None = None
    parts: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """Hits, and what was searched: engines that answered, engines that did not and why, chunks without a vector yet,
    and how the time that the question names was read."""

    hits: tuple[Hit, ...]
    more: bool
    engines: tuple[str, ...]
    unavailable: Mapping[str, str]
    pending: int
    handover: Handover | None = None
    whens: tuple[When, ...] = ()


class TermCounts(NamedTuple):
    """How long a chunk is, in tokens, and how often it holds each term of a question, in the question's order."""

    length: int
    found: tuple[int, ...]


class Place(NamedTuple):
    """Where a chunk belongs: its entry, the piece of it, when that happened and what it is."""

    kind: str
    ref: str
    piece: str
    space: str
    event_ms: int
    status: str = "active"
    layer: str = ""


class Candidate(NamedTuple):
    """A chunk that the text index proposes, with its raw score (higher is better), its place, and what it holds of the
    question's terms."""

    chunk: int
    score: float
    place: Place
    counts: TermCounts
