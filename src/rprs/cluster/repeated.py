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
ALONE = 240.0  # seconds without any process that answers until the build ends


class Nodes(Protocol):
    """Runs functions on nodes."""

    reason: str  # why the last process was lost

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Hashable | None:
        """Run a function somewhere, without waiting; None if there is no free process."""

    def slots(self) -> int:
        """How many tasks can run at the same time, in processes that answer."""

    def wait(self, references: Sequence[Hashable], seconds: float) -> Sequence[Hashable]:
        """Wait until at least one task has ended; those that have."""

    def outcome(self, reference: Hashable) -> Any:
        """What a task that has ended gave; raises `Lost` if its process or node is gone."""

    def is_silent(self, reference: Hashable) -> bool:
        """Whether the process that runs a task does not answer any more."""

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
    tasks = {place: _Task(place, each) for place, each in enumerate(arguments)}  # that have no result yet
    durations: list[float] = []
    heard = monotonic()
    try:
        while tasks:
            if nodes.slots():
                heard = monotonic()
            elif monotonic() - heard > ALONE:
                reason = nodes.reason and f" ({nodes.reason})"
                raise RprsError(
                    f"No process of a node has answered for {ALONE:.0f} seconds{reason}: "
                    "check the nodes and the head, then run the command again; it continues"
                )
            _submit_all(nodes, function, tasks, durations, LEAST if least is None else least)
            references = {reference: task for task in tasks.values() for reference in task.copies}
            for reference in nodes.wait(list(references), LOOK):
                task = references[reference]
                if task.place not in tasks or reference not in task.copies:
                    continue
                started = task.copies.pop(reference)
                try:
                    outcome = nodes.outcome(reference)
                except Lost as error:
                    _lose(task, error)
                    continue
                durations.append(monotonic() - started)
                del tasks[task.place]
                _cancel(nodes, task)
                yield task.place, result_of(outcome)
    finally:
        for task in tasks.values():
            _cancel(nodes, task)


def _submit_all(
    nodes: Nodes, function: Callable[..., Any], tasks: dict[int, _Task], durations: Sequence[float], least: float
) -> None:
    """Start tasks that no process is known to work on, as far as there are free processes; then one that is late."""
    for task in tasks.values():
        if all(map(nodes.is_silent, task.copies)) and not _submit(nodes, function, task):
            return
    limit = max(least, SLOW * median(durations)) if durations else 10 * least
    late = [task for task in tasks.values() if len(task.copies) == 1]
    late = [task for task in late if monotonic() - min(task.copies.values()) > limit]
    if late:
        _submit(nodes, function, min(late, key=lambda task: min(task.copies.values())))


def _submit(nodes: Nodes, function: Callable[..., Any], task: _Task) -> bool:
    reference = nodes.submit(function, task.arguments)
    if reference is None:
        return False
    task.copies[reference] = monotonic()
    return True


def _lose(task: _Task, error: Lost) -> None:
    task.losses += 1
    if task.losses >= ATTEMPTS:
        raise RprsError(
            f"A step of the build was lost {ATTEMPTS} times ({error}): check the memory and the logs of the nodes, "
            "then run the command again; it continues"
        )


def _cancel(nodes: Nodes, task: _Task) -> None:
    for reference in task.copies:
        nodes.cancel(reference)
