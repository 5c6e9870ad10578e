"""The MCP endpoint at the level of HTTP: methods, sizes, broken bodies, sessions, foreign pages, the contract's
edges."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import pytest
from wirekit.processes import Server
from wirekit.web import MCP_HEADERS, ask, done, post, rpc

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "wire-test", "version": "1"},
}
DOORS = (
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("GET", "/api/v1/health"),
    ("POST", "/api/v1/memory/search"),
    ("OPTIONS", "/api/v1/memory/search"),
    ("GET", "/no/such/path"),
)


def request(method: str, id: object = 1, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


# -- the envelope ------------------------------------------------------------------------------------------------------


def test_an_answer_is_one_server_sent_event(shared_server: Server) -> None:
    answer = post(shared_server.mcp, request("tools/call", name="ping", arguments={}))
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line for line in answer.text.splitlines() if line]
    assert lines[0] == "event: message"
    assert [line.partition(":")[0] for line in lines] == ["event", "data"]


@pytest.mark.promise("M-078")
def test_initialize_introduces_the_server_and_its_purpose(shared_server: Server) -> None:
    result = rpc(shared_server.mcp, "initialize", HELLO)["result"]
    assert result["serverInfo"]["name"] == "hivelore"
    assert {"tools", "resources"} <= result["capabilities"].keys()
    assert "memory" in result["instructions"]
    assert "ecall" in result["instructions"]
    assert "emember" in result["instructions"]


def test_a_notification_is_accepted_without_an_answer(shared_server: Server) -> None:
    answer = post(shared_server.mcp, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status, answer.body) == (202, b"")


def test_no_session_id_is_issued_and_a_stale_one_is_accepted(shared_server: Server) -> None:
    fresh = post(shared_server.mcp, request("initialize", **HELLO))
    assert "mcp-session-id" not in fresh.headers
    stale = {"mcp-session-id": "1868a90c-5a1b-4a8f-8b0a-of-a-server-long-gone"}
    again = post(shared_server.mcp, request("initialize", **HELLO), stale)
    assert again.status == 200
    called = post(shared_server.mcp, request("tools/call", name="ping", arguments={}), stale)
    assert called.message["result"]["structuredContent"]["ok"] is True


def test_a_request_without_an_accept_header_is_answered(shared_server: Server) -> None:
    body = json.dumps(request("tools/list"))
    answer = ask(shared_server.url, "POST", "/mcp", body, {"content-type": "application/json"})
    assert answer.status == 200
    assert answer.message["result"]["tools"]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_no_stream_to_open_and_no_session_to_end(shared_server: Server, method: str) -> None:
    answer = ask(shared_server.url, method, "/mcp", headers={"accept": "text/event-stream, application/json"})
    assert answer.status == 405


def test_the_endpoint_with_a_slash_redirects_to_the_one_without(shared_server: Server) -> None:
    answer = ask(shared_server.url, "POST", "/mcp/", json.dumps(request("tools/list")), MCP_HEADERS)
    assert answer.status == 307
    assert urlsplit(answer.headers["location"]).path == "/mcp"


@pytest.mark.parametrize("path", ["/", "/health", "/sse"])
def test_other_paths_do_not_exist(shared_server: Server, path: str) -> None:
    assert ask(shared_server.url, "GET", path).status == 404


# -- what is wrong with a request --------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"{bad", b"", b"\xff\xfe", b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"'])
def test_a_body_that_is_no_json_is_a_parse_error(shared_server: Server, body: bytes) -> None:
    answer = post(shared_server.mcp, body)
    assert answer.status == 400
    assert answer.message["error"]["code"] == -32700


@pytest.mark.parametrize(
    "body",
    [
        [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 2, "method": "ping"}],
        [],
        "tools/list",
        {"jsonrpc": "1.0", "id": 1, "method": "tools/list"},
        {"id": 1, "method": "tools/list"},
    ],
    ids=["batch", "empty batch", "string", "other version", "no version"],
)
def test_a_body_that_is_no_message_is_refused_with_a_protocol_error(shared_server: Server, body: object) -> None:
    answer = post(shared_server.mcp, json.dumps(body))
    assert answer.status == 400
    error = answer.message["error"]
    assert error["code"] in (-32600, -32602)
    assert "pydantic" not in error["message"]  # words of a library help nobody who calls
    assert len(error["message"]) < 400


def test_an_unknown_method_is_named_as_such(shared_server: Server) -> None:
    answer = post(shared_server.mcp, request("no/such/method"))
    assert answer.message["error"]["code"] == -32601


@pytest.mark.parametrize("id", ["a-string", "", 0, -1, 2**53 + 1, "0" * 10_000], ids=str)
def test_ids_of_every_kind_come_back_as_they_were(shared_server: Server, id: object) -> None:
    assert post(shared_server.mcp, request("tools/list", id)).message["id"] == id


def test_an_id_beyond_any_integer_type_does_not_break_the_server(shared_server: Server) -> None:
    answer = post(shared_server.mcp, f'{{"jsonrpc": "2.0", "id": {"9" * 400}, "method": "tools/list"}}')
    assert answer.status in (200, 400)
    assert post(shared_server.mcp, request("tools/list")).status == 200


def test_unknown_tools_and_bad_arguments_are_errors_that_a_model_can_read(shared_server: Server) -> None:
    def words(name: str, **arguments: object) -> str:
        result = rpc(shared_server.mcp, "tools/call", {"name": name, "arguments": arguments})["result"]
        assert result["isError"] is True
        assert "structuredContent" not in result
        return str(result["content"][0]["text"])

    assert "Unknown tool" in words("create_token")
    assert "'contents'" in words("remember", contents="x")
    assert "content is required" in words("remember")
    assert "limit" in words("recall", query="x", limit="many")


def test_a_number_in_quotes_is_a_number(shared_server: Server) -> None:
    assert done(shared_server.mcp, "recall", query="x", limit="5", namespace="empty")["items"] == []


# -- sizes -------------------------------------------------------------------------------------------------------------


def test_ten_megabytes_of_content_are_refused_in_words(shared_server: Server) -> None:
    text = "x" * (10 * 1024 * 1024)
    result = rpc(shared_server.mcp, "tools/call", {"name": "remember", "arguments": {"content": text}})["result"]
    assert result["isError"] is True
    assert "200000" in result["content"][0]["text"].replace(",", "").replace("_", "")


def test_a_body_over_the_limit_is_refused_before_it_is_read(shared_server: Server) -> None:
    target = urlsplit(shared_server.mcp)
    with socket.create_connection((target.hostname, target.port), timeout=30) as connection:
        connection.sendall(
            b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            b"accept: application/json, text/event-stream\r\ncontent-length: 99999999\r\n\r\n"
        )
        answer = connection.recv(4096).decode()
    assert answer.split()[1] in ("400", "413")


def test_a_chunked_body_over_the_limit_is_refused(shared_server: Server) -> None:
    target = urlsplit(shared_server.mcp)
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    with socket.create_connection((target.hostname, target.port), timeout=30) as connection:
        connection.sendall(
            b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            b"accept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        try:
            for _ in range(20):
                connection.sendall(chunk)
            connection.sendall(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server has answered and closed: that is what is wanted
        answer = connection.recv(4096).decode()
    assert answer.split()[1] in ("400", "413")


def test_a_rest_body_over_the_limit_is_refused(shared_server: Server) -> None:
    body = json.dumps({"content": "x" * (3 * 1024 * 1024)})
    answer = ask(shared_server.url, "POST", "/api/v1/memory/add", body, {"content-type": "application/json"})
    assert answer.status in (400, 413)
    assert answer.json["error"]["message"]


# -- pages of other sites ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), DOORS)
@pytest.mark.parametrize(
    "headers",
    [{"host": "attacker.example"}, {"host": "127.0.0.1.attacker.example:8420"}, {"host": ""}],
    ids=["foreign", "lookalike", "empty"],
)
def test_every_door_refuses_a_foreign_host(
    shared_server: Server, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = ask(shared_server.url, method, path, headers=headers)
    assert answer.status == 403
    assert "HIVELORE_ALLOWED_HOSTS" in answer.json["error"]["message"]


@pytest.mark.parametrize(("method", "path"), DOORS)
@pytest.mark.parametrize("origin", ["https://attacker.example", "null", "http://127.0.0.1.attacker.example"])
def test_every_door_refuses_a_foreign_origin(shared_server: Server, method: str, path: str, origin: str) -> None:
    answer = ask(shared_server.url, method, path, headers={"origin": origin})
    assert answer.status == 403
    assert "HIVELORE_ALLOWED_ORIGINS" in answer.json["error"]["message"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_the_names_of_this_machine_are_accepted(shared_server: Server, host: str) -> None:
    headers = {"host": f"{host}:{shared_server.port}", "origin": f"http://{host}:3000"}
    assert ask(shared_server.url, "GET", "/healthz", headers=headers).status == 200
