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
    updates: asyncio.Queue[Update] = asyncio.Queue()

    def listen(update: Update) -> None:
        loop.call_soon_threadsafe(updates.put_nowait, update)

    job.listener = listen
    work = asyncio.ensure_future(run())
    try:
        yield event("job", _json({"job": job.id}))
        if ahead:
            yield event("queued", _json({"ahead": ahead}))
        while not (work.done() and updates.empty()):
            yield await _next_event(updates, work)
        try:
            yield event("result", work.result())
        # Every error must become an event, because the status line has already been sent.
        except Exception as error:
            yield event("error", _json(describe(error)))
    finally:
        job.end()
        work.cancel()


async def _next_event(updates: asyncio.Queue[Update], work: asyncio.Future[bytes]) -> bytes:
    """The next update, or a comment after a silence."""
    update = asyncio.ensure_future(updates.get())
    futures: set[asyncio.Future[Any]] = {update, work}
    await asyncio.wait(futures, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED)
    if update.done():
        return event("progress", _json(asdict(update.result())))
    update.cancel()
    return b": working\n\n"


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
