"""Hubs on a test's own store, with a clock that stands still, and the people who call them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivelore.adapters.embed_hash import HashEmbedder
from hivelore.app import bound_handlers, build
from hivelore.core.actor import Caller, Principal, Role
from hivelore.core.clock import Clock, ManualClock
from hivelore.core.ports import Embedder
from hivelore.core.settings import Settings
from hivelore.jobs import worker
from hivelore.work import Call, Hub


@dataclass(frozen=True)
class Store:
    """Where a test may store things: `kind` is "sqlite" or "postgres"; `path` is the SQLite file."""

    kind: str
    url: str
    path: Path | None = None


@contextmanager
def opened(
    store: Store,
    data_dir: Path,
    *,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    former: Any = None,
    **settings: Any,
) -> Iterator[Hub]:
    """A hub on `store`, closed at the end. Vectors come only when a test runs the jobs, so nothing waits for them.
    `former` makes the embedder of a model whose vectors are there from before.
    """
    usual: dict[str, Any] = {
        "data_dir": str(data_dir),
        "database_url": store.url,
        "embedder": "hash",
        "embed_eager_ms": 0,
    }
    chosen: dict[str, Any] = {"clock": clock or ManualClock(), "embedder": embedder or HashEmbedder(), "former": former}
    hub = build(Settings(**usual | settings), **chosen)
    try:
        yield hub
    finally:
        hub.embedder.close()
        hub.former.close()
        hub.db.close()


def caller(
    name: str, role: Role = Role.AGENT, *, grants: frozenset[str] = frozenset(), agent: str = "tester"
) -> Caller:
    """A person by name, calling through the door `test`."""
    return Caller(Principal(name, role, grants), agent=agent, door="test")


def call_as(hub: Hub, name: str, role: Role = Role.AGENT) -> Call:
    """One request of a person."""
    return hub.call(caller(name, role))


def run_jobs(hub: Hub) -> int:
    """Do all background work that is due at the hub's time; return how many jobs that were."""
    return worker.run_due(hub.db, bound_handlers(hub), hub.clock)


def clock_of(hub: Hub) -> ManualClock:
    """The hub's clock, which a test may move."""
    assert isinstance(hub.clock, ManualClock)
    return hub.clock


def with_settings(hub: Hub, **settings: Any) -> Hub:
    """The same hub as it would be after a restart with other settings."""
    return dataclasses.replace(hub, settings=dataclasses.replace(hub.settings, **settings))
