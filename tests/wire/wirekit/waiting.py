"""Waiting with a limit: a wire test never sleeps for a fixed time and never waits for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PAUSE_S = 0.02

T = TypeVar("T")


def until(found: Callable[[], T | None], what: str, within_s: float = 30.0) -> T:
    """Ask again and again until `found` gives something true; raises AssertionError with `what` when time is up."""
    deadline = time.monotonic() + within_s
    while True:
        answer = found()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {within_s:g} s")
        time.sleep(PAUSE_S)
