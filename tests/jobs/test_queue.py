"""The job table: at most one waits for a key, at most one runs in a lane, none is lost and none is done twice."""

from __future__ import annotations

import threading

from sqlalchemy import select

from hivelore.jobs import queue
from hivelore.jobs.queue import Job, jobs

NAMES = ("work", "other")
LEASE_MS = 1_000


def put(hub, id: str, **options) -> bool:
    with hub.db.write() as connection:
        return queue.enqueue(connection, id=id, **{"name": "work", "now_ms": 0} | options)


def take(hub, at_ms: int = 0, names: tuple[str, ...] = NAMES) -> Job | None:
    with hub.db.write() as connection:
        return queue.claim(connection, names=names, now_ms=at_ms, lease_ms=LEASE_MS)


def finish(hub, job: Job) -> None:
    with hub.db.write() as connection:
        queue.finish(connection, job)


def fail(hub, job: Job, at_ms: int = 0, retry_in_ms: int | None = 10) -> None:
    with hub.db.write() as connection:
        queue.fail(connection, job, error="it broke", now_ms=at_ms, retry_in_ms=retry_in_ms)


def counts(hub) -> dict[str, int]:
    with hub.db.read() as connection:
        return queue.counts(connection)


def due(hub, at_ms: int = 0, names: tuple[str, ...] = NAMES) -> bool:
    with hub.db.read() as connection:
        return queue.any_due(connection, names=names, now_ms=at_ms)


def test_a_job_is_claimed_with_its_arguments_and_gone_when_finished(hub):
    assert put(hub, "a", args={"text": "日本語", "n": [1, None]})
    job = take(hub)
    assert job == Job("a", "work", {"text": "日本語", "n": [1, None]}, 1)
    assert counts(hub) == {"waiting": 0, "running": 1, "failed": 0}
    finish(hub, job)
    assert counts(hub) == {"waiting": 0, "running": 0, "failed": 0}
    assert take(hub) is None


def test_jobs_are_claimed_in_the_order_in_which_they_are_due(hub):
    put(hub, "late", run_at_ms=30)
    put(hub, "soon", run_at_ms=10)
    put(hub, "next", run_at_ms=20)
    assert [take(hub, 100).id for _ in range(3)] == ["soon", "next", "late"]


def test_a_job_is_not_claimed_before_its_time(hub):
    put(hub, "a", run_at_ms=50)
    assert not due(hub, 49)
    assert take(hub, 49) is None
    assert due(hub, 50)
    assert take(hub, 50).id == "a"


def test_a_job_that_no_handler_knows_waits(hub):
    put(hub, "a", name="from a newer version")
    assert not due(hub)
    assert take(hub) is None
    assert counts(hub)["waiting"] == 1


def test_a_job_and_the_rows_it_is_about_are_stored_together_or_not_at_all(hub):
    try:
        with hub.db.write() as connection:
            queue.enqueue(connection, id="a", name="work", now_ms=0)
            raise RuntimeError
    except RuntimeError:
        pass
    assert counts(hub)["waiting"] == 0


# -- one waits for a key -----------------------------------------------------------------------------------------------


def test_a_second_job_with_the_same_key_is_covered_by_the_one_that_waits(hub):
    assert put(hub, "a", dedupe="index")
    assert not put(hub, "b", dedupe="index")
    assert put(hub, "c", dedupe="something else")
    assert put(hub, "d") and put(hub, "e")  # no key, no limit
    assert counts(hub)["waiting"] == 4


def test_work_that_arrives_while_a_job_runs_is_not_covered_by_it(hub):
    put(hub, "a", dedupe="index")
    job = take(hub)
    assert put(hub, "b", dedupe="index")
    finish(hub, job)
    assert take(hub).id == "b"


def test_a_failed_job_goes_when_a_later_one_waits_with_its_key(hub):
    put(hub, "a", dedupe="index")
    job = take(hub)
    put(hub, "b", dedupe="index")
    fail(hub, job)
    assert counts(hub) == {"waiting": 1, "running": 0, "failed": 0}
    assert take(hub, 1_000).id == "b"


# -- one runs in a lane ------------------------------------------------------------------------------------------------


def test_jobs_of_one_lane_run_one_after_the_other(hub):
    put(hub, "a", lane="import")
    put(hub, "b", lane="import", run_at_ms=1)
    put(hub, "c", lane="another", run_at_ms=2)
    first = take(hub, 10)
    assert first.id == "a"
    assert take(hub, 10).id == "c"
    assert take(hub, 10) is None
    finish(hub, first)
    assert take(hub, 10).id == "b"


def test_a_lane_goes_on_after_the_program_that_held_it_died(hub):
    """The job that was cut short is due at 500; another of its lane, due earlier, must not block both for ever."""
    put(hub, "cut short", lane="import", run_at_ms=500)
    assert take(hub, 500).id == "cut short"
    put(hub, "earlier", lane="import", run_at_ms=100)
    done = []
    for at_ms in (2_000, 2_001, 2_002):
        job = take(hub, at_ms)
        if job is not None:
            done.append(job.id)
            finish(hub, job)
    assert sorted(done) == ["cut short", "earlier"]


# -- leases ------------------------------------------------------------------------------------------------------------


def test_a_job_whose_program_died_is_claimed_again_when_its_lease_runs_out(hub):
    put(hub, "a")
    assert take(hub, 0).attempts == 1
    assert not due(hub, LEASE_MS - 1)
    assert take(hub, LEASE_MS - 1) is None
    assert due(hub, LEASE_MS)
    assert take(hub, LEASE_MS) == Job("a", "work", {}, 2)


def test_a_worker_whose_lease_ran_out_cannot_end_the_job_of_the_next_one(hub):
    put(hub, "a")
    slow = take(hub, 0)
    take(hub, LEASE_MS)
    finish(hub, slow)
    fail(hub, slow, LEASE_MS)
    fail(hub, slow, LEASE_MS, retry_in_ms=None)
    assert counts(hub) == {"waiting": 0, "running": 1, "failed": 0}


# -- failure -----------------------------------------------------------------------------------------------------------


def test_a_job_that_failed_comes_back_later(hub):
    put(hub, "a")
    fail(hub, take(hub, 0), 100, retry_in_ms=40)
    assert take(hub, 139) is None
    assert take(hub, 140).attempts == 2


def test_a_job_that_failed_for_good_is_kept_and_not_claimed(hub):
    put(hub, "a", dedupe="index")
    fail(hub, take(hub), retry_in_ms=None)
    assert take(hub, 10**15) is None
    assert counts(hub)["failed"] == 1
    with hub.db.read() as connection:
        assert connection.execute(select(jobs.c.last_error)).scalar_one() == "it broke"
    assert put(hub, "b", dedupe="index")  # and it does not stand in the way of new work


# -- several workers ---------------------------------------------------------------------------------------------------


def test_two_workers_claim_five_hundred_jobs_and_none_twice(hub):
    with hub.db.write() as connection:
        for number in range(500):
            queue.enqueue(connection, id=f"{number:03}", name="work", now_ms=0)
    start = threading.Barrier(2)
    claimed: list[list[str]] = [[], []]
    failures = []

    def claim_all(mine: list[str]) -> None:
        try:
            start.wait(30)
            while (job := take(hub)) is not None:
                mine.append(job.id)
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=claim_all, args=(mine,)) for mine in claimed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    assert sorted(claimed[0] + claimed[1]) == [f"{n:03}" for n in range(500)]


def test_eight_threads_enqueue_the_same_key_and_one_job_waits(hub):
    start = threading.Barrier(8)
    added, failures = [], []

    def add(number: int) -> None:
        try:
            start.wait(30)
            added.append(put(hub, f"job {number}", dedupe="index"))
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=add, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert sorted(added) == [False] * 7 + [True]
