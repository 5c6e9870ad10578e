"""The composition root: the only code that chooses implementations.

`build` wires a `Hub` from settings; `Application` adds what runs (the worker, the model's loading); `asgi` is the web
application with every door.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import hivelore
from hivelore.base.identity.service import make_authenticator
from hivelore.base.memories import upkeep as memory_upkeep
from hivelore.base.search import handover, upkeep
from hivelore.base.search import jobs as search_jobs
from hivelore.base.search.handover import FormerModel
from hivelore.base.search.upkeep import Site, Source
from hivelore.core.clock import Clock, SystemClock
from hivelore.core.errors import Invalid
from hivelore.core.ids import Ids, RandomIds
from hivelore.core.ports import Authenticator, Embedder
from hivelore.core.settings import Settings
from hivelore.jobs import queue, worker
from hivelore.sql import schema
from hivelore.sql.bell import Bell
from hivelore.sql.database import Database
from hivelore.work import Handler, Hub

DATABASE_FILE = "hivelore.db"

# Whatever registers entries with search, so that the index can be compared with it and made anew from it.
SOURCES: tuple[Source, ...] = (memory_upkeep.SOURCE,)

# Rooms with background work, by the names of their jobs.
HANDLERS: dict[str, Handler] = {
    **search_jobs.HANDLERS,
    **handover.HANDLERS,
    "search.check": functools.partial(upkeep.check, SOURCES),
}


def data_dir(settings: Settings) -> Path:
    """The data folder, with `~` expanded."""
    return Path(settings.data_dir).expanduser().absolute()


def database_url(settings: Settings) -> str:
    """The configured database, or the SQLite file in the data folder."""
    if settings.database_url:
        return settings.database_url
    if settings.require_database:
        raise Invalid("HIVELORE_REQUIRE_DATABASE is on, but HIVELORE_DATABASE_URL names no database.")
    return f"sqlite:///{data_dir(settings)}/{DATABASE_FILE}"


def make_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name; nothing is loaded yet."""
    match settings.embedder:
        case "e5":
            from hivelore.adapters.embed_e5 import E5Embedder

            return E5Embedder(
                folder=Path(settings.embed_folder).expanduser() if settings.embed_folder else None,
                cache_dir=data_dir(settings) / "models",
                threads=settings.embed_threads,
            )
        case "light":
            from hivelore.adapters.embed_light import LightEmbedder

            return LightEmbedder()
        case "fastembed":
            from hivelore.adapters.embed_fastembed import FastembedEmbedder

            return FastembedEmbedder(
                settings.embed_model, cache_dir=data_dir(settings) / "models", threads=settings.embed_threads
            )
        case "http":
            from hivelore.adapters.embed_http import HttpEmbedder

            return HttpEmbedder(
                settings.embed_url, settings.embed_model, api_key=settings.embed_api_key, dims=settings.embed_dims
            )
        case "hash":
            from hivelore.adapters.embed_hash import HashEmbedder

            return HashEmbedder()
        case "off":
            from hivelore.adapters.embed_off import OffEmbedder

            return OffEmbedder()
        case other:
            raise Invalid(f"HIVELORE_EMBEDDER is {other!r}; it must be e5, light, fastembed, http, hash or off.")


def make_former(settings: Settings, name: str) -> Embedder | str:
    """The embedder that made vectors under this recorded name, or why it cannot be had.

    Only what is on this machine already is used, and no text goes to an endpoint that the settings no longer name.
    """
    from hivelore.adapters.embed_e5 import E5Embedder
    from hivelore.adapters.embed_hash import HashEmbedder
    from hivelore.adapters.embed_light import LightEmbedder

    kind, _, rest = name.partition("/")
    model, _, dims = rest.rpartition("/")
    match kind:
        case _ if name == E5Embedder.model:
            return E5Embedder(cache_dir=data_dir(settings) / "models", threads=settings.embed_threads)
        case _ if name == LightEmbedder.model:
            return LightEmbedder()
        case _ if name == HashEmbedder.model:
            return HashEmbedder()
        case "fastembed" if model:
            from hivelore.adapters.embed_fastembed import FastembedEmbedder

            return FastembedEmbedder(model, cache_dir=data_dir(settings) / "models", offline=True)
        case "http" if model and settings.embedder == "http" and settings.embed_url:
            from hivelore.adapters.embed_http import HttpEmbedder

            return HttpEmbedder(settings.embed_url, model, api_key=settings.embed_api_key, dims=int(dims))
        case "http":
            return "unavailable: its endpoint is no longer in the settings, and no text is sent there"
    return "unavailable: this version cannot load it"


def build(
    settings: Settings,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    embedder: Embedder | None = None,
    authenticator: Authenticator | None = None,
    former: Callable[[str], Embedder | str] | None = None,
) -> Hub:
    """Open the store, make its schema current, and wire the hub. Nothing runs in the background yet."""
    clock = clock or SystemClock()
    db = Database(database_url(settings), pool_size=settings.worker_threads)
    try:
        schema.prepare(db)
    except BaseException:
        db.close()
        raise
    vectors: Any = None
    if db.dialect == "sqlite":
        from hivelore.base.search.signatures import SignatureIndex

        vectors = SignatureIndex()
    # One query is a small product: a second BLAS thread would spin longer than it works, on a core that others need.
    threadpool_limits(1, user_api="blas")
    return Hub(
        settings=settings,
        db=db,
        clock=clock,
        ids=ids or RandomIds(),
        embedder=embedder or make_embedder(settings),
        authenticator=authenticator or make_authenticator(settings),
        bell=Bell(),
        progress=Bell(),
        helpers=ThreadPoolExecutor(settings.worker_threads, "hivelore-helper"),
        stopping=threading.Event(),
        vectors=vectors,
        former=FormerModel(former or functools.partial(make_former, settings), vectors),
        version=hivelore.__version__,
        started_ms=clock.now_ms(),
    )


def site(settings: Settings, db: Database, **overrides: Any) -> Site:
    """The store as upkeep sees it. No model is loaded: only its name counts."""
    embedder = make_embedder(settings)
    name = "" if settings.embedder == "off" else embedder.model
    given: dict[str, Any] = {"clock": SystemClock(), "ids": RandomIds(), "sources": SOURCES, "model": name}
    return Site(db=db, settings=settings, **given | overrides)


def bound_handlers(hub: Hub) -> dict[str, Callable[[dict[str, Any]], None]]:
    """The job handlers with this hub, as the worker wants them."""
    return {name: functools.partial(handler, hub) for name, handler in HANDLERS.items()}


@dataclass
class Application:
    """A hub with its background work. `start` returns at once; `stop` ends what it started and closes the store."""

    hub: Hub

    def __post_init__(self) -> None:
        self._worker = worker.Worker(self.hub.db, bound_handlers(self.hub), self.hub.clock, self.hub.bell)

    def start(self) -> None:
        """Begin loading the model, look for chunks without a vector of it, and hold the index against the memories."""
        hub = self.hub
        hub.embedder.start()
        handover.prepare(hub)
        with hub.db.write() as connection:
            for name in ("search.reconcile", "search.check"):
                queue.enqueue(connection, id=hub.ids.new("job"), name=name, now_ms=hub.clock.now_ms(), dedupe=name)
        self._worker.start()
        hub.helpers.submit(search_jobs.warm, hub)

    def stop(self) -> None:
        self.hub.stopping.set()
        self._worker.stop()
        self.hub.helpers.shutdown(wait=False)
        self.hub.embedder.close()
        self.hub.former.close()
        self.hub.db.close()
