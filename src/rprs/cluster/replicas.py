"""One of several replicas of each shard answers: which is asked, and when another is asked instead. No Ray.

A replica that fails is replaced at once, one that is late after a deadline of ours; a late one may still answer first.
Replicas that failed are asked last until they answer again. There is never a partial answer: a shard that nobody
answers for is an error that names it, after a time that is known in advance.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock, local
from time import monotonic, sleep
from typing import Any, Protocol

from rprs.cluster.holding import result_of
from rprs.cluster.settings import Patience
from rprs.errors import ShardUnavailable

__all__ = ["Calls", "Lost", "Transport"]

PAUSE = 0.2  # seconds before replicas that have all failed are asked again
PROBE = 2.0  # seconds between two looks at a replica that has failed


class Lost(Exception):
    """A replica, or its node, is gone."""


class Transport(Protocol):
    """Sends requests to processes and waits for their answers. A reference stands for an answer that may come."""

    def ask(self, replica: str, method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> Sequence[Hashable]:
        """Ask a replica in one message, without waiting: numbers of shards, and arguments. A reference for each."""

    def probe(self, replica: str) -> Hashable:
        """Ask a replica whether it is there, without waiting."""

    def wait(self, references: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Wait until at least one answer is there; those that are."""

    def outcome(self, reference: Hashable) -> Any:
        """An answer that is there; raises `Lost` if its replica has failed."""


@dataclass(slots=True)
class _Request:
    """A request that has no answer yet."""

    place: int
    number: int
    arguments: tuple[Any, ...]
    rest: list[str]  # replicas to ask next
    asked: dict[Hashable, str] = field(default_factory=dict)
    until: float = 0.0  # when the next replica is asked


class Calls:
    """The `Call` of a coordinator over replicas; threads may share it."""

    def __init__(
        self, transport: Transport, replicas: Mapping[int, Sequence[str]], names: Sequence[str], patience: Patience
    ) -> None:
        self._transport, self._replicas, self._names, self._patience = transport, replicas, names, patience
        self._failed: dict[str, tuple[float, Hashable | None]] = {}  # when it was last looked at, and the probe
        self._lock, self._thread, self._threads = Lock(), local(), count()

    def __call__(self, method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        """The answers in the order of the requests; `ShardUnavailable` if a shard has no replica left."""
        self._probe()
        answers: dict[int, Any] = {}
        start = monotonic()
        waiting = [
            _Request(place, number, arguments, self._order(number))
            for place, (number, arguments) in enumerate(requests)
        ]
        self._ask_all(waiting, method)
        while waiting:
            ready = self._wait(waiting)
            for request in waiting:
                self._collect(request, ready, method, answers, start)
            waiting = [request for request in waiting if request.place not in answers]
        return [result_of(answers[place]) for place in range(len(requests))]

    def limit(self, number: int) -> float:
        """The seconds until a shard without an answer is an error: one deadline for each replica, and one more."""
        return self._patience.replica * (len(self._replicas[number]) + 1)

    # ------------------------------------------------------------------------ one request

    def _ask_all(self, requests: Sequence[_Request], method: str) -> None:
        """Ask the first replica of each; requests for the same one are one message, since messages cost time."""
        together: dict[str, list[_Request]] = {}
        for request in requests:
            together.setdefault(request.rest.pop(0), []).append(request)
        for replica, own in together.items():
            references = self._transport.ask(replica, method, [(each.number, each.arguments) for each in own])
            for request, reference in zip(own, references, strict=True):
                request.asked[reference] = replica
                request.until = monotonic() + self._patience.replica

    def _ask(self, request: _Request, method: str) -> None:
        """Ask the next replica; with none left, all of them once more after a pause."""
        if not request.rest:
            if request.asked:  # late ones may still answer
                request.until = monotonic() + self._patience.replica
                return
            sleep(PAUSE)
            request.rest = self._order(request.number)
        if request.rest:
            replica = request.rest.pop(0)
            (reference,) = self._transport.ask(replica, method, [(request.number, request.arguments)])
            request.asked[reference] = replica
        request.until = monotonic() + self._patience.replica

    def _wait(self, waiting: Sequence[_Request]) -> set[Hashable]:
        references = [reference for request in waiting for reference in request.asked]
        seconds = max(0.0, min(request.until for request in waiting) - monotonic())
        return set(self._transport.wait(references, seconds)) if references else set()

    def _collect(
        self, request: _Request, ready: set[Hashable], method: str, answers: dict[int, Any], start: float
    ) -> None:
        """Take an answer that is there, or ask another replica where one failed or is late."""
        failed = False
        for reference in [each for each in request.asked if each in ready]:
            replica = request.asked.pop(reference)
            try:
                answers[request.place] = self._transport.outcome(reference)
            except Lost:
                self._suspect(replica)
                failed = True
                continue
            self._trust(replica)
            return
        if not failed and monotonic() < request.until:
            return
        if monotonic() - start >= self.limit(request.number):
            raise ShardUnavailable(self._names[request.number])
        for replica in () if failed else request.asked.values():
            self._suspect(replica)
        self._ask(request, method)

    # ------------------------------------------------------------------------ which replicas are well

    def _order(self, number: int) -> list[str]:
        """The replicas of a shard, those that failed last. Threads and shards begin with different ones.

        All calls of a query come from one thread: the replica that has begun a computation continues it.
        """
        if not hasattr(self._thread, "number"):
            self._thread.number = next(self._threads)
        replicas, first = self._replicas[number], self._thread.number + number
        turned = [replicas[(first + place) % len(replicas)] for place in range(len(replicas))]
        with self._lock:
            return sorted(turned, key=lambda replica: replica in self._failed)

    def _suspect(self, replica: str) -> None:
        with self._lock:
            self._failed.setdefault(replica, (monotonic(), None))

    def _trust(self, replica: str) -> None:
        with self._lock:
            self._failed.pop(replica, None)

    def _probe(self) -> None:
        """Look whether replicas that failed answer again, without waiting for them."""
        if not self._failed:
            return
        with self._lock:
            failed = dict(self._failed)
        for replica, (last, probe) in failed.items():
            if probe is not None and self._transport.wait([probe], 0):
                try:
                    self._transport.outcome(probe)
                    self._trust(replica)
                except Lost:
                    self._note(replica, None)
            elif monotonic() - last > PROBE:
                self._note(replica, self._transport.probe(replica))

    def _note(self, replica: str, probe: Hashable | None) -> None:
        with self._lock:
            if replica in self._failed:
                self._failed[replica] = (monotonic(), probe)
