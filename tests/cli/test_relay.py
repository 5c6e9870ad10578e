"""The stdio relay against a small HTTP server: what it sends, what it makes of every answer, and how it survives."""

from __future__ import annotations

import base64
import io
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcp.shared.inbound import NAME_BEARING_METHODS, decode_header_value, encode_header_value

from hivelore.cli.client import relay
from hivelore.cli.client.relay import Endpoint, Relay, find_server
from hivelore.doors.profiles import PROFILES

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
MODERN = "2026-07-28"
KEY = "a-key-that-is-long-enough"


class BusyServer(ThreadingHTTPServer):
    """Takes many connections at once; with the usual five a sixth waits a second."""

    daemon_threads = True
    request_queue_size = 64


@dataclass
class Sent:
    """A message as it arrived."""

    headers: dict[str, str]
    message: Any
    raw: bytes


Answer = Callable[["Sent"], tuple[int, str, bytes]]


@dataclass
class McpServer:
    """A server of which a test says what it answers: (status, content type, body), or an exception that breaks the
    connection off."""

    folder: Path
    httpd: ThreadingHTTPServer | None = None
    sent: list[Sent] = field(default_factory=list)
    answer: Answer = field(default=lambda sent: as_json(sent))

    @property
    def port(self) -> int:
        assert self.httpd is not None
        return int(self.httpd.server_address[1])

    def start(self, *, note: bool = True) -> McpServer:
        """Listen on a new port and leave the note."""
        state = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.reply(200 if self.path == "/healthz" else 404, "text/plain", b"ok")

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                sent = Sent(headers | {":path": self.path}, json.loads(raw), raw)
                state.sent.append(sent)
                try:
                    self.reply(*state.answer(sent))
                except ConnectionError:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)

            def reply(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                if kind:
                    self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self.httpd = BusyServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        if note:
            self.leave_note()
        return self

    def leave_note(self) -> None:
        note = {"pid": 1, "url": f"http://127.0.0.1:{self.port}", "mcp_path": "/mcp"}
        (self.folder / relay.NOTE).write_text(json.dumps(note))

    def stop(self) -> None:
        if self.httpd is not None:
            self.httpd.shutdown()
            self.httpd.server_close()
            self.httpd = None


def as_json(sent: Sent, result: Any = None) -> tuple[int, str, bytes]:
    """An answer as one JSON object, that says which method was called."""
    body = {"jsonrpc": "2.0", "id": sent.message.get("id"), "result": result or {"method": sent.message.get("method")}}
    return 200, "application/json", json.dumps(body).encode()


def events(*messages: Any, end: str = "\n") -> tuple[int, str, bytes]:
    """An answer as server-sent events."""
    text = "".join(f"event: message{end}data: {json.dumps(each, ensure_ascii=False)}{end}{end}" for each in messages)
    return 200, "text/event-stream; charset=utf-8", text.encode()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[McpServer]:
    found = McpServer(tmp_path).start()
    yield found
    found.stop()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for a server again takes no time, and ends after three looks."""
    now = iter(range(10_000))
    monkeypatch.setattr(relay, "time", SimpleNamespace(monotonic=lambda: float(next(now)), sleep=lambda s: None))
    monkeypatch.setattr(relay, "RECONNECT_S", 4.0)
    monkeypatch.setattr(relay, "end_with_parent", lambda: None)


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """Standard output."""
    written = io.BytesIO()
    monkeypatch.setattr(relay, "sys", SimpleNamespace(stdout=SimpleNamespace(buffer=written)))
    return written


def lines(out: io.BytesIO) -> list[Any]:
    """What was written: one JSON object a line and nothing else."""
    assert not out.getvalue() or out.getvalue().endswith(b"\n")
    return [json.loads(line) for line in out.getvalue().decode().split("\n")[:-1]]


@pytest.fixture
def ask(server: McpServer, out: io.BytesIO) -> Callable[..., list[Any]]:
    """Hand messages to one relay; returns what it wrote."""
    working = Relay(Endpoint(server.folder, "127.0.0.1", server.port, "/mcp"), KEY)

    def call(*messages: Any) -> list[Any]:
        before = len(lines(out))
        for message in messages:
            raw = message if isinstance(message, bytes) else json.dumps(message, ensure_ascii=False).encode()
            working.handle(raw)
        return lines(out)[before:]

    return call


def request(method: str = "tools/list", id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, **({"params": params} if params else {})}


def call_of(tool: str, id: Any = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", id, name=tool, arguments=arguments)


def modern(method: str, **params: Any) -> dict[str, Any]:
    return request(method, **params, _meta={VERSION_KEY: MODERN})


# -- what is sent ------------------------------------------------------------------------------------------------------


def test_a_message_goes_to_the_path_of_the_note_with_key_and_accepted_types(server: McpServer, ask: Any) -> None:
    assert ask(request()) == [{"jsonrpc": "2.0", "id": 1, "result": {"method": "tools/list"}}]
    [sent] = server.sent
    assert sent.message == request()
    assert sent.headers[":path"] == "/mcp"
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["accept"] == "application/json, text/event-stream"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert not [name for name in sent.headers if name.startswith("mcp-")]


def test_without_a_key_there_is_no_authorization(server: McpServer, out: io.BytesIO) -> None:
    Relay(Endpoint(server.folder, "127.0.0.1", server.port, "/mcp"), "").handle(json.dumps(request()).encode())
    assert "authorization" not in server.sent[0].headers


def test_after_the_handshake_every_message_names_the_version_that_was_agreed(server: McpServer, ask: Any) -> None:
    server.answer = lambda sent: as_json(sent, {"protocolVersion": "2025-06-18"} if "initialize" in str(sent) else None)
    ask(request("initialize", protocolVersion="2025-11-25"))
    ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, call_of("ping"))
    versions = [sent.headers.get("mcp-protocol-version") for sent in server.sent]
    assert versions == [None, "2025-06-18", "2025-06-18"]
    assert not any("mcp-method" in sent.headers or "mcp-name" in sent.headers for sent in server.sent)


@pytest.mark.parametrize(
    "result", [{"error": {"code": -1, "message": "no"}}, {"result": {}}, {"result": None}, {"result": ["2025-06-18"]}]
)
def test_a_handshake_that_failed_agrees_on_nothing(server: McpServer, ask: Any, result: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **result}).encode()
    server.answer = lambda sent: (200, "application/json", body)
    assert ask(request("initialize")) == [json.loads(body)]
    ask(request())
    assert "mcp-protocol-version" not in server.sent[1].headers


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (modern("tools/list"), None),
        (modern("tools/call", name="recall", arguments={}), "recall"),
        (modern("prompts/get", name="a prompt"), "a prompt"),
        (modern("resources/read", uri="memory://namespace/shared"), "memory://namespace/shared"),
        (modern("tools/call", name=7), None),
        (modern("tools/call", arguments={"name": "x"}), None),
    ],
)
def test_a_message_of_the_current_version_repeats_method_and_name_in_headers(
    server: McpServer, ask: Any, message: dict[str, Any], name: str | None
) -> None:
    ask(message)
    [sent] = server.sent
    assert sent.headers["mcp-protocol-version"] == MODERN
    assert sent.headers["mcp-method"] == message["method"]
    assert sent.headers.get("mcp-name") == name
    assert sent.message == message


@pytest.mark.parametrize("params", [None, [], "x", {"_meta": None}, {"_meta": {VERSION_KEY: 7}}, {"_meta": {}}])
def test_a_message_without_a_version_of_its_own_is_one_of_the_older_protocol(
    server: McpServer, ask: Any, params: Any
) -> None:
    assert len(ask({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params})) == 1
    assert not [name for name in server.sent[0].headers if name.startswith("mcp-")]


def test_the_methods_with_a_name_are_those_of_the_protocol() -> None:
    assert dict(NAME_BEARING_METHODS) == relay._NAMED_BY
    assert f'"{VERSION_KEY}"' == json.dumps(relay._MODERN_VERSION_KEY)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@example("recall")
@example("日本語")
@example(" edge ")
@example("=?base64?cmVjYWxs?=")
@example("new\nline: x")
@example("\x7f")
def test_names_travel_in_a_header_as_the_protocol_says(name: str) -> None:
    written = relay._header_safe(name)
    assert decode_header_value(written) == name
    assert written == encode_header_value(name)


def test_a_tool_with_a_name_in_any_script_reaches_the_server(server: McpServer, ask: Any) -> None:
    ask(modern("tools/call", name="記憶を探す", arguments={"frage": "größe 🚀"}))
    [sent] = server.sent
    encoded = base64.b64encode("記憶を探す".encode()).decode()
    assert sent.headers["mcp-name"] == f"=?base64?{encoded}?="
    assert sent.message["params"]["arguments"] == {"frage": "größe 🚀"}


@pytest.mark.parametrize(
    "message",
    [
        modern("tools/call\r\nx-evil: 1", name="recall"),
        modern("tools/списък", name="recall"),
        modern("tools/call", name="lone \ud800 surrogate"),
        request("tools/list", _meta={VERSION_KEY: "2026\r\nx-evil: 1"}),
        request("tools/list", _meta={VERSION_KEY: "версия"}),
    ],
)
def test_what_cannot_stand_in_a_header_is_answered_and_smuggles_nothing(
    server: McpServer, out: io.BytesIO, message: dict[str, Any]
) -> None:
    working = Relay(Endpoint(server.folder, "127.0.0.1", server.port, "/mcp"), "")
    working.handle(json.dumps(message).encode())
    [answer] = lines(out)
    assert answer["id"] == 1
    assert not any("x-evil" in sent.headers for sent in server.sent)
    if "error" in answer:
        assert "does not answer" not in answer["error"]["message"]
        assert "went away" not in answer["error"]["message"]


# -- what comes back ---------------------------------------------------------------------------------------------------


def test_an_answer_is_one_line_whatever_is_in_it(server: McpServer, ask: Any, out: io.BytesIO) -> None:
    result = {"text": "line\nbreak\u2028 and\u2029 separators \r\n 日本語 😀 \x00\x1b"}
    server.answer = lambda sent: as_json(sent, result)
    assert ask(request())[0]["result"] == result
    assert out.getvalue().count(b"\n") == 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_events_are_taken_apart_and_written_in_their_order(server: McpServer, ask: Any, end: str) -> None:
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"text": "日本語\u2028x"}}
    final = {"jsonrpc": "2.0", "id": 1, "result": {"done": True}}
    server.answer = lambda sent: events(progress, final, end=end)
    assert ask(request()) == [progress, final]


def test_events_may_have_comments_ids_empty_data_and_data_in_several_lines(server: McpServer, ask: Any) -> None:
    body = (
        b": a comment\n\nid: 7\ndata:\n\nid: 8\nevent: message\nretry: 3\n"
        b'data: {"jsonrpc": "2.0",\ndata: "id": 1,\ndata:"result": {}}\n\n: bye'
    )
    server.answer = lambda sent: (200, "text/event-stream", body)
    assert ask(request()) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


@pytest.mark.parametrize("id", [0, -1, "a", "日本", 10**40, 1.5, None])
def test_ids_come_back_as_they_were(server: McpServer, ask: Any, id: Any) -> None:
    assert ask(request(id=id))[0]["id"] == id


def test_a_notification_is_not_answered_whatever_the_server_says(server: McpServer, ask: Any) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    for reply in (
        (202, "", b""),
        (200, "application/json", b'{"jsonrpc":"2.0","id":null,"error":{}}'),
        (500, "", b"x"),
    ):
        server.answer = lambda sent, reply=reply: reply
        assert ask(note) == []
    assert [sent.message for sent in server.sent] == [note] * 3


def test_an_answer_of_the_client_to_the_server_is_passed_on(server: McpServer, ask: Any) -> None:
    server.answer = lambda sent: (202, "", b"")
    assert ask({"jsonrpc": "2.0", "id": "from the server", "result": {}}) == []
    assert server.sent[0].message["id"] == "from the server"


def test_an_error_of_the_protocol_comes_through_with_the_clients_id(server: McpServer, ask: Any) -> None:
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Bad version"}}
    server.answer = lambda sent: (400, "application/json", json.dumps(refusal).encode())
    assert ask(request(id="mine")) == [refusal | {"id": "mine"}]


@pytest.mark.parametrize("status", [401, 403, 404, 405, 413, 421, 500, 502, 503])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b'{"error": {"code": "unauthenticated", "message": "no"}}'),
        ("application/json", b'["a list"]'),
        ("application/json", b'{"broken'),
        ("text/html", b"<h1>Bad gateway</h1>" * 100),
        ("text/plain", b"\xff\xfe no text"),
        ("", b""),
    ],
)
def test_other_answers_are_an_error_that_names_their_status(
    server: McpServer, ask: Any, status: int, kind: str, body: bytes
) -> None:
    server.answer = lambda sent: (status, kind, body)
    [answer] = ask(call_of("remember", id=7, content="x"))
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
    assert f"HTTP status {status}" in answer["error"]["message"]
    assert len(answer["error"]["message"]) < 400
    assert len(server.sent) == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b""),
        ("application/json", b"{"),
        ("text/event-stream", b"data: {broken\n\n"),
        ("text/event-stream", b"data: [1]\n\n"),
        ("text/event-stream", b""),
        ("text/event-stream", b": only a comment\n\n"),
    ],
)
@pytest.mark.parametrize("method", ["tools/call", "initialize"])
def test_a_request_is_always_answered_also_when_the_server_talks_nonsense(
    server: McpServer, ask: Any, kind: str, body: bytes, method: str
) -> None:
    server.answer = lambda sent: (200, kind, body)
    answers = ask(request(method, name="remember"))
    assert [answer["id"] for answer in answers] == [1]
    assert "error" in answers[0]
    if method == "tools/call":
        assert len(server.sent) == 1


def test_a_big_message_and_a_big_answer_come_through_whole(server: McpServer, ask: Any) -> None:
    content = "größer 🚀 " * 500_000
    server.answer = lambda sent: as_json(sent, {"content": sent.message["params"]["arguments"]["content"]})
    [answer] = ask(call_of("remember", content=content))
    assert answer["result"]["content"] == content


# -- lines that are no messages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [b"not json", b"{", b"\xff\xfe", b"[" * 200_000, b'{"a": 1} trailing', b"\x00"])
def test_a_line_that_is_no_json_is_a_parse_error(server: McpServer, ask: Any, line: bytes) -> None:
    [answer] = ask(line)
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)
    assert ask(request())[0]["result"]
    assert len(server.sent) == 1


@pytest.mark.parametrize("line", [b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"7", b'"text"', b"null"])
def test_json_that_is_no_object_is_an_invalid_request(server: McpServer, ask: Any, line: bytes) -> None:
    [answer] = ask(line)
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert server.sent == []


# -- the server goes away ----------------------------------------------------------------------------------------------


def test_a_server_that_restarted_on_another_port_is_found_by_its_note(server: McpServer, ask: Any) -> None:
    ask(request())
    server.stop()
    server.start()
    for message in (call_of("remember", content="x"), request(), call_of("recall", query="x")):
        assert "result" in ask(message)[0]
    assert [sent.message["method"] for sent in server.sent] == ["tools/list", "tools/call", "tools/list", "tools/call"]


def test_the_version_that_was_agreed_is_kept_across_a_restart(server: McpServer, ask: Any) -> None:
    server.answer = lambda sent: as_json(sent, {"protocolVersion": "2025-06-18"})
    ask(request("initialize"))
    server.stop()
    server.start()
    ask(request())
    assert server.sent[-1].headers["mcp-protocol-version"] == "2025-06-18"
    assert server.sent[-1].headers["authorization"] == f"Bearer {KEY}"


def test_a_server_that_comes_back_while_it_is_looked_for_gets_the_message(
    server: McpServer, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.stop()
    pauses: list[float] = []

    def back_at_the_second_pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            server.start()

    monkeypatch.setattr(relay.time, "sleep", back_at_the_second_pause)
    assert "result" in ask(call_of("remember", content="x"))[0]
    assert len(server.sent) == 1


def test_without_a_server_requests_get_an_error_that_says_what_to_start_and_the_relay_lives_on(
    server: McpServer, ask: Any
) -> None:
    server.stop()
    [answer] = ask(call_of("remember", id="r", content="x"))
    assert answer["id"] == "r"
    assert "hivelore serve" in answer["error"]["message"]
    assert ask({"jsonrpc": "2.0", "method": "notifications/initialized"}) == []
    (server.folder / relay.NOTE).unlink()
    assert "hivelore serve" in ask(request())[0]["error"]["message"]
    server.start()
    assert "result" in ask(request())[0]


@pytest.mark.parametrize("tool", ["remember", "update", "forget", "save_session", "forget_session", "unknown"])
def test_what_may_have_changed_something_is_not_sent_twice(server: McpServer, ask: Any, tool: str) -> None:
    def break_off(sent: Sent) -> tuple[int, str, bytes]:
        raise ConnectionError

    server.answer = break_off
    [answer] = ask(call_of(tool, id=3, content="x"))
    assert len(server.sent) == 1
    assert answer["id"] == 3
    assert "not known" in answer["error"]["message"]


@pytest.mark.parametrize("message", [call_of("recall", query="x"), call_of("ping"), request(), request("initialize")])
def test_what_changes_nothing_is_sent_again(server: McpServer, ask: Any, message: dict[str, Any]) -> None:
    def break_off_once(sent: Sent) -> tuple[int, str, bytes]:
        if len(server.sent) == 1:
            raise ConnectionError
        return as_json(sent)

    server.answer = break_off_once
    [answer] = ask(message)
    assert len(server.sent) == 2
    assert "result" in answer


def test_the_tools_that_are_sent_again_are_those_that_only_read() -> None:
    for profile in PROFILES.values():
        reading = {operation.name for operation in profile.operations if operation.read_only}
        assert set(relay.READING_TOOLS) == reading


# -- finding the server ------------------------------------------------------------------------------------------------


def test_a_server_is_found_by_its_note_and_asked(server: McpServer) -> None:
    assert find_server(server.folder) == Endpoint(server.folder, "127.0.0.1", server.port, "/mcp")


def test_without_a_note_or_an_answer_there_is_no_server(server: McpServer, tmp_path: Path) -> None:
    assert find_server(tmp_path / "elsewhere") is None
    server.stop()
    assert find_server(server.folder) is None


def test_a_server_that_answers_and_says_nothing_of_http_is_none(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        note = {"url": f"http://127.0.0.1:{listener.getsockname()[1]}", "mcp_path": "/mcp"}
        (tmp_path / relay.NOTE).write_text(json.dumps(note))

        def speak_ssh() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=speak_ssh)
        thread.start()
        assert find_server(tmp_path) is None
        thread.join(10)


def test_a_server_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "PROBE_TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        note = {"url": f"http://127.0.0.1:{listener.getsockname()[1]}", "mcp_path": "/mcp"}
        (tmp_path / relay.NOTE).write_text(json.dumps(note))
        assert find_server(tmp_path) is None


# -- the loop ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def relayed(server: McpServer, out: io.BytesIO, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], list[Any]]:
    """Run the whole relay on an input; returns the lines of its output."""

    def call(given: bytes) -> list[Any]:
        monkeypatch.setattr(relay.sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)), raising=False)
        assert relay.run(Endpoint(server.folder, "127.0.0.1", server.port, "/mcp"), "") == 0
        return lines(out)

    return call


def written(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def test_the_relay_ends_with_its_input_and_answers_all_that_came_before(server: McpServer, relayed: Any) -> None:
    answers = relayed(written(*(call_of("ping", id=number) for number in range(50))))
    assert sorted(answer["id"] for answer in answers) == list(range(50))


def test_a_last_line_without_a_line_break_counts_and_empty_lines_do_not(server: McpServer, relayed: Any) -> None:
    answers = relayed(b"\n  \r\n" + written(call_of("ping", id=1))[:-1])
    assert [answer["id"] for answer in answers] == [1]


def test_nothing_that_follows_the_handshake_overtakes_it(server: McpServer, relayed: Any) -> None:
    overtaken = threading.Event()

    def agree_late(sent: Sent) -> tuple[int, str, bytes]:
        if sent.message["method"] == "initialize":
            assert not overtaken.wait(0.1)
        overtaken.set()
        return as_json(sent, {"protocolVersion": "2025-06-18"})

    server.answer = agree_late
    following = [{"jsonrpc": "2.0", "method": "notifications/initialized"}, *(call_of("ping", id=n) for n in range(20))]
    assert len(relayed(written(request("initialize", id=99), *following))) == 21
    assert server.sent[0].message["method"] == "initialize"
    assert {sent.headers.get("mcp-protocol-version") for sent in server.sent[1:]} == {"2025-06-18"}


class PieceByPiece(io.BytesIO):
    """Takes what is written in pieces, so that two writers at once would mix their lines."""

    def write(self, data: Any, /) -> int:
        return sum(super(PieceByPiece, self).write(data[at : at + 100]) for at in range(0, len(data), 100))


def test_requests_run_in_parallel_and_each_answer_is_a_whole_line(
    server: McpServer, relayed: Any, out: io.BytesIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(relay.PARALLEL)

    def wait_for_the_others(sent: Sent) -> tuple[int, str, bytes]:
        together.wait(20)  # passes only when so many requests are at the server at once
        return as_json(sent, {"text": "日本語 " * 5_000})

    server.answer = wait_for_the_others
    mixing = PieceByPiece()
    monkeypatch.setattr(relay.sys.stdout, "buffer", mixing)  # type: ignore[attr-defined]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        relayed(written(*(call_of("recall", id=number, query="x") for number in range(2 * relay.PARALLEL))))
    finally:
        sys.setswitchinterval(before)
    assert sorted(answer["id"] for answer in lines(mixing)) == list(range(2 * relay.PARALLEL))


def test_a_slow_request_does_not_hold_up_the_others(server: McpServer, relayed: Any, out: io.BytesIO) -> None:
    others = threading.Event()

    def first_one_last(sent: Sent) -> tuple[int, str, bytes]:
        if sent.message["id"] == 0:
            assert others.wait(20)
        elif sent.message["id"] == 5:
            others.set()
        return as_json(sent)

    server.answer = first_one_last
    assert len(relayed(written(*(call_of("ping", id=number) for number in range(6))))) == 6


def test_a_line_beyond_the_limit_is_refused_and_the_relay_goes_on(
    server: McpServer, relayed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "MAX_LINE_BYTES", 2_000)
    long = call_of("remember", id=1, content="x" * 6_000)
    answers = relayed(written(long, call_of("ping", id=2)))
    assert answers[-1]["id"] == 2 or any(answer["id"] == 2 for answer in answers)
    assert [sent.message["id"] for sent in server.sent] == [2]
    assert all(answer["error"]["code"] == -32700 for answer in answers if answer["id"] is None)


def test_an_answer_that_breaks_the_relay_inside_is_still_an_answer(
    server: McpServer, relayed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Relay, message: dict[str, Any]) -> list[dict[str, Any]]:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(Relay, "_post", broken)
    [answer] = relayed(written(call_of("ping", id=4)))
    assert answer["id"] == 4
    assert "error" in answer
    assert "a fault of ours" not in json.dumps(answer)


# -- standard output breaks --------------------------------------------------------------------------------------------


class Ended(BaseException):
    """Stands for the end of the process."""


class Broken(io.BytesIO):
    """A pipe whose reader is gone."""

    def __init__(self, error: Exception, *, at_flush: bool) -> None:
        super().__init__()
        self._error, self._at_flush = error, at_flush

    def write(self, data: Any, /) -> int:
        if not self._at_flush:
            raise self._error
        return len(data)

    def flush(self) -> None:
        if self._at_flush:
            raise self._error


@pytest.mark.parametrize("at_flush", [False, True])
@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("I/O operation on closed file."), OSError(5, "EIO")])
def test_the_process_ends_quietly_when_nobody_reads_its_output_any_more(
    server: McpServer, monkeypatch: pytest.MonkeyPatch, error: Exception, at_flush: bool
) -> None:
    def end(code: int) -> None:
        raise Ended(code)

    monkeypatch.setattr(os, "_exit", end)
    stdout = SimpleNamespace(buffer=Broken(error, at_flush=at_flush))
    monkeypatch.setattr(relay, "sys", SimpleNamespace(stdout=stdout))
    working = Relay(Endpoint(server.folder, "127.0.0.1", server.port, "/mcp"), "")
    with pytest.raises(Ended) as caught:
        working.handle(json.dumps(call_of("ping")).encode())
    assert caught.value.args == (0,)
