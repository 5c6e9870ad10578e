"""A loaded multilingual-e5-small: text in, vector out. One text per run, on the calling thread.

Memory (resident, Linux, measured in a process that does nothing else): 121 MB with everything imported and
loaded, 136 MB after texts of 512 tokens. What keeps it there: the tokenizer of embed_e5_tokens, weights
mapped by onnxruntime instead of read, and the embedding table read from its file row by row.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hivelore.adapters import embed_e5_folder as folder_layout
from hivelore.adapters.embed_e5_graph import INPUT, OUTPUT
from hivelore.adapters.embed_e5_source import BLOCK_BYTES, BLOCK_VALUES, unpack_blocks
from hivelore.adapters.embed_e5_tokens import Tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROW_BYTES = folder_layout.DIMS // BLOCK_VALUES * BLOCK_BYTES
_LOG_ERRORS_ONLY = 3


class E5Model:
    """Tokenizer, embedding table and encoder. Safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        self._tokens = Tokens(folder)
        _give_back_memory()  # building the trie leaves 30 MB of free blocks behind
        self._table = _EmbeddingTable(folder / folder_layout.EMBEDDINGS)
        options = onnxruntime.SessionOptions()
        # One thread a run, the caller's: two waiting in a spin loop on two cores starve the server. Work is
        # spread over texts instead (see embed_e5).
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = _LOG_ERRORS_ONLY
        graph = str(folder / folder_layout.GRAPH)
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def rows(self, text: str) -> NDArray[np.float32]:
        """The token embeddings of a text that has its role prefix, as tokens x dims: what `encode` starts from."""
        return self._table.rows(self._tokens.ids(text))

    def encode(self, rows: NDArray[np.float32]) -> bytes:
        """The vector of a text from its token embeddings. Most of the time of an embedding, without the GIL."""
        result: NDArray[np.float32] = self._session.run([OUTPUT], {INPUT: rows[None]})[0]
        return result.astype("<f4", copy=False).tobytes()


class _EmbeddingTable:
    """The embedding table on disk. Rows are read when needed; the system's page cache makes that cheap."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        weakref.finalize(self, self._file.close)  # whoever is still reading when the embedder closes may finish
        self._lock = threading.Lock()  # seek and read are two steps; os.pread does not exist everywhere

    def rows(self, ids: list[int]) -> NDArray[np.float32]:
        """The embeddings of tokens, as tokens x dims."""
        import numpy as np

        raw = np.empty((len(ids), _ROW_BYTES), np.uint8)
        with self._lock:
            for at, token in enumerate(ids):
                self._file.seek(token * _ROW_BYTES)
                if self._file.readinto(raw[at]) != _ROW_BYTES:
                    raise OSError("the embedding table is shorter than its vocabulary")
        return unpack_blocks(raw)


def _give_back_memory() -> None:
    """Return free heap blocks to the system, where the C library can (glibc)."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
