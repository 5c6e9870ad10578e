"""The one gate: who is calling, may they, is the input valid, run, and what went wrong.

Every operation of every door passes here. Unexpected errors are logged with an id and leave as `Internal`, which
carries that id and nothing else.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hivelore.core.actor import Caller, Principal, Role
from hivelore.core.errors import Forbidden, HiveloreError
from hivelore.core.text import clean
from hivelore.doors.kit.operation import Operation
from hivelore.sql.database import Retryable, StoreBusy
from hivelore.work import Call, Hub

log = logging.getLogger("hivelore")
calls = logging.getLogger("hivelore.calls")

RETRY_PAUSES_S = (0.02, 0.1)
_NOBODY = Principal("", Role.READER)


class Internal(HiveloreError):
    """Something went wrong inside hivelore."""

    code = "internal"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request says about its sender. `agent` is what the client calls itself; `door` is how it came in."""

    door: str
    authorization: str | None = None
    agent: str = ""


def agent_name(credentials: Credentials) -> str:
    """What the client calls itself, in a form that both stores keep."""
    return clean(credentials.agent).text[:200]


def authenticate(hub: Hub, credentials: Credentials) -> Caller:
    """The caller behind the credentials; raises `Unauthenticated`."""
    principal = hub.authenticator.authenticate(credentials.authorization)
    return Caller(principal, agent_name(credentials), credentials.door)


def dispatch(hub: Hub, operation: Operation, credentials: Credentials, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run an operation; returns its answer or raises a `HiveloreError`."""
    return gate(
        hub,
        operation.name,
        credentials,
        lambda call: operation.run(call, operation.read(arguments)),
        needs=operation.needs if operation.authenticated else None,
    )


def gate(
    hub: Hub, target: str, credentials: Credentials, run: Callable[[Call], dict[str, Any]], *, needs: Role | None
) -> dict[str, Any]:
    """Authenticate (unless `needs` is None), authorise, run, mask and log. Every door's requests pass here."""
    started = time.perf_counter()
    caller = Caller(_NOBODY, agent_name(credentials), credentials.door)
    failed = ""
    try:
        if needs is not None:
            caller = authenticate(hub, credentials)
            if not caller.principal.may(needs):
                raise Forbidden(f"{target} needs the role {needs.name.lower()}.")
        return _run(hub.call(caller), run)
    except HiveloreError as exc:
        failed = type(exc).__name__
        raise
    except Exception as exc:
        failed = type(exc).__name__
        raise masked(exc, target) from exc
    finally:
        log_call(target, credentials.door, caller.id, started, failed)


def _run(call: Call, run: Callable[[Call], dict[str, Any]]) -> dict[str, Any]:
    """Run, and repeat when the database refused the transaction: nothing outside it has happened yet."""
    for pause_s in RETRY_PAUSES_S:
        try:
            return run(call)
        except Retryable:
            time.sleep(pause_s)
    try:
        return run(call)
    except Retryable as exc:
        raise StoreBusy() from exc


def masked(exc: Exception, what: str) -> Internal:
    """Log an unexpected error with an id; return an error that carries the id and no detail."""
    error_id = secrets.token_hex(6)
    log.error("unexpected error %s in %s", error_id, what, exc_info=exc)
    return Internal(f"Internal error {error_id}. The server's log has the details under this id.", id=error_id)


def log_call(target: str, door: str, user: str, started: float, failed: str) -> None:
    """One line per call: what, by whom, how long, which error class. Never a payload."""
    if calls.isEnabledFor(logging.INFO):
        calls.info(
            "call target=%s door=%s user=%s duration_ms=%.1f%s",
            target,
            door,
            user or "-",
            (time.perf_counter() - started) * 1000,
            f" error={failed}" if failed else "",
        )
