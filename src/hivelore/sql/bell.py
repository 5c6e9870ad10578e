"""Wake-up calls between "there is work" and the threads that do it.

A bell is a hint, never a guarantee: workers also poll, so a lost ring costs seconds and nothing else. Within one
process it is a condition variable. Between processes on Postgres a listening thread hears NOTIFY (added with replicas);
between processes on one SQLite file polling alone carries.
"""

from __future__ import annotations

import threading


class Bell:
    """Rung after a commit that left work behind. `wait` returns early when it rings."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._rings = 0

    def ring(self) -> None:
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def count(self) -> int:
        """How often it has rung; pass it to `wait` so that a ring in between is not missed."""
        return self._rings

    def wait(self, seen: int, timeout_s: float) -> int:
        """Block until the bell has rung more than `seen` times or `timeout_s` passed; return the new count."""
        with self._condition:
            self._condition.wait_for(lambda: self._rings > seen, timeout_s)
            return self._rings
