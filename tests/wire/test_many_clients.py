"""Ten clients write to one SQLite file at the same time; nothing is lost, and a kill -9 loses nothing acknowledged."""

from __future__ import annotations

import http.client
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from wirekit.pipes import Pipe, piped
from wirekit.processes import Server, run, serving, start
from wirekit.waiting import until
from wirekit.web import Caller

EACH = 5  # over HTTP, and as many over pipes
WRITES = 200
READ_EVERY = 25
SAMPLE = 20
KILL_AFTER = 500
RUN_LIMIT_S = 180.0


class Client(Protocol):
    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]: ...


@dataclass
class Crowd:
    """Clients that write, and what each was told to be stored: the word of each memory, and its id."""

    clients: list[Client]
    stored: list[dict[str, str]] = field(default_factory=list)

    def write(self, killed: threading.Event | None = None) -> None:
        """Let each client write its share, all at once. No error is forgiven, but those after `killed` was set."""
        self.stored = [{} for _ in self.clients]
        barrier = threading.Barrier(len(self.clients))

        def share(number: int) -> None:
            client, stored = self.clients[number], self.stored[number]
            barrier.wait(60)
            try:
                for count in range(WRITES):
                    word = word_of(number, count)
                    text = f"The code word of case {count} is {word}."
                    (stored[word],) = client.call("remember", content=text, tags=[f"writer-{number}"])["ids"]
                    if count % READ_EVERY == 0:
                        (item,) = client.call("recall", query=word, limit=1)["items"]
                        assert item["id"] == stored[word]
            except (AssertionError, OSError, ValueError, http.client.HTTPException):
                if killed is None or not killed.is_set():
                    raise

        with ThreadPoolExecutor(len(self.clients)) as pool:
            for outcome in [pool.submit(share, number) for number in range(len(self.clients))]:
                outcome.result(RUN_LIMIT_S)

    @property
    def acknowledged(self) -> dict[str, str]:
        return {word: id for stored in list(self.stored) for word, id in list(stored.items())}


def word_of(client: int, count: int) -> str:
    """A word that occurs in one memory only and resembles no other."""
    letters = "bcdfghklmnprstvz"
    digits = f"{client:x}{count:03x}"
    return "qu" + "".join(letters[int(digit, 16)] + "aeio"[place] for place, digit in enumerate(digits)) + "x"


@contextmanager
def crowd(server: Server, *pipe_options: str) -> Iterator[tuple[Crowd, list[Pipe]]]:
    """Five clients over HTTP and five child processes on the same data folder."""
    with ExitStack() as stack:
        callers = [stack.enter_context(closing(Caller(server.mcp))) for _ in range(EACH)]
        pipes = [stack.enter_context(piped(server.folder, *pipe_options)) for _ in range(EACH)]
        for pipe in pipes:
            pipe.initialize()
        yield Crowd([*callers, *pipes]), pipes


@pytest.mark.promise("M-002", "M-076", "P-001", "P-002")
@pytest.mark.slow
@pytest.mark.parametrize("pipe_options", [(), ("--in-process",)], ids=["relayed", "in process"])
def test_ten_clients_write_at_once_and_every_memory_is_recalled(
    serve: Callable[..., Server], data: Path, pipe_options: tuple[str, ...]
) -> None:
    server = serve("--log-level", "WARNING")
    with crowd(server, *pipe_options) as (writers, _):
        writers.write()
        stored = writers.acknowledged
    assert len(stored) == 2 * EACH * WRITES
    assert len(set(stored.values())) == len(stored)

    with closing(Caller(server.mcp)) as reader:
        recalled = [
            item["id"]
            for number in range(2 * EACH)
            for item in reader.call("recall", query="code word", tags=[f"writer-{number}"], limit=WRITES)["items"]
        ]
    assert sorted(recalled) == sorted(stored.values())
    assert not_recalled(server, sorted(stored)[::SAMPLE], stored) == []
    assert "ERROR" not in server.log
    assert server.stop() == 0
    healthy(data, len(stored))


@pytest.mark.slow
def test_kill_in_the_middle_of_writing_loses_nothing_that_was_acknowledged(data: Path) -> None:
    """DL-13: the server and every process on the file end as by a power cut of theirs, and start again."""
    server = start(data, "--log-level", "WARNING")
    with crowd(server, "--in-process") as (writers, pipes):
        killed = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(writers.write, killed)
            try:
                until(lambda: writing.done() or len(writers.acknowledged) >= KILL_AFTER, "half a run of writes", 90)
            finally:
                killed.set()
                for process in (server.process, *(pipe.process for pipe in pipes)):
                    process.kill()  # all at once; they are waited for below
                server.kill()
            writing.result(60)
    acknowledged = writers.acknowledged
    assert KILL_AFTER <= len(acknowledged) < 2 * EACH * WRITES  # it was the middle

    with closing(sqlite3.connect(data / "hivelore.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with serving(data) as again:
        with closing(Caller(again.mcp)) as client:
            assert client.call("list_memories", limit=1)["total"] >= len(acknowledged)
            for word, id in acknowledged.items():
                assert word in client.call("get_memory", id=id)["content"]
        assert not_recalled(again, sorted(acknowledged)[::SAMPLE], acknowledged) == []
    healthy(data, len(acknowledged))


def not_recalled(server: Server, words: list[str], stored: dict[str, str]) -> list[str]:
    """The words whose memory is not the first that a recall finds."""
    with closing(Caller(server.mcp)) as client:
        found = {word: client.call("recall", query=word, limit=1)["items"] for word in words}
    return [word for word, items in found.items() if [item["id"] for item in items] != [stored[word]]]


def healthy(data: Path, at_least: int) -> None:
    """What `hivelore doctor` says: no errors, all memories there, and the index in step with them."""
    ran = run("doctor", "--data", str(data), "--json")
    findings = {each["check"]: each for each in json.loads(ran.out)}
    assert ran.code == 0, findings
    assert not [each for each in findings.values() if each["status"] == "error"]
    assert findings["index"]["status"] == "ok", findings["index"]
    chunks, vectors, waiting = (int(word) for word in findings["index"]["message"].split() if word.isdigit())
    assert chunks >= at_least
    assert vectors + waiting == chunks
