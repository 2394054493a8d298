"""The limits on bodies of requests: their size, and the time that they may take."""

from __future__ import annotations

import asyncio

import pytest

from rprs.errors import UsageError
from rprs.serve.limits import ASGIApp, BodyLimit, Limits, Message, Receive, Scope, Send
from tests.support.asgi import APP, HOST, Headers, ReceivedResponse, send_request

# ---------------------------------------------------------------------------- bodies


LIMITS = Limits(upload_bytes=1000, body_seconds=0.05)


def limited(app: ASGIApp = APP) -> BodyLimit:
    return BodyLimit(app, LIMITS)


def test_a_body_within_the_limit_is_accepted() -> None:
    response = send_request(
        limited(), "/api/v1/search", "POST", [("host", HOST), ("content-length", "1000")], [b"x" * 500] * 2
    )
    assert (response.status, response.body) == (200, b"1000")


@pytest.mark.parametrize("headers", [[("content-length", "1001")], []])
def test_a_larger_body_is_refused_declared_or_not(headers: Headers) -> None:
    sizes: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] == "http.request":
            sizes.append(len(message["body"]))
        raise ConnectionError("what an application makes of a client that has gone")

    response = send_request(limited(app), "/", "POST", headers, [b"x" * 400] * 5)
    assert response.status == 413
    assert response.headers["connection"] == "close"
    assert response.error == "The request is larger than the 1000 bytes that this server accepts"
    assert sizes == ([] if headers else [400, 400])


def test_a_body_that_does_not_arrive() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.1)  # time before the body is read does not count against the client
        assert (await receive())["type"] == "http.request"
        assert (await receive())["type"] == "http.disconnect"

    async def client() -> list[Message]:
        sent: list[Message] = []
        pieces = [b"a"]

        async def receive() -> Message:
            if not pieces:
                await asyncio.sleep(0.2)
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": pieces.pop(), "more_body": True}

        async def send(message: Message) -> None:
            sent.append(message)

        await limited(app)({"type": "http", "headers": []}, receive, send)
        return sent

    response = ReceivedResponse(asyncio.run(client()))
    assert response.status == 408
    assert "0.05 seconds" in response.error


async def answered(limit: BodyLimit, pieces: list[bytes], pause: float) -> ReceivedResponse:
    """The response to a body that arrives piece by piece."""
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": pieces.pop(), "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        sent.append(message)

    await limit({"type": "http", "headers": []}, receive, send)
    return ReceivedResponse(sent)


async def echo_size(_scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the size of the body."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def test_a_body_that_trickles_is_cut_and_one_that_flows_is_not() -> None:
    limit = BodyLimit(echo_size, Limits(header_seconds=0.2))
    trickling = asyncio.run(answered(limit, [b"x"] * 100, 0.05))
    assert (trickling.status, "16 kB" in trickling.error) == (408, True)
    flowing = asyncio.run(answered(limit, [b"x" * 2**14] * 8, 0.05))  # longer than 0.2 seconds in all
    assert (flowing.status, flowing.body) == (200, str(2**17).encode())
    assert limit.held == 0


def test_bodies_that_are_held_count_as_load() -> None:
    limit = BodyLimit(echo_size, Limits(bodies_bytes=1800))

    async def several() -> list[ReceivedResponse]:
        return await asyncio.gather(*(answered(limit, [b"x" * 500] * 2, 0.02) for _ in range(4)))

    responses = asyncio.run(several())
    assert {response.status for response in responses} == {200, 503}
    refused = next(response for response in responses if response.status == 503)
    assert (refused.headers["retry-after"], "try again" in refused.error) == ("3", True)
    assert limit.held == 0
    assert [response.status for response in asyncio.run(several())].count(200) >= 2  # nothing stays behind


@pytest.mark.parametrize(
    ("name", "value"),
    [("upload_bytes", 0), ("seconds", 0.0), ("at_once", -1), ("waiting", -1), ("idle_seconds", float("inf"))],
)
def test_limits_are_positive(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"The limit '{name}' must be") as error:
        Limits(**{name: value})  # type: ignore[arg-type]  # a wrong value is the point
    assert "\n" not in str(error.value)
    assert Limits(waiting=0).waiting == 0
