"""The client commands against a real HTTP server: what they send, what they show, how they fail."""

from __future__ import annotations

import json
import socket
import threading

import pytest

TRACE = "trace_f96c094e6312eada5bea"
KEY = "a-very-long-key"


@pytest.fixture
def at(server, monkeypatch):
    """The server, named by HIVELORE_URL."""
    monkeypatch.setenv("HIVELORE_URL", server.url)
    return server


@pytest.fixture
def free_port():
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# -- what is sent


def test_search_sends_query_limit_and_verbose(run, at):
    assert run("search", "staging", "deploy").code == 0
    (asked,) = at.asked
    assert (asked.method, asked.path) == ("POST", "/api/v1/memory/search")
    assert asked.body == {"query": "staging deploy", "limit": 10, "verbose": True}
    assert asked.headers["content-type"] == "application/json"
    assert "authorization" not in asked.headers


def test_search_sends_layers_tags_limit_and_source_wherever_the_options_stand(run, at):
    argv = ["--layers", "l1, skill", "one", "--tags", "a, b", "two", "--limit=3", "--source", "codex", "三"]
    assert run("search", *argv).code == 0
    assert at.asked[0].body == {
        "query": "one two 三",
        "limit": 3,
        "verbose": True,
        "layers": ["L1", "Skill"],
        "tags": ["a", "b"],
        "source": "codex",
    }


def test_search_sends_what_makes_its_answer_short(run, at):
    assert run("search", "one", "--max-tokens", "300", "--neighbours", "2", "--context", "--explain").code == 0
    assert at.asked[0].body == {
        "query": "one",
        "limit": 10,
        "verbose": True,
        "maxTokens": 300,
        "context": 2,
        "format": "context",
        "explain": True,
    }
    assert run("search", "one", "--index").code == 0
    assert at.asked[1].body == {"query": "one", "limit": 10, "verbose": True, "detail": "index"}
    refused = run("search", "one", "--index", "--context")
    assert refused.code == 64
    assert "--index" in refused.err
    assert len(at.asked) == 2


def test_timeline_sends_the_id_and_how_many_on_each_side(run, at):
    assert run("timeline", TRACE, "--before", "1").code == 0
    (asked,) = at.asked
    assert (asked.method, asked.path) == ("POST", "/api/v1/memory/timeline")
    assert asked.body == {"id": TRACE, "before": 1, "after": 3}


def test_words_that_look_like_options_go_behind_two_dashes(run, at):
    assert run("search", "--limit", "2", "--", "what", "does", "--help", "do").code == 0
    assert at.asked[0].body["query"] == "what does --help do"


@pytest.mark.promise("M-062")
def test_add_sends_the_text_with_title_tags_layer_and_source(run, at):
    ran = run("add", "We deploy", "on Thursdays.", "--tags", "ops", "--title", "T", "--layer", "l2", "--source", "s")
    assert ran.code == 0
    assert (at.asked[0].method, at.asked[0].path) == ("POST", "/api/v1/memory/add")
    assert at.asked[0].body == {
        "content": "We deploy on Thursdays.",
        "title": "T",
        "tags": ["ops"],
        "layer": "L2",
        "source": "s",
    }


def test_add_names_what_the_text_corrects(run, at):
    assert run("add", "We deploy on Fridays.", "--supersedes", "trace_0123456789abcdef0123").code == 0
    assert at.asked[0].body == {"content": "We deploy on Fridays.", "supersedes": "trace_0123456789abcdef0123"}


def test_add_reads_standard_input(process, at):
    ran = process("add", "-", stdin="first line\n第二行\n".encode())
    assert ran.code == 0
    assert at.asked[0].body == {"content": "first line\n第二行\n"}


@pytest.mark.parametrize(("stdin", "words"), [(b"", "empty"), (b" \n", "empty"), (b"\xff\xfe", "not UTF-8")])
def test_standard_input_that_is_no_text_is_refused_before_anything_is_sent(process, at, stdin, words):
    ran = process("add", "-", stdin=stdin)
    assert ran.code == 64
    assert words in ran.err
    assert "nothing was stored" in ran.err
    assert at.asked == []


def test_too_much_standard_input_is_refused_before_anything_is_sent(run, at, monkeypatch):
    class Endless:
        class buffer:
            @staticmethod
            def read(count):
                return b"x" * count

    monkeypatch.setattr("sys.stdin", Endless)
    ran = run("add", "-")
    assert ran.code == 65
    assert at.asked == []


def test_get_and_delete_name_the_memory_in_the_path(run, at):
    assert run("get", TRACE).code == 0
    assert run("delete", TRACE, "--source", "codex").code == 0
    assert [(a.method, a.path, a.body) for a in at.asked] == [
        ("GET", f"/api/v1/memory/{TRACE}", None),
        ("DELETE", f"/api/v1/memory/{TRACE}?source=codex", None),
    ]


def test_an_id_cannot_leave_its_place_in_the_path(run, at):
    assert run("delete", "../admin/shutdown").code == 0
    assert at.asked[0].path == "/api/v1/memory/..%2Fadmin%2Fshutdown"
    assert run("delete", "..").code == 64
    assert len(at.asked) == 1


def test_health_asks_for_health(run, at):
    assert run("health").code == 0
    assert (at.asked[0].method, at.asked[0].path) == ("GET", "/api/v1/health")


@pytest.mark.parametrize("argv", [["search", " "], ["add", ""], ["get", ""], ["search", "x", "--layers", "L9"]])
def test_input_that_makes_no_sense_is_refused_before_anything_is_sent(run, at, argv):
    assert run(*argv).code == 64
    assert at.asked == []


@pytest.mark.parametrize("argv", [["--limit", "0"], ["--limit", "ten"], ["--timeout", "0"], ["--timeout", "soon"]])
def test_numbers_that_make_no_sense_are_refused_naming_the_option(run, at, argv):
    ran = run("search", "x", *argv)
    assert ran.code == 64
    assert argv[0] in ran.err
    assert at.asked == []


# -- which server, which key


@pytest.mark.parametrize("variable", ["HIVELORE_URL", "MEMMY_MEMORY_URL", "MEMORY_SERVICE_URL"])
def test_the_server_comes_from_a_variable(run, server, monkeypatch, variable):
    monkeypatch.setenv(variable, server.url)
    assert run("health").code == 0
    assert len(server.asked) == 1


@pytest.mark.promise("M-059")
def test_the_option_wins_over_the_variables_and_they_go_in_order(run, server, monkeypatch):
    monkeypatch.setenv("MEMORY_SERVICE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("MEMMY_MEMORY_URL", server.url)
    assert run("health").code == 0
    monkeypatch.setenv("HIVELORE_URL", "http://127.0.0.1:9")
    assert run("health").code == 69
    assert run("health", "--url", server.url).code == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost"])
def test_without_a_url_the_server_is_where_the_settings_put_it(run, server, monkeypatch, host):
    monkeypatch.setenv("HIVELORE_PORT", str(server.port))
    monkeypatch.setenv("HIVELORE_HOST", host)
    assert run("health").code == 0


@pytest.mark.parametrize("ending", ["", "/", "/api/v1", "/api/v1/"])
def test_a_url_may_end_where_people_end_it(run, server, ending):
    assert run("health", "--url", server.url + ending).code == 0
    assert server.asked[0].path == "/api/v1/health"


def test_a_path_before_the_api_is_kept(run, server):
    server.answer("GET /memory/api/v1/health", 200, {"ok": True})
    assert run("health", "--url", f"{server.url}/memory").code == 0


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "127.0.0.1:8420",
        "http://",
        "http://h:port",
        "http://h:99999",
        "http://u:pw-x@h",
        "http://h?x=1",
    ],
)
def test_a_url_that_is_none_is_refused(run, url):
    ran = run("health", "--url", url)
    assert ran.code == 64
    assert "--url" in ran.err or "--token" in ran.err
    assert "pw-x" not in ran.err


@pytest.mark.promise("M-060")
def test_the_key_comes_from_the_option_then_variables_then_the_first_pair(run, at, monkeypatch):
    monkeypatch.setenv("HIVELORE_API_KEYS", "first-key-1:ana,second-key:bo")
    run("search", "x")
    monkeypatch.setenv("MEMORY_SERVICE_TOKEN", "third-token")
    run("search", "x")
    monkeypatch.setenv("MEMMY_MEMORY_TOKEN", "second-token")
    run("search", "x")
    monkeypatch.setenv("HIVELORE_TOKEN", "first-token")
    run("search", "x")
    run("search", "x", "--token", "given-token")
    sent = [asked.headers["authorization"] for asked in at.asked]
    assert sent == [
        f"Bearer {key}" for key in ("first-key-1", "third-token", "second-token", "first-token", "given-token")
    ]


def test_a_key_of_the_settings_goes_to_this_machine_only(monkeypatch):
    from argparse import Namespace

    from hivelore.cli.client.api import find_target
    from hivelore.core.settings_load import load

    args = Namespace(url="http://memory.example.com:8420", token=None, loaded=load({"HIVELORE_API_KEYS": f"{KEY}:ana"}))
    assert find_target(args, {}).token == ""
    args.url = "http://127.0.0.1:8420"
    assert find_target(args, {}).token == KEY


@pytest.mark.parametrize(
    ("url", "shown"),
    [("https://h.example", "https://h.example:443"), ("http://[::1]:8420/x/", "http://[::1]:8420/x")],
)
def test_a_target_knows_its_parts(url, shown):
    from argparse import Namespace

    from hivelore.cli.client.api import find_target
    from hivelore.core.settings_load import load

    assert find_target(Namespace(url=url, token=None, loaded=load({})), {}).url == shown


def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(run, at):
    for key in ("two words-x", "schlüssel-x", "line\nbreak-x"):
        ran = run("search", "q", "--token", key)
        assert ran.code == 64
        assert "--token" in ran.err
        assert "-x" not in ran.err
    assert at.asked == []


def test_a_dotenv_of_some_project_does_not_lead_elsewhere(run, server, own_world, monkeypatch):
    monkeypatch.setenv("HIVELORE_PORT", str(server.port))
    dotenv = own_world / "work" / ".env"
    dotenv.write_text(
        "PORT=3000\nDATABASE_URL=mysql://x\nHIVELORE_URL=http://evil.example\nMEMMY_MEMORY_HOST=evil.example\n"
    )
    assert run("health").code == 0
    dotenv.write_text("HIVELORE_HOST=evil.example\n")
    ran = run("health", "--token", KEY)
    assert ran.code == 64
    assert ".env names another machine" in ran.err


def test_our_own_lines_of_a_dotenv_count(run, server, own_world):
    (own_world / "work" / ".env").write_text(f"HIVELORE_PORT={server.port}\nHIVELORE_API_KEYS={KEY}:ana\n")
    assert run("health").code == 0
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_server_on_a_picked_port_must_be_named(run, monkeypatch):
    monkeypatch.setenv("HIVELORE_PORT", "0")
    ran = run("health")
    assert ran.code == 64
    assert "--url" in ran.err


# -- what is shown


def test_search_shows_text_id_layer_score_and_tags(run, at):
    ran = run("search", "staging")
    assert ran.code == 0
    assert ran.out.startswith("1. Staging database migrates on every deploy; run make migrate first.\n   trace_f96c")
    assert "L1 · 2020-05-01 · score 1.01 · database" in ran.out
    assert "2. 部署前先备份数据库。" in ran.out
    assert "manual:" not in ran.out
    assert ran.out.endswith("2 memories. `hivelore get ID` shows one in full.\n")
    assert ran.err == ""


def test_search_says_when_nothing_is_found(run, at):
    at.answer("POST /api/v1/memory/search", 200, {"injectedContext": "", "debug": {"hits": [], "status": []}})
    assert run("search", "x").out == "Nothing found.\n"
    at.answer("POST /api/v1/memory/search", 200, {"injectedContext": ""})
    assert run("search", "x").out == "Nothing found.\n"


def test_search_says_when_the_server_does_not_search(run, at):
    body = {"injectedContext": "", "debug": {"hits": [], "status": ["memory_search:disabled"]}}
    at.answer("POST /api/v1/memory/search", 200, body)
    assert "switched off" in run("search", "x").err


def test_search_shows_the_text_of_a_server_that_gives_no_hits(run, at):
    at.answer("POST /api/v1/memory/search", 200, {"injectedContext": "## L1\n\n1. A fact"})
    assert run("search", "x").out == "## L1\n\n1. A fact\n"


def test_add_says_what_was_stored_and_when_it_was_there_before(run, at):
    ran = run("add", "Staging database migrates", "--tags", "ops")
    assert ran.out == "Stored: trace_4685ffa7d71cfcc23a0a\n  Staging database migrates · L1 · ops\n"
    at.answer("POST /api/v1/memory/add", 200, {"id": TRACE, "duplicate": True})
    assert run("add", "x").out.startswith(f"Was stored before: {TRACE}\n")


def test_get_shows_the_whole_memory(run, at):
    ran = run("get", TRACE)
    assert ran.out == (
        f"List the failing tests\n{TRACE} · L1 · activated · stored 2020-03-04 · codex, shell\n\n"
        "User:\nList the failing tests\n\nAssistant:\nTwo tests fail.\n"
    )


def test_delete_says_what_was_deleted(run, at):
    assert run("delete", TRACE).out == f"Deleted: {TRACE}\n"


def test_health_shows_version_storage_and_models(run, at):
    ran = run("health")
    assert ran.out == (
        f"hivelore 0.1.0 answers at {at.url}\n"
        "  up for     2 h\n  storage    sqlite, ready\n  summary    off\n  embedding  local e5\n"
    )


def test_health_says_when_text_leaves_the_machine(run, at):
    model = {"provider": "http", "model": "m", "configured": True, "remote": True, "lastError": "timeout"}
    at.answer("GET /api/v1/health", 200, {"ok": True, "version": "1", "models": {"embedding": model}})
    assert "http m, text leaves this machine, timeout" in run("health").out


@pytest.mark.parametrize("answer", [{"ok": False}, {"ok": True, "storage": {"backend": "x", "ready": False}}])
def test_health_of_a_server_that_is_not_ready_fails_and_still_shows_it(run, at, answer):
    at.answer("GET /api/v1/health", 200, answer)
    assert run("health").code == 69
    ran = run("health", "--json")
    assert (ran.code, ran.json) == (69, answer)


@pytest.mark.parametrize("argv", [["search", "x"], ["add", "x"], ["get", TRACE], ["delete", TRACE], ["health"]])
def test_json_prints_the_answer_as_it_came(run, at, argv):
    ran = run(*argv, "--json")
    assert ran.code == 0
    assert ran.json == at.default(at.asked[0])


def test_json_keeps_letters_readable_and_controls_escaped(run, at):
    at.answer(f"GET /api/v1/memory/{TRACE}", 200, {"id": TRACE, "body": "部署 \x1b[2J \x9b2J \x7f"})
    ran = run("get", TRACE, "--json")
    assert "部署" in ran.out
    assert not {"\x1b", "\x9b", "\x7f"} & set(ran.out)
    assert ran.json["body"] == "部署 \x1b[2J \x9b2J \x7f"


def test_stored_control_characters_do_not_reach_the_terminal(run, at):
    evil = "safe\x1b]0;title\x07\x1b[2J\x9b31m\u202etxt"
    hit = {"id": f"a{evil}", "snippet": evil, "tags": [evil], "memoryLayer": evil, "updatedAt": evil}
    at.answer("POST /api/v1/memory/search", 200, {"injectedContext": evil, "debug": {"hits": [hit]}})
    at.answer(f"GET /api/v1/memory/{TRACE}", 200, {"id": TRACE, "title": evil, "body": evil, "createdAt": evil})
    at.fail("DELETE /api/v1/memory/x", 404, "not_found", evil)
    at.answer("DELETE /api/v1/memory/y", 200, {"ok": True, "id": evil})
    at.answer("POST /api/v1/memory/add", 200, {"id": evil, "title": evil, "tags": [evil]})
    at.answer("GET /api/v1/health", 200, {"ok": True, "version": evil, "models": {evil: {"lastError": evil}}})
    for argv in (["search", "x"], ["get", TRACE], ["delete", "x"], ["delete", "y"], ["add", "x"], ["health"]):
        ran = run(*argv)
        assert "safe" in ran.out + ran.err
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(ran.out + ran.err)


# -- failures


@pytest.mark.parametrize("argv", [["search", "x"], ["add", "x"], ["get", TRACE], ["delete", TRACE], ["health"]])
def test_without_a_server_the_command_says_what_to_start_and_what_it_tried(run, free_port, argv):
    ran = run(*argv, "--url", f"http://127.0.0.1:{free_port}")
    assert ran.code == 69
    assert ran.out == ""
    assert f"http://127.0.0.1:{free_port}" in ran.err
    assert "hivelore serve" in ran.err
    assert "scripts/serve" in ran.err
    assert "Traceback" not in ran.err


def test_a_host_that_does_not_exist_is_named(run):
    ran = run("health", "--url", "http://nowhere.invalid:8420")
    assert ran.code == 69
    assert "http://nowhere.invalid:8420 cannot be reached" in ran.err


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (400, "invalid_argument", 64),
        (422, "invalid_argument", 64),
        (401, "unauthorized", 77),
        (403, "forbidden", 77),
        (404, "not_found", 66),
        (410, "gone", 66),
        (409, "conflict", 75),
        (413, "too_large", 65),
        (429, "rate_limited", 75),
        (500, "internal", 70),
        (501, "unsupported", 69),
        (503, "unavailable", 69),
    ],
)
def test_each_status_has_its_exit_code_and_the_servers_words(run, at, status, code, exit_code):
    at.fail("POST /api/v1/memory/search", status, code, "the server's own words")
    for argv in (["search", "x"], ["search", "x", "--json"]):
        ran = run(*argv)
        assert ran.code == exit_code
        assert "the server's own words" in ran.err
        assert ran.out == ""


def test_a_missing_key_says_how_to_give_one(run, at):
    at.fail("POST /api/v1/memory/search", 401, "unauthorized", "invalid memory service token")
    assert "--token or HIVELORE_TOKEN" in run("search", "x").err


def test_a_rate_limit_says_when_to_come_back(run, at):
    at.fail("POST /api/v1/memory/search", 429, "rate_limited", "Too many calls.", retry_after="7")
    assert "Try again in 7 s." in run("search", "x").err


def test_an_internal_error_of_the_server_names_the_request(run, at):
    at.fail("POST /api/v1/memory/search", 500, "internal", "Something broke.")
    assert "req-7" in run("search", "x").err


@pytest.mark.parametrize(("status", "body"), [(404, b"<html>"), (200, b"<html>"), (200, b"[1]"), (500, b"oops")])
def test_something_else_on_the_port_is_told_apart_from_a_hivelore_server(run, at, status, body):
    at.answer("GET /api/v1/health", status, body)
    ran = run("health")
    assert ran.code == 69
    assert "no hivelore server" in ran.err


def test_a_gateway_without_a_server_behind_it_is_unavailable(run, at):
    at.answer("GET /api/v1/health", 502, b"<html>bad gateway</html>")
    ran = run("health")
    assert ran.code == 69
    assert "HTTP 502" in ran.err


def test_redirects_are_not_followed_so_the_key_stays_here(run, at):
    at.answer("GET /api/v1/health", 307, b"", location=f"{at.url}/elsewhere")
    ran = run("health", "--token", KEY)
    assert ran.code == 69
    assert f"{at.url}/elsewhere" in ran.err
    assert len(at.asked) == 1


def raw_server(reply):
    """Listen on a free port; hand the first connection to `reply`. Returns the port and the thread."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with listener, connection:
            reply(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return listener.getsockname()[1], thread


def test_a_server_that_does_not_answer_in_time_is_named_with_the_time(run):
    done = threading.Event()
    port, thread = raw_server(lambda connection: done.wait(20))
    ran = run("health", "--url", f"http://127.0.0.1:{port}", "--timeout", "0.1")
    done.set()
    thread.join()
    assert ran.code == 69
    assert "within 0.1 s" in ran.err
    assert "--timeout" in ran.err


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.2\r\n", b""])
def test_a_server_of_another_protocol_is_told(run, answer):
    def reply(connection):
        connection.recv(65536)
        connection.sendall(answer)

    port, thread = raw_server(reply)
    ran = run("health", "--url", f"http://127.0.0.1:{port}")
    thread.join()
    assert ran.code == 69
    assert f"http://127.0.0.1:{port}" in ran.err
    assert "Traceback" not in ran.err


def test_an_answer_to_a_large_body_is_read_even_when_the_server_closes_early(run):
    error = json.dumps({"error": {"code": "too_large", "message": "request body is too large", "requestId": "r"}})
    answer = f"HTTP/1.1 413 Too Large\r\ncontent-length: {len(error)}\r\nconnection: close\r\n\r\n{error}".encode()

    def reply(connection):  # closing with most of the body unread resets the connection
        connection.recv(1)
        connection.sendall(answer)

    port, thread = raw_server(reply)
    ran = run("add", "x" * 5_000_000, "--url", f"http://127.0.0.1:{port}")
    thread.join()
    assert ran.code == 65
    assert "request body is too large" in ran.err


def test_warnings_about_settings_appear_only_when_the_call_fails(run, at, monkeypatch):
    monkeypatch.setenv("HIVELORE_TOKN", "x")
    assert run("search", "x").err == ""
    at.fail("POST /api/v1/memory/search", 401, "unauthorized", "invalid memory service token")
    assert "Did you mean HIVELORE_TOKEN?" in run("search", "x").err


def test_a_huge_answer_is_refused(run, at, monkeypatch):
    monkeypatch.setattr("hivelore.cli.client.api.MAX_ANSWER_BYTES", 100)
    ran = run("search", "x")
    assert ran.code == 65
    assert "larger than 100 bytes" in ran.err
