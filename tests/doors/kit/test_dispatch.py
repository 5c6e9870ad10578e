"""The one gate: keys, roles, repeats of refused transactions, masks."""

from __future__ import annotations

from typing import Any

import pytest
from doors_kit import Person, dump

from hivelore.core import errors
from hivelore.core.actor import Principal, Role
from hivelore.doors.kit import dispatch as gate
from hivelore.doors.kit.answers import HTTP_STATUS, http_status
from hivelore.doors.kit.dispatch import Credentials, Internal
from hivelore.doors.kit.operation import Input, Operation
from hivelore.rooms.memory import service as memory
from hivelore.sql.database import Retryable, StoreBusy
from hivelore.work import Call
from support.hubs import call_as


class Nothing(Input):
    pass


def _operation(run: Any, **more: Any) -> Operation:
    return Operation("probe", "Probe", Nothing, run, **more)


def _dispatch(who: Person, operation: Operation) -> dict[str, Any]:
    return gate.dispatch(who.hub, operation, who.credentials, {})


def test_the_call_knows_who_calls_from_where(alice: Person):
    def run(call: Call, given: Nothing) -> dict[str, Any]:
        return {"id": call.caller.id, "agent": call.caller.agent, "door": call.caller.door}

    assert _dispatch(alice, _operation(run)) == {"id": "alice", "agent": "tester/1.0", "door": "test"}


def test_the_name_of_an_agent_is_kept_short(alice: Person):
    caller = gate.authenticate(alice.hub, Credentials("test", "Bearer alice-key", "x" * 5_000))
    assert len(caller.agent) == 200


def test_a_role_that_is_too_low_is_forbidden_before_the_work(alice: Person):
    done: list[int] = []
    operation = _operation(lambda call, given: done.append(1) or {}, needs=Role.ADMIN)
    with pytest.raises(errors.Forbidden, match="probe needs the role admin"):
        _dispatch(alice, operation)
    assert done == []


@pytest.mark.parametrize(
    ("role", "may"), [(Role.READER, False), (Role.AGENT, False), (Role.ADMIN, True), (Role.OWNER, True)]
)
def test_a_higher_role_includes_the_lower_ones(role: Role, may: bool):
    assert Principal("x", role).may(Role.ADMIN) is may


def test_an_administrator_may_change_what_others_shared(alice: Person):
    stored = alice("remember", content="old")["ids"][0]
    changed, _ = memory.update(call_as(alice.hub, "carol", Role.ADMIN), stored, "new")
    assert changed.text == "new"


@pytest.mark.parametrize("refusals", [1, 2])
def test_a_transaction_that_the_database_refused_is_repeated(
    alice: Person, monkeypatch: pytest.MonkeyPatch, refusals: int
):
    monkeypatch.setattr(gate, "RETRY_PAUSES_S", (0.0, 0.0))
    left = [Retryable()] * refusals

    def run(call: Call, given: Nothing) -> dict[str, Any]:
        stored = memory.remember(call, f"attempt {len(left)}")
        if left:
            with call.write() as w:
                memory.memories.remove(w, stored.memory)
            raise left.pop()
        return {"id": stored.memory.id}

    answer = _dispatch(alice, _operation(run))
    assert alice("list_memories")["total"] == 1
    assert alice("get_memory", id=answer["id"])["content"] == "attempt 0"


def test_a_transaction_that_is_refused_every_time_says_that_nothing_was_stored(
    alice: Person, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(gate, "RETRY_PAUSES_S", (0.0, 0.0))
    before = dump(alice.hub)

    def run(call: Call, given: Nothing) -> dict[str, Any]:
        with call.write() as w:
            memory.memories.add(
                w, memory.Draft(space=memory.space_of("x", "alice", frozenset()), kind="note", text="x")
            )
            raise Retryable

    with pytest.raises(StoreBusy, match="nothing was stored"):
        _dispatch(alice, _operation(run))
    assert dump(alice.hub) == before


def test_an_unexpected_error_is_masked_and_its_cause_kept_for_the_log(alice: Person):
    def run(call: Call, given: Nothing) -> dict[str, Any]:
        raise KeyError("hunter2")

    with pytest.raises(Internal) as caught:
        _dispatch(alice, _operation(run))
    assert "hunter2" not in caught.value.message
    assert "hunter2" not in repr(caught.value.data)
    assert caught.value.data["id"] in caught.value.message
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_operation_that_needs_no_key_runs_as_nobody(alice: Person):
    operation = _operation(lambda call, given: {"id": call.caller.id}, authenticated=False)
    assert _dispatch(Person(alice.hub, "nobody", None), operation) == {"id": ""}


def test_every_kind_of_error_has_a_status_and_subclasses_inherit_it():
    for kind in errors.KINDS:
        assert http_status(kind()) == HTTP_STATUS[kind]
        assert 400 <= HTTP_STATUS[kind] < 600

        class Special(kind):  # type: ignore[misc, valid-type]
            """Something special."""

        assert http_status(Special()) == HTTP_STATUS[kind]
    assert http_status(errors.HiveloreError()) == 500
    assert http_status(Internal()) == 500


def test_the_docstring_of_an_error_is_its_message_unless_another_is_given():
    assert errors.Conflict().message == "The request contradicts what is stored."
    assert errors.Conflict("other words", field="x").message == "other words"
    assert errors.Conflict("other words", field="x").data == {"field": "x"}
