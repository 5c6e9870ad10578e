"""Any model of the `fastembed` library, by name. Optional: `pip install hivelore[fastembed]`.

Choosing this embedder allows one download, from the Hugging Face hub, of the model named; texts stay on this
machine. With a `folder` nothing is downloaded: it holds an ONNX model and its tokenizer as the hub lays them
out.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hivelore.adapters.embed_loading import Loading, NotReady
from hivelore.adapters.embed_text import encodable, needs_e5_prefix, usual_cosines, with_e5_prefix
from hivelore.adapters.embed_vectors import pack, self_test
from hivelore.core.ports import EmbedderState, EmbedRole

_LIMIT_CHARS = 16_384  # the longest context here is 8,192 tokens; the tokenizer cuts precisely
_BATCH = 8  # small, so that a batch of long texts stays within some tens of megabytes
_EXTRA = "hivelore[fastembed]"


class FastembedEmbedder:
    """An `Embedder` over a fastembed model.

    `name` is a model that fastembed lists, or any name for the model in `folder`. `cache_dir` keeps
    downloads. `offline` forbids downloading. `dims` is 0 until the model is loaded, as only the model knows
    it.
    """

    remote = False

    def __init__(
        self,
        name: str,
        cache_dir: Path,
        *,
        folder: Path | None = None,
        threads: int = 1,
        offline: bool = False,
    ) -> None:
        self._name, self._cache_dir, self._folder = name, cache_dir, folder
        self._threads, self._offline = max(threads, 1), offline
        self._e5 = needs_e5_prefix(name)
        self.cosine_range = usual_cosines(name)
        self._slots: dict[EmbedRole, threading.Semaphore] = {
            "query": threading.Semaphore(2),
            "passage": threading.Semaphore(1),
        }
        self._loading: Loading[Any] = Loading(self._load)
        self.dims = 0

    @property
    def model(self) -> str:
        """Name and dimensions; the dimensions are 0 until the model is loaded."""
        return f"fastembed/{self._name}/{self.dims}"

    def state(self) -> EmbedderState:
        return self._loading.state()

    def start(self) -> None:
        self._loading.start()

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        return self._loading.wait(timeout_s)

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        """One vector per text, in order, of what fits the context. Raises `Unavailable` until ready."""
        return self._embed(self._loading.model(), texts, role)

    def _embed(self, model: Any, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        ready = [encodable(text, _LIMIT_CHARS) for text in texts]
        if self._e5:
            ready = [with_e5_prefix(text, role) for text in ready]
        run = model.query_embed if role == "query" else model.passage_embed
        by_length = sorted(range(len(ready)), key=lambda at: len(ready[at]))  # little padding within a batch
        vectors = [b""] * len(ready)
        for start in range(0, len(by_length), _BATCH):
            batch = by_length[start : start + _BATCH]
            with self._slots[role]:
                rows = list(run([ready[at] for at in batch], batch_size=_BATCH))
            for at, row in zip(batch, rows, strict=True):
                vectors[at] = pack(row.tolist())
        return vectors

    def prepare(self, query: str) -> Callable[[], bytes]:
        """Nothing of this is short."""
        return lambda: self.embed([query], "query")[0]

    def close(self) -> None:
        self._loading.close()

    def _load(self, unwanted: threading.Event) -> Any:
        if find_spec("fastembed") is None:
            raise NotReady(f"The package fastembed is not installed: install {_EXTRA} or change HIVELORE_EMBEDDER.")
        if not self._name:
            raise NotReady("No model is named: set HIVELORE_EMBED_MODEL to a model that fastembed lists.")
        from fastembed import TextEmbedding

        if self._folder is not None:
            _register(TextEmbedding, self._name, self._folder)
        known = {entry["model"].lower(): int(entry["dim"]) for entry in TextEmbedding.list_supported_models()}
        if self._name.lower() not in known:
            raise NotReady(
                "fastembed has no model of that name: check HIVELORE_EMBED_MODEL, set HIVELORE_EMBED_FOLDER."
            )
        try:
            model = TextEmbedding(
                self._name,
                cache_dir=str(self._cache_dir),
                threads=self._threads,
                providers=["CPUExecutionProvider"],
                local_files_only=self._offline,
                specific_model_path=str(self._folder) if self._folder is not None else None,
            )
        except Exception as exc:  # the library passes on whatever hub, tokenizer and runtime raise
            raise NotReady(_LOAD_FAILED) from exc
        dims = known[self._name.lower()]
        self_test(lambda texts, role: self._embed(model, texts, role), dims)
        self.dims = dims
        return model


_LOAD_FAILED = (
    "The model could not be loaded: it is neither in the cache nor to be had, or its files are damaged: "
    "go online once, or set HIVELORE_EMBED_FOLDER to a folder with its ONNX and tokenizer files."
)


def _register(library: Any, name: str, folder: Path) -> None:
    """Tell fastembed about the model in a folder, unless it knows the name. Raises `NotReady` without one."""
    if name.lower() in {entry["model"].lower() for entry in library.list_supported_models()}:
        return
    from fastembed.common.model_description import ModelSource, PoolingType

    graphs = sorted(folder.glob("*.onnx")) or sorted(folder.glob("onnx/*.onnx"))
    hidden = _read_json(folder / "config.json").get("hidden_size")
    if len(graphs) != 1 or not isinstance(hidden, int):
        raise NotReady(
            "HIVELORE_EMBED_FOLDER must hold one .onnx file, tokenizer.json and config.json with hidden_size."
        )
    by_first_token = _read_json(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token", False)
    library.add_custom_model(
        model=name,
        pooling=PoolingType.CLS if by_first_token else PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=name),
        dim=hidden,
        model_file=graphs[0].relative_to(folder).as_posix(),
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
