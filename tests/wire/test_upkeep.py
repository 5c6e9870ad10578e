"""The index is mended and made anew while a server serves and clients write: no error, and nothing is lost."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from test_many_clients import healthy, not_recalled, word_of
from wirekit.processes import Ran, Server, run
from wirekit.waiting import until
from wirekit.web import Caller, ask

BEFORE, EACH, WRITERS = 150, 60, 3
DAMAGE = (
    "DELETE FROM search_text WHERE rowid % 3 = 0",
    "DELETE FROM search_vector WHERE chunk % 4 = 0",
    "DELETE FROM search_chunk WHERE id % 5 = 0",
    "UPDATE search_chunk SET text = 'rotten' WHERE id % 7 = 0",
)
LOSS = ("DROP TABLE search_text", "DROP TABLE search_vector", "DROP TABLE search_chunk")


def remember(client: Caller, number: int, count: int) -> tuple[str, str]:
    word = word_of(number, count)
    (id,) = client.call("remember", content=f"The code word of case {count} is {word}.")["ids"]
    return word, id


@pytest.mark.parametrize(("command", "damage"), [("reindex", DAMAGE), ("repair", LOSS)])
def test_the_index_is_mended_while_clients_write_and_search(
    serve: Callable[..., Server], data: Path, command: str, damage: tuple[str, ...]
) -> None:
    server = serve("--log-level", "WARNING")
    with closing(Caller(server.mcp)) as client:
        stored = dict(remember(client, 9, count) for count in range(BEFORE))
    until(lambda: ask(server.url, "GET", "/readyz").json["pending"] == 0, "vectors of all memories")
    with closing(sqlite3.connect(data / "hivelore.db", timeout=20)) as connection, connection:
        for statement in damage:
            connection.execute(statement)

    mended = threading.Event()

    def write(number: int) -> dict[str, str]:
        with closing(Caller(server.mcp)) as client:
            found: dict[str, str] = {}
            count = 0
            while count < EACH or not mended.is_set():
                whole = mended.is_set()
                try:
                    word, id = remember(client, number, count)
                except AssertionError as refusal:  # until the tables are there again, a write is refused and not lost
                    assert command == "repair" and not whole
                    assert "must run `hivelore repair`" in str(refusal)
                    continue
                found[word] = id
                count += 1
                client.call("recall", query=word, limit=1)
            return found

    def mend() -> Ran:
        try:
            return run(command, "--json", "--data", str(data))
        finally:
            mended.set()

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        writers = [pool.submit(write, number) for number in range(WRITERS)]
        ran = pool.submit(mend).result(120)
        for writer in writers:
            stored |= writer.result(120)
    assert ran.code == 0, ran.err
    assert sum(ran.json["found"].values()) > 0
    until(lambda: ask(server.url, "GET", "/readyz").json["pending"] == 0, "vectors of what was mended")
    again = run("reindex", "--json", "--data", str(data)).json
    assert {name: number for name, number in again["found"].items() if number} == {}
    assert not_recalled(server, sorted(stored)[::10], stored) == []
    if command == "reindex":
        assert "ERROR" not in server.log
    healthy(data, len(stored))


def test_an_index_that_lost_rows_is_mended_by_the_next_start(serve: Callable[..., Server], data: Path) -> None:
    """DL-13: the index is checked against the store on open."""
    first = serve()
    with closing(Caller(first.mcp)) as client:
        stored = dict(remember(client, 9, count) for count in range(20))
    assert first.stop() == 0
    with closing(sqlite3.connect(data / "hivelore.db")) as connection, connection:
        connection.execute("DELETE FROM search_chunk WHERE id <= 10")
        connection.execute("DELETE FROM search_text WHERE rowid > 15")
    again = serve()
    until(lambda: "mended the index" in again.log, "the index mended")
    assert not_recalled(again, sorted(stored), stored) == []
    healthy(data, len(stored))
