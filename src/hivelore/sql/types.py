"""Column types that mean the same on SQLite and Postgres."""

from __future__ import annotations

import json
import struct
from array import array
from typing import Any

from sqlalchemy import LargeBinary, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType


class Json(TypeDecorator[Any]):
    """Any JSON value. Text on SQLite (non-ASCII kept readable), jsonb on Postgres."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(JSONB() if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        if value is None or dialect.name == "postgresql":
            return value
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        if value is None or dialect.name == "postgresql":
            return value
        return json.loads(value)


class _HalfVec(UserDefinedType[Any]):
    """pgvector's half-precision vector without a fixed size: rows of several models share the column."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "halfvec"


class _TsVector(UserDefinedType[Any]):
    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "tsvector"


class HalfVector(TypeDecorator[bytes]):
    """A vector of half-precision floats, little-endian bytes in Python: a BLOB on SQLite, `halfvec` on Postgres.

    Half precision keeps cosine within 0.001 of full precision at half the space and read volume.
    """

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(_HalfVec() if dialect.name == "postgresql" else LargeBinary())

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> Any:
        if value is None or dialect.name != "postgresql":
            return value
        return vector_literal(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> bytes | None:
        if value is None or dialect.name != "postgresql":
            return None if value is None else bytes(value)
        numbers = [float(x) for x in value.strip("[]").split(",")]
        return struct.pack(f"<{len(numbers)}e", *numbers)


class TokenVector(TypeDecorator[str]):
    """Search tokens of a chunk: unused on SQLite (FTS5 keeps them), `tsvector` on Postgres."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(_TsVector() if dialect.name == "postgresql" else Text())


def vector_literal(half: bytes) -> str:
    """Write half-precision bytes as pgvector's text form `[0.1,0.2]`."""
    return "[" + ",".join(repr(x) for x in struct.unpack(f"<{len(half) // 2}e", half)) + "]"


def full_vector_literal(full: bytes) -> str:
    """Write float32 bytes as pgvector's text form."""
    numbers = array("f")
    numbers.frombytes(full)
    return "[" + ",".join(repr(x) for x in numbers) + "]"
