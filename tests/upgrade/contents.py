"""What a saved store holds: `fill` puts it there through the use cases, `check` finds it again after an upgrade.

The stores in this folder were filled by the version that released their schema, so `check` must go on passing for all
of them. Something new in a later schema goes into `fill` and, when a store saved earlier cannot have it, into a test of
its own.
"""

from __future__ import annotations

from hivelore.base.memories import store as memory_store
from hivelore.core.actor import space_of
from hivelore.core.page import Offset
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from hivelore.rooms.transcripts.service import TurnDraft
from hivelore.work import Call, Hub
from support.hubs import call_as, clock_of, run_jobs

SESSION = "# Deploy\n\n" + "\n\n".join(f"Step {n}: " + f"do thing{n} carefully. " * 25 for n in range(4)) + "\n"
LONG = "\n\n".join(f"Chapter {n} is about subject{n}." + f" detail{n}" * 120 for n in range(3))
FILE = "/home/alice/.claude/projects/-srv-shop/s.jsonl"
POSITION = {"offset": 4096, "line": 12, "last_ms": 1_777_629_605_000, "anchor": "ab12", "size": 5000, "mtime_ns": 7}


def turn(number: int, text: str) -> TurnDraft:
    """An imported turn as the importer hands it over."""
    return TurnDraft(
        source="claude_code",
        turn_id=f"claude_code:{number:024x}",
        conversation="11111111-2222-4333-8444-555555555555",
        first_message=f"message-{number}",
        title=text.partition("\n")[0],
        text=f"## user\n\n{text}\n\n## assistant\n\nAnswered.",
        complete=True,
        started_ms=1_777_629_600_000 + number * 60_000,
        ended_ms=1_777_629_605_000 + number * 60_000,
        workspace="/srv/shop",
        tags=("agent-source", "claude_code"),
        details={"file": FILE, "bytes": [0, 100], "tools": ["Bash"], "git_branch": None},
    )


def fill(hub: Hub) -> None:
    """Put something of every kind into an empty store."""
    alice, bob = call_as(hub, "alice"), call_as(hub, "bob")
    memory.remember(alice, "Staging listens on port 5433.", tags=["deploy", "port"], source="runbook")
    memory.remember(bob, "Bob keeps this private note.", namespace="notes")
    memory.remember(alice, "ステージングは火曜日にデプロイする 🚀", namespace="notes")
    memory.remember(alice, LONG, namespace="notes", tags=["long"])
    changed = memory.remember(alice, "API limit is 100.", namespace="notes", key="limit").memory
    for text in ("API limit is 200.", "API limit is 250."):
        clock_of(hub).advance(days=1)
        memory.update(alice, changed.id, text)
    transcripts.save_session(alice, "deploy-notes", SESSION)
    record(alice, turn(1, "How do we restore the backup?"), turn(2, "Which colour has the banner?"))
    memory.forget(alice, memory.remember(alice, "Forgotten words.", namespace="notes", key="gone").memory.id)
    memory.forget(alice, found(alice, "colour banner", "transcripts")[0].id)
    first, second = memory.list_items(alice, "notes", Offset(0), 2).items
    with alice.write() as w:
        memory_store.link(w, first.space, first.memory, "related", second.memory)
        transcripts.note_read_position(w, "claude_code", FILE, POSITION)
    run_jobs(hub)
    memory.remember(bob, "Everybody reads this: lunch is at noon.")  # no vector yet, and a job that waits


def record(call: Call, *drafts: TurnDraft) -> list[str]:
    with call.write() as w:
        return list(transcripts.record_turns(w, space_of("transcripts", call.caller.id, frozenset({"shared"})), drafts))


def found(call: Call, query: str, namespace: str = "*") -> list[memory.Item]:
    return [each.item for each in memory.recall(call, query, namespaces=[namespace], limit=5).items]


def check(hub: Hub) -> None:
    """Everything that `fill` stored is there, found, and private to whom it was."""
    alice, bob = call_as(hub, "alice"), call_as(hub, "bob")
    assert found(alice, "staging port")[0].text == "Staging listens on port 5433."
    port = found(alice, "staging port")[0]
    assert (port.namespace, port.tags, port.source, port.owner) == ("shared", ("deploy", "port"), "runbook", "alice")
    assert found(alice, "デプロイ", "notes")[0].text == "ステージングは火曜日にデプロイする 🚀"
    assert found(bob, "private note", "notes")[0].text == "Bob keeps this private note."
    assert all(item.owner == "alice" for item in found(alice, "private note", "notes"))
    assert "lunch is at noon" in found(alice, "lunch", "shared")[0].text

    part = found(alice, "subject2 detail2", "notes")[0]
    assert (part.parts > 1, memory.get(alice, part.memory).text) == (True, LONG)

    limit = found(alice, "API limit", "notes")[0]
    assert limit.text == "API limit is 250."
    with alice.read() as v:
        stored, _ = memory_store.by_id(v, limit.id) or (None, None)
        assert stored is not None
        earlier = [text for _, text, _ in memory_store.earlier_texts(v, stored)]
        assert earlier == ["API limit is 200.", "API limit is 100."]
        assert transcripts.read_position(v, "claude_code", FILE) == POSITION

    assert transcripts.load_session(alice, "deploy-notes", 0, 100_000).content == SESSION
    assert [each.session_id for each in transcripts.list_sessions(alice, 0, 10)[0]] == ["deploy-notes"]
    assert found(alice, "thing3 carefully", "sessions")[0].kind == "session"

    restored = found(alice, "restore backup", "transcripts")[0]
    assert restored.text == turn(1, "How do we restore the backup?").text
    assert (restored.kind, restored.event_ms) == ("turn", 1_777_629_660_000)
    assert not any("banner" in item.text for item in found(alice, "colour banner"))
    assert not any("Forgotten" in item.text for item in found(alice, "forgotten words"))


def check_writing(hub: Hub) -> None:
    """The store can be written as any other: what is known is recognised, what was removed stays removed."""
    alice = call_as(hub, "alice")
    known, removed = turn(1, "How do we restore the backup?"), turn(2, "Which colour has the banner?")
    assert record(alice, known, removed, turn(3, "And what about zqxnew things?")) == ["known", "removed", "new"]
    assert found(alice, "zqxnew", "transcripts")[0].text.startswith("## user")
    again = memory.remember(alice, "API limit is 300.", namespace="notes", key="limit")
    assert not again.created
    assert found(alice, "API limit", "notes")[0].text == "API limit is 300."
    assert transcripts.save_session(alice, "deploy-notes", SESSION + "One step more.").replaced
    assert transcripts.forget_session(alice, "deploy-notes")
    assert memory.forget(alice, found(alice, "staging port")[0].id) == 1
    run_jobs(hub)
    assert memory.recall(alice, "zqxnew", namespaces=["*"], limit=1).findings.pending == 0
