"""The handles on one request: Hub (what is wired), Call (one request), View and Work (one transaction).

`Work` is a `View` that may also write. It carries the connection, the time, the caller and the id maker, and no port
that can wait (no embedder, no network): a transaction cannot depend on either. Slow preparation happens before it, slow
consequences are jobs after it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from hivelore.core.actor import Caller
from hivelore.core.clock import Clock
from hivelore.core.ids import Ids
from hivelore.core.ports import Authenticator, Embedder
from hivelore.core.settings import Settings
from hivelore.jobs import queue
from hivelore.sql.bell import Bell
from hivelore.sql.database import Database

log = logging.getLogger("hivelore")


@dataclass(frozen=True, slots=True)
class View:
    """One consistent look at the store. Everything in it agrees on `now_ms`."""

    connection: Connection
    now_ms: int
    caller: Caller
    settings: Settings

    @property
    def dialect(self) -> str:
        return self.connection.dialect.name


@dataclass(frozen=True, slots=True)
class Work(View):
    """One write transaction: all of it is stored, or none."""

    ids: Ids
    _rings: list[bool] = field(default_factory=list)

    def enqueue(
        self,
        name: str,
        args: dict[str, Any] | None = None,
        *,
        dedupe: str | None = None,
        lane: str | None = None,
        in_ms: int = 0,
    ) -> None:
        """Leave background work behind; workers wake when this transaction has committed."""
        added = queue.enqueue(
            self.connection,
            id=self.ids.new("job"),
            name=name,
            now_ms=self.now_ms,
            args=args,
            dedupe=dedupe,
            lane=lane,
            run_at_ms=self.now_ms + in_ms,
        )
        if added:
            self._rings.append(True)


@dataclass(frozen=True, slots=True)
class Hub:
    """What `hivelore.app.build` wired together. Frozen: nothing is chosen after start."""

    settings: Settings
    db: Database
    clock: Clock
    ids: Ids
    embedder: Embedder
    authenticator: Authenticator
    bell: Bell  # rung when there is background work
    progress: Bell  # rung when chunks got their vectors
    helpers: ThreadPoolExecutor  # makes a question's vector while its words are looked up
    stopping: threading.Event  # set when the process is about to end; long jobs look at it
    vectors: Any  # hivelore.base.search.signatures.SignatureIndex, or None on Postgres
    former: Any  # hivelore.base.search.handover.FormerModel: the model before, while its vectors still answer
    version: str
    started_ms: int

    def call(self, caller: Caller) -> Call:
        return Call(self, caller)

    def layers(self) -> Mapping[str, str]:
        """Which implementation serves each port, by class name; for `ping`, health and `doctor`."""
        return {
            "auth": type(self.authenticator).__name__,
            "store": {"sqlite": "SqliteStore", "postgresql": "PostgresStore"}[self.db.dialect],
            "embedder": type(self.embedder).__name__,
            "retriever": "HybridRetriever",
            "rate_limiter": "disabled",
            "blob_store": "disabled",
        }


@dataclass(frozen=True, slots=True)
class Call:
    """One request of one caller."""

    hub: Hub
    caller: Caller

    @contextmanager
    def read(self) -> Iterator[View]:
        with self.hub.db.read() as connection:
            yield View(connection, self.hub.clock.now_ms(), self.caller, self.hub.settings)

    @contextmanager
    def write(self) -> Iterator[Work]:
        with self.hub.db.write() as connection:
            work = Work(connection, self.hub.clock.now_ms(), self.caller, self.hub.settings, self.hub.ids)
            yield work
        if work._rings:
            self.hub.bell.ring()


Handler = Callable[[Hub, dict[str, Any]], None]
