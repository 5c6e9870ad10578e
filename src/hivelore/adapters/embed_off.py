"""No embedder: search works by text alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hivelore.core.errors import Unavailable
from hivelore.core.ports import EmbedderState, EmbedRole

_REASON = "Embeddings are switched off (HIVELORE_EMBEDDER=off); search works by text alone."


class OffEmbedder:
    """An `Embedder` that is always off."""

    model = "off"
    dims = 0
    remote = False
    cosine_range = (0.0, 1.0)

    def state(self) -> EmbedderState:
        return EmbedderState("off", _REASON)

    def start(self) -> None:
        """Nothing to start."""

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        return self.state()

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        """Always raises `Unavailable`."""
        raise Unavailable(_REASON)

    def prepare(self, query: str) -> Callable[[], bytes]:
        """What is returned raises `Unavailable`."""
        return lambda: self.embed([query], "query")[0]

    def close(self) -> None:
        """Nothing to free."""
