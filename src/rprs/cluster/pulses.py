"""Signs of life of replicas that have been asked something and have not answered yet. No Ray.

A replica that computes for long cannot be told from one that hangs by waiting for its answer. So replicas that are
waited for are asked again and again whether they are there, which they answer while they compute, too.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

__all__ = ["Lost", "Prober", "Pulses"]


class Lost(Exception):
    """A replica, or its node, is gone."""


class Prober(Protocol):
    """What pulses need of a transport."""

    def probe(self, replica: str) -> Hashable:
        """Ask a replica whether it is there, without waiting."""

    def outcome(self, reference: Hashable) -> Any:
        """An answer that is there; raises `Lost` if its replica has failed."""


@dataclass(slots=True)
class _Pulse:
    quiet_since: float  # when it was asked for work, or showed that it is there
    heard: float = float("-inf")  # when it last showed that it is there
    sent: float = float("-inf")  # when it was last asked whether it is there
    question: Hashable | None = None


class Pulses:
    """Which replicas of one call are there; one is silent after some seconds without a sign of life."""

    def __init__(self, prober: Prober, seconds: float) -> None:
        self._prober, self._seconds = prober, seconds
        self._pulses: dict[str, _Pulse] = {}

    def begin(self, replica: str) -> None:
        """A replica was asked for work just now."""
        pulse = self._pulses.setdefault(replica, _Pulse(monotonic()))
        if pulse.question is None:
            pulse.quiet_since = monotonic()

    @property
    def questions(self) -> list[Hashable]:
        """The questions that have no answer yet."""
        return [pulse.question for pulse in self._pulses.values() if pulse.question is not None]

    def listen(self, ready: Collection[Hashable]) -> None:
        """Note the answers to questions that are ready."""
        for pulse in self._pulses.values():
            if pulse.question is not None and pulse.question in ready:
                question, pulse.question = pulse.question, None
                try:
                    self._prober.outcome(question)
                except Lost:  # it stays quiet; its answer to the work says what happened
                    continue
                pulse.quiet_since = pulse.heard = monotonic()

    def ask(self, replicas: Iterable[str]) -> None:
        """Ask those of some replicas that have been quiet for half of the time."""
        now = monotonic()
        for replica in set(replicas):
            pulse = self._pulses[replica]
            if pulse.question is None and now - max(pulse.quiet_since, pulse.sent) >= self._seconds / 2:
                pulse.question, pulse.sent = self._prober.probe(replica), now

    def is_silent(self, replica: str) -> bool:
        """Whether a replica has been quiet for the whole time, although it was asked."""
        pulse, now = self._pulses[replica], monotonic()
        asked = pulse.question is None or now - pulse.sent >= self._seconds / 2
        return asked and now - pulse.quiet_since >= self._seconds

    def heard(self, replica: str) -> float:
        """When a replica last showed that it is there."""
        return self._pulses[replica].heard
