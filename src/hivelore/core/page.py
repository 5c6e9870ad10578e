"""Pages and cursors.

A cursor is either a plain offset ("40", what older clients send) or a keyset position: `k` + base64url of JSON.
A keyset cursor does not shift when rows are added or removed while a client pages.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Offset:
    """Skip this many rows."""

    rows: int = 0


@dataclass(frozen=True, slots=True)
class After:
    """Continue behind this row in the order (created_ms descending, id descending, seq ascending within it)."""

    created_ms: int
    id: str
    seq: int
    rows_before: int


Position = Offset | After


def read_cursor(cursor: str | None) -> Position:
    """Read a cursor; anything missing, negative or unreadable means the beginning (contract: never an error)."""
    text = (cursor or "").strip()
    if text.startswith("k"):
        try:
            raw = base64.urlsafe_b64decode(text[1:] + "=" * (-len(text[1:]) % 4))
            created_ms, id, seq, rows_before = json.loads(raw)
            after = After(int(created_ms), str(id), int(seq), int(rows_before))
        except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
            return Offset(0)
        return after if _plausible(after) else Offset(0)
    if text.isascii() and text.isdigit() and len(text) <= 12:
        return Offset(int(text))
    return Offset(0)


def _plausible(after: After) -> bool:
    """Whether a position can be one of ours: a client may send anything, and a database takes only what fits its
    columns."""
    small = abs(after.created_ms) < 2**53 and 0 <= after.seq < 2**31 and 0 <= after.rows_before < 10**12
    return small and after.id.isascii() and after.id.isalnum() and len(after.id) <= 64


def write_cursor(position: Position) -> str:
    """Write a position so that `read_cursor` gives it back."""
    if isinstance(position, Offset):
        return str(position.rows)
    raw = json.dumps([position.created_ms, position.id, position.seq, position.rows_before], separators=(",", ":"))
    return "k" + base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")
