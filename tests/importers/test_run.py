"""Importing into a real store: what is stored, what a second run does, what an interruption leaves, who may see it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doors_kit import Person, dump, failing_at, mcp_call, person, with_keys
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select
from transcript_kit import SAMPLE, SAMPLE_SESSION, SAMPLE_TEXT, Conversation, many_turns

from hivelore.base.memories.searched import INDEXED_CALLS, INDEXED_CHARS, INDEXED_INPUT_CHARS, searched_text
from hivelore.base.memories.store import memories, revisions
from hivelore.base.search import store as search
from hivelore.base.search.tables import chunks, vectors
from hivelore.core.errors import Invalid, NotFound
from hivelore.core.ports import EmbedderState
from hivelore.importers import claude_code
from hivelore.importers import run as importing
from hivelore.importers.claude_code import TranscriptReading
from hivelore.importers.model import ImportedTurn, Role, ToolCall, render, render_tool
from hivelore.importers.run import Report
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from hivelore.rooms.transcripts.service import TurnDraft
from hivelore.rooms.transcripts.store import turns
from hivelore.work import Hub
from support.embedders import StatefulEmbedder
from support.hubs import Store, call_as, clock_of, opened, run_jobs
from support.marked import tables_holding
from support.permissions import ordinary_user, public_folder


def bring(hub: Hub, root: Path, who: str = "alice", **options: Any) -> Report:
    return importing.import_claude_code(call_as(hub, who), root, **options)


def became(report: Report) -> dict[str, int]:
    """What became of the turns, without zeros."""
    counts = {
        "new": report.turns_new,
        "grown": report.turns_grown,
        "known": report.turns_known,
        "removed": report.turns_removed_before,
    }
    return {name: count for name, count in counts.items() if count}


def stored(hub: Hub, who: str = "alice") -> list[Any]:
    """A person's turns with the rows beside them, in the order in which they happened."""
    joined = memories.join(turns, (turns.c.space == memories.c.space) & (turns.c.memory == memories.c.id))
    columns = (memories, *(c for c in turns.c if c.name not in ("space", "owner", "source")))
    statement = select(*columns).select_from(joined).where(memories.c.owner == who)
    with hub.db.read() as connection:
        return list(connection.execute(statement.order_by(memories.c.event_ms, turns.c.first_message)))


def texts(hub: Hub, who: str = "alice") -> list[str]:
    return [row.text for row in stored(hub, who)]


def position(hub: Hub, path: Path, who: str = "alice") -> dict[str, Any] | None:
    with call_as(hub, who).read() as v:
        return transcripts.read_position(v, "claude_code", str(path.resolve()))


def touch(path: Path) -> None:
    """Make a file look changed."""
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1_000_000_000))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder `projects` with one project in it."""
    folder = tmp_path / "claude" / "projects" / "-srv-shop"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def alice(hub: Hub) -> Person:
    """Alice, calling the tools of the MCP door on the hub that `hub` is."""
    return person(with_keys(hub), "alice")


# -- what is stored ----------------------------------------------------------------------------------------------------


def test_the_contract_sample_is_stored_whole_with_what_is_told_about_it(hub: Hub, root: Path) -> None:
    path = root / "s.jsonl"
    path.write_text(SAMPLE)
    report = bring(hub, root.parent.parent)
    [turn] = stored(hub)
    assert turn.text == SAMPLE_TEXT
    assert turn.title == "Which port does the memory service use?"
    assert (turn.kind, turn.layer, turn.status, turn.source) == ("turn", "trace", "active", "claude_code")
    assert turn.tags == ["agent-source", "claude_code"]
    assert turn.event_ms == turn.started_ms == 1_777_629_600_000
    assert turn.ended_ms == 1_777_629_605_000
    assert (turn.created_ms, turn.revision, turn.agent) == (hub.clock.now_ms(), 1, "tester")
    assert turn.turn_id == "claude_code:bf5c6e0662c2eda6d5f866f0"
    assert (turn.conversation, turn.first_message) == (SAMPLE_SESSION, "u1")
    assert turn.origin == {"session_id": SAMPLE_SESSION, "turn_id": turn.turn_id}
    assert (turn.workspace, turn.complete) == ("/srv/shop", True)
    details = dict(turn.details)
    begin, end = details.pop("bytes")
    assert path.read_bytes()[begin:end] == "".join(SAMPLE.splitlines(keepends=True)[1:5]).encode()
    assert details == {
        "file": str(path),
        "lines": [2, 5],
        "request_id": "a3bceddaa2a721373b82cebf85315a1ccc899e3a220901d46f30655f5e66902e",
        "git_branch": "main",
        "agent_version": "2.0.1",
        "agent_id": None,
        "interrupted": False,
        "tools": ["Bash"],
        "redactions": 0,
    }
    assert became(report) == {"new": 1}
    assert (report.source, report.namespace, report.stored) == ("claude_code", "transcripts", True)
    assert (report.read.files, report.read.lines, report.read.lines_kept, report.read.bad_lines) == (1, 9, 4, 0)


def test_an_imported_turn_is_found_through_the_tool_and_read_whole(hub: Hub, root: Path, alice: Person) -> None:
    (root / "s.jsonl").write_text(SAMPLE)
    bring(hub, root)
    run_jobs(hub)
    question = "which port does the memory service use?"
    for namespace in ("*", "transcripts"):
        result = mcp_call(alice, "recall", {"query": question, "namespace": namespace})
        assert not result.is_error
        answer = result.structured_content
        assert set(answer["search"]["engines"]) == {"text", "vectors"}
        [hit] = answer["items"]
        assert (hit["namespace"], hit["kind"], hit["source"]) == ("transcripts", "turn", "claude_code")
        assert hit["session_id"] == SAMPLE_SESSION
        assert hit["happened_at"] == "2026-05-01T10:00:00.000+00:00"
        assert "It listens on 18960." in hit["content"]
        assert "LISTEN 127.0.0.1" not in hit["content"]
        whole = mcp_call(alice, "get_memory", {"id": hit["id"]}).structured_content
        assert whole["content"] == SAMPLE_TEXT
        assert hit["truncated"]["chars"] == len(SAMPLE_TEXT)
    nowhere = alice("recall", query=question)
    assert nowhere["items"] == []
    assert nowhere["search"]["elsewhere"] == {"transcripts": 1}


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"kind": "turn"}, {"turn"}),
        ({"kind": "text"}, {"text"}),
        ({"kind": "session"}, {"session"}),
        ({"source": "claude_code"}, {"turn"}),
        ({"source": "codex"}, set()),
        ({"tags": ["agent-source"]}, {"turn"}),
        ({"tags": ["claude_code", "agent-source"]}, {"turn"}),
        ({"since": "2026-05-01T10:00:00Z", "until": "2026-05-01T10:00:01Z"}, {"turn"}),
        ({"since": "2026-05-01T10:00:01Z"}, set()),
        ({"until": "2026-05-01"}, {"text", "session"}),
    ],
)
def test_filters_tell_turns_from_other_memories(
    hub: Hub, root: Path, alice: Person, filters: dict[str, Any], found: set[str]
) -> None:
    (root / "s.jsonl").write_text(SAMPLE)
    bring(hub, root)
    alice("remember", content="The memory service uses port 18960.", namespace="notes")
    alice("save_session", session_id="port", content="Once more about the port of the memory service.")
    answer = alice("recall", query="memory service port", namespace="*", **filters)
    assert {each.get("kind", "text") for each in answer["items"]} == found


def test_words_of_both_sides_and_of_tool_inputs_are_searched_and_tool_output_is_not(
    hub: Hub, root: Path, alice: Person
) -> None:
    conversation = Conversation().ask("zqxasked something")
    conversation.answer("zqxanswered something")
    conversation.tool("zqxtoolname", {"command": "zqxinput " + "x " * 200 + "zqxbeyond"}, "zqxoutput of the tool")
    conversation.answer("Done.").write(root / "s.jsonl")
    bring(hub, root)
    run_jobs(hub)

    def words_found(word: str) -> bool:
        found = memory.recall(call_as(hub, "alice"), word, namespaces=["transcripts"], limit=5)
        return any(each.hit.text_rank is not None for each in found.items)

    assert all(words_found(word) for word in ("zqxasked", "zqxanswered", "zqxtoolname", "zqxinput"))
    assert not any(words_found(word) for word in ("zqxoutput", "zqxbeyond"))
    [hit] = alice("recall", query="zqxasked", namespace="*")["items"]
    whole = alice("get_memory", id=hit["id"])["content"]
    assert "zqxoutput of the tool" in whole
    assert "zqxbeyond" in whole


def test_a_large_turn_is_stored_whole_and_found_by_its_beginning_and_its_end(
    hub: Hub, root: Path, alice: Person
) -> None:
    conversation = Conversation().ask("zqxbegin please " + "filler words here " * 4_000)
    for number in range(30):
        conversation.tool("Bash", {"command": f"step {number}"}, f"output {number} " * 1_000)
    conversation.answer("more filler follows " * 12_000 + " zqxend").write(root / "s.jsonl")
    report = bring(hub, root)
    assert became(report) == {"new": 1}
    [turn] = stored(hub)
    assert turn.chars == len(turn.text) > 600_000
    for word in ("zqxbegin", "zqxend"):
        [hit] = alice("recall", query=word, namespace="transcripts")["items"]
        assert word in hit["content"]
        assert len(hit["content"]) < 10_000
    assert alice("get_memory", id=turn.id)["content"] == turn.text
    listed = alice("list_memories", namespace="transcripts")["items"][0]
    assert (len(listed["content"]), listed["truncated"]["chars"]) == (4_000, turn.chars)


@given(user=st.integers(0, 80_000), assistant=st.integers(0, 140_000), calls=st.integers(0, 60))
def test_what_is_searched_of_a_turn_is_bounded_and_keeps_both_ends_of_both_sides(
    user: int, assistant: int, calls: int
) -> None:
    call = ToolCall("id", "Bash", "y" * 500, "zqxoutput", False, None)
    asked: tuple[Role, str] = ("user", "<u>" + "a" * user + "</u>")
    used: tuple[Role, str] = ("tool", render_tool(call))
    found = searched_text("turn", render([asked, *[used] * calls, ("assistant", "<r>" + "b" * assistant + "</r>")]))
    assert len(found) <= INDEXED_CHARS * 3 // 2 + INDEXED_CALLS * (INDEXED_INPUT_CHARS + 10) + 20
    assert [mark in found for mark in ("<u>", "</u>", "<r>", "</r>")] == [True] * 4
    assert found.index("<u>") < found.index("</u>") < found.index("<r>") < found.index("</r>")
    assert found.count("Bash: ") == min(calls, INDEXED_CALLS)
    assert "zqxoutput" not in found


# -- again -------------------------------------------------------------------------------------------------------------


@pytest.mark.promise("M-024")
def test_a_second_run_stores_nothing_and_says_so(hub: Hub, root: Path) -> None:
    many_turns(3, "a").write(root / "a.jsonl")
    many_turns(2, "b").ask("not answered yet").write(root / "deeper" / "b.jsonl")
    first = bring(hub, root)
    assert became(first) == {"new": 5}
    before = dump(hub)
    clock_of(hub).advance(days=1)
    second = bring(hub, root)
    assert became(second) == {}
    assert (second.read.files, second.read.files_unchanged, second.read.lines) == (2, 2, 0)
    assert dump(hub) == before


def test_a_file_that_only_looks_changed_changes_no_memory(hub: Hub, root: Path) -> None:
    path = many_turns(3).write(root / "s.jsonl")
    bring(hub, root)
    before = stored(hub)
    touch(path)
    clock_of(hub).advance(days=1)
    report = bring(hub, root)
    assert became(report) == {"known": 1}
    assert report.read.lines == 2  # of six: reading goes on at the last turn, which may have grown
    assert stored(hub) == before


@pytest.mark.promise("M-023")
def test_a_turn_is_stored_once_it_is_complete(hub: Hub, root: Path) -> None:
    conversation = many_turns(1).ask("And now?")
    path = conversation.write(root / "s.jsonl")
    assert became(bring(hub, root)) == {"new": 1}
    assert not any("And now?" in text for text in texts(hub))
    conversation.tool("Bash", {"command": "ls"}, "files").write(path)
    report = bring(hub, root)
    assert (became(report), report.read.turns_incomplete) == ({}, 1)
    conversation.answer("Now this.").write(path)
    assert became(bring(hub, root)) == {"new": 1}
    assert [text.count("And now?") for text in texts(hub)] == [0, 1]


def test_a_grown_turn_keeps_its_id_and_the_vectors_of_what_did_not_change(
    store: Any, make_hub: Callable[..., Hub], root: Path, tmp_path: Path
) -> None:
    embedder = StatefulEmbedder()
    hub = make_hub(store, embedder=embedder)
    start = "\n\n".join(f"Paragraph {n} of the answer." + f" word{n}" * 150 for n in range(6))
    conversation = Conversation().ask("Explain it at length").answer(start)
    path = conversation.write(root / "s.jsonl")
    bring(hub, root)
    run_jobs(hub)
    [before] = stored(hub)
    numbered = select(vectors.c.chunk, vectors.c.id).order_by(vectors.c.chunk)
    with hub.db.read() as connection:
        old = dict(connection.execute(numbered).all())
    assert len(old) > 3

    embedder.embedded.clear()
    clock_of(hub).advance(days=1)
    conversation.answer("zqxlater addition").write(path)
    report = bring(hub, root)
    assert became(report) == {"grown": 1}
    assert 0 < report.still_to_embed <= 2
    run_jobs(hub)
    [after] = stored(hub)
    assert (after.id, after.created_ms, after.event_ms) == (before.id, before.created_ms, before.event_ms)
    assert after.text == before.text + "\n\n## assistant\n\nzqxlater addition"
    assert (after.revision, after.updated_ms) == (2, hub.clock.now_ms())
    assert (after.turn_id, after.ended_ms) == (before.turn_id, before.ended_ms + 1_000)
    assert after.details["bytes"][1] == path.stat().st_size
    with hub.db.read() as connection:
        new = dict(connection.execute(numbered).all())
        assert connection.execute(select(func.count()).select_from(revisions)).scalar_one() == 0
    kept = {chunk: id for chunk, id in old.items() if new.get(chunk) == id}
    assert len(kept) >= len(old) - 1
    assert 0 < len(embedder.embedded) <= 2
    assert any("zqxlater" in text for text in embedder.embedded)
    [hit] = person(with_keys(hub), "alice")("recall", query="zqxlater", namespace="*")["items"]
    assert hit["id"] == before.id


@pytest.mark.parametrize("first", ["the longer", "the shorter"])
def test_of_two_copies_of_a_file_the_longer_one_counts(hub: Hub, root: Path, first: str) -> None:
    conversation = many_turns(2)
    older = conversation.write(root / "older" / "s.jsonl")
    newer = conversation.answer("One thing more.").turn("next question", "next answer").write(root / "newer.jsonl")
    order = (newer, older) if first == "the longer" else (older, newer)
    expected = [{"new": 3}, {"known": 2}] if first == "the longer" else [{"new": 2}, {"known": 1, "grown": 1, "new": 1}]
    assert [became(bring(hub, path)) for path in order] == expected
    assert len(texts(hub)) == 3
    assert texts(hub)[1].endswith("One thing more.")


def test_a_resumed_session_adds_only_its_own_turns(hub: Hub, root: Path) -> None:
    earlier = many_turns(3)
    earlier.write(root / "2-earlier.jsonl")
    resumed = earlier.resumed_as("session-resumed").turn("later question", "later answer")
    resumed.write(root / "3-resumed.jsonl")
    assert became(bring(hub, root)) == {"new": 4, "known": 3}
    assert [row.conversation for row in stored(hub)] == ["session-s"] * 3 + ["session-resumed"]
    # And once more with a file that is read before the others.
    resumed.resumed_as("session-again").write(root / "1-again.jsonl")
    assert became(bring(hub, root)) == {"known": 4}
    assert len(stored(hub)) == 4


def test_a_turn_that_was_copied_while_it_ran_still_grows(hub: Hub, root: Path) -> None:
    running = Conversation().ask("A long task").answer("Begun.")
    fork = running.resumed_as("session-fork").turn("another way", "taken")
    fork.write(root / "1-fork.jsonl")
    running.answer("Finished at last.").write(root / "2-original.jsonl")
    bring(hub, root)
    assert len(stored(hub)) == 2
    assert texts(hub)[0].endswith("Finished at last.")


def test_a_replaced_file_is_read_from_its_start_and_doubles_nothing(hub: Hub, root: Path) -> None:
    path = many_turns(3).write(root / "s.jsonl")
    bring(hub, root)
    path.write_bytes(b'{"type":"summary","summary":"a line that was not there"}\n' + path.read_bytes())
    report = bring(hub, root)
    assert report.read.files_restarted == 1
    assert became(report) == {"known": 3}
    assert len(stored(hub)) == 3


# -- what was removed --------------------------------------------------------------------------------------------------


def forget_first_turn(who: Person) -> str:
    [hit] = who("recall", query="question 0", namespace="*", limit=1)["items"]
    assert who("forget", id=hit["id"])["removed"] == 1
    return str(hit["id"])


def test_a_turn_that_was_removed_stays_removed(hub: Hub, root: Path, alice: Person) -> None:
    conversation = many_turns(2)
    path = conversation.write(root / "s.jsonl")
    bring(hub, root)
    forget_first_turn(alice)
    assert became(bring(hub, root)) == {}
    # The file is read again from its start.
    path.write_bytes(b"{}\n" + conversation.data())
    assert became(bring(hub, root)) == {"known": 1, "removed": 1}
    # An old copy elsewhere; a copy in another session; a longer version of the turn.
    conversation.write(root / "backup" / "s.jsonl")
    assert became(bring(hub, root)) == {"known": 1, "removed": 1}
    conversation.resumed_as("session-resumed").write(root / "resumed.jsonl")
    assert became(bring(hub, root)) == {"known": 1, "removed": 1}
    longer = Conversation().turn("s: question 0", "s: answer 0").answer("and more").write(root / "longer.jsonl")
    assert became(bring(hub, longer)) == {"removed": 1}
    assert [text.count("question 0") for text in texts(hub)] == [0]


def test_a_turn_that_was_removed_does_not_come_back_under_another_namespace(
    hub: Hub, root: Path, alice: Person
) -> None:
    conversation = many_turns(2)
    conversation.write(root / "s.jsonl")
    bring(hub, root)
    forget_first_turn(alice)
    copy = conversation.write(root.parent / "elsewhere" / "s.jsonl")
    assert became(bring(hub, copy, namespace="archive")) == {"known": 1, "removed": 1}


def test_what_one_person_removed_another_may_import(hub: Hub, root: Path, alice: Person) -> None:
    many_turns(2).write(root / "s.jsonl")
    bring(hub, root)
    bring(hub, root, "bob")
    forget_first_turn(alice)
    assert (len(stored(hub)), len(stored(hub, "bob"))) == (1, 2)
    bring(hub, root, "carol")
    assert len(stored(hub, "carol")) == 2


# -- interrupted -------------------------------------------------------------------------------------------------------


@pytest.fixture
def one_turn_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH_TURNS", 1)


def state(hub: Hub, paths: list[Path], who: str) -> tuple[Any, ...]:
    """What is stored of a person's turns, with the positions that belong to it; without ids and times."""
    with hub.db.read() as connection:
        indexed = select(func.count()).select_from(chunks).where(chunks.c.owner == who)
        counted = connection.execute(indexed).scalar_one()
    return (tuple(texts(hub, who)), counted, *(repr(position(hub, path, who)) for path in paths))


def states_between(hub: Hub, root: Path, paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The states between the transactions of an import that nothing disturbs, the first and the last included."""
    found = [state(hub, paths, "reference")]
    plain = importing._batches

    def watched(reading: TranscriptReading) -> Iterator[list[ImportedTurn]]:
        for batch in plain(reading):
            yield batch
            found.append(state(hub, paths, "reference"))

    with monkeypatch.context() as patched:
        patched.setattr(importing, "_batches", watched)
        bring(hub, root, "reference")
    return [*found, state(hub, paths, "reference")]


def test_wherever_the_store_breaks_turns_and_read_position_agree_and_the_next_run_completes(
    hub: Hub, root: Path, one_turn_a_batch: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = many_turns(1, "a").ask("Use a tool").tool("Bash", {"command": "ls"}, "files").answer("Used.")
    paths = [two.write(root / "a.jsonl"), many_turns(1, "b").ask("open").write(root / "b.jsonl")]
    states = states_between(hub, root, paths, monkeypatch)
    complete = states[-1]
    assert len(complete[0]) == 3
    seen = set()
    for place in range(1, 1_000):
        who = f"person {place}"  # everybody begins with nothing, on one store
        try:
            with failing_at(hub, place):
                bring(hub, root, who)
        except RuntimeError:
            left = state(hub, paths, who)
            assert left in states, f"statement {place}"
            seen.add(states.index(left))
            report = bring(hub, root, who)
            assert report.turns_new == len(complete[0]) - len(left[0])
            assert report.turns_known <= len(paths)
            assert state(hub, paths, who) == complete
        else:
            break
    assert place > 30
    assert seen >= {0, 1, 2, 3}


@pytest.mark.parametrize("how", [RuntimeError, KeyboardInterrupt])
def test_an_import_that_is_stopped_goes_on_behind_what_was_stored(
    hub: Hub, root: Path, one_turn_a_batch: None, monkeypatch: pytest.MonkeyPatch, how: type[BaseException]
) -> None:
    path = many_turns(6).write(root / "s.jsonl")
    reading = claude_code.TranscriptReading._take
    lines = 0

    def stop_in_the_middle(self: TranscriptReading, line: Any) -> None:
        nonlocal lines
        lines += 1
        if lines == 9:  # a record of the fifth turn
            raise how
        reading(self, line)

    with monkeypatch.context() as patched:
        patched.setattr(claude_code.TranscriptReading, "_take", stop_in_the_middle)
        with pytest.raises(how):
            bring(hub, root)
    # The turn before is closed only by the record that was not read any more.
    assert [text.count("answer") for text in texts(hub)] == [1, 1, 1]
    report = bring(hub, root)
    assert became(report) == {"new": 3}
    assert report.read.lines == 6
    assert len(stored(hub)) == 6
    assert bring(hub, path).read.files_unchanged == 1


def test_a_killed_import_leaves_whole_batches_and_goes_on(hub: Hub, store: Store, root: Path, tmp_path: Path) -> None:
    path = many_turns(7).write(root / "s.jsonl")
    ended = subprocess.run(
        [sys.executable, "-c", KILLED_IN_THE_THIRD_BATCH, store.url, str(tmp_path), str(root)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL
    assert len(stored(hub)) == 4
    assert position(hub, path)["line"] == 8  # type: ignore[index]
    assert became(bring(hub, root)) == {"new": 3}
    assert [text.split("\n")[2] for text in texts(hub)] == [f"s: question {n}" for n in range(7)]


KILLED_IN_THE_THIRD_BATCH = """
import os, signal, sys
from pathlib import Path

from hivelore.importers import run as importing
from hivelore.importers.claude_code import TranscriptReading
from hivelore.rooms.transcripts import service
from support.hubs import Store, call_as, opened

importing.BATCH_TURNS = 2
url, folder, root = sys.argv[1:]
plain, calls = service.note_read_position, []

def kill_before_commit(*given):
    plain(*given)
    calls.append(given)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)

service.note_read_position = kill_before_commit
with opened(Store("", url), Path(folder)) as hub:
    importing.import_claude_code(call_as(hub, "alice"), Path(root))
"""


def test_batches_are_small_and_others_write_between_them(hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many_turns(60, "many").write(root / "many.jsonl")
    long = Conversation("long")
    for number in range(6):
        long.turn(f"long question {number}", "many words " * 15_000)
    long.write(root / "long.jsonl")
    plain, recorded = transcripts.record_turns, list[list[TurnDraft]]()

    def noting(w: Any, space: Any, drafts: list[TurnDraft]) -> Any:
        recorded.append(drafts)
        return plain(w, space, drafts)

    def others_write(done: int, name: str) -> None:
        memory.remember(call_as(hub, "bob"), f"written while {name} is imported", namespace="notes")

    batches = importing._batches

    def with_a_write_between(reading: TranscriptReading) -> Iterator[list[ImportedTurn]]:
        for batch in batches(reading):
            others_write(0, "a batch")  # waits for ever, or until a time-out, while a transaction is open
            yield batch

    monkeypatch.setattr(transcripts, "record_turns", noting)
    monkeypatch.setattr(importing, "_batches", with_a_write_between)
    report = bring(hub, root, progress=others_write)
    assert became(report) == {"new": 66}
    assert len(recorded) == 3 + 2
    for drafts in recorded:
        assert len(drafts) <= importing.BATCH_TURNS
        assert sum(len(draft.text) for draft in drafts[:-1]) < importing.BATCH_CHARS


def test_two_imports_of_one_folder_at_once_double_nothing(hub: Hub, root: Path, one_turn_a_batch: None) -> None:
    for name in ("a", "b", "c"):
        many_turns(4, name).write(root / f"{name}.jsonl")
    reports: list[Report] = []
    barrier = threading.Barrier(3)

    def work() -> None:
        barrier.wait(10)
        reports.append(bring(hub, root))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(reports) == 3
    assert sum(report.turns_new for report in reports) == len(stored(hub)) == 12
    assert len(set(texts(hub))) == 12
    assert became(bring(hub, root)) == {}


# -- damage ------------------------------------------------------------------------------------------------------------


def test_bad_lines_and_files_never_stop_the_rest(hub: Hub, root: Path) -> None:
    many_turns(2, "a").raw(b'{"type":"user", broken').raw(b"\xff\x00\xfe").turn("a: last", "a: said").write(
        root / "a.jsonl"
    )
    (root / "b-binary.jsonl").write_bytes(bytes(range(256)) * 40)
    (root / "c-empty.jsonl").write_bytes(b"")
    (root / "d-nested.jsonl").write_bytes(b"[" * 100_000 + b"\n" + many_turns(1, "d").data())
    (root / "e-loop.jsonl").symlink_to("e-loop.jsonl")
    os.mkfifo(root / "f-pipe.jsonl")
    gone, pipe = root / "g-gone.jsonl", root / "h-pipe.jsonl"
    many_turns(1, "g").write(gone)
    many_turns(1, "h").write(pipe)
    many_turns(2, "z").write(root / "z.jsonl")

    def others_are_at_work(done: int, name: str) -> None:
        if name == gone.name:
            gone.unlink()
        if name == pipe.name:
            pipe.unlink()
            os.mkfifo(pipe)

    report = bring(hub, root, progress=others_are_at_work)
    assert became(report) == {"new": 6}
    assert report.read.files == 7
    assert report.read.files_skipped == {
        "symbolic link to nothing": 1,
        "not a regular file": 2,
        "file is gone": 1,
    }
    account = report.read
    assert account.bad_lines >= 3
    assert account.lines == account.lines_kept + account.bad_lines + sum(account.lines_skipped.values())
    assert sorted(row.first_message for row in stored(hub)) == ["a-1", "a-3", "a-5", "d-1", "z-1", "z-3"]


def test_a_file_that_may_not_be_read_is_counted_and_stops_nothing(sqlite_store: Store) -> None:
    with public_folder() as folder:
        many_turns(1, "a").write(folder / "a.jsonl").chmod(0)
        many_turns(1, "b").write(folder / "b.jsonl").chmod(0o644)
        (folder / "closed").mkdir(mode=0)
        (folder / "data").mkdir()
        (folder / "data").chmod(0o777)
        with ordinary_user(), opened(Store("sqlite", f"sqlite:///{folder}/data/hivelore.db"), folder / "data") as hub:
            report = bring(hub, folder)
            assert became(report) == {"new": 1}
        assert report.read.files_skipped["file cannot be read"] == 1
        assert report.read.files_skipped["folder cannot be read"] == 1


def test_names_that_are_no_text_can_be_imported(hub: Hub, root: Path) -> None:
    name = os.fsdecode(b"caf\xe9-\xff.jsonl")
    many_turns(2).write(root / name)
    assert became(bring(hub, root)) == {"new": 2}
    assert bring(hub, root).read.files_unchanged == 1
    other = os.fsdecode(b"caf\xe8-\xff.jsonl")
    many_turns(1, "other").write(root / other)
    assert became(bring(hub, root)) == {"new": 1}


def test_transcripts_are_only_read(hub: Hub, root: Path) -> None:
    path = many_turns(2).write(root / "s.jsonl")
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(root.iterdir()))
    bring(hub, root)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(root.iterdir())) == before


# -- where to, and whose -----------------------------------------------------------------------------------------------


def test_a_dry_run_reads_everything_and_stores_nothing(hub: Hub, root: Path) -> None:
    many_turns(3).ask("open").raw(b"broken").write(root / "s.jsonl")
    before = dump(hub)
    dry = bring(hub, root, dry_run=True)
    assert dump(hub) == before
    assert not dry.stored
    assert (became(dry), dry.still_to_embed) == ({}, 0)
    wet = bring(hub, root)
    assert became(wet) == {"new": 3}
    assert wet.read == dry.read
    assert bring(hub, root, dry_run=True).read.files_unchanged == 1


def test_turns_go_to_the_namespace_that_was_named(hub: Hub, root: Path, alice: Person) -> None:
    many_turns(2).write(root / "s.jsonl")
    report = bring(hub, root, namespace="work log 作業")
    assert report.namespace == "work log 作業"
    [hit] = alice("recall", query="question 1", namespace="work log 作業", limit=1)["items"]
    assert hit["namespace"] == "work log 作業"
    assert alice("recall", query="question 1", namespace="transcripts")["items"] == []
    assert report.still_to_embed > 0


def test_another_namespace_holds_no_second_copy_of_a_turn(hub: Hub, root: Path) -> None:
    conversation = many_turns(2)
    conversation.write(root / "s.jsonl")
    bring(hub, root)
    copy = conversation.write(root.parent / "copy" / "s.jsonl")
    assert became(bring(hub, copy, namespace="archive")) == {"known": 2}
    assert len(stored(hub)) == 2


@pytest.mark.parametrize("name", ["*", "n" * 300, "lone \ud800 surrogate", "nul\0"])
def test_a_namespace_that_cannot_be_one_is_refused_or_cleaned_as_everywhere(
    hub: Hub, root: Path, alice: Person, name: str
) -> None:
    many_turns(1).write(root / "s.jsonl")
    if name in ("*", "n" * 300):
        with pytest.raises(Invalid, match="namespace"):
            bring(hub, root, namespace=name)
        assert stored(hub) == []
    else:
        bring(hub, root, namespace=name)
        assert len(alice("list_memories", namespace=name)["items"]) == 1


def test_two_people_import_one_folder_and_do_not_see_each_others_turns(hub: Hub, root: Path, alice: Person) -> None:
    path = many_turns(2).write(root / "s.jsonl")
    assert became(bring(hub, root)) == {"new": 2}
    bob = person(alice.hub, "bob")
    assert bob("recall", query="question 1", namespace="*")["items"] == []
    assert bob("list_memories", namespace="*")["total"] == 0
    [row, _] = stored(hub)
    assert "no memory with id" in bob.refused("get_memory", id=row.id)
    assert bob("forget", id=row.id)["removed"] == 0
    assert position(hub, path, "bob") is None

    assert became(bring(hub, root, "bob")) == {"new": 2}
    assert {row.id for row in stored(hub)}.isdisjoint(row.id for row in stored(hub, "bob"))
    many_turns(3).write(path)
    assert became(bring(hub, root, "bob")) == {"known": 1, "new": 1}
    assert (len(stored(hub)), len(stored(hub, "bob"))) == (2, 3)
    assert alice("list_memories", namespace="*")["total"] == 2


def test_a_folder_without_a_transcript_is_an_error_and_not_a_success(hub: Hub, root: Path) -> None:
    (root / "notes.txt").write_text("no transcript")
    for place in (root, root / "missing", root / "notes" / "s.jsonl"):
        with pytest.raises(NotFound, match="path"):
            bring(hub, place)


# -- the account -------------------------------------------------------------------------------------------------------


@pytest.mark.promise("M-021", "M-025")
def test_the_numbers_of_the_account_add_up_and_equal_what_is_stored(hub: Hub, root: Path, alice: Person) -> None:
    first = many_turns(5, "a").raw(b"broken").ask("never answered").turn("a: question 5", "a: answer 5")
    first.write(root / "a.jsonl")
    many_turns(3, "b").write(root / "b.jsonl")
    (root / "s.jsonl").write_text(SAMPLE)
    reports = [bring(hub, root)]
    forget_first_turn(alice)
    first.turn("a: question 6", "a: answer 6").write(root / "a.jsonl")
    many_turns(3, "b").answer("grown").write(root / "b.jsonl")
    first.resumed_as("session-copy").write(root / "c.jsonl")
    reports.append(bring(hub, root))
    first.answer("a: longer").write(root / "d.jsonl")
    reports.append(bring(hub, root))
    for report in reports:
        account = report.read
        assert account.lines == account.lines_kept + account.bad_lines + sum(account.lines_skipped.values())
        assert account.turns_complete == sum(became(report).values())
        assert account.turns_incomplete >= sum(account.turns_skipped.values())
        assert report.as_dict()["read"]["lines"] == account.lines
    assert sum(report.turns_new for report in reports) == len(stored(hub)) + 1
    assert [bool(report.turns_grown) for report in reports] == [False, True, True]
    assert alice("list_memories", namespace="transcripts")["total"] == len(stored(hub))
    with hub.db.read() as connection:
        index = search.statistics(connection)
    assert index["chunks"] == index["text_rows"] == index["pending"] == reports[-1].still_to_embed


def test_rows_come_first_and_vectors_follow_in_the_background(
    store: Store, make_hub: Callable[..., Hub], root: Path
) -> None:
    embedder = StatefulEmbedder(status="loading", reason="loading the model", synonyms={"zqxcar": "zqxautomobile"})
    hub = make_hub(store, embedder=embedder)
    alice = person(with_keys(hub), "alice")
    Conversation().turn("zqxautomobile", "zqxwheels").write(root / "s.jsonl")
    report = bring(hub, root)
    assert report.still_to_embed == 1
    assert embedder.embedded == []
    answer = alice("recall", query="zqxautomobile", namespace="*")
    assert len(answer["items"]) == 1
    assert answer["search"]["pending"] == 1
    assert "vectors" in answer["search"]["unavailable"]
    embedder.now = EmbedderState("ready")
    assert run_jobs(hub) >= 1
    answer = alice("recall", query="zqxcar", namespace="*")
    assert len(answer["items"]) == 1
    assert (answer["search"]["pending"], answer["search"]["unavailable"]) == (0, {})
    assert bring(hub, root).still_to_embed == 0


def test_progress_only_rises_and_ends_at_the_total(hub: Hub, root: Path) -> None:
    for number in range(5):
        many_turns(number + 1, f"s{number}").write(root / f"s{number}.jsonl")
    told: list[tuple[int, str]] = []
    bring(hub, root, progress=lambda done, name: told.append((done, name)))
    amounts = [done for done, _ in told]
    assert amounts == sorted(amounts)
    assert (amounts[0], amounts[-1]) == (0, importing.total_bytes(root))
    assert [name for _, name in told] == [f"s{number}.jsonl" for number in range(5)] + [""]
    again: list[int] = []
    bring(hub, root, progress=lambda done, name: again.append(done))
    assert again == amounts


# -- secrets and recalled memories -------------------------------------------------------------------------------------


def key(*pieces: str) -> str:
    """Put together here, because written out it would look like a leaked one to every scanner."""
    return "".join(pieces)


NOISE = "Kx9fWq3ZrT8bN2mYv7LpQd5sJh4GcAe1uRiXoPzBtEwM6nVkD0aSyCgHjF"
SECRETS = {
    "ssh_private_key": key("-----BEGIN RSA ", "PRIVATE KEY-----\n", NOISE, "\n-----END RSA ", "PRIVATE KEY-----"),
    "anthropic_api_key": key("sk-", "ant-", "api03-", NOISE[::-1]),
    "openai_api_key": key("sk-", "proj-", NOISE[3:47]),
    "google_api_key": key("AI", "za", NOISE[5:40]),
    "github_token": key("gh", "p_", NOISE[7:43]),
    "slack_token": key("xo", "xb-", "1234567890-", NOISE[9:33]),
    "aws_access_key_id": key("AK", "IA", "QWERTYUIOPASDFG7"),
    "stripe_key": key("sk", "_live_", NOISE[11:35]),
    "npm_token": key("np", "m_", NOISE[13:49]),
    "jwt": key("ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxIn0", ".", NOISE[15:58]),
    "connection_string": key("postgres://app:", "hunter2hunter2", "@db:5432/app"),
}
TELLTALE = {kind: secret[-20:] for kind, secret in SECRETS.items()} | {
    "ssh_private_key": NOISE[10:30],
    "connection_string": "hunter2hunter2",
}


def test_secrets_are_nowhere_in_the_store(hub: Hub, store: Store, root: Path) -> None:
    conversation = Conversation()
    for number, (kind, secret) in enumerate(SECRETS.items()):
        conversation.ask(f"{kind} {number}: {secret}", cwd=f"/srv/{secret}"[:300], gitBranch=secret)
        conversation.tool("Bash", {"command": f"echo '{secret}'"}, f"printed {secret}\n")
        conversation.answer(f"The {kind} is {secret}, as you said.")
    conversation.write(root / "s.jsonl")
    report = bring(hub, root)
    run_jobs(hub)
    assert became(report) == {"new": len(SECRETS)}
    for kind in SECRETS:
        assert report.read.redactions[kind] >= 4, kind
    for kind, telltale in TELLTALE.items():
        assert not tables_holding(hub, telltale), kind
        assert not tables_holding(hub, telltale.lower()), kind
    if store.path is not None:
        raw = b"".join(path.read_bytes() for path in store.path.parent.glob("hivelore.db*"))
        assert b"[REDACTED:github_token]" in raw
        for kind, telltale in TELLTALE.items():
            assert telltale.encode() not in raw, kind
            assert telltale.lower().encode() not in raw.lower(), kind
    assert all("[REDACTED:" in row.title for row in stored(hub) if "PRIVATE" not in row.title)


def test_twenty_rounds_of_recall_and_import_leave_one_memory(hub: Hub, root: Path, alice: Person) -> None:
    alice("remember", content="The zqxfact is that staging listens on port 5433.", namespace="notes")
    path = root / "s.jsonl"
    conversation = Conversation()
    for number in range(20):
        [hit] = alice("recall", query="zqxfact", namespace="*", limit=1)["items"]
        assert hit["content"].startswith("The zqxfact")
        block = f"<hivelore_memory>\n{hit['content']}\n</hivelore_memory>"
        conversation.ask(f"{block}\n\n<current_user_request>\nround {number}\n</current_user_request>")
        conversation.tool("mcp__hivelore__recall", {"query": "staging port"}, json.dumps({"items": [hit]}))
        conversation.answer(f"done with {number}").write(path)
        bring(hub, root)
        run_jobs(hub)
    assert len(stored(hub)) == 20
    answer = alice("recall", query="zqxfact", namespace="*", limit=50)
    assert [each.get("kind") for each in answer["items"] if "zqxfact" in each["content"]] == [None]
    assert not any("zqxfact" in text or "5433" in text for text in texts(hub))
