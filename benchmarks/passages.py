"""One passage against all sentences of a collection, compared with exact searches of faiss and usearch.

The vectors are generated, in a file in a temporary folder: 5 million of 384 numbers as float16 take 3.8 GB. All
programs read the same ones; faiss copies them into its memory, ours and usearch read the mapped file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.table import Goal, Row, seconds
from benchmarks.timing import Options, Times, compared, interleaved, peer_module
from rprs.scoring.nearest import StoredDocuments, nearest_sentences
from rprs.scoring.vectors import to_grid
from rprs.scoring.widening import widen

__all__ = ["run"]

SENTENCES, QUICK = 5_000_000, 500_000
EACH = 50  # sentences per document
DIMENSION = 384
BLOCK = 50_000  # generated at random; the others are these with their numbers in another order
N = 100
GOAL = Goal(1.0)
PEERS = {"faiss": "pip install faiss-cpu", "usearch": "pip install usearch"}


def run(options: Options) -> Iterator[Row]:
    """Time and processor time for one query sentence, the vectors being in the page cache."""
    size = QUICK if options.quick else SENTENCES
    with tempfile.TemporaryDirectory() as folder:
        vectors = _generate(Path(folder) / "vectors.f16", size)
        query = to_grid(np.random.default_rng(1).standard_normal((1, DIMENSION)))
        tasks = _tasks(vectors, query)
        what = f"top {N} of {size:,} sentences, one passage"
        for clock, name in ((perf_counter, "time"), (process_time, "processor time")):
            times = interleaved(tasks, options.rounds(5), clock)
            yield from _rows(f"{what}, {name}", times)


def _rows(what: str, times: Times) -> Iterator[Row]:
    ours = float(times["ours"].min())
    yield Row(
        "passages", what, seconds(ours), "goal", "1 s", ratio=ours, typical=float(np.median(times["ours"])), goal=GOAL
    )
    for peer, command in PEERS.items():
        if peer in times:
            yield compared("passages", what, times, peer)
        else:
            yield Row("passages", what, seconds(ours), peer, missing=command)


def _generate(path: Path, size: int) -> NDArray[np.float16]:
    block = to_grid(np.random.default_rng(0).standard_normal((BLOCK, DIMENSION), dtype=np.float32))
    with path.open("wb") as file:
        for number in range(-(-size // BLOCK)):
            rows = min(BLOCK, size - number * BLOCK)
            np.roll(block, number, axis=1)[:rows].tofile(file)
    return np.memmap(path, np.float16, "r", shape=(size, DIMENSION))


def _tasks(vectors: NDArray[np.float16], query: NDArray[Any]) -> dict[str, Callable[[], object]]:
    starts = np.arange(0, len(vectors), EACH)
    stored = StoredDocuments(np.asarray(vectors), starts, np.minimum(starts + EACH, len(vectors)), starts)
    tasks: dict[str, Callable[[], object]] = {"ours": lambda: nearest_sentences(query, [stored], N)}
    expected = nearest_sentences(query, [stored], N)[0]
    for name, search in _peers(vectors, query).items():
        found = np.sort(np.asarray(search(), dtype=np.float64).reshape(1, -1))[:, ::-1]
        if not np.allclose(expected, found, atol=2e-3):  # usearch multiplies float16 in its own way
            raise RuntimeError(f"{name} finds different sentences from ours: the comparison would be meaningless")
        tasks[name] = search
    return tasks


def _peers(vectors: NDArray[np.float16], query: NDArray[Any]) -> dict[str, Callable[[], Any]]:
    """Exact searches that return the similarities of the best."""
    peers: dict[str, Callable[[], Any]] = {}
    faiss, usearch = peer_module("faiss"), peer_module("usearch.index")
    if faiss is not None:
        flat = faiss.IndexScalarQuantizer(DIMENSION, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        for start in range(0, len(vectors), BLOCK):
            flat.add(widen(np.asarray(vectors[start : start + BLOCK])))
        peers["faiss"] = lambda: flat.search(widen(query), N)[0]
    if usearch is not None:
        metric = usearch.MetricKind.IP
        peers["usearch"] = lambda: 1 - usearch.search(vectors, query[0], N, metric, exact=True).distances
    return peers
