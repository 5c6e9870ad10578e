"""A writer for protocol buffers, as much as the ONNX and SentencePiece model files need.

Writing these two files takes five kinds of field; the `onnx` package (with protobuf, ml_dtypes and 60 MB of
code) would be a heavy dependency for that. Format: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import struct

_VARINT, _LENGTH, _FIXED32 = 0, 2, 5


def number(field: int, value: int) -> bytes:
    """An int32, int64, bool or enum field. Negative values take their 64-bit two's complement."""
    return _varint(field << 3 | _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def real(field: int, value: float) -> bytes:
    """A float field."""
    return _varint(field << 3 | _FIXED32) + struct.pack("<f", value)


def data(field: int, value: bytes) -> bytes:
    """A bytes or message field."""
    return _varint(field << 3 | _LENGTH) + _varint(len(value)) + value


def text(field: int, value: str) -> bytes:
    """A string field."""
    return data(field, value.encode())


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
