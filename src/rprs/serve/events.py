"""The progress of a job and its result as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from typing import Any

from rprs.serve.jobs import Job, Update

__all__ = ["event", "stream"]

HEARTBEAT = 15.0  # seconds of silence before a comment keeps the connection alive


def event(name: str, data: bytes) -> bytes:
    """One event; JSON contains no line breaks."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


async def stream(
    job: Job, run: Callable[[], Awaitable[bytes]], describe: Callable[[Exception], dict[str, Any]], ahead: int
) -> AsyncIterator[bytes]:
    """All events of a job, from its name to its result or error. The job stops when the client stops reading."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[bytes] = asyncio.Queue()

    def send(name: str, data: bytes) -> None:
        loop.call_soon_threadsafe(waiting.put_nowait, event(name, data))

    def listen(update: Update) -> None:
        send("progress", _json(asdict(update)))

    job.listener, job.send = listen, send
    work = asyncio.ensure_future(run())
    try:
        yield event("job", _json({"job": job.id}))
        if ahead:
            yield event("queued", _json({"ahead": ahead}))
        while not (work.done() and waiting.empty()):
            yield await _next_event(waiting, work)
        try:
            yield event("result", work.result())
        # Every error must become an event, because the status line has already been sent.
        except Exception as error:
            yield event("error", _json(describe(error)))
    finally:
        job.end()
        work.cancel()


async def _next_event(waiting: asyncio.Queue[bytes], work: asyncio.Future[bytes]) -> bytes:
    """The next event, or a comment after a silence."""
    following = asyncio.ensure_future(waiting.get())
    futures: set[asyncio.Future[Any]] = {following, work}
    await asyncio.wait(futures, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
    if following.done():
        return following.result()
    following.cancel()
    return b": working\n\n"


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
