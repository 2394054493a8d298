"""Timing of tasks in turn, so that other load on the machine affects all of them alike."""

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

PAUSE = 0.25  # seconds: BLAS threads keep spinning for a while after their work is done


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line."""

    quick: bool = False
    corpus: str | None = None
    encoder: str = "fitted"

    def rounds(self, full: int) -> int:
        """The number of repetitions: `full`, or a quarter of it in quick mode."""
        return max(3, full // 4) if self.quick else full


Times = Mapping[str, NDArray[np.float64]]


def interleaved(
    tasks: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = perf_counter,
    burst: int = 1,
) -> Times:
    """The seconds of every task in every round, after a warm-up; odd rounds run the tasks in reverse order.

    With a burst, the best of so many runs in a row: a task that follows a multi-threaded BLAS shares the processor with
    threads that are still spinning, which would not happen in a program of its own.
    """
    times = {name: np.zeros(rounds) for name in tasks}
    for task in tasks.values():
        task()
    for turn in range(rounds):
        for name in list(tasks)[:: 1 if turn % 2 == 0 else -1]:
            sleep(PAUSE)
            times[name][turn] = min(_timed(tasks[name], clock) for _ in range(burst))
    return times


def _timed(task: Callable[[], object], clock: Callable[[], float]) -> float:
    started = clock()
    task()
    return clock() - started


def compared(part: str, what: str, times: Times, peer: str, *, ours: str = "ours", goal: Goal | None = None) -> Row:
    """A row that compares the best rounds of both sides."""
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
    """The module of a peer, or None if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None
