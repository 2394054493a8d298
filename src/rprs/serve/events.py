"""The progress of a job and its answer as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from typing import Any

from rprs.serve.jobs import Job, Update

__all__ = ["event", "stream"]

BEAT = 15.0  # seconds of silence before a comment keeps the connection alive


def event(name: str, data: bytes) -> bytes:
    """One event; JSON has no line ends of its own."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


async def stream(
    job: Job, answer: Callable[[], Awaitable[bytes]], failed: Callable[[Exception], dict[str, Any]], ahead: int
) -> AsyncIterator[bytes]:
    """All events of a job, from its name to its answer or its error. When nobody reads them any more, it stops."""
    loop = asyncio.get_running_loop()
    updates: asyncio.Queue[Update] = asyncio.Queue()

    def listen(update: Update) -> None:
        loop.call_soon_threadsafe(updates.put_nowait, update)

    job.listener = listen
    work = asyncio.ensure_future(answer())
    try:
        yield event("job", _json({"job": job.id}))
        if ahead:
            yield event("queued", _json({"ahead": ahead}))
        while not (work.done() and updates.empty()):
            yield await _heard(updates, work)
        try:
            yield event("result", work.result())
        # Whatever goes wrong must reach the reader as an event: the status line has long been sent.
        except Exception as error:
            yield event("error", _json(failed(error)))
    finally:
        job.end()
        work.cancel()


async def _heard(updates: asyncio.Queue[Update], work: asyncio.Future[bytes]) -> bytes:
    """The next update, or a sign of life."""
    following = asyncio.ensure_future(updates.get())
    either: set[asyncio.Future[Any]] = {following, work}
    await asyncio.wait(either, timeout=BEAT, return_when=asyncio.FIRST_COMPLETED)
    if following.done():
        return event("progress", _json(asdict(following.result())))
    following.cancel()
    return b": at work\n\n"


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
