"""Time as a port. Everything that needs "now" gets it from a `Clock`; this file alone reads the wall clock."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import Protocol
from zoneinfo import ZoneInfo

from hivelore.core.errors import Invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Gives the current time in whole milliseconds since 1970-01-01T00:00:00Z."""

    def now_ms(self) -> int: ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


@dataclass
class ManualClock:
    """A clock that stands still until told to move; for tests."""

    at_ms: int = 1_767_225_600_000  # 2026-01-01T00:00:00Z

    def now_ms(self) -> int:
        return self.at_ms

    def advance(self, *, ms: int = 0, seconds: int = 0, minutes: int = 0, days: int = 0) -> None:
        """Move forward by the sum of the given spans."""
        self.at_ms += ms + seconds * 1000 + minutes * 60_000 + days * 86_400_000


@cache
def zone_named(name: str) -> tzinfo:
    """The time zone of an IANA name; UTC needs no time zone data on the machine. Raises as `ZoneInfo` does."""
    return UTC if name.upper() == "UTC" else ZoneInfo(name)


def is_zone(name: str) -> bool:
    """Whether this machine knows a time zone of that name."""
    try:
        zone_named(name)
    except (ValueError, OSError, KeyError):
        return False
    return True


def iso_utc(ms: int) -> str:
    """Write epoch milliseconds as ISO 8601 in UTC, milliseconds kept: `2026-05-01T10:00:00.000+00:00`."""
    return (EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")


def iso_z(ms: int) -> str:
    """Like `iso_utc` with the suffix `Z`, the form the REST dialect uses."""
    return iso_utc(ms).removesuffix("+00:00") + "Z"


def parse_iso_ms(text: str, field: str) -> int:
    """Read an ISO 8601 date or time as epoch milliseconds.

    A date alone means midnight, a time without offset means UTC. Raises `Invalid` naming `field`.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware.astimezone(UTC) - EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError) as exc:
        raise Invalid(
            f"{field} must be an ISO 8601 date or time such as 2026-05-01 or 2026-05-01T10:00:00Z",
            field=field,
        ) from exc


_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000


def age(then_ms: int, now_ms: int) -> str:
    """Say how long ago something was: "just now", "5 min ago", "3 h ago", "12 days ago", later the date."""
    passed = now_ms - then_ms
    if passed < -_MINUTE_MS or passed >= 60 * _DAY_MS:
        return iso_utc(then_ms)[:10]
    if passed < _MINUTE_MS:
        return "just now"
    if passed < _HOUR_MS:
        return f"{passed // _MINUTE_MS} min ago"
    if passed < _DAY_MS:
        return f"{passed // _HOUR_MS} h ago"
    days = passed // _DAY_MS
    return "1 day ago" if days == 1 else f"{days} days ago"
