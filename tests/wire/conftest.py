"""Servers for the wire tests: one of its own for a test that needs it, one shared by tests that only look."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from wirekit.processes import Server, run, serving

HERE = Path(__file__).parent
LOG_CHARS = 4_000
STARTED = pytest.StashKey[list[Server]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.wire)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failure what the servers of the test wrote: a client is told only the id of an unexpected error."""
    report = yield
    if report.failed:
        named = getattr(item, "funcargs", {}).values()
        servers = [*(each for each in named if isinstance(each, Server)), *item.stash.get(STARTED, [])]
        logs = {server.url: server.log[-LOG_CHARS:] for server in servers}
        report.sections += [(f"log of the server at {url}", log) for url, log in logs.items()]
    return report


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder of this test that does not exist yet."""
    return tmp_path / "data"


@pytest.fixture
def serve(data: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Server]]:
    """Start servers: `serve()`, `serve("--log-level", "DEBUG", port=…)`; all are ended with the test."""
    started = request.node.stash.setdefault(STARTED, [])
    with ExitStack() as stack:

        def make(*options: str, folder: Path = data, **more: Any) -> Server:
            server = stack.enter_context(serving(folder, *options, **more))
            started.append(server)
            return server

        yield make


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """A server on an empty store of this test."""
    return serve()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of this process that leave nothing behind in its store that others could see."""
    with serving(tmp_path_factory.mktemp("shared") / "data") as running:
        yield running


@pytest.fixture(scope="session")
def e5_models(model_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the converted default model, to put where a server looks for it (`models` in its data folder)."""
    folder = tmp_path_factory.mktemp("convert") / "data"
    folder.mkdir()
    model_cache.mkdir(parents=True, exist_ok=True)
    (folder / "models").symlink_to(model_cache)
    checked = run("doctor", "--data", str(folder))  # loads the model, which converts it where that was not done before
    assert checked.code == 0, checked.out
    return model_cache
