"""Faults that users of comparable systems report, each with what a correct system does instead."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from doors_kit import Person, Rest, contents_of, ids_of, mcp, person, statements, with_keys
from mcp.client import Client
from sqlalchemy import delete, event, func, select

import hivelore
from hivelore.app import Application, data_dir, make_embedder
from hivelore.base.search import jobs
from hivelore.base.search.tables import pending, vectors
from hivelore.cli.serve import announce
from hivelore.cli.start import noted
from hivelore.core.errors import Unavailable
from hivelore.core.ports import EmbedderState
from hivelore.core.settings import Settings
from hivelore.importers.run import import_claude_code
from hivelore.work import Hub
from support.embedders import StatefulEmbedder
from support.hubs import Store, call_as, clock_of, run_jobs

# -- loss --------------------------------------------------------------------------------------------------------------


def test_the_usual_store_is_in_the_users_home_and_not_in_the_package():
    folder = data_dir(Settings())
    assert folder.is_relative_to(Path.home())
    assert not folder.is_relative_to(Path(hivelore.__file__).parent)


def test_a_server_that_starts_prints_its_data_folder_and_a_form_for_clients(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    announce(Settings(data_dir=str(tmp_path)), 8420)
    said = capsys.readouterr().out
    assert re.search(rf"^ +data +{re.escape(str(tmp_path))}$", said, re.MULTILINE)
    assert re.search(rf"^ +store +{re.escape(str(tmp_path))}/hivelore.db$", said, re.MULTILINE)
    announce(Settings(data_dir=str(tmp_path), database_url="postgresql://ana:hush@db.example/hive"), 8420)
    elsewhere = capsys.readouterr().out
    assert "store  postgresql://ana:" in elsewhere
    assert "hush" not in elsewhere
    (form,) = re.findall(r"any other +(\{.*\})", said)
    assert json.loads(form) == {"mcpServers": {"hivelore": {"type": "http", "url": "http://127.0.0.1:8420/mcp"}}}


def test_no_test_can_open_a_database_outside_the_folder_for_temporary_files():
    for name in ("/no/such/folder/live.db", "file:/no/such/folder/live.db?mode=rw"):
        with pytest.raises(RuntimeError, match="Tests may only open databases under"):
            sqlite3.connect(name, uri=name.startswith("file:"))


def test_a_crash_while_a_note_is_written_leaves_the_earlier_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    earlier = '{"pid": 1, "url": "http://127.0.0.1:1", "mcp_path": "/mcp"}'
    (tmp_path / "server.json").write_text(earlier)
    whole = Path.write_text

    def half(path: Path, content: str) -> int:
        whole(path, content[: len(content) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", half)
    with noted(Settings(data_dir=str(tmp_path)), "http://127.0.0.1:2"):
        assert (tmp_path / "server.json").read_text() == earlier
    assert [each.name for each in tmp_path.iterdir()] == ["server.json"]


def test_vectors_that_were_lost_come_back_after_the_next_start(
    store: Store, make_hub: Callable[..., Hub], alice: Person
):
    ids = [alice("remember", content=f"the heron nests at place {n}")["ids"][0] for n in range(30)]
    run_jobs(alice.hub)
    with alice.hub.db.write() as connection:
        connection.execute(delete(vectors))
    started = Application(make_hub(store))
    seen = started.hub.progress.count()
    started.start()
    started.hub.progress.wait(seen, 20)  # a batch has been stored: every chunk had been queued before it
    started.stop()
    clock_of(alice.hub).advance(days=1)
    run_jobs(alice.hub)  # whatever the short life of the other left undone
    with alice.hub.db.read() as connection:
        assert connection.execute(select(func.count()).select_from(vectors)).scalar_one() == len(ids)
    assert alice("recall", query="heron")["search"]["pending"] == 0


# -- recall ------------------------------------------------------------------------------------------------------------


def test_words_are_found_in_a_place_that_has_no_vector_yet_beside_one_that_has_many(alice: Person):
    for n in range(30):
        alice("remember", content=f"deploy the billing service, attempt {n}")
    run_jobs(alice.hub)
    mine = [alice("remember", content=f"billing note {n}", namespace="mine")["ids"][0] for n in range(5)]
    found = alice("recall", query="deploy the billing service", namespace="mine")
    assert sorted(ids_of(found)) == sorted(mine)
    assert found["search"]["engines"] == ["text", "vectors"]
    assert found["search"]["pending"] == 5


@pytest.mark.parametrize("drifted", ["Hivelore", "hive-lore", "hivelore ", "HIVELORE", "hive_lore"])
def test_a_namespace_that_was_spelled_otherwise_leads_to_the_right_one(alice: Person, drifted: str):
    alice("remember", content="the heron nests here", namespace="hivelore")
    found = alice("recall", query="heron", namespace=drifted)
    assert found["items"] == []
    assert found["search"]["namespaces"] == [drifted]
    assert found["search"]["elsewhere"] == {"hivelore": 1}


def test_a_namespace_that_is_named_wins_over_the_default(alice: Person):
    stored = alice("remember", content="the heron of beta", namespace="beta")
    assert stored["namespace"] == "beta"
    alice("remember", content="the heron of everybody")
    found = alice("recall", query="heron", namespace="beta")
    assert [item["namespace"] for item in found["items"]] == ["beta"]
    assert [item["namespace"] for item in alice("list_memories", namespace="beta")["items"]] == ["beta"]


TAGS = ["50%", "a_b", "x*", "c\\d", "日本語", "a,b"]
NEAR = ["50", "500%", "axb", "x", "xyz", "cd", "日本", "a", "b"]


def test_a_tag_with_special_characters_matches_exactly_over_rest(rest: Rest):
    ids = {tag: rest.add(f"apple {n}", tags=[tag])["id"] for n, tag in enumerate([*TAGS, *NEAR])}
    for tag in TAGS:
        found = rest.search("apple", tags=[tag], limit=50, verbose=True)
        assert found["debug"]["sourceMemoryIds"] == [ids[tag]], tag


def test_an_unknown_layer_is_told_as_what_was_stored_and_reads_back_as_such(rest: Rest):
    added = rest.add("the deploy failed", layer="incident-report")
    assert (added["memoryLayer"], added["kind"]) == ("L1", "trace")
    read = rest("GET", f"/memory/{added['id']}").json()
    assert (read["memoryLayer"], read["kind"]) == ("L1", "trace")


def test_a_correction_in_place_is_all_that_is_recalled(alice: Person):
    id = alice("remember", content="API limit is 100")["ids"][0]
    clock_of(alice.hub).advance(days=1)
    alice("update", id=id, content="API limit is now 250")
    run_jobs(alice.hub)
    assert contents_of(alice("recall", query="API limit")) == ["API limit is now 250"]
    assert contents_of(alice("list_memories")) == ["API limit is now 250"]


@pytest.mark.parametrize(
    "query", ["foo-bar", "foo OR", '"unclosed foo', "NEAR(foo", "foo C++", ":memory: foo", "foo " * 1_250]
)
def test_words_glued_to_operators_find_over_rest(rest: Rest, query: str):
    id = rest.add("the foo-bar module in C++ opens :memory:")["id"]
    assert rest.search(query, verbose=True)["debug"]["sourceMemoryIds"] == [id]


@pytest.mark.parametrize(
    "query",
    ["foo-bar", "foo OR", '"unclosed foo', "NEAR(foo", "foo C++", ":memory: foo", "foo " * 1_250, "a OR", "C++"],
)
def test_words_glued_to_operators_find_over_mcp(alice: Person, query: str):
    id = alice("remember", content="the foo-bar module in C++ opens :memory: a or b")["ids"][0]
    assert ids_of(alice("recall", query=query)) == [id]
    assert [row[0] for row in alice("recall", query=query, detail="index")["items"]] == [id[:12]]
    assert [item["id"] for item in alice("recall", query=query, max_tokens=300)["items"]] == [id[:12]]


def test_a_tag_with_special_characters_matches_exactly_over_mcp(alice: Person):
    ids = {tag: alice("remember", content=f"apple {n}", tags=[tag])["ids"][0] for n, tag in enumerate([*TAGS, *NEAR])}
    for tag in TAGS:
        assert ids_of(alice("recall", query="apple", tags=[tag], limit=50)) == [ids[tag]], tag


def test_names_of_agents_that_differ_only_in_case_are_one(alice: Person):
    ids = [alice("remember", content=f"note {n} of an agent", source=s)["ids"][0] for n, s in enumerate(AGENTS)]
    alice("remember", content="note of somebody else", source="claude2")
    for asked in AGENTS:
        found = alice("recall", query="note of an agent", source=asked)
        assert sorted(ids_of(found)) == sorted(ids), asked
        assert sorted(item["source"] for item in found["items"]) == sorted(AGENTS), "each is shown as it was written"


AGENTS = ["Claude", "claude", "CLAUDE"]


# -- what comes back in ------------------------------------------------------------------------------------------------


def test_a_memory_that_is_recalled_and_captured_again_twenty_times_is_still_one(
    alice: Person, rest: Rest, tmp_path: Path
):
    fact = "The heron gateway listens on port 8443 and ends tags like </hivelore_memory> early."
    id = alice("remember", content=fact)["ids"][0]
    run_jobs(alice.hub)
    for n in range(20):
        block = alice("recall", query="heron gateway port", namespace="*", format="context")["context"]
        assert block.count("port 8443") == 1, block
        turn = f"{block}\n\nWhat is step {n} of the plan?"
        alice("remember", content=turn, namespace="plans")
        rest.add(f"Plan, continued, number {n}.\n{block}", adapterId="hook", requestId=f"r{n}")
        alice("save_session", session_id="today", content=f"user: {turn}\nassistant: Number {n}.\n")
        record = {"type": "user", "uuid": f"u{n}", "sessionId": "s1", "timestamp": f"2026-05-01T10:00:{n:02}.000Z"}
        said = {"type": "assistant", "uuid": f"a{n}", "sessionId": "s1", "timestamp": f"2026-05-01T10:00:{n:02}.500Z"}
        lines = [
            record | {"message": {"role": "user", "content": turn}},
            said
            | {"message": {"id": f"m{n}", "role": "assistant", "content": [{"type": "text", "text": f"Step {n}."}]}},
        ]
        path = tmp_path / "projects" / f"{n}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert import_claude_code(call_as(alice.hub, "alice"), path.parent).turns_new == 1, n
        clock_of(alice.hub).advance(minutes=1)
        run_jobs(alice.hub)
    question = {"query": "heron gateway listens on port 8443", "namespace": "*"}
    hits = alice("recall", **question, limit=200)["items"]
    assert [item["id"] for item in hits if "8443" in item["content"] and item.get("kind") != "session"] == [id]
    shown = alice("recall", **question, max_tokens=20_000)["items"]
    assert [item["id"] for item in shown if "8443" in item["content"]] == [id[:12]]
    loaded = alice("load_session", session_id="today")["content"]
    assert "port 8443" in loaded, "a session is kept to the letter"


def test_a_session_about_a_topic_is_stored_beside_the_note_about_it(alice: Person):
    text = "The staging database of Acme listens on port 5433."
    alice("remember", content=text)
    saved = alice("save_session", session_id="today", content=text)
    assert (saved["chunks"], saved["replaced"]) == (1, False)
    assert "similar" not in saved
    run_jobs(alice.hub)
    found = alice("recall", query="staging database port", namespace="*")
    assert sorted(item.get("kind", "text") for item in found["items"]) == ["session", "text"]
    again = alice("remember", content=text)
    assert len(again["similar"]) == 1
    assert alice("list_memories")["total"] == 2


# -- reading -----------------------------------------------------------------------------------------------------------


def test_reading_one_memory_over_rest_runs_no_writing_statement(alice: Person, rest: Rest):
    id = rest.add("apple")["id"]
    run_jobs(alice.hub)
    with statements(alice.hub) as seen:
        assert rest("GET", f"/memory/{id}").status_code == 200
    assert seen
    assert not [s for s in seen if re.search(r"\b(INSERT|UPDATE|DELETE|IMMEDIATE)\b", s.upper())]


# -- models ------------------------------------------------------------------------------------------------------------


class NeverReady(StatefulEmbedder):
    """A model that is being loaded for ever; whoever waits for it fails."""

    def state(self) -> EmbedderState:
        return EmbedderState("loading", "the model is being read from disk")

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        raise AssertionError("somebody waits for the model")


def test_a_client_is_greeted_and_served_while_the_model_loads(store: Store, make_hub: Callable[..., Hub]):
    alice = person(with_keys(make_hub(store, embedder=NeverReady(), embed_eager_ms=5_000)), "alice")

    async def talk(client: Client) -> tuple[list[str], dict]:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("remember", {"content": "the migration ran"})
        return tools, (await client.call_tool("recall", {"query": "migration"})).structured_content

    tools, found = mcp(alice, talk)
    assert "recall" in tools
    assert contents_of(found) == ["the migration ran"]
    assert found["search"]["unavailable"] == {"vectors": "loading: the model is being read from disk"}


@pytest.mark.parametrize("remote", [False, True])
def test_health_says_whether_text_leaves_this_machine(store: Store, make_hub: Callable[..., Hub], remote: bool):
    embedder = StatefulEmbedder()
    embedder.remote = remote
    rest = Rest(person(with_keys(make_hub(store, embedder=embedder)), "alice"))
    assert rest("GET", "/health").json()["models"]["embedding"]["remote"] is remote


def test_no_embedder_that_sends_text_away_is_used_unless_it_was_chosen():
    assert make_embedder(Settings()).remote is False
    assert make_embedder(Settings(embed_url="https://embeddings.example")).remote is False


def test_a_look_for_missing_vectors_that_a_stop_cut_short_is_taken_up_by_whoever_runs_on(hub: Hub):
    person(with_keys(hub), "alice")("remember", content="one")
    with hub.db.write() as connection:
        connection.execute(pending.delete())
    hub.stopping.set()
    with pytest.raises(Unavailable, match="another one, or the next start"):
        jobs.reconcile(hub, {})
    hub.stopping.clear()
    jobs.reconcile(hub, {})
    run_jobs(hub)
    with hub.db.read() as connection:
        assert connection.execute(select(func.count()).select_from(vectors)).scalar_one() == 1


# -- size --------------------------------------------------------------------------------------------------------------

GROWING = (
    "memory",
    "memory_part",
    "search_chunk",
    "search_vector",
    "search_tokens",
    "search_text_content",
    "tombstone",
)


def plans(hub: Hub, use: Callable[[], object]) -> tuple[int, list[str]]:
    """How many statements a use runs, and those of them that read a whole table that grows with the store."""
    ran: list[tuple[str, object]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        ran.append((statement, parameters))

    engines = {hub.db._reader, hub.db._writer}
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        use()
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)
    whole: list[str] = []
    with hub.db._reader.connect() as connection:
        for statement, parameters in ran:
            if statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()  # type: ignore[arg-type]
                whole += [
                    f"{row[3]}: {statement}" for row in plan if re.match(rf"SCAN ({'|'.join(GROWING)})\b", row[3])
                ]
    return len(ran), whole


def test_no_request_reads_a_whole_table_or_runs_more_statements_on_a_larger_store(
    sqlite_store: Store, make_hub: Callable[..., Hub]
):
    """PF-07: what a request costs does not follow the size of the store."""
    alice = person(with_keys(make_hub(sqlite_store)), "alice")
    rest = Rest(alice)
    rest.add("the first in its place")

    def fill(number: int) -> str:
        for n in range(number):
            id = alice("remember", content=f"the heron nests at place {n}", namespace="notes")["ids"][0]
        run_jobs(alice.hub)
        return id

    def uses(id: str) -> dict[str, Callable[[], object]]:
        return {
            "remember": lambda: alice("remember", content="one more", namespace="notes"),
            "recall": lambda: alice("recall", query="heron place", namespace="*"),
            "get": lambda: alice("get_memory", id=id),
            "list": lambda: alice("list_memories", namespace="notes"),
            "update": lambda: alice("update", id=id, content="changed"),
            "forget": lambda: alice("forget", id=id),
            "add over REST": lambda: rest.add("apple"),
            "search over REST": lambda: rest.search("heron"),
        }

    counts: list[dict[str, int]] = []
    for number in (60, 240):
        id = fill(number)
        alice("recall", query="heron")  # vectors that are new are picked up once
        measured = {name: plans(alice.hub, use) for name, use in uses(id).items()}
        for name, (_, whole) in measured.items():
            assert whole == [], name
        counts.append({name: count for name, (count, _) in measured.items()})
    for name, count in counts[1].items():  # a pool of candidates that is full is asked deeper, once
        assert count <= counts[0][name] + 2, name
