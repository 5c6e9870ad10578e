"""Ports: what the domain needs from the world, written from the caller's side.

Each port is a small Protocol with a do-nothing or deterministic implementation in `hivelore.adapters` that
development and tests use. Implementations are chosen in `hivelore.app` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from hivelore.core.actor import Principal

EmbedderStatus = Literal["ready", "loading", "unavailable", "off"]
EmbedRole = Literal["query", "passage"]


@dataclass(frozen=True, slots=True)
class EmbedderState:
    """Where an embedder stands. `reason` says in one sentence why it is not ready and what to do about it."""

    status: EmbedderStatus
    reason: str = ""


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors.

    `model` names weights, runtime variant and dimensions in one string ("multilingual-e5-small/mix8/384"): it is
    stored beside every vector, and a vector is comparable only with vectors of the same `model`.
    `remote` is true when text leaves this machine; health and `doctor` show it.
    """

    @property
    def model(self) -> str: ...

    @property
    def dims(self) -> int: ...

    @property
    def remote(self) -> bool: ...

    @property
    def cosine_range(self) -> tuple[float, float]:
        """Cosines that this model typically gives to unrelated and to clearly related texts; ranking scales by them."""
        ...

    def state(self) -> EmbedderState:
        """Report the state without blocking or loading anything."""
        ...

    def start(self) -> None:
        """Begin loading in the background; return at once. Safe to call more than once."""
        ...

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        """Block until loading has ended (well or badly) or `timeout_s` passed; return the state."""
        ...

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        """Return one vector per text: `dims` little-endian float32, L2-normalised.

        Raises `Unavailable` (core.errors) when the model is not ready or the endpoint does not answer.
        """
        ...

    def prepare(self, query: str) -> Callable[[], bytes]:
        """Do the short part of embedding one query now; the function that is returned does the long part on whichever
        thread calls it, and gives the vector or raises as `embed` does.

        The short part holds the interpreter. On the asking thread it is over before that thread has other work; on a
        helper it would pass the interpreter back and forth with that work, which costs more than itself.
        """
        ...

    def close(self) -> None:
        """Free the model and threads. Safe to call more than once."""
        ...


class Authenticator(Protocol):
    """Finds the principal behind a credential."""

    def authenticate(self, authorization: str | None) -> Principal:
        """Resolve the value of an Authorization header (or None); raises `Unauthenticated`."""
        ...
