"""Small pieces of a body are passed on together, and never late when the body is complete."""

from __future__ import annotations

import asyncio
import weakref

import pytest

from rprs.serve import gathering
from rprs.serve.gathering import Gathering
from rprs.serve.limits import MIN_ARRIVAL


def test_outside_of_bodies_everything_is_passed_on_at_once() -> None:
    passed: list[bytes] = []
    Gathering(passed.append).add(b"GET / HTTP/1.1\r\n")
    assert passed == [b"GET / HTTP/1.1\r\n"]


def test_single_bytes_wait_for_enough_or_the_end() -> None:
    passed: list[bytes] = []
    body = Gathering(passed.append)
    body.begin(MIN_ARRIVAL + 10)
    for _ in range(MIN_ARRIVAL - 1):
        body.add(b"x")
    assert passed == []
    body.add(b"x")
    assert passed == [b"x" * MIN_ARRIVAL]
    body.read(MIN_ARRIVAL)
    for _ in range(9):
        body.add(b"y")
    assert len(passed) == 1
    body.add(b"y")
    assert passed[1:] == [b"y" * 10]


def test_large_pieces_do_not_wait_and_keep_their_order() -> None:
    passed: list[bytes] = []
    body = Gathering(passed.append)
    body.begin(10**6)
    large = b"b" * MIN_ARRIVAL
    body.add(large)
    body.add(b"a")
    body.add(large)
    assert passed == [large, b"a" + large]


def test_what_is_left_is_passed_on_when_nobody_waits_for_it() -> None:
    passed: list[bytes] = []
    body = Gathering(passed.append)
    body.begin(100)
    body.add(b"abc")
    body.end()
    body.add(b"d")
    assert passed == [b"abc", b"d"]


def test_a_body_without_a_length_ends_with_its_last_chunk_or_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "UNKNOWN_END", (0.05, 0.1))
    passed: list[bytes] = []

    async def arrive() -> None:
        body = Gathering(passed.append)
        body.begin(None)
        body.add(b"3\r\nabc\r\n")
        assert passed == []
        body.add(b"0\r\n\r\n")
        assert passed == [b"3\r\nabc\r\n0\r\n\r\n"]
        body.begin(None)
        body.add(b"0\r\nTrailer: x\r\n\r\n")
        await asyncio.sleep(0.3)
        assert passed[1:] == [b"0\r\nTrailer: x\r\n\r\n"]
        body.add(b"1")
        body.drop()
        await asyncio.sleep(0.3)

    asyncio.run(arrive())
    assert len(passed) == 2


def test_a_lost_connection_is_not_referred_to() -> None:
    class Connection:
        def __init__(self) -> None:
            self.body = Gathering(self.pass_on)

        def pass_on(self, _data: bytes) -> None: ...

    connection = Connection()
    lost = weakref.ref(connection)
    connection.body.drop()
    del connection
    assert lost() is None  # without the garbage collector
