"""A cluster of two nodes on this machine against one index: `python -m benchmarks.cluster [--documents 64000]`.

It prints, as JSON, the seconds of a query (whole, and without evidence) on one index and on a cluster whose two nodes
hold half of the shards each; the seconds of building both; and the seconds to an answer after each fault. Nodes, shards
and the index share the cores of this machine, so that what is measured is the overhead, not the gain. The index is
built on one core, as a node has one, and files are read in a process of their own, as `rprs index` and nodes read them.

With `--steps`, there are no nodes: it prints the processor seconds of both builds in this process, by step. They depend
less on what else runs on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from threading import Timer
from time import monotonic, perf_counter, sleep
from typing import Any

import numpy as np

import rprs
from benchmarks.invented import invented_document
from rprs.cluster.build import build
from rprs.cluster.connection import connected
from rprs.cluster.local import LocalCluster
from rprs.cluster.settings import Patience
from rprs.cluster.store import open_store
from rprs.index import Writer
from rprs.read import read
from rprs.read.bounded import ReadingProcesses, use_processes
from rprs.scoring.threads import limit_cores

DEADLINE = 5.0
AFTERWARDS = 3.0  # seconds for which queries go on after a fault
MOST_OVERHEAD, LEAST_SPEED_UP = 1.3, 1.8  # the goals


def main() -> None:
    """Build both, and print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=64_000)
    parser.add_argument("--sentences", type=int, default=20, help="of each document")
    parser.add_argument("--query-sentences", type=int, default=60)
    parser.add_argument("--dimension", type=int, default=128)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--queries", type=int, default=10, help="0: builds alone")
    parser.add_argument("--no-faults", action="store_true")
    parser.add_argument("--steps", action="store_true", help="processor seconds of builds in this process, by step")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RPRS_CLUSTER_FOLDER"] = f"{folder}/node"
        print(json.dumps(_measure(options, Path(folder)), indent=1))


def _measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    random, encoder = Random(1), f"hashed(dimension={options.dimension})"
    source = _write_documents(options, folder, random)
    figures: dict[str, Any] = {
        name: getattr(options, name) for name in ("documents", "sentences", "query_sentences", "shards")
    }
    few = [invented_document(random, 10**8 + number, options.sentences) for number in range(20)]
    rprs.build(folder / "few.rprs", few, encoder=encoder)  # compiles the kernels
    if options.steps:
        build(folder / "few", few, 2, encoder=encoder)
        return figures | _steps(options, folder, source, encoder)
    with _one_core(), _seconds(figures, "build on one core"):
        _build_one(folder / "one.rprs", source, encoder, 1)
    with _seconds(figures, "build with a process for each core"):
        _build_one(folder / "again.rprs", source, encoder, None)
    figures["bytes"] = sum(file.stat().st_size for file in (folder / "one.rprs").rglob("*") if file.is_file())
    with LocalCluster(2) as nodes:
        os.environ.update(nodes.environment)
        engine = connected(nodes.address, Patience(replica=DEADLINE))
        build(folder / "few", few, 2, encoder=encoder, run=engine.run)  # processes of nodes import rprs, once
        with _seconds(figures, "build on two nodes"):
            manifest = build(folder / "store", [source], options.shards, encoder=encoder, run=engine.run).manifest
        figures |= _speed_up(figures)
        url = open_store(folder / "store").url
        numbers = range(10**9, 10**9 + options.queries)
        queries = [invented_document(random, number, options.query_sentences) for number in numbers]
        if queries:
            engine.start(url, manifest, 1, 2)
            with rprs.Cluster.open(folder / "store", address=nodes.address, deadline=60.0) as cluster:
                figures |= _compare(rprs.Searcher(folder / "one.rprs"), cluster, queries)
            engine.stop(url)
        if queries and not options.no_faults:
            engine.start(url, manifest, 2, 1)
            figures["answered after"] = _faults(engine, url, nodes, queries[0])
        engine.close()
    return figures


def _write_documents(options: argparse.Namespace, folder: Path, random: Random) -> Path:
    """Invented documents in several files, so that several nodes can read them."""
    source = folder / "documents"
    source.mkdir()
    per_file = max(1, options.documents // 16)
    for first in range(0, options.documents, per_file):
        numbers = range(first, min(first + per_file, options.documents))
        lines = (invented_document(random, number, options.sentences) for number in numbers)
        text = "\n".join(json.dumps({"id": one.id, "title": one.title, "text": one.text}) for one in lines)
        (source / f"{first:08d}.jsonl").write_text(text)
    return source


def _build_one(path: Path, source: Path, encoder: str, processes: int | None) -> None:
    """One index of the documents, split in one process or in one for each core."""
    with use_processes(processes), Writer(path, create=True, encoder=encoder, processes=processes) as writer:
        writer.add(read(source))


@contextmanager
def _one_core() -> Iterator[None]:
    """Run this process, and those that it starts, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        with limit_cores(1):
            yield
    finally:
        os.sched_setaffinity(0, before)


def _steps(options: argparse.Namespace, folder: Path, source: Path, encoder: str) -> dict[str, Any]:
    """The processor seconds of one index, of all shards, and of one index again, since the first fills caches."""
    seconds: dict[str, float] = {}

    reading = ReadingProcesses(1)

    def build_one(name: str) -> None:
        start = _worked(os.getpid())
        _build_one(folder / f"{name}.rprs", source, encoder, 1)
        seconds[name] = _worked(os.getpid()) - start

    def run(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        for place, each in enumerate(arguments):
            start = _worked(os.getpid())
            with limit_cores(1), reading.used():
                result = function(*each)
            name = function.__name__.strip("_")
            seconds[name] = seconds.get(name, 0.0) + _worked(os.getpid()) - start
            yield place, result

    build_one("one index")
    start = _worked(os.getpid())
    build(folder / "store", [source], options.shards, encoder=encoder, run=run)
    seconds["all shards"] = _worked(os.getpid()) - start
    reading.close()
    build_one("one index again")
    return {"processor seconds": {name: round(value, 2) for name, value in seconds.items()}}


@contextmanager
def _seconds(figures: dict[str, Any], name: str) -> Iterator[None]:
    """The seconds of a block by the clock, and those of processors in this process and all below it."""
    start, worked = perf_counter(), _worked(os.getpid())
    yield
    seconds = {"clock": perf_counter() - start, "processors": _worked(os.getpid()) - worked}
    figures[name] = {kind: round(value, 2) for kind, value in seconds.items()}


def _worked(process: int) -> float:
    """The processor seconds of a process, of those that it has waited for, and of all below it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, fields[11:15]))
    below = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    for thread in Path(f"/proc/{process}/task").iterdir():
        if thread.name != str(process):
            below += (thread / "children").read_text().split()
    total = ticks / os.sysconf("SC_CLK_TCK")
    for each in below:
        with suppress(FileNotFoundError, ProcessLookupError):
            total += _worked(int(each))
    return total


def _speed_up(figures: dict[str, Any]) -> dict[str, Any]:
    """How much faster two nodes build, by the clock and, if nothing else ran on two cores, by processor time."""
    alone, spread, cluster = (
        figures[f"build {name}"] for name in ("on one core", "with a process for each core", "on two nodes")
    )
    return {
        "build speed-up by the clock": round(alone["clock"] / cluster["clock"], 2),
        "build speed-up by processor time": round(2 * alone["processors"] / cluster["processors"], 2),
        "the same against a process for each core": round(spread["clock"] / cluster["clock"], 2),
        "build goal": f"at least {LEAST_SPEED_UP} times as fast as on one core",
    }


def _compare(alone: Any, cluster: Any, queries: list[Any]) -> dict[str, Any]:
    """The median seconds of queries, alternately on one index and on the cluster; the answers must be the same."""
    figures: dict[str, Any] = {}
    tasks: dict[str, Callable[[Any, Any], Any]] = {
        "whole query": lambda searcher, query: tuple(searcher.search(query, 10)),
        "ranking alone": lambda searcher, query: searcher.rank(query).ids,
    }
    for name, task in tasks.items():
        times: dict[str, list[float]] = {"one index": [], "cluster": []}
        for number, query in enumerate([queries[0], *queries]):  # the first time compiles and maps
            found = []
            for where, searcher in (("one index", alone), ("cluster", cluster)):
                start = perf_counter()
                found.append(task(searcher, query))
                if number:
                    times[where].append(perf_counter() - start)
            assert found[0] == found[1], "the answers differ"
        medians = {where: float(np.median(each)) for where, each in times.items()}
        figures[name] = {where: round(seconds, 4) for where, seconds in medians.items()}
        figures[name]["ratio"] = round(medians["cluster"] / medians["one index"], 2)
    figures["query goal"] = f"at most {MOST_OVERHEAD}"
    return figures


def _faults(engine: Any, url: str, nodes: LocalCluster, query: Any) -> dict[str, Any]:
    """The longest query of those during and after each fault, which comes in the middle of one: seconds by the clock.

    Every fault has a cluster of its own, since one that has noticed a fault no longer asks that replica.
    """
    figures = {}
    for name, number, times in (
        ("no fault", 0, 5),  # the signal that does nothing
        ("holder killed", signal.SIGKILL, 5),
        ("holder stopped", signal.SIGSTOP, 5),
        ("node killed", signal.SIGKILL, 1),
    ):
        seconds = []
        for _ in range(times):
            holder = min(_holders(engine, url))
            victim = nodes.processes[0] if name == "node killed" else holder
            with rprs.Cluster.open(url, address=nodes.address, deadline=DEADLINE) as cluster:
                expected, undisturbed = _ask(cluster, query)
                fault = Timer(undisturbed / 2, os.kill, (victim, number))
                fault.start()
                until, longest = monotonic() + AFTERWARDS, 0.0
                while monotonic() < until:
                    answer, took = _ask(cluster, query)
                    assert answer == expected, "the answers differ"
                    longest = max(longest, took)
            if number == signal.SIGSTOP:
                os.kill(victim, signal.SIGCONT)
            seconds.append(longest)
        figures[name] = {"median": round(float(np.median(seconds)), 2), "most": round(max(seconds), 2), "times": times}
    return figures


def _ask(cluster: Any, query: Any) -> tuple[Any, float]:
    """The hits of a query, and the seconds that it took."""
    start = monotonic()
    hits = tuple(cluster.search(query, 5))
    return hits, monotonic() - start


def _holders(engine: Any, url: str) -> list[int]:
    """The processes that hold shards, once there are two."""
    deadline = monotonic() + 120
    while len(alive := [each.process for each in engine.status(url) if each.alive]) < 2:
        assert monotonic() < deadline, "a holder did not come back"
        sleep(1)
    return alive


if __name__ == "__main__":
    main()
