"""The job table and its four moves: enqueue, claim, finish, fail.

A job is enqueued in the transaction that makes it necessary, so there is no job without its rows and no rows without
their job. Claiming sets a lease; a lease that ran out makes the job claimable again, so delivery is at least once and
handlers must be idempotent. Two partial unique indexes carry the guarantees: `dedupe` is unique while a job waits,
`lane` while one runs (the idea is procrastinate's).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    String,
    Table,
    Text,
    and_,
    func,
    or_,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError

from hivelore.sql.tables import metadata
from hivelore.sql.types import Json
from hivelore.sql.write import insert_if_absent

WAITING, RUNNING, FAILED = "waiting", "running", "failed"

jobs = Table(
    "job",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("args", Json, nullable=False),
    Column("status", String, nullable=False),
    Column("dedupe", String),
    Column("lane", String),
    Column("run_at_ms", BigInteger, nullable=False),
    Column("lease_until_ms", BigInteger),
    Column("attempts", Integer, nullable=False),
    Column("last_error", Text),
    Column("created_ms", BigInteger, nullable=False),
)
Index("ix_job_due", jobs.c.status, jobs.c.run_at_ms)
Index(
    "uq_job_dedupe_waiting",
    jobs.c.dedupe,
    unique=True,
    sqlite_where=text("status = 'waiting'"),
    postgresql_where=text("status = 'waiting'"),
)
Index(
    "uq_job_lane_running",
    jobs.c.lane,
    unique=True,
    sqlite_where=text("status = 'running'"),
    postgresql_where=text("status = 'running'"),
)


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of claimed work. `attempts` counts this one."""

    id: str
    name: str
    args: dict[str, Any]
    attempts: int


def enqueue(
    connection: Connection,
    *,
    id: str,
    name: str,
    now_ms: int,
    args: dict[str, Any] | None = None,
    dedupe: str | None = None,
    lane: str | None = None,
    run_at_ms: int | None = None,
) -> bool:
    """Add a job; return False when one with the same `dedupe` key already waits (which then covers this one too)."""
    values = {
        "id": id,
        "name": name,
        "args": args or {},
        "status": WAITING,
        "dedupe": dedupe,
        "lane": lane,
        "run_at_ms": now_ms if run_at_ms is None else run_at_ms,
        "attempts": 0,
        "created_ms": now_ms,
    }
    return insert_if_absent(connection, jobs, values)


def any_due(connection: Connection, *, names: tuple[str, ...], now_ms: int) -> bool:
    """Whether there is something to claim; takes no lock."""
    due = or_(
        and_(jobs.c.status == WAITING, jobs.c.run_at_ms <= now_ms),
        and_(jobs.c.status == RUNNING, jobs.c.lease_until_ms <= now_ms),
    )
    return connection.execute(select(jobs.c.id).where(jobs.c.name.in_(names), due).limit(1)).first() is not None


def claim(connection: Connection, *, names: tuple[str, ...], now_ms: int, lease_ms: int) -> Job | None:
    """Take one due job (or one whose lease ran out), oldest first; None when there is nothing to do."""
    # A job whose lease ran out still holds its lane: it must go first, or the lane would never be free.
    held_lanes = select(jobs.c.lane).where(jobs.c.status == RUNNING, jobs.c.lane.is_not(None))
    waiting = and_(
        jobs.c.status == WAITING,
        jobs.c.run_at_ms <= now_ms,
        or_(jobs.c.lane.is_(None), jobs.c.lane.not_in(held_lanes)),
    )
    abandoned = and_(jobs.c.status == RUNNING, jobs.c.lease_until_ms <= now_ms)
    due = (
        select(jobs.c.id)
        .where(jobs.c.name.in_(names), or_(waiting, abandoned))
        .order_by(jobs.c.run_at_ms, jobs.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    taken = (
        jobs.update()
        .where(jobs.c.id == due.scalar_subquery())
        .values(status=RUNNING, lease_until_ms=now_ms + lease_ms, attempts=jobs.c.attempts + 1)
        .returning(jobs.c.id, jobs.c.name, jobs.c.args, jobs.c.attempts)
    )
    try:
        with connection.begin_nested():
            row = connection.execute(taken).one_or_none()
    except IntegrityError:
        return None  # another worker took a job of the same lane a moment earlier
    return Job(row.id, row.name, row.args, row.attempts) if row else None


def finish(connection: Connection, job: Job) -> None:
    """Remove a job that is done, unless its lease ran out and another worker has it now."""
    connection.execute(jobs.delete().where(jobs.c.id == job.id, jobs.c.attempts == job.attempts))


def fail(connection: Connection, job: Job, *, error: str, now_ms: int, retry_in_ms: int | None) -> None:
    """Put a job back for `retry_in_ms` later, or keep it as failed (seen by `doctor`) when that is None.

    If a job with the same dedupe key was enqueued meanwhile, that one does the work and this one goes.
    """
    mine = and_(jobs.c.id == job.id, jobs.c.attempts == job.attempts)
    if retry_in_ms is None:
        connection.execute(jobs.update().where(mine).values(status=FAILED, lease_until_ms=None, last_error=error))
        return
    again = (
        jobs.update()
        .where(mine)
        .values(status=WAITING, lease_until_ms=None, last_error=error, run_at_ms=now_ms + retry_in_ms)
    )
    try:
        with connection.begin_nested():
            connection.execute(again)
    except IntegrityError:
        connection.execute(jobs.delete().where(mine))


def counts(connection: Connection) -> dict[str, int]:
    """How many jobs wait, run and have failed for good."""
    rows = connection.execute(select(jobs.c.status, func.count().label("number")).group_by(jobs.c.status)).all()
    return {WAITING: 0, RUNNING: 0, FAILED: 0} | {row.status: row.number for row in rows}
