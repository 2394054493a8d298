"""Timing of tasks against each other, in turn, so that what else the machine does meets them alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.table import Goal, Row, seconds

__all__ = ["Options", "Times", "compared", "interleaved", "peer_module"]

PAUSE = 0.25  # seconds: threads of a BLAS go on spinning for a while after their work is done


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    quick: bool = False
    corpus: str | None = None
    encoder: str = "fitted"

    def rounds(self, usual: int) -> int:
        """How often to repeat what is usually repeated so often."""
        return max(3, usual // 4) if self.quick else usual


Times = Mapping[str, NDArray[np.float64]]


def interleaved(
    tasks: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = perf_counter,
    burst: int = 1,
) -> Times:
    """The seconds of every task in every round, after one that does not count; odd rounds go backwards.

    With a burst, the best of so many runs in a row: whoever comes right after a BLAS of several threads shares the
    processor with those that still spin, as it would not in a program of its own.
    """
    taken = {name: np.zeros(rounds) for name in tasks}
    for task in tasks.values():
        task()
    for turn in range(rounds):
        for name in list(tasks)[:: 1 if turn % 2 == 0 else -1]:
            sleep(PAUSE)
            taken[name][turn] = min(_timed(tasks[name], clock) for _ in range(burst))
    return taken


def _timed(task: Callable[[], object], clock: Callable[[], float]) -> float:
    started = clock()
    task()
    return clock() - started


def compared(part: str, what: str, times: Times, peer: str, *, ours: str = "ours", goal: Goal | None = None) -> Row:
    """A row from the best rounds of both sides."""
    mine, theirs = times[ours], times[peer]
    return Row(
        part,
        what,
        seconds(float(mine.min())),
        peer,
        seconds(float(theirs.min())),
        ratio=float(mine.min() / theirs.min()),
        typical=float(np.median(mine / theirs)),
        goal=goal,
    )


def peer_module(name: str) -> Any:
    """A module of a peer, or None where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None
