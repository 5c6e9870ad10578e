"""The loop: what fails is retried later and later, what fails for good is kept, and the loop outlives it all."""

from __future__ import annotations

import logging
import threading

import pytest
from sqlalchemy import select

from hivelore.core.errors import Invalid, Unavailable
from hivelore.jobs import queue, worker
from hivelore.jobs.queue import jobs
from hivelore.jobs.worker import MAX_ATTEMPTS, Worker, back_off_ms, run_due, run_one
from hivelore.sql.bell import Bell
from support.hubs import call_as, clock_of


def put(hub, name: str = "work", **args) -> None:
    with call_as(hub, "alice").write() as w:
        w.enqueue(name, args)


def counts(hub) -> dict[str, int]:
    with hub.db.read() as connection:
        return queue.counts(connection)


def failing(*errors: Exception):
    """A handler that raises these errors one after the other, then succeeds; with the list of its calls."""
    left, called = list(errors), []

    def handler(args) -> None:
        called.append(args)
        if left:
            raise left.pop(0)

    return handler, called


def test_due_jobs_are_done_once_each(hub):
    done = []
    for number in range(3):
        put(hub, number=number)
    assert run_due(hub.db, {"work": done.append}, hub.clock) == 3
    assert sorted(args["number"] for args in done) == [0, 1, 2]
    assert run_due(hub.db, {"work": done.append}, hub.clock) == 0


def test_no_more_than_the_limit_is_done(hub):
    for number in range(3):
        put(hub, number=number)
    assert run_due(hub.db, {"work": lambda args: None}, hub.clock, limit=2) == 2
    assert counts(hub)["waiting"] == 1


def test_the_pause_doubles_up_to_five_minutes():
    assert [back_off_ms(n) for n in (1, 2, 3, 9, 10, 60)] == [1_000, 2_000, 4_000, 256_000, 300_000, 300_000]


def test_a_fault_is_retried_after_its_pause(hub):
    handler, called = failing(RuntimeError("first"))
    put(hub)
    assert run_due(hub.db, {"work": handler}, hub.clock) == 1
    assert run_due(hub.db, {"work": handler}, hub.clock) == 0
    clock_of(hub).advance(ms=back_off_ms(1))
    assert run_due(hub.db, {"work": handler}, hub.clock) == 1
    assert len(called) == 2
    assert counts(hub) == {"waiting": 0, "running": 0, "failed": 0}


def test_a_fault_that_stays_is_given_up_and_kept(hub):
    handler, called = failing(*[RuntimeError(f"number {n}") for n in range(1, 100)])
    put(hub)
    for _ in range(MAX_ATTEMPTS + 5):
        run_due(hub.db, {"work": handler}, hub.clock)
        clock_of(hub).advance(minutes=10)
    assert len(called) == MAX_ATTEMPTS
    assert counts(hub) == {"waiting": 0, "running": 0, "failed": 1}
    with hub.db.read() as connection:
        assert connection.execute(select(jobs.c.last_error)).scalar_one() == f"RuntimeError: number {MAX_ATTEMPTS}"


@pytest.mark.promise("M-113")
def test_what_is_only_unavailable_is_retried_for_ever(hub, caplog):
    handler, called = failing(*[Unavailable("the model is loading") for _ in range(3 * MAX_ATTEMPTS)])
    put(hub)
    with caplog.at_level(logging.ERROR):
        for _ in range(3 * MAX_ATTEMPTS + 1):
            run_due(hub.db, {"work": handler}, hub.clock)
            clock_of(hub).advance(minutes=10)
    assert len(called) == 3 * MAX_ATTEMPTS + 1
    assert counts(hub) == {"waiting": 0, "running": 0, "failed": 0}
    assert caplog.text == ""  # a state of the world is no fault of ours


def test_a_refusal_that_cannot_change_is_given_up_without_a_traceback(hub, caplog):
    handler, _ = failing(*[Invalid("no") for _ in range(100)])
    put(hub)
    for _ in range(MAX_ATTEMPTS):
        run_due(hub.db, {"work": handler}, hub.clock)
        clock_of(hub).advance(minutes=10)
    assert counts(hub)["failed"] == 1
    assert "Traceback" not in caplog.text


def test_a_very_long_error_does_not_fill_the_table(hub):
    handler, _ = failing(RuntimeError("x" * 100_000))
    put(hub)
    run_one(hub.db, {"work": handler}, hub.clock)
    with hub.db.read() as connection:
        assert len(connection.execute(select(jobs.c.last_error)).scalar_one()) <= 500


def test_an_error_with_nul_and_surrogates_can_be_kept(hub):
    handler, _ = failing(RuntimeError("nul \0 and half an emoji \ud83d"))
    put(hub)
    assert run_one(hub.db, {"work": handler}, hub.clock)
    assert counts(hub) == {"waiting": 1, "running": 0, "failed": 0}


def test_a_handler_may_write_and_enqueue_more(hub):
    done = []

    def split(args) -> None:
        put(hub, "part", n=1)
        put(hub, "part", n=2)

    put(hub, "split")
    assert run_due(hub.db, {"split": split, "part": lambda args: done.append(args["n"])}, hub.clock) == 3
    assert sorted(done) == [1, 2]


def test_an_idle_look_takes_no_write_lock(hub, monkeypatch):
    def refuse():
        raise AssertionError("a look for work must not write")

    monkeypatch.setattr(type(hub.db), "write", lambda self: refuse())
    assert not run_one(hub.db, {"work": lambda args: None}, hub.clock)


@pytest.fixture
def started(hub):
    """Start a worker with these handlers; it is stopped at the end."""
    workers = []

    def start(**handlers) -> Bell:
        workers.append(Worker(hub.db, handlers, hub.clock, hub.bell))
        workers[-1].start()
        return hub.bell

    yield start
    for each in workers:
        each.stop()


def test_a_commit_wakes_the_worker(hub, started, monkeypatch):
    monkeypatch.setattr(worker, "POLL_S", 600)  # so that only the bell can wake it
    done = threading.Event()
    started(work=lambda args: done.set())
    put(hub)
    assert done.wait(20)


def test_a_lost_ring_costs_one_poll_and_nothing_else(hub, started, monkeypatch):
    monkeypatch.setattr(worker, "POLL_S", 0.01)
    done = threading.Event()
    started(work=lambda args: done.set())
    with hub.db.write() as connection:  # as another process would: nobody rings here
        queue.enqueue(connection, id="a", name="work", now_ms=hub.clock.now_ms())
    assert done.wait(20)


def test_the_loop_outlives_a_store_that_fails(hub, started, monkeypatch, caplog):
    monkeypatch.setattr(worker, "POLL_S", 0.01)
    real, failures = worker.run_one, threading.Semaphore(3)

    def sometimes(*args):
        if failures.acquire(blocking=False):
            raise Unavailable("the disk is full")
        return real(*args)

    monkeypatch.setattr(worker, "run_one", sometimes)
    done = threading.Event()
    started(work=lambda args: done.set())
    put(hub)
    assert done.wait(20)
    assert "could not reach the store" in caplog.text


def test_stopping_waits_for_the_job_at_hand(hub):
    inside, go_on, ended = threading.Event(), threading.Event(), []

    def slow(args) -> None:
        inside.set()
        go_on.wait(20)
        ended.append(True)

    loop = Worker(hub.db, {"work": slow}, hub.clock, hub.bell)
    put(hub)
    loop.start()
    assert inside.wait(20)
    stopping = threading.Thread(target=loop.stop, args=(20,))
    stopping.start()
    go_on.set()
    stopping.join(20)
    assert ended == [True]
    assert counts(hub) == {"waiting": 0, "running": 0, "failed": 0}


def test_a_worker_that_never_started_can_be_stopped(hub):
    Worker(hub.db, {}, hub.clock, hub.bell).stop()
