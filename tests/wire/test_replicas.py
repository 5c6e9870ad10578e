"""Two server processes on one Postgres behave as one, whichever of them a request reaches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path

import pytest
from wirekit.processes import Server, environment, run, serving
from wirekit.web import ask, done, refused

from support import postgres


@pytest.fixture(scope="module")
def replicas(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """Two servers with data folders of their own and one new database."""
    folder = tmp_path_factory.mktemp("replicas")
    with postgres.database(postgres_server) as url, ExitStack() as stack:
        world = environment(HIVELORE_DATABASE_URL=url, HIVELORE_API_KEYS="ana-key:ana,bo-key:bo")
        migrated = run("migrate", "--data", str(folder / "a"), env=world)
        assert migrated.code == 0, migrated.err
        yield [stack.enter_context(serving(folder / name, env=world)) for name in ("a", "b")]


def test_both_are_ready(replicas: list[Server]) -> None:
    for server in replicas:
        assert ask(server.url, "GET", "/readyz").json["ready"] is True


@pytest.mark.promise("M-115", "P-003")
def test_what_one_stores_the_other_recalls_changes_and_forgets(replicas: list[Server]) -> None:
    a, b = (server.mcp for server in replicas)
    (id,) = done(a, "remember", key="ana-key", content="The heron nests by the mill.")["ids"]

    (found,) = done(b, "recall", key="ana-key", query="heron at the mill", limit=1)["items"]
    assert found["id"] == id
    done(b, "update", key="ana-key", id=id, content="The heron nests by the weir.")
    assert done(a, "get_memory", key="ana-key", id=id)["content"] == "The heron nests by the weir."
    (found,) = done(a, "recall", key="ana-key", query="weir", limit=1)["items"]
    assert found["id"] == id

    assert done(b, "forget", key="ana-key", id=id)["deleted"] is True
    assert "no memory with id" in refused(a, "get_memory", key="ana-key", id=id)
    assert id not in [item["id"] for item in done(a, "recall", key="ana-key", query="heron weir")["items"]]


@pytest.mark.promise("P-100")
def test_pages_and_sessions_may_be_read_from_either_in_turn(replicas: list[Server]) -> None:
    turn = cycle(server.mcp for server in replicas)
    stored = [
        done(next(turn), "remember", key="bo-key", content=f"Entry {number} of the log.", namespace="log")["ids"][0]
        for number in range(30)
    ]
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(10):
        page = done(next(turn), "list_memories", key="bo-key", namespace="log", limit=7, cursor=cursor)
        assert page["total"] == 30
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == stored[::-1]

    transcript = "".join(f"Zeile {number}: 会議のメモ\n" for number in range(200))
    saved = done(next(turn), "save_session", key="bo-key", session_id="meeting", content=transcript)
    assert saved["chars"] == len(transcript)
    read, number = "", 0
    while True:
        page = done(next(turn), "load_session", key="bo-key", session_id="meeting", page=number, page_size=500)
        read, number = read + page["content"], number + 1
        if not page["has_more"]:
            break
    assert read == transcript


def test_the_private_namespace_of_one_user_is_closed_to_the_other_on_both(replicas: list[Server]) -> None:
    a, b = (server.mcp for server in replicas)
    (id,) = done(a, "remember", key="ana-key", content="Only for Ana.", namespace="diary")["ids"]
    assert "no memory with id" in refused(b, "get_memory", key="bo-key", id=id)
    assert done(b, "get_memory", key="ana-key", id=id)["content"] == "Only for Ana."


@pytest.mark.promise("P-100")
def test_the_data_folder_of_a_replica_holds_no_memories(replicas: list[Server]) -> None:
    for server in replicas:
        assert not list(Path(server.folder).glob("*.db*"))
