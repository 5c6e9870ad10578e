"""What holds for every REST request: routing, bodies, keys, errors, CORS, the guard."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from doors_kit import Person, Rest, dump

from support.hubs import with_settings

ALLOWED_HEADERS = (
    "content-type,authorization,x-api-key,x-request-id,x-correlation-id,x-memmy-user-id,x-memmy-tenant-id,"
    "x-memmy-project-id,x-memmy-workspace-id,x-memmy-workspace-path,x-memmy-profile-id,x-memmy-profile-label,"
    "x-memmy-session-key"
)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
NOBODY_KEY = None


@pytest.fixture
def strange(alice: Person) -> Rest:
    """A client without a key."""
    return Rest(Person(alice.hub, "nobody", NOBODY_KEY))


# -- health ------------------------------------------------------------------------------------------------------------


@pytest.mark.promise("M-038")
def test_health_answers_without_a_key_and_in_the_contracts_shape(strange: Rest):
    answer = strange("GET", "/health")
    assert answer.status_code == 200
    body = answer.json()
    assert list(body) == [
        "ok",
        "version",
        "uptimeMs",
        "mode",
        "activeProfile",
        "storage",
        "models",
        "capabilities",
        "serverTime",
    ]
    assert body["ok"] is True
    assert (body["mode"], body["activeProfile"]) == ("local", "byok")
    assert set(body["storage"]) == {
        "backendId",
        "backend",
        "schemaVersion",
        "fullText",
        "vector",
        "changeLog",
        "idempotency",
        "jobs",
        "importExport",
        "ready",
    }
    assert isinstance(body["storage"]["schemaVersion"], str)
    assert body["models"]["summary"] == {"provider": "", "model": "", "configured": False, "remote": False}
    assert body["models"]["evolution"] == {"provider": "", "model": "", "configured": False, "remote": False}
    assert body["models"]["embedding"] == {
        "provider": "local",
        "model": "hash/256",
        "configured": True,
        "remote": False,
        "state": "ready",
    }
    assert body["capabilities"]["memoryLayers"] == ["L1", "L2", "L3", "Skill"]
    assert body["capabilities"]["supportsCli"] is True
    assert body["serverTime"] == "2026-01-01T00:00:00.000Z"


def test_every_route_that_health_names_exists(rest: Rest, strange: Rest):
    routes = strange("GET", "/health").json()["capabilities"]["routes"]
    assert routes[0] == "GET /api/v1/health"
    assert set(routes) >= {
        "POST /api/v1/memory/search",
        "POST /api/v1/memory/add",
        "GET /api/v1/memory/:id",
        "DELETE /api/v1/memory/:id",
    }
    for route in routes:
        method, path = route.split()
        answer = rest(method, path.removeprefix("/api/v1").replace(":id", "trace_00000000000000000000"), {})
        assert "is not registered" not in answer.text


def test_health_tells_nothing_of_what_is_stored(rest: Rest, strange: Rest):
    before = strange("GET", "/health").json()
    rest.add("a secret thing")
    assert strange("GET", "/health").json() == before


def test_uptime_counts_from_the_start(alice: Person, strange: Rest):
    alice.hub.clock.advance(seconds=3, ms=5)
    assert strange("GET", "/health").json()["uptimeMs"] == 3005


# -- form --------------------------------------------------------------------------------------------------------------


def test_answers_are_pretty_json_in_utf8_with_their_length(rest: Rest):
    answer = rest("POST", "/memory/add", {"content": "発注"})
    assert answer.headers["content-type"].replace(" ", "") in ("application/json", "application/json;charset=utf-8")
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.content.decode() == json.dumps(answer.json(), ensure_ascii=False, indent=2)


def test_the_content_type_is_not_asked_for(rest: Rest):
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "nonsense"):
        answer = rest("POST", "/memory/add", {"content": "x"}, headers={"content-type": content_type})
        assert answer.status_code == 200


def test_unknown_fields_are_ignored(rest: Rest):
    rest.add("x", colour="red", namespace={"userId": "somebody"}, deferProcessing=False)


@pytest.mark.parametrize("operation", ["add", "search"])
def test_bodies_that_are_no_json_object(rest: Rest, operation: str):
    path, field = f"/memory/{operation}", {"add": "content", "search": "query"}[operation]
    for raw in (b"{bad", b"\xff\xfe", b"{'content':'x'}", b"[1", b'{"content":"\xff"}', b"{}{}", b"nul"):
        rest.refused(400, "invalid_argument", "request body must be valid JSON", "POST", path, raw)
    for raw in (b"[1]", b'"x"', b"5", b"null", b"true"):
        message = f"memory.{operation} request body must be a JSON object"
        rest.refused(400, "invalid_argument", message, "POST", path, raw)
    for raw in (b"", b"{}", b"  \n", f'{{"{field}": null}}'.encode(), f'{{"{field}": "  "}}'.encode()):
        rest.refused(400, "invalid_argument", f"memory.{operation} requires {field}", "POST", path, raw)


def test_json_that_is_too_deep_or_has_numbers_too_long_is_refused_and_not_an_accident(rest: Rest):
    deep, long = b"[" * 200_000, b'{"content":"x","limit":' + b"9" * 10_000 + b"}"
    for raw in (deep, b'{"content":"x","a":' + deep, b'{"a":' * 100_000, long):
        rest.refused(400, "invalid_argument", "request body must be valid JSON", "POST", "/memory/add", raw)


def test_json_just_deep_enough_to_be_read_can_be_used(rest: Rest):
    for depth in range(800, 1_000, 7):
        raw = b'{"content":"x","a":' + b"[" * depth + b"]" * depth + b"}"
        for path in ("/memory/add", "/memory/search"):
            answer = rest("POST", path, raw.replace(b"content", b"query") if "search" in path else raw)
            assert answer.status_code in (200, 400), (depth, answer.text)


def test_a_body_over_two_mebibytes_is_refused_and_one_just_under_is_read(alice: Person):
    rest = Rest(alice.at(with_settings(alice.hub, max_content_chars=4_000_000)))
    frame = len(b'{"content": ""}')
    fits = b'{"content": "' + b"x" * (2_097_152 - frame) + b'"}'
    assert len(fits) == 2_097_152
    before = dump(alice.hub)
    error = rest.refused(400, "invalid_argument", None, "POST", "/memory/add", fits + b" ")
    assert error["message"].startswith("request body is too large")
    assert dump(alice.hub) == before
    assert rest("POST", "/memory/search", fits.replace(b"content", b"query  ")).status_code == 400  # too long a query
    small = Rest(alice.at(with_settings(alice.hub, max_rest_request_bytes=30)))
    assert small("POST", "/memory/add", b'{"content": "xxxxxxxxxxxxxxx"}').status_code == 200
    assert small("POST", "/memory/add", b'{"content": "xxxxxxxxxxxxxxxx"}').status_code == 400


def test_the_body_of_a_get_is_ignored(rest: Rest):
    id = rest.add("x")["id"]
    assert rest("GET", f"/memory/{id}", b"{bad").status_code == 200


def test_the_body_of_a_delete_may_be_empty_or_an_object(rest: Rest):
    for raw in (None, b"", {"adapterId": "a", "requestId": "r"}):
        assert rest("DELETE", f"/memory/{rest.add('x')['id']}", raw).status_code == 200
    id = rest.add("x")["id"]
    rest.refused(400, "invalid_argument", "request body must be valid JSON", "DELETE", f"/memory/{id}", b"{bad")
    message = "memory.delete request body must be a JSON object"
    rest.refused(400, "invalid_argument", message, "DELETE", f"/memory/{id}", b"[]")
    assert rest("GET", f"/memory/{id}").status_code == 200


def test_head_is_get_without_a_body(rest: Rest):
    id = rest.add("x")["id"]
    for path in ("/health", f"/memory/{id}"):
        got, asked = rest("GET", path), rest("HEAD", path)
        assert (asked.status_code, asked.headers["content-length"]) == (200, got.headers["content-length"])


# -- routes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/memory/add"),
        ("GET", "/memory/search"),
        ("PATCH", "/memory/trace_00000000000000000000"),
        ("POST", "/nothing/here"),
        ("GET", "/memory/a/b"),
        ("DELETE", "/health"),
        ("POST", "/health"),
        ("GET", "/MEMORY/x"),
    ],
)
def test_an_unknown_path_or_method(rest: Rest, strange: Rest, method: str, path: str):
    if (method, path) == ("GET", "/memory/search"):
        rest.refused(404, "not_found", "memory not found: search", method, path)
    else:
        rest.refused(404, "not_found", f"{method} /api/v1{path} is not registered", method, path)
    strange.refused(401, "unauthorized", "invalid memory service token", method, path)


def test_a_long_path_is_not_echoed_whole(rest: Rest):
    answer = rest("GET", f"/{'x' * 5_000}")
    assert answer.status_code == 404
    assert len(answer.text) < 700


# -- keys --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": "Bearer alice-key"}, ""),
        ({"authorization": "bearer alice-key"}, ""),
        ({"x-api-key": "alice-key"}, ""),
        ({}, "?token=alice-key"),
        ({}, "?access_token=alice-key"),
        ({"authorization": "Bearer alice-key", "x-api-key": "wrong"}, "?token=wrong"),
        ({"x-api-key": "alice-key"}, "?token=wrong"),
        ({}, "?token=alice-key&access_token=wrong"),
    ],
)
def test_a_key_is_found_in_the_contracts_places_and_order(strange: Rest, headers: dict[str, str], query: str):
    answer = strange("POST", f"/memory/add{query}", {"content": "x"}, headers=headers)
    assert answer.status_code == 200


@pytest.mark.promise("M-038")
@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({}, ""),
        ({"authorization": "Bearer wrong"}, ""),
        ({"authorization": "Basic YWxpY2U6eA=="}, ""),
        ({"authorization": "Bearer"}, ""),
        ({"x-api-key": "wrong"}, ""),
        ({"authorization": "Bearer wrong", "x-api-key": "alice-key"}, ""),
        ({}, "?token="),
        ({}, "?token=%ff%fe"),
        ({"x-api-key": "ключ".encode()}, ""),
    ],
)
def test_without_the_right_key_nothing_happens(alice: Person, strange: Rest, headers: dict[str, str], query: str):
    before = dump(alice.hub)
    for method, path, body in (
        ("POST", "/memory/add", {"content": "x"}),
        ("POST", "/memory/search", {"query": "x"}),
        ("GET", "/memory/trace_00000000000000000000", None),
        ("DELETE", "/memory/trace_00000000000000000000", None),
    ):
        request = (method, f"{path}{query}", body)
        strange.refused(401, "unauthorized", "invalid memory service token", *request, headers=headers)
    assert dump(alice.hub) == before


def test_the_key_is_asked_for_before_the_body_is_judged(strange: Rest, rest: Rest):
    strange.refused(401, "unauthorized", "invalid memory service token", "POST", "/memory/add", b"{bad")
    error = rest.refused(
        400,
        "invalid_argument",
        "memory.search requires query",
        "POST",
        "/memory/search",
        {},
        headers={"x-request-id": "my-rid"},
    )
    assert error["requestId"] == "my-rid"


def test_a_refusal_for_want_of_a_key_says_how_to_give_one(strange: Rest):
    assert strange("POST", "/memory/add", {}).headers["www-authenticate"] == "Bearer"


# -- request ids -------------------------------------------------------------------------------------------------------


def test_an_error_echoes_the_request_id(rest: Rest):
    def id_with(**headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return rest("POST", "/memory/add", {}, headers=named).json()["error"]["requestId"]

    assert id_with(x_request_id="r1", x_correlation_id="c1") == "r1"
    assert id_with(x_correlation_id="c1") == "c1"
    assert UUID.fullmatch(id_with())
    assert id_with() != id_with()
    assert len(id_with(x_request_id="x" * 5_000)) <= 200


# -- CORS and the guard ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/memory/add", "/health", "/nothing", "/memory/x"])
def test_options_answers_before_any_key(strange: Rest, path: str):
    answer = strange("OPTIONS", path, headers={"origin": "http://localhost:3000"})
    assert answer.status_code == 204
    assert answer.content == b""
    assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"
    assert answer.headers["access-control-allow-methods"] == "GET,POST,DELETE,OPTIONS"
    assert answer.headers["access-control-allow-headers"] == ALLOWED_HEADERS


def test_answers_and_errors_carry_cors_for_an_allowed_origin(alice: Person):
    rest = Rest(alice.at(with_settings(alice.hub, allowed_origins=("https://app.example",))))
    for origin in ("http://localhost:3000", "http://127.0.0.1", "https://app.example"):
        for body in ({"content": "x"}, {}):
            answer = rest("POST", "/memory/add", body, headers={"origin": origin})
            assert answer.headers["access-control-allow-origin"] == origin
            assert answer.headers["vary"] == "origin"


def test_without_an_origin_no_origin_is_allowed(rest: Rest):
    answer = rest("POST", "/memory/add", {"content": "x"})
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["access-control-allow-headers"] == ALLOWED_HEADERS


FOREIGN_ORIGINS = (
    "https://evil.example",
    "null",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example:80",
    "file://",
    "",
)
PATHS = ("/api/v1/memory/add", "/api/v1/health", "/mcp", "/healthz", "/readyz", "/openapi.json", "/nothing")


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "GET"])
def test_a_foreign_origin_is_refused_on_every_path(alice: Person, rest: Rest, method: str):
    before = dump(alice.hub)
    for origin, path in itertools.product(FOREIGN_ORIGINS, PATHS):
        answer = rest.http.request(method, path, content=b'{"content":"x"}', headers={"origin": origin})
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "forbidden"
        assert "HIVELORE_ALLOWED_ORIGINS" in answer.json()["error"]["message"]
        assert "access-control-allow-origin" not in answer.headers
    assert dump(alice.hub) == before


FOREIGN_HOSTS = ("evil.example", "evil.example:8420", "localhost.evil.example", "127.0.0.1.evil.example")


def test_a_foreign_host_is_refused_on_every_path(alice: Person, rest: Rest):
    before = dump(alice.hub)
    for host, path in itertools.product(FOREIGN_HOSTS, PATHS):
        answer = rest.http.post(path, content=b'{"content":"x"}', headers={"host": host})
        assert answer.status_code == 403
        assert "HIVELORE_ALLOWED_HOSTS" in answer.json()["error"]["message"]
    assert dump(alice.hub) == before


@pytest.mark.promise("M-095")
def test_loopback_hosts_are_let_in_on_any_port(rest: Rest):
    for host in ("localhost", "localhost:1", "127.0.0.1:8420", "[::1]:8420", "[::1]", "LOCALHOST:8420"):
        assert rest("GET", "/health", headers={"host": host}).status_code == 200, host


HOSTS_LET_IN = (
    ("memory.example", "memory.example", 200),
    ("memory.example", "memory.example:443", 200),
    ("memory.example:8443", "memory.example:8443", 200),
    ("memory.example:8443", "memory.example:9", 403),
    ("memory.example:8443", "memory.example", 403),
    ("memory.example:*", "memory.example:9", 200),
    ("memory.example", "memory.example.evil", 403),
    ("memory.example", "evil.memory.example", 403),
    ("memory.example", "memory.example:x", 403),
)


def test_the_settings_let_other_hosts_in(alice: Person):
    for allowed, host, status in HOSTS_LET_IN:
        rest = Rest(alice.at(with_settings(alice.hub, allowed_hosts=(allowed,))))
        assert rest("GET", "/health", headers={"host": host}).status_code == status, (allowed, host)


# -- health of the process ---------------------------------------------------------------------------------------------


def test_the_probes_answer_without_a_key(strange: Rest, alice: Person):
    alive, ready = strange.http.get("/healthz"), strange.http.get("/readyz")
    assert alive.json() == {"ok": True, "version": alice.hub.version}
    assert ready.status_code == 200
    body: dict[str, Any] = ready.json()
    assert (body["ready"], body["store"], body["embedder"], body["pending"]) == (True, "ready", "ready", 0)


def test_a_store_that_does_not_answer_is_not_ready_and_shows_no_detail(strange: Rest, alice: Person):
    from sqlalchemy import text

    with alice.hub.db.write() as connection:
        connection.execute(text("ALTER TABLE search_pending RENAME TO search_pending_gone"))
    try:
        answer = strange.http.get("/readyz")
    finally:
        with alice.hub.db.write() as connection:
            connection.execute(text("ALTER TABLE search_pending_gone RENAME TO search_pending"))
    assert answer.status_code == 503
    assert answer.json()["ready"] is False
    assert "search_pending" not in answer.text


def test_a_schema_of_another_version_is_not_ready(strange: Rest, alice: Person):
    from sqlalchemy import text

    with alice.hub.db.write() as connection:
        known = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    try:
        answer = strange.http.get("/readyz")
    finally:
        with alice.hub.db.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :known"), {"known": known})
    assert answer.status_code == 503
    assert answer.json()["store"] == "schema_ahead"
