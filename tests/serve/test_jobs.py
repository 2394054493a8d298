"""Slots, names and errors of jobs, without a network: no slot is lost, whenever and however a request ends."""

from __future__ import annotations

import asyncio
import errno
import json
import random
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import Request
from fastapi.responses import StreamingResponse

from rprs.errors import Busy, Cancelled, RprsError, TooLong
from rprs.rank import System
from rprs.serve.app import Options, make_app
from rprs.serve.collections import Collections
from rprs.serve.errors import failure
from rprs.serve.jobs import Job, Jobs, Limiter
from rprs.serve.limits import Message, Receive, Scope, Send
from rprs.serve.log import AccessLog
from rprs.serve.routes import JobRunner
from rprs.serve.service import Service, Snapshot
from tests.support.cli import sample_index

SECRET = "Zyzzyva"  # a word that must not appear in a log


def _work(seconds: float, job: Job) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        job.check()
        time.sleep(0.002)
    return "done"


def _held(release: threading.Event) -> Callable[[Job], str]:
    """Work that goes on until it is released or stopped."""

    def work(job: Job) -> str:
        while not release.wait(0.002):
            job.check()
        return "done"

    return work


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.002)


# ---------------------------------------------------------------------------- slots


class TestLimiter:
    def test_no_slot_is_lost_to_jobs_that_are_cancelled_or_too_slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Five hundred jobs end at random moments, waiting or running, in every possible way."""
        monkeypatch.setattr("rprs.serve.jobs.POLL", 0.01)
        chance = random.Random(5)
        outcomes: Counter[str] = Counter()

        async def one(limiter: Limiter, jobs: Jobs) -> None:
            seconds, cancelled = chance.random() * 0.06, chance.random() * 0.1
            try:
                with jobs.open(None) as job:
                    if chance.random() < 0.4:
                        asyncio.get_running_loop().call_later(cancelled, job.end)
                    outcomes[await limiter.run(job, lambda job: _work(seconds, job))] += 1
            except (RprsError, asyncio.CancelledError) as error:
                outcomes[type(error).__name__] += 1

        async def all_of_them() -> None:
            limiter, jobs, tasks = Limiter(3, 5, 0.05), Jobs(), list[asyncio.Task[None]]()
            for _ in range(500):
                tasks.append(asyncio.create_task(one(limiter, jobs)))
                if chance.random() < 0.3:
                    asyncio.get_running_loop().call_later(chance.random() * 0.1, tasks[-1].cancel)
                await asyncio.sleep(chance.random() * 0.008)
            await asyncio.gather(*tasks, return_exceptions=True)
            await _until(lambda: limiter.working == 0)
            assert (limiter.working, limiter.queued, jobs.cancel("")) == (0, 0, False)
            assert limiter.stopped >= outcomes["Cancelled"] + outcomes["TooLong"]
            assert limiter.refused == outcomes["Busy"]
            await self.check_slots(limiter)
            limiter.close()

        asyncio.run(all_of_them())
        assert min(outcomes[kind] for kind in ("done", "Busy", "Cancelled", "TooLong", "CancelledError")) > 0

    async def check_slots(self, limiter: Limiter) -> None:
        """All three slots are free, and there are no more than three."""
        limiter.seconds = 30
        release = threading.Event()
        tasks = [asyncio.create_task(limiter.run(Job(str(n)), _held(release))) for n in range(6)]
        await _until(lambda: limiter.working + limiter.queued == 6)
        await _until(lambda: limiter.working == 3)
        await asyncio.sleep(0.05)
        assert (limiter.working, limiter.queued) == (3, 3)
        release.set()
        assert await asyncio.gather(*tasks) == ["done"] * 6

    def test_simultaneous_jobs_are_limited(self) -> None:
        async def outcomes() -> list[object]:
            limiter = Limiter(1, 2, 5)
            jobs = [limiter.run(Job(str(n)), lambda job: _work(0.01, job)) for n in range(20)]
            return list(await asyncio.gather(*jobs, return_exceptions=True))

        counts = Counter(outcome if isinstance(outcome, str) else type(outcome) for outcome in asyncio.run(outcomes()))
        assert counts == {"done": 3, Busy: 17}

    def test_ahead_is_how_many_jobs_must_end_first(self) -> None:
        async def ahead() -> list[int]:
            limiter, lengths, running = Limiter(2, 5, 30), list[int](), list[asyncio.Task[str]]()
            release = threading.Event()
            for n in range(4):
                lengths.append(limiter.ahead)
                running.append(asyncio.create_task(limiter.run(Job(str(n)), _held(release))))
                await _until(lambda: limiter.working + limiter.queued == len(running))
            release.set()
            await asyncio.gather(*running)
            return [*lengths, limiter.ahead]

        assert asyncio.run(ahead()) == [0, 0, 1, 2, 0]

    @pytest.mark.parametrize(("waits", "reason"), [(True, Cancelled), (False, Cancelled), (False, TooLong)])
    def test_stopped_jobs_are_counted(self, waits: bool, reason: type[RprsError]) -> None:
        async def stopped() -> int:
            limiter, job = Limiter(1, 1, 0.05 if reason is TooLong else 30), Job("mine")
            release, never = threading.Event(), threading.Event()
            other = asyncio.create_task(limiter.run(Job("other"), _held(release))) if waits else None
            await _until(lambda: limiter.working == (1 if waits else 0))
            task = asyncio.create_task(limiter.run(job, _held(never)))
            await _until(lambda: limiter.working + limiter.queued == (2 if waits else 1))
            if reason is Cancelled:
                job.end()
            with pytest.raises(reason):
                await task
            release.set()
            if other is not None:
                await other
            return limiter.stopped

        assert asyncio.run(stopped()) == 1


# ---------------------------------------------------------------------------- streams


def _streaming() -> Request:
    return Request({"type": "http", "headers": [(b"accept", b"text/event-stream")]})


async def _events(response: Any) -> list[tuple[str, Any]]:
    pieces = cast("AsyncIterator[bytes]", cast("StreamingResponse", response).body_iterator)
    text = b"".join([piece async for piece in pieces]).decode()
    lines = [part.split("\n", 1) for part in text.strip().split("\n\n") if not part.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in lines]


class TestStreams:
    def test_of_two_simultaneous_jobs_with_one_name_one_is_refused(self) -> None:
        async def both() -> Any:
            runner = JobRunner(Limiter(2, 2, 5), Collections([], System()), lambda _line: None)
            responses = [await runner.respond(_streaming(), "abcdef01" * 4, lambda _job: b"{}") for _ in range(2)]
            return await asyncio.gather(*map(_events, responses))

        first, second = asyncio.run(both())
        assert first[-1] == ("result", {})
        assert [(name, data["status"]) for name, data in second] == [("error", 400)]

    def test_an_internal_error_is_logged_without_its_message(self) -> None:
        log: list[str] = []

        def broken(_job: Job) -> bytes:
            raise KeyError(SECRET)

        async def events() -> list[Any]:
            runner = JobRunner(Limiter(1, 1, 5), Collections([], System()), log.append)
            return await _events(await runner.respond(_streaming(), None, broken))

        assert asyncio.run(events())[-1][1]["status"] == 500
        assert "KeyError at " in log[0]
        assert "broken" in log[0]
        assert SECRET not in log[0]


# ---------------------------------------------------------------------------- internal errors and shutdown


def test_an_internal_error_is_json_and_a_line_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def broken(_service: Service) -> Iterator[Snapshot]:
        raise KeyError(SECRET)
        yield

    async def request_both(app: Any) -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
            body = {"text": "The tenant pays."}
            return [await client.get("/api/v1/info"), await client.post("/api/v1/search", json=body)]

    log: list[str] = []
    service = Service(sample_index(tmp_path), System())
    app = make_app(service, Options({"here"}, log=log.append))
    monkeypatch.setattr(Service, "snapshot", broken)
    for response in asyncio.run(request_both(app)):
        assert response.status_code == 500
        assert response.json()["error"].startswith("Internal error of the server: see its log, request ")
        assert "default-src 'none'" in response.headers["content-security-policy"]
    service.close()
    assert [line.partition(" at ")[0] for line in log[::2]] == ["KeyError", "KeyError"]
    assert SECRET not in "".join(log)


def test_no_space_for_an_upload_is_not_an_internal_error() -> None:
    error = failure(OSError(errno.ENOSPC, SECRET), [Path("x.rprs")])
    assert (error["status"], error["kind"]) == (507, "DiskFull")
    assert "free some" in error["error"]
    assert failure(OSError(errno.EIO, SECRET), [Path("x.rprs")])["status"] == 500


def test_a_running_request_gets_a_503_when_the_server_stops() -> None:
    sent: list[Message] = []

    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.sleep(60)

    async def send(message: Message) -> None:
        sent.append(message)

    async def stop() -> None:
        scope = {"type": "http", "method": "POST", "path": "/"}
        request = asyncio.create_task(AccessLog(app, lambda _line: None)(scope, cast("Any", None), send))
        await asyncio.sleep(0.01)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)

    asyncio.run(stop())
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"]) == {"error": "The server is stopping", "kind": "Busy"}
