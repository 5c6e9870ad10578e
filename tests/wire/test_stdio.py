"""`hivelore stdio`, in process and relayed: broken lines, odd ids, the end of the client, and a clean standard
output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from wirekit.pipes import Pipe, is_alive, piped
from wirekit.processes import COMMAND, QUICK, Server, environment
from wirekit.waiting import until

ORPHAN_LIMIT_S = 5.0


DOORS = ("in process", "relayed")


@contextmanager
def child(door: str, request: pytest.FixtureRequest, own_folder: Path) -> Iterator[Pipe]:
    """A client's child process, initialized: it relays to the shared server, or does the work itself."""
    with piped(folder_of(door, request, own_folder), *options_of(door)) as pipe:
        pipe.initialize()
        yield pipe


def folder_of(door: str, request: pytest.FixtureRequest, own_folder: Path) -> Path:
    if door == "in process":
        return own_folder
    server: Server = request.getfixturevalue("shared_server")
    return server.folder


def options_of(door: str) -> list[str]:
    return ["--in-process"] if door == "in process" else []


@pytest.fixture(scope="module", params=DOORS)
def pipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    """One child for all tests that it must survive."""
    with child(request.param, request, tmp_path_factory.mktemp("stdio") / "data") as started:
        yield started


@pytest.fixture(params=DOORS)
def own_pipe(request: pytest.FixtureRequest, data: Path) -> Iterator[Pipe]:
    """A child of this test."""
    with child(request.param, request, data) as started:
        yield started


def answers(pipe: Pipe) -> bool:
    """Whether the child still does its work."""
    return pipe.call("ping", request_id="still there?")["ok"] is True


# -- broken lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"{bad",
        b"\xff\xfe\xfa",
        b'{"jsonrpc": "2.0", "id": 7, "method": "tools/list"',
        b"[" * 100_000,
        b"null",
        b'"tools/list"',
        b"17",
        b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]',
    ],
    ids=["no json", "no utf-8", "cut off", "deeply nested", "null", "string", "number", "batch"],
)
def test_a_line_that_is_no_message_is_answered_with_an_error_and_survived(pipe: Pipe, line: bytes) -> None:
    pipe.write(line)
    answer = pipe.receive()
    assert answer["id"] is None
    assert answer["error"]["code"] in (-32700, -32600)
    assert len(answer["error"]["message"]) < 400
    assert answers(pipe)


def test_bytes_that_are_no_utf8_inside_a_text_do_not_end_the_child(pipe: Pipe) -> None:
    pipe.write(
        b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", '
        b'"params": {"name": "remember", "arguments": {"content": "a \xff b"}}}'
    )
    assert pipe.receive()["id"] in (5, None)
    assert answers(pipe)


def test_empty_lines_are_no_messages(pipe: Pipe) -> None:
    pipe.write(b"")
    pipe.write(b"   ")
    assert answers(pipe)


def test_an_unknown_method_is_named_as_such(pipe: Pipe) -> None:
    assert pipe.ask("no/such/method")["error"]["code"] == -32601
    assert answers(pipe)


def test_an_unknown_notification_is_not_answered(pipe: Pipe) -> None:
    pipe.send({"jsonrpc": "2.0", "method": "notifications/no-such-thing"})
    assert answers(pipe)


@pytest.mark.parametrize("id", ["a-string", "", 0, -1, 2**53 + 1, "0" * 10_000], ids=str)
def test_ids_of_every_kind_come_back_as_they_were(pipe: Pipe, id: object) -> None:
    assert pipe.ask("tools/list", request_id=id)["id"] == id


def test_an_id_beyond_any_integer_type_does_not_end_the_child(pipe: Pipe) -> None:
    pipe.write(b'{"jsonrpc": "2.0", "id": ' + b"9" * 5_000 + b', "method": "tools/list"}')
    assert pipe.receive()["jsonrpc"] == "2.0"
    assert answers(pipe)


def test_ten_megabytes_of_content_are_refused_in_words(pipe: Pipe) -> None:
    text = "x" * (10 * 1024 * 1024)
    answer = pipe.ask("tools/call", {"name": "remember", "arguments": {"content": text}}, within_s=60)
    assert answer["result"]["isError"] is True
    assert "200000" in answer["result"]["content"][0]["text"].replace(",", "").replace("_", "")
    assert answers(pipe)


def test_line_separators_inside_a_text_do_not_split_a_message(pipe: Pipe) -> None:
    text = "one\u2028two\u0085three\x0bfour\rfive\nsix"
    (id,) = pipe.call("remember", content=text)["ids"]
    assert pipe.call("get_memory", id=id)["content"] == text


def test_many_requests_at_once_are_all_answered(pipe: Pipe) -> None:
    for number in range(50):
        pipe.send(remember(number, f"Fact number {number}.", "many-at-once"))
    assert {pipe.receive()["id"] for _ in range(50)} == set(range(50))
    assert pipe.call("list_memories", namespace="many-at-once")["total"] == 50


def remember(id: int, content: str, namespace: str) -> dict[str, Any]:
    arguments = {"content": content, "namespace": namespace}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "remember", "arguments": arguments}}


# -- the end -----------------------------------------------------------------------------------------------------------


@pytest.mark.promise("M-078")
def test_the_end_of_the_input_ends_the_child_and_nothing_else_was_on_its_output(own_pipe: Pipe) -> None:
    assert answers(own_pipe)
    assert own_pipe.close() == 0
    assert own_pipe.rest() == []
    assert "Traceback" not in own_pipe.log


def test_a_request_right_before_the_end_of_the_input_is_done_and_answered(own_pipe: Pipe) -> None:
    own_pipe.send(remember(1, "Said with the last breath.", "last-breath"))
    assert own_pipe.close() == 0
    (line,) = own_pipe.rest()
    assert json.loads(line)["result"]["structuredContent"]["ids"]


@pytest.mark.parametrize("door", DOORS)
def test_a_child_whose_client_died_ends_within_seconds(door: str, data: Path, request: pytest.FixtureRequest) -> None:
    """CC-06: the client is killed while somebody else still holds the other end of the pipe, so no end of input
    comes."""
    words = [*COMMAND, "stdio", "--data", str(folder_of(door, request, data)), *QUICK, *options_of(door)]
    reading, writing = os.pipe()
    client = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, *words],
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        pass_fds=(writing,),
    )
    os.close(reading)
    assert client.stdout is not None
    orphan = 0
    try:
        orphan = int(client.stdout.readline())
        os.write(writing, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        assert b"jsonrpc" in client.stdout.readline()
        client.kill()
        client.wait(10)
        until(lambda: not is_alive(orphan), f"the end of the orphan ({door})", ORPHAN_LIMIT_S)
    finally:
        os.close(writing)
        client.stdout.close()
        if client.poll() is None:
            client.kill()
            client.wait(10)
        if orphan and is_alive(orphan):
            os.kill(orphan, signal.SIGKILL)


# Starts the child with its own standard input and output, says its process id, and waits for it.
_CLIENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:])
print(child.pid, flush=True)
child.wait()
"""
