"""Embedders in the states that a real one can be in, over hash vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hivelore.adapters.embed_hash import HashEmbedder
from hivelore.core.errors import Unavailable
from hivelore.core.ports import Embedder, EmbedderState, EmbedRole


class StatefulEmbedder(HashEmbedder):
    """Hash vectors under a model name of its own, in a state that a test may set; remembers what it embedded.

    `before` runs in each call of `embed`, before the vectors are made. `synonyms` are words that mean the same: only
    vectors know that, so they find what the text index cannot.
    """

    def __init__(
        self,
        model: str = "hash-for-tests/256",
        status: str = "ready",
        reason: str = "",
        synonyms: dict[str, str] | None = None,
    ) -> None:
        self.model = model
        self.now = EmbedderState(status, reason)  # type: ignore[arg-type]
        self.synonyms = synonyms or {}
        self.embedded: list[str] = []
        self.before: Callable[[], None] = lambda: None

    def state(self) -> EmbedderState:
        return self.now

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        return self.now

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        if self.now.status != "ready":
            raise Unavailable(self.now.reason)
        self.before()
        if role == "passage":
            self.embedded.extend(texts)
        return super().embed([self._canonical(text) for text in texts], role)

    def _canonical(self, text: str) -> str:
        return " ".join(self.synonyms.get(word, word) for word in text.split())


class SharedEmbedder:
    """An embedder of the whole run, lent to one hub: the hub's closing does not end it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def close(self) -> None:
        """The fixture that made it closes it."""
