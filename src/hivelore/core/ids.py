"""Ids as a port: random ids for things that are born, content ids for things that are recognised.

Order never comes from an id; it comes from `(created_ms, id)`. This file alone draws randomness.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
from typing import Protocol


class Ids(Protocol):
    """Makes new ids. A memory id is 32 lower-case hex characters, other kinds are `prefix_` + 20 hex."""

    def memory(self) -> str: ...

    def new(self, prefix: str) -> str: ...


class RandomIds:
    """Unguessable ids (128 and 80 bits)."""

    def memory(self) -> str:
        return secrets.token_hex(16)

    def new(self, prefix: str) -> str:
        return f"{prefix}_{secrets.token_hex(10)}"


class CountingIds:
    """Ids that count 1, 2, 3 …; for tests."""

    def __init__(self) -> None:
        self._next = itertools.count(1)

    def memory(self) -> str:
        return f"{next(self._next):032x}"

    def new(self, prefix: str) -> str:
        return f"{prefix}_{next(self._next):020x}"


def content_id(*parts: str, length: int = 32) -> str:
    """Hash `parts` into `length` hex characters; the same parts always give the same id.

    Parts are separated by NUL, which cleaned text never holds, so ("a", "bc") and ("ab", "c") differ.
    """
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:length]
