"""Workers: everybody's turn, what nobody waits for is not done, and what one process trained outlives it."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from glassformer.ui.web import jobs
from glassformer.ui.web.jobs import answer
from glassformer.ui.web.workers import MOST_OF_ONE, MOST_WAITING, Job, Lane, Worker, Workers
from serving import ASKED


def body(spec: str, word: str = "") -> bytes:
    return json.dumps(ASKED | {"spec": spec, "word": word}).encode()


def run(test: Callable[[Workers], Awaitable[None]]) -> None:
    async def whole() -> None:
        workers = Workers(quick=1)
        async with workers.running(), asyncio.timeout(120):
            await test(workers)

    asyncio.run(whole())


async def until(true: Callable[[], object]) -> None:
    while not true():
        await asyncio.sleep(0.01)


def test_what_nobody_waits_for_is_not_done_and_its_process_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.ui.web.workers.GRACE", 60.0)  # the first training imports much of torch

    async def test(workers: Workers) -> None:
        def trained(spec: str) -> asyncio.Task[tuple[int, bytes]]:
            return asyncio.ensure_future(workers.do("train", body(spec), spec, 90.0))

        asked = [trained(f"cyclic({n})") for n in range(2, 2 + MOST_OF_ONE)]
        (slow,) = workers.slow.workers
        await until(lambda: slow.job is not None)
        await asyncio.sleep(0.5)
        before = slow.process.pid
        for task in asked:
            task.cancel()
        status, found = await workers.do("heads", body("parity"), "another", 40.0)
        assert (status, slow.process.pid, workers.slow.waiting) == (200, before, {})
        assert "trained" not in json.loads(found)
        for spec in ("cyclic(2)", "cyclic(3)"):
            assert "trained" not in json.loads((await workers.do("look", body(spec), "", 20.0))[1])

    run(test)


def test_a_trained_model_outlives_the_process_that_trained_it() -> None:
    async def test(workers: Workers) -> None:
        assert (await workers.do("train", body("parity"), "", 90.0))[0] == 200
        (slow,) = workers.slow.workers
        slow.kill()
        for kind in ("look", "heads"):
            assert "trained" in json.loads((await workers.do(kind, body("parity"), "", 40.0))[1])

    run(test)


def test_a_process_that_does_not_heed_is_ended_and_another_one_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.ui.web.workers.GRACE", 0.0)

    async def test(workers: Workers) -> None:
        (slow,) = workers.slow.workers
        task = asyncio.ensure_future(workers.do("train", body("parity"), "", 90.0))
        await until(lambda: slow.job is not None)
        before = slow.process.pid
        task.cancel()
        await until(lambda: slow.job is None)
        assert (await workers.do("heads", body("parity"), "", 40.0))[0] == 200
        assert slow.process.pid != before

    run(test)


def test_clients_take_turns_and_none_has_more_than_its_share() -> None:
    async def test() -> None:
        lane = Lane(0)
        for client, count in (("a", MOST_OF_ONE), ("b", 2)):
            assert [lane.put(Job("look", b"", 1.0, client)) for _ in range(count)] == [None] * count
        refused = lane.put(Job("look", b"", 1.0, "a"))
        assert refused is not None
        assert (refused[0], json.loads(refused[1])["error"]["id"]) == (429, "page.too_many_of_one")
        assert [(await lane.take(Worker(Path()))).client for _ in range(5)] == list("ababa")
        lane.put(Job("look", b"", 1.0, "c"))
        lane.used = {"a": 3.0, "c": 0.1}
        assert [(await lane.take(Worker(Path()))).client for _ in range(3)] == list("caa")

    asyncio.run(test())


def test_who_asks_for_much_leaves_a_worker_to_others() -> None:
    async def test() -> None:
        lane, loop = Lane(2), asyncio.get_running_loop()
        lane.workers = [Worker(Path()), Worker(Path())]
        taken = [asyncio.ensure_future(lane.take(worker)) for worker in lane.workers]
        await asyncio.sleep(0)
        first, second, other = (Job("look", b"", 1.0, client, loop.create_future()) for client in "aab")
        assert {lane.put(job) for job in (first, second)} == {None}
        assert sum(worker.job is not None for worker in lane.workers) == 1
        lane.put(other)
        assert {worker.job for worker in lane.workers} == {first, other}
        assert await asyncio.gather(*taken)

    asyncio.run(test())


def test_where_all_is_full_who_has_much_gives_way_to_who_has_nothing() -> None:
    async def test() -> None:
        lane, loop = Lane(0), asyncio.get_running_loop()
        held = [Job("look", b"", 1.0, f"{n // MOST_OF_ONE}", loop.create_future()) for n in range(MOST_WAITING)]
        assert {lane.put(job) for job in held} == {None}
        assert lane.put(Job("look", b"", 1.0, "new")) is None
        (given_up,) = (job.answer.result() for job in held if job.answer and job.answer.done())
        assert (given_up[0], json.loads(given_up[1])["error"]["id"]) == (503, "page.too_many_requests")
        assert lane.put(Job("look", b"", 1.0, "new")) == given_up

    asyncio.run(test())


def test_what_was_not_foreseen_is_told_and_a_fresh_process_goes_on(tmp_path: Path) -> None:
    worker = Worker(tmp_path)
    try:
        assert worker.do(Job("nothing of the kind", b"{}", 60.0))[0] == 500
        assert worker.do(Job("look", body("parity"), 60.0))[0] == 200
    finally:
        worker.stop()


def test_where_address_space_is_not_bounded_who_used_too_much_is_ended() -> None:
    code = (
        "import sys, time; from glassformer.ui.web import workers; sys.platform = 'darwin'; workers.MEMORY = 1;"
        "workers._bound_memory(); time.sleep(60)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 1


@pytest.mark.parametrize(
    "odd",
    [
        '{"x": ' + "9" * 5000 + "}",
        '{"length": ' + "9" * 5000 + "}",
        '{"length": 1e999}',
        '{"length": NaN}',
        '{"length": -Infinity}',
        '{"word": "\\ud800"}',
        "[" * 100_000,
        '{"a":' * 100_000,
        b"\xff\xfe\x00",
        b"\xed\xa0\x80",
        b"",
    ],
)
def test_json_that_could_not_be_sent_back_is_refused(odd: bytes | str) -> None:
    for job in jobs.JOBS:
        status, said = answer(job, odd)
        assert (status, json.loads(said)["error"]["id"]) == (400, "page.not_json")
