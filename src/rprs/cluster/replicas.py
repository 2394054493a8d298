"""One of several replicas of each shard answers: which is asked, and when another is asked instead. No Ray.

A replica that fails is replaced at once, and one that is silent after a deadline of ours. One that is at work shows
meanwhile that it is there (`rprs.cluster.pulses`): it is waited for, and another is asked as well after twice the
deadline, once. Whoever answers first counts. Replicas that failed are asked last until they answer again.

There is never a partial answer: a shard that nobody answers for is an error that names it, after a time that is known
in advance.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from threading import Lock, local
from time import monotonic, sleep
from typing import Any, Protocol

from rprs.cluster.holding import result_of
from rprs.cluster.pulses import Lost, Prober, Pulses
from rprs.cluster.settings import Patience
from rprs.errors import ShardUnavailable
from rprs.progress import stopper

__all__ = ["Calls", "Lost", "Transport"]

PAUSE = 0.2  # seconds before replicas that have all failed are asked again
PROBE = 2.0  # seconds between two looks at a replica that has failed
LOOK = 0.1  # seconds between two looks at replicas that have not answered; less with deadlines below a second
LONG = 2  # deadlines after which another replica gets the same work as one that is still at it


class Transport(Prober, Protocol):
    """Sends requests to processes and waits for their answers. A reference stands for an answer that may come."""

    def ask(self, replica: str, method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> Sequence[Hashable]:
        """Ask a replica in one message, without waiting: numbers of shards, and arguments. A reference for each."""

    def wait(self, references: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Wait until at least one answer is there; those that are."""


@dataclass(slots=True)
class _Request:
    """A request that has no answer yet."""

    place: int
    number: int
    arguments: tuple[Any, ...]
    rest: list[str]  # replicas to ask next
    asked: dict[Hashable, str] = field(default_factory=dict)
    since: float = 0.0  # when a replica was asked last
    doubled: bool = False  # whether another was asked although one was at work


@dataclass(frozen=True, slots=True)
class _Work:
    """What all requests of one call have in common."""

    method: str
    start: float
    pulses: Pulses


class Calls:
    """The `Call` of a coordinator over replicas; threads may share it."""

    def __init__(
        self, transport: Transport, replicas: Mapping[int, Sequence[str]], names: Sequence[str], patience: Patience
    ) -> None:
        self.transport, self._replicas, self._names, self._patience = transport, replicas, names, patience
        self._failed: dict[str, tuple[float, Hashable | None]] = {}  # when it was last looked at, and the probe
        self._lock, self._thread, self._threads = Lock(), local(), count()

    def __call__(self, method: str, requests: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
        """The answers in the order of the requests; `ShardUnavailable` if a shard has no replica left."""
        self._probe()
        answers: dict[int, Any] = {}
        work = _Work(method, monotonic(), Pulses(self.transport, self._patience.replica))
        waiting = [
            _Request(place, number, arguments, self._order(number))
            for place, (number, arguments) in enumerate(requests)
        ]
        self._ask_all(waiting, work)
        while waiting:
            ready = self._wait(waiting, work.pulses)
            for request in waiting:
                self._collect(request, ready, work, answers)
            waiting = [request for request in waiting if request.place not in answers]
        return [result_of(answers[place]) for place in range(len(requests))]

    @property
    def names(self) -> set[str]:
        """All replicas of all shards."""
        return set(chain.from_iterable(self._replicas.values()))

    def change(self, replicas: Mapping[int, Sequence[str]]) -> None:
        """Ask other replicas from now on, which the transport knows."""
        with self._lock:
            self._replicas, self._failed = replicas, {}

    def limit(self, number: int) -> float:
        """The seconds of silence until a shard is an error: one deadline for each replica, and one more."""
        return self._patience.replica * (len(self._replicas[number]) + 1)

    def missing(self) -> list[str]:
        """The names of the shards of which no replica shows within the deadline that it is there."""
        missing, until = set(self._replicas), monotonic() + self._patience.replica
        waiting = {self.transport.probe(replica): replica for replica in self.names}
        while missing and waiting and (seconds := until - monotonic()) > 0:
            for reference in self.transport.wait(list(waiting), seconds):
                replica = waiting.pop(reference)
                with suppress(Lost):
                    self.transport.outcome(reference)
                    missing -= {number for number in missing if replica in self._replicas[number]}
        return [self._names[number] for number in sorted(missing)]

    # ------------------------------------------------------------------------ one request

    def _ask_all(self, requests: Sequence[_Request], work: _Work) -> None:
        """Ask the first replica of each; requests for the same one are one message, since messages cost time."""
        together: dict[str, list[_Request]] = {}
        for request in requests:
            together.setdefault(request.rest.pop(0), []).append(request)
        for replica, own in together.items():
            self._send(replica, own, work)

    def _send(self, replica: str, requests: Sequence[_Request], work: _Work) -> None:
        references = self.transport.ask(replica, work.method, [(each.number, each.arguments) for each in requests])
        work.pulses.begin(replica)
        for request, reference in zip(requests, references, strict=True):
            request.asked[reference] = replica
            request.since = monotonic()

    def _wait(self, waiting: Sequence[_Request], pulses: Pulses) -> set[Hashable]:
        """The answers that are there, after a short while at most; replicas that are quiet are asked for signs."""
        stopper.get()()
        references = [*(reference for request in waiting for reference in request.asked), *pulses.questions]
        if not references:
            return set()
        ready = set(self.transport.wait(references, min(LOOK, self._patience.replica / 10)))
        pulses.listen(ready)
        pulses.ask(replica for request in waiting for replica in request.asked.values())
        return ready

    def _collect(self, request: _Request, ready: set[Hashable], work: _Work, answers: dict[int, Any]) -> None:
        """Take an answer that is there, or ask another replica where one failed, is silent or takes long."""
        failed = False
        for reference in [each for each in request.asked if each in ready]:
            replica = request.asked.pop(reference)
            try:
                answers[request.place] = self.transport.outcome(reference)
            except Lost:
                self._suspect(replica)
                failed = True
                continue
            self._trust(replica)
            return
        silent = [replica for replica in request.asked.values() if work.pulses.is_silent(replica)]
        for replica in silent:
            self._suspect(replica)
        all_silent = len(silent) == len(request.asked)
        self._check(request, work, all_silent)
        if failed or all_silent:
            self._ask_next(request, work)
        elif not request.doubled and monotonic() - request.since >= LONG * self._patience.replica:
            request.doubled = True
            self._ask_next(request, work)

    def _check(self, request: _Request, work: _Work, all_silent: bool) -> None:
        """Raise an error if no replica has given a sign for too long, or if one has computed for too long."""
        now = monotonic()
        signs = [work.pulses.heard(replica) for replica in request.asked.values()]
        if all_silent and not request.rest and now - max([work.start, *signs]) >= self.limit(request.number):
            raise ShardUnavailable(self._names[request.number])
        if now - work.start >= self._patience.computing:
            raise ShardUnavailable(self._names[request.number], self._patience.computing)

    def _ask_next(self, request: _Request, work: _Work) -> None:
        """Ask the next replica; with none left, all of them once more after a pause if all have failed."""
        if not request.rest and not request.asked:
            sleep(PAUSE)
            request.rest = self._order(request.number)
        if request.rest:
            self._send(request.rest.pop(0), [request], work)

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
            if probe is not None and self.transport.wait([probe], 0):
                try:
                    self.transport.outcome(probe)
                    self._trust(replica)
                except Lost:
                    self._note(replica, None)
            elif monotonic() - last > PROBE:
                self._note(replica, self.transport.probe(replica))

    def _note(self, replica: str, probe: Hashable | None) -> None:
        with self._lock:
            if replica in self._failed:
                self._failed[replica] = (monotonic(), probe)
