"""Values of the memory model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hivelore.core.actor import Space
from hivelore.core.errors import Conflict, NotFound

ACTIVE, SUPERSEDED = "active", "superseded"
SUPERSEDES = "supersedes"  # the relation of a correction to what it corrects
SHORT_ID_CHARS = 12  # how much of an id compact answers show, and the least that names a memory
LAYERS = ("trace", "policy", "world_model", "skill")


class NoSuchMemory(NotFound):
    """There is no memory with this id for this user."""

    code = "memory_not_found"


class PartOfWhole(Conflict):
    """This is one passage of a larger whole and cannot be changed alone."""

    code = "part_of_whole"


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a memory's text with an id of its own, in code points."""

    id: str
    seq: int
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory about to be written. `pieces`, when there are several, join to `text` and get ids of their own.

    `key` makes writing idempotent per owner and space.
    """

    space: Space
    kind: str
    text: str
    title: str = ""
    pieces: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    source: str = ""
    layer: str = ""
    status: str = "active"
    key: str | None = None
    origin: dict[str, Any] = field(default_factory=dict)
    event_ms: int | None = None
    expires_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing worth keeping, as stored. `parts` is empty when the memory is one piece."""

    id: str
    space: str
    namespace: str
    owner: str
    agent: str
    door: str
    kind: str
    layer: str
    status: str
    title: str
    text: str
    tags: tuple[str, ...]
    source: str
    key: str | None
    origin: dict[str, Any]
    revision: int
    event_ms: int
    created_ms: int
    updated_ms: int
    expires_ms: int | None
    parts: tuple[Part, ...] = ()

    def piece_ids(self) -> tuple[str, ...]:
        return tuple(part.id for part in self.parts) or (self.id,)

    def piece_texts(self) -> tuple[str, ...]:
        if not self.parts:
            return (self.text,)
        return tuple(self.text[p.start : p.start + p.length] for p in self.parts)


@dataclass(frozen=True, slots=True)
class Item:
    """A memory, or one part of it, as lists and recalls show it. `memory` is the id of the whole.

    `superseded_by` is the memory that took its place, `supersedes` are those whose place it took (only where one memory
    is read by its id).
    """

    id: str
    memory: str
    space: str
    namespace: str
    owner: str
    kind: str
    layer: str
    status: str
    title: str
    text: str
    tags: tuple[str, ...]
    source: str
    seq: int
    parts: int
    chars: int
    origin: dict[str, Any]
    event_ms: int
    created_ms: int
    updated_ms: int
    superseded_by: str = ""
    supersedes: tuple[str, ...] = ()
