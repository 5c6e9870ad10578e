"""The command line against a running server, as processes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from wirekit.processes import Ran, Server, environment, run, serving
from wirekit.web import done


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests of this file; each looks for words of its own."""
    with serving(tmp_path_factory.mktemp("cli") / "data") as running:
        yield running


def hivelore(server: Server, *words: str, stdin: bytes = b"") -> Ran:
    """Run a client command that finds the server by HIVELORE_URL."""
    return run(*words, stdin=stdin, env=environment(HIVELORE_URL=server.url))


@pytest.mark.promise("M-066", "M-067", "M-068", "M-069")
def test_a_memory_is_added_found_shown_and_deleted(server: Server) -> None:
    added = hivelore(server, "add", "We", "deploy", "on", "Thursdays.", "--tags", "release,team")
    assert (added.code, added.err) == (0, "")
    (id,) = re.findall(r"Stored: (\S+)", added.out)

    found = hivelore(server, "search", "when", "do", "we", "deploy", "--tags", "team")
    assert found.code == 0
    assert "We deploy on Thursdays." in found.out
    assert id in found.out

    shown = hivelore(server, "get", id)
    assert shown.code == 0
    assert "We deploy on Thursdays." in shown.out

    deleted = hivelore(server, "delete", id)
    assert (deleted.code, deleted.out.strip()) == (0, f"Deleted: {id}")
    gone = hivelore(server, "get", id)
    assert gone.code == 66
    assert id in gone.err


def test_programs_read_json(server: Server) -> None:
    added = hivelore(server, "add", "-", "--json", stdin="部署前先备份数据库。".encode())
    id = added.json["id"]
    found = hivelore(server, "search", "部署", "--json").json
    assert [hit["id"] for hit in found["debug"]["hits"]] == [id]
    assert hivelore(server, "get", id, "--json").json["id"] == id


@pytest.mark.promise("M-006", "M-074")
def test_what_an_agent_remembers_the_command_line_finds_and_the_other_way_round(server: Server) -> None:
    done(server.mcp, "remember", content="The mail server is called Pigeon.")
    assert "Pigeon" in hivelore(server, "search", "name of the mail server").out
    hivelore(server, "add", "The build server is called Beaver.")
    (item,) = done(server.mcp, "recall", query="Beaver", limit=1)["items"]
    assert item["content"] == "The build server is called Beaver."


@pytest.mark.promise("M-065")
def test_health_tells_about_a_server_that_runs(server: Server) -> None:
    ran = hivelore(server, "health")
    assert ran.code == 0
    assert server.url in ran.out
    assert "sqlite" in ran.out
    assert hivelore(server, "health", "--json").json["ok"] is True


@pytest.mark.promise("M-117")
@pytest.mark.parametrize(
    "words",
    [("health",), ("search", "x"), ("add", "x"), ("get", "trace_f96c094e6312eada5bea"), ("delete", "trace_x")],
    ids=lambda words: words[0],
)
def test_without_a_server_each_command_says_what_to_start(words: tuple[str, ...]) -> None:
    ran = run(*words, "--url", "http://127.0.0.1:1")
    assert ran.code == 69
    assert "hivelore serve" in ran.err
    assert ran.out == ""


def test_doctor_is_content_with_a_server_that_runs(server: Server) -> None:
    done(server.mcp, "remember", content="One memory.")
    ran = run("doctor", "--data", str(server.folder), "--json", env=environment(HIVELORE_EMBEDDER="hash"))
    assert ran.code == 0, ran.out
    findings = {each["check"]: each for each in json.loads(ran.out)}
    assert all(each["status"] == "ok" for each in findings.values()), findings
    assert server.url in findings["server"]["message"]
    assert "nothing leaves" in findings["network"]["message"]


def test_settings_come_from_the_environment_of_the_process(data: Path) -> None:
    ran = run("config", "data_dir", env=environment(HIVELORE_DATA_DIR=str(data)))
    assert (ran.code, ran.out.strip()) == (0, str(data))


def test_a_search_is_shown_as_an_index_within_a_budget_as_a_block_and_with_reasons(server: Server) -> None:
    texts = [f"The quagga herd number {n} grazes behind the dam." for n in range(3)]
    ids = [hivelore(server, "add", text, "--json").json["id"] for text in texts]

    index = hivelore(server, "search", "quagga herd number 1", "--index")
    assert len(index.out.splitlines()) >= 3
    assert all(id in index.out for id in ids)

    short = hivelore(server, "search", "quagga herd number 1", "--max-tokens", "100")
    assert texts[1] in short.out
    assert "more found; a larger --max-tokens shows them." in short.out

    block = hivelore(server, "search", "quagga herd", "--context")
    assert block.out.startswith("<hivelore_memory>\n")
    assert block.out.endswith("</hivelore_memory>\n")
    assert all(text in block.out for text in texts)
    again = hivelore(server, "add", "-", stdin=block.out.encode())
    assert again.code == 64
    assert "content is empty" in again.err

    why = hivelore(server, "search", "quagga herd", "--explain")
    assert re.search(r"words: rank \d+, BM25 \d", why.out)

    around = hivelore(server, "timeline", ids[1], "--before", "1", "--after", "1")
    assert next(line for line in around.out.splitlines() if ids[1] in line).startswith("> ")
    assert ids[0] in around.out
    assert ids[2] in around.out
