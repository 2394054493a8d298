"""Slots, names and errors of jobs, without a network: nothing is lost whenever and however a request ends."""

from __future__ import annotations

import asyncio
import errno
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
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
from rprs.serve.errors import failure
from rprs.serve.jobs import Gate, Job, Jobs
from rprs.serve.limits import Message, Receive, Scope, Send
from rprs.serve.log import AccessLog
from rprs.serve.routes import Desk
from rprs.serve.service import Service, Snapshot
from tests.support.cli import made_index

SECRET = "Zyzzyva"  # a word that must not come into a log


def _work(seconds: float, job: Job) -> str:
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        job.check()
        time.sleep(0.002)
    return "done"


# ---------------------------------------------------------------------------- slots


class TestGate:
    def test_loses_no_slot_to_those_that_are_cancelled_too_slow_or_gone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Five hundred requests end at random moments, waiting or at work, in all ways there are."""
        monkeypatch.setattr("rprs.serve.jobs.POLL", 0.01)
        chance = random.Random(5)
        told: Counter[str] = Counter()

        async def one(gate: Gate, jobs: Jobs) -> None:
            seconds, cancelled = chance.random() * 0.06, chance.random() * 0.1
            try:
                with jobs.opened(None) as job:
                    if chance.random() < 0.4:
                        asyncio.get_running_loop().call_later(cancelled, job.end)
                    told[await gate.run(job, lambda job: _work(seconds, job))] += 1
            except (RprsError, asyncio.CancelledError) as error:
                told[type(error).__name__] += 1

        async def all_of_them() -> None:
            gate, jobs, tasks = Gate(3, 5, 0.05), Jobs(), list[asyncio.Task[None]]()
            for _ in range(500):
                tasks.append(asyncio.create_task(one(gate, jobs)))
                if chance.random() < 0.3:
                    asyncio.get_running_loop().call_later(chance.random() * 0.1, tasks[-1].cancel)
                await asyncio.sleep(chance.random() * 0.008)
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0.2)
            assert (gate.working, gate.queued, jobs.cancel("")) == (0, 0, False)
            assert gate.stopped >= told["Cancelled"] + told["TooLong"]
            assert gate.refused == told["Busy"]
            started = time.monotonic()  # all slots are free, and no more than those
            await asyncio.gather(*(gate.run(Job(str(n)), lambda job: _work(0.04, job)) for n in range(6)))
            assert 0.08 <= time.monotonic() - started < 1
            gate.close()

        asyncio.run(all_of_them())
        assert min(told[kind] for kind in ("done", "Busy", "Cancelled", "TooLong", "CancelledError")) > 0

    def test_bounds_those_that_come_at_the_same_moment(self) -> None:
        async def outcomes() -> list[object]:
            gate = Gate(1, 2, 5)
            jobs = [gate.run(Job(str(n)), lambda job: _work(0.01, job)) for n in range(20)]
            return list(await asyncio.gather(*jobs, return_exceptions=True))

        found = Counter(outcome if isinstance(outcome, str) else type(outcome) for outcome in asyncio.run(outcomes()))
        assert found == {"done": 3, Busy: 17}

    def test_says_how_many_have_to_end_first(self) -> None:
        async def ahead() -> list[int]:
            gate, found, running = Gate(2, 5, 5), list[int](), list[asyncio.Task[str]]()
            for n in range(4):
                found.append(gate.ahead)
                running.append(asyncio.create_task(gate.run(Job(str(n)), lambda job: _work(0.05, job))))
                await asyncio.sleep(0.01)
            await asyncio.gather(*running)
            return [*found, gate.ahead]

        assert asyncio.run(ahead()) == [0, 0, 1, 2, 0]

    @pytest.mark.parametrize(("waits", "reason"), [(True, Cancelled), (False, Cancelled), (False, TooLong)])
    def test_counts_what_was_stopped(self, waits: bool, reason: type[RprsError]) -> None:
        async def stopped() -> int:
            gate, job = Gate(1, 1, 0.05 if reason is TooLong else 5), Job("mine")
            other = asyncio.create_task(gate.run(Job("other"), lambda job: _work(0.3, job))) if waits else None
            if reason is Cancelled:
                asyncio.get_running_loop().call_later(0.02, job.end)
            with pytest.raises(reason):
                await gate.run(job, lambda job: _work(1, job))
            if other is not None:
                await other
            return gate.stopped

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
    def test_of_two_of_one_name_at_the_same_moment_one_is_told(self) -> None:
        async def both() -> Any:
            desk = Desk(Gate(2, 2, 5), Path("x.rprs"), lambda _line: None)
            responses = [await desk.answer(_streaming(), "abcdef01", lambda _job: b"{}") for _ in range(2)]
            return await asyncio.gather(*map(_events, responses))

        first, second = asyncio.run(both())
        assert first[-1] == ("result", {})
        assert [(name, data["status"]) for name, data in second] == [("error", 400)]

    def test_a_mistake_of_the_server_comes_into_its_log_without_its_message(self) -> None:
        said: list[str] = []

        def mistaken(_job: Job) -> bytes:
            raise KeyError(SECRET)

        async def told() -> list[Any]:
            desk = Desk(Gate(1, 1, 5), Path("x.rprs"), said.append)
            return await _events(await desk.answer(_streaming(), None, mistaken))

        assert asyncio.run(told())[-1][1]["status"] == 500
        assert "KeyError at " in said[0]
        assert "mistaken" in said[0]
        assert SECRET not in said[0]


# ---------------------------------------------------------------------------- mistakes, and the end


def test_a_mistake_of_the_server_is_json_and_a_line_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def mistaken(_service: Service) -> Iterator[Snapshot]:
        raise KeyError(SECRET)
        yield

    async def ask(app: Any) -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
            asked = {"text": "The tenant pays."}
            return [await client.get("/api/v1/info"), await client.post("/api/v1/search", json=asked)]

    said: list[str] = []
    service = Service(made_index(tmp_path), System())
    app = make_app(service, Options({"here"}, say=said.append))
    monkeypatch.setattr(Service, "snapshot", mistaken)
    for response in asyncio.run(ask(app)):
        assert response.status_code == 500
        assert response.json()["error"] == "The server has made a mistake: see its log"
        assert "default-src 'none'" in response.headers["content-security-policy"]
    service.close()
    assert [line.partition(" at ")[0] for line in said[::2]] == ["KeyError", "KeyError"]
    assert SECRET not in "".join(said)


def test_no_space_for_an_upload_is_no_mistake() -> None:
    told = failure(OSError(errno.ENOSPC, SECRET), Path("x.rprs"))
    assert (told["status"], told["kind"]) == (507, "DiskFull")
    assert "free some" in told["error"]
    assert failure(OSError(errno.EIO, SECRET), Path("x.rprs"))["status"] == 500


def test_a_request_that_is_at_work_when_the_server_stops_is_told_so() -> None:
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
    assert json.loads(sent[1]["body"]) == {"error": "The server is being stopped", "kind": "Busy"}
