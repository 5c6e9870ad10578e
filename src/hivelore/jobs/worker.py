"""The loop that does jobs: claim one, run its handler, finish or put it back with back-off.

The loop knows no room: it is given handlers by name. Handlers get only their arguments and open their own short
transactions. A handler that fails is retried with exponential back-off and, after `MAX_ATTEMPTS`, kept as failed for
`doctor` to show.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from hivelore.core.clock import Clock
from hivelore.core.errors import HiveloreError, Unavailable
from hivelore.core.text import clean
from hivelore.jobs import queue
from hivelore.sql.bell import Bell
from hivelore.sql.database import Database, Retryable

log = logging.getLogger("hivelore.jobs")

LEASE_MS = 120_000
POLL_S = 2.0
MAX_ATTEMPTS = 8
BACK_OFF_START_MS = 1_000
BACK_OFF_LIMIT_MS = 300_000
BACKGROUND_NICE = 10

Handlers = Mapping[str, Callable[[dict[str, Any]], None]]


def back_off_ms(attempts: int) -> int:
    """1 s, 2 s, 4 s … at most 5 minutes."""
    return min(BACK_OFF_START_MS << min(attempts - 1, 20), BACK_OFF_LIMIT_MS)


def run_one(db: Database, handlers: Handlers, clock: Clock) -> bool:
    """Claim and do one due job; False when none was due."""
    with db.read() as connection:  # a look first: an idle worker must not take the write lock every poll
        if not queue.any_due(connection, names=tuple(handlers), now_ms=clock.now_ms()):
            return False
    with db.write() as connection:
        job = queue.claim(connection, names=tuple(handlers), now_ms=clock.now_ms(), lease_ms=LEASE_MS)
    if job is None:
        return False
    try:
        handlers[job.name](job.args)
    except Exception as exc:
        # `Unavailable` is a state of the world (a model endpoint is down) and is retried for ever;
        # anything else is a fault, and giving up keeps it from burning a core.
        for_ever = isinstance(exc, Unavailable | Retryable)
        retry = back_off_ms(job.attempts) if for_ever or job.attempts < MAX_ATTEMPTS else None
        if not isinstance(exc, HiveloreError | Retryable):
            log.exception("job %s failed (attempt %d)", job.name, job.attempts)
        with db.write() as connection:
            queue.fail(
                connection,
                job,
                error=clean(f"{type(exc).__name__}: {exc}").text[:500],
                now_ms=clock.now_ms(),
                retry_in_ms=retry,
            )
    else:
        with db.write() as connection:
            queue.finish(connection, job)
    return True


def run_due(db: Database, handlers: Handlers, clock: Clock, *, limit: int = 10_000) -> int:
    """Do all jobs that are due now, at most `limit`; return how many. For tests and hosts without threads."""
    done = 0
    while done < limit and run_one(db, handlers, clock):
        done += 1
    return done


def _step_back() -> None:
    """Give this thread a lower priority, so that background work never slows an answer. Linux only: elsewhere a
    priority belongs to the whole process."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BACKGROUND_NICE)


class Worker:
    """A background thread that does jobs until it is stopped."""

    def __init__(self, db: Database, handlers: Handlers, clock: Clock, bell: Bell) -> None:
        self._db, self._handlers, self._clock, self._bell = db, handlers, clock, bell
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="hivelore-jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Ask the loop to end after the job at hand and wait for it; a job cut short is taken up again later."""
        self._stopping.set()
        self._bell.ring()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _loop(self) -> None:
        _step_back()
        seen = self._bell.count()
        while not self._stopping.is_set():
            try:
                if run_one(self._db, self._handlers, self._clock):
                    continue
            except Exception:
                # The store may be full, locked or away: the loop outlives that and tries again.
                log.exception("the job loop could not reach the store")
                self._stopping.wait(POLL_S)
            seen = self._bell.wait(seen, POLL_S)
