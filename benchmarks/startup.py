"""How long a new process takes: `python -m benchmarks.startup INDEX FILE [--rounds 5]`.

A first search with a file (`rprs search`), and a server until it has printed its address, which it does when it is
ready to answer (`rprs serve`). The least of several rounds, by the clock and in processor time. Prints Markdown; the
exit code is 1 if a goal was missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.table import Goal, Row, as_markdown, seconds
from rprs.index import Index

__all__ = ["main"]

SEARCH, SERVER = "first search", "server ready to answer"
LIMITS = {SEARCH: 1.5, SERVER: 2.0}  # seconds by the clock

Times = tuple[float, float]  # by the clock, of the processor


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both in turn, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description="How long a new process takes")
    parser.add_argument("index", type=Path, metavar="INDEX")
    parser.add_argument("file", type=Path, metavar="FILE", help="the query of the search")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    with Index(options.index) as index:
        documents = len(index)
    tasks: dict[str, Callable[[], Times]] = {
        SEARCH: lambda: _search(options.index, options.file),
        SERVER: lambda: _serve(options.index),
    }
    for task in tasks.values():  # compiles and stores what is missing
        task()
    times = [{name: task() for name, task in tasks.items()} for _ in range(options.rounds)]
    table = [_row(f"{name}, {documents:,} documents", [each[name] for each in times], LIMITS[name]) for name in tasks]
    print(as_markdown(table))
    return int(any(row.met is False for row in table))


def _row(what: str, times: Sequence[Times], limit: float) -> Row:
    clock, processor = (min(each[kind] for each in times) for kind in (0, 1))
    ours = f"{seconds(clock)}, {seconds(processor)} of the processor"
    return Row("startup", what, ours, "the limit set", seconds(limit), clock / limit, goal=Goal(1.0))


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "rprs", "--quiet", *words]


def _search(index: Path, file: Path) -> Times:
    started, before = perf_counter(), os.times()
    subprocess.run(_command("search", str(index), str(file)), check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return perf_counter() - started, used


def _serve(index: Path) -> Times:
    started = perf_counter()
    command = _command("serve", str(index), "--port", "0", "--no-open")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            return perf_counter() - started, _processor_seconds(process.pid)
        finally:
            process.terminate()


def _processor_seconds(process: int) -> float:
    """Processor time of a running process so far."""
    values = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
