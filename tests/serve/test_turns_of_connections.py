"""A request for /health goes before others, and garbage is collected less often while there are many clients."""

from __future__ import annotations

import asyncio
import gc
import socket
from functools import partial
from time import sleep

import pytest

from rprs.serve import connection
from rprs.serve.connection import HEALTH, _Connection, _Connections
from rprs.serve.limits import Limits


class Recorder(asyncio.Protocol):
    """Notes what it receives."""

    def __init__(self, received: list[bytes]) -> None:
        self.received = received

    def data_received(self, data: bytes) -> None:
        self.received.append(data)


def test_health_does_not_wait_for_its_turn() -> None:
    other, health = b"GET /api/v1/info HTTP/1.1\r\n\r\n", b"GET " + HEALTH + b"\r\n\r\n"

    async def main() -> list[bytes]:
        connections, received = _Connections(Limits()), list[bytes]()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(Recorder(received), connections), "127.0.0.1", 0)
        clients = [socket.create_connection(server.sockets[0].getsockname()) for _ in range(2)]
        await asyncio.sleep(0.05)
        for _ in range(20):
            connections.turns.add(partial(sleep, 0.01))
        for client, request in zip(clients, (other, health), strict=True):
            client.sendall(request)
        while len(received) < 2:
            await asyncio.sleep(0)
        for client in clients:
            client.close()
        await asyncio.sleep(0.05)
        server.close()
        return received

    assert asyncio.run(asyncio.wait_for(main(), 10)) == [health, other]


@pytest.mark.parametrize(("clients", "expected"), [(connection.FEW, 22), (connection.FEW + 1, 2)])
def test_garbage_is_collected_less_often_with_many_clients(
    clients: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: collected.append(1))

    async def main() -> None:
        connections = _Connections(Limits())
        connections.open = dict.fromkeys(range(clients))  # type: ignore[assignment]  # only their number counts
        for _ in range(22):
            connections.tidy()

    asyncio.run(main())
    assert len(collected) == expected
