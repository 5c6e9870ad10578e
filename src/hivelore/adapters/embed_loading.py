"""Loading a model in the background: the life that all local embedders share.

A server must answer its first request long before a model is in memory, and search works by text meanwhile.
So a model is loaded by a daemon thread, anyone may ask how far it is without waiting, and nothing is retried
behind the user's back: a failed load stays failed, with a sentence that says what to do.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from hivelore.core.errors import Unavailable
from hivelore.core.ports import EmbedderState

log = logging.getLogger(__name__)
Model = TypeVar("Model")

NOT_STARTED = EmbedderState("unavailable", "The embedding model has not been started.")
LOADING = EmbedderState("loading", "The embedding model is still loading; search works by text meanwhile.")
READY = EmbedderState("ready")
CLOSED = EmbedderState("unavailable", "The embedding model has been closed.")
_CLOSE_WAIT_S = 10.0


class NotReady(Exception):
    """Why a model cannot be used and what to do about it, in one sentence without paths and secrets."""


class Loading(Generic[Model]):
    """A model that is being loaded, is loaded, or could not be loaded.

    `load` runs once, in a daemon thread; it is given an event that is set when the result is no longer
    wanted, so that long work can stop early. It raises `NotReady` for causes it understands.
    """

    def __init__(self, load: Callable[[threading.Event], Model]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._unwanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._state = NOT_STARTED
        self._model: Model | None = None

    def start(self) -> None:
        """Begin loading, once; return at once."""
        with self._lock:
            if self._thread is not None or self._unwanted.is_set():
                return
            self._state = LOADING
            self._thread = threading.Thread(target=self._run, name="hivelore-embed-load", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        model: Model | None = None
        try:
            model = self._load(self._unwanted)
            state = READY
        except NotReady as exc:
            state = EmbedderState("unavailable", str(exc))
            if not self._unwanted.is_set():
                log.warning("embedding model not ready: %s", exc, exc_info=exc.__cause__)
        except Exception as exc:  # the thread has no caller; the state is how the failure is told
            name = type(exc).__name__
            state = EmbedderState(
                "unavailable", f"Loading the embedding model failed ({name}); the server log says more."
            )
            log.exception("loading the embedding model failed")
        with self._lock:
            if not self._unwanted.is_set():
                self._model, self._state = model, state
        self._ended.set()

    def state(self) -> EmbedderState:
        """The state now. Never blocks: a state is replaced, not changed."""
        return self._state

    def wait(self, timeout_s: float) -> EmbedderState:
        """Wait until loading has ended or `timeout_s` passed; do not wait if it was never started."""
        if self._thread is not None:
            self._ended.wait(timeout_s)
        return self._state

    def model(self) -> Model:
        """The loaded model. Raises `Unavailable` with the reason while there is none."""
        model, state = self._model, self._state
        if model is None:
            raise Unavailable(state.reason)
        return model

    def close(self) -> None:
        """Let go of the model and wait for the thread. Calls that are using the model finish with it."""
        with self._lock:
            self._unwanted.set()
            self._model, self._state = None, CLOSED
            thread = self._thread
        self._ended.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_CLOSE_WAIT_S)
