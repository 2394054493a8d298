"""Tasks on nodes that may be lost: each is run until one of its copies has finished. No Ray.

A task must give the same result wherever and however often it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import monotonic
from typing import Any, Protocol

from rprs.cluster.holding import result_of
from rprs.cluster.replicas import Lost
from rprs.errors import RprsError

__all__ = ["Nodes", "run_repeated"]

ATTEMPTS = 5  # of a task whose process or node is lost
SLOW = 4.0  # times the median duration of the others: then another node gets the same task
LEAST = 60.0  # seconds before that
LOOK = 1.0  # seconds between two looks


class Nodes(Protocol):
    """Runs functions on nodes."""

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Hashable:
        """Run a function somewhere, without waiting."""

    def slots(self) -> int:
        """How many tasks can run at the same time."""

    def wait(self, references: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Wait until at least one task has ended; those that have."""

    def outcome(self, reference: Hashable) -> Any:
        """What a task that has ended gave; raises `Lost` if its process or node is gone."""

    def cancel(self, reference: Hashable) -> None:
        """End a task whose result is not needed any more."""


@dataclass(slots=True)
class _Task:
    place: int
    arguments: tuple[Any, ...]
    copies: dict[Hashable, float] = field(default_factory=dict)  # when each was started
    losses: int = 0


def run_repeated(
    nodes: Nodes, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], least: float | None = None
) -> Iterator[tuple[int, Any]]:
    """The results as they come, each with the place of its arguments; the first error of a task ends all of them."""
    queue = [_Task(place, each) for place, each in enumerate(arguments)][::-1]
    running: dict[int, _Task] = {}
    durations: list[float] = []
    try:
        while queue or running:
            free = max(1, nodes.slots()) - sum(len(task.copies) for task in running.values())
            while queue and free > 0:
                task = queue.pop()
                _submit(nodes, function, task)
                running[task.place] = task
                free -= 1
            references = {reference: task for task in running.values() for reference in task.copies}
            for reference in nodes.wait(list(references), LOOK):
                task = references[reference]
                if task.place not in running or reference not in task.copies:
                    continue
                started = task.copies.pop(reference)
                try:
                    outcome = nodes.outcome(reference)
                except Lost as error:
                    _lose(task, error)
                    if not task.copies:
                        del running[task.place]
                        queue.append(task)
                    continue
                durations.append(monotonic() - started)
                del running[task.place]
                _cancel(nodes, task)
                yield task.place, result_of(outcome)
            if not queue and free > 0:
                _repeat_late(nodes, function, running, durations, LEAST if least is None else least)
    finally:
        for task in running.values():
            _cancel(nodes, task)


def _submit(nodes: Nodes, function: Callable[..., Any], task: _Task) -> None:
    task.copies[nodes.submit(function, task.arguments)] = monotonic()


def _lose(task: _Task, error: Lost) -> None:
    task.losses += 1
    if task.losses >= ATTEMPTS:
        raise RprsError(
            f"A step of the build was lost {ATTEMPTS} times ({error}): check the memory and the logs of the nodes, "
            "then run the command again; it continues"
        )


def _repeat_late(
    nodes: Nodes, function: Callable[..., Any], running: dict[int, _Task], durations: Sequence[float], least: float
) -> None:
    """Start a second copy of the task that has run longest, if it takes much longer than the others did."""
    limit = max(least, SLOW * median(durations)) if durations else 10 * least
    late = [task for task in running.values() if len(task.copies) == 1]
    late = [task for task in late if monotonic() - min(task.copies.values()) > limit]
    if late:
        _submit(nodes, function, min(late, key=lambda task: min(task.copies.values())))


def _cancel(nodes: Nodes, task: _Task) -> None:
    for reference in task.copies:
        nodes.cancel(reference)
