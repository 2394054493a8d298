"""What depends on all documents of a generation: measured by tasks over its shards, and published with it.

Norms need the document frequencies of all shards. They are counted and added up in ranges of hashes, so that no node
holds those of a whole collection (`rprs.index.frequencies`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rprs.cluster.contributions import contribute, read_counts, read_sample, read_totals, write_totals
from rprs.cluster.job import Job, Record, Tasks, store_record
from rprs.cluster.manifest import FileEntry, Manifest, ShardEntry
from rprs.cluster.statistics import measure_statistics
from rprs.cluster.store import Store, open_store
from rprs.cluster.transfer import download, file_entry, local_copy, scratch, store_files
from rprs.index import Index
from rprs.index.catalog import Catalog
from rprs.index.encoders import open_encoder
from rprs.index.frequencies import add_frequencies, norms
from rprs.progress import Progress

__all__ = [
    "STATISTICS",
    "add_counts",
    "measure",
    "measure_all",
    "norms_path",
    "sample_shard",
    "weigh_shard",
]

STATISTICS = "statistics.json"
ENCODER_FILES = ("catalog.sqlite", "history", "encoders/")


def norms_path(shard: str) -> str:
    """The norms of the documents of a shard, among the files of the statistics."""
    return f"norms/{shard}.npy"


def measure(job: Job, manifest: Manifest, ranges: Sequence[int], run: Tasks, progress: Progress) -> Manifest:
    """The manifest with the statistics of all its documents, whose files are in the store.

    Every shard has stored what it contributes, its counts in so many `ranges`.
    """
    shards, parts = manifest.shards, max(ranges) if manifest.phrases else 0
    # One task measures all documents while the others add up counts.
    steps: list[tuple[Any, ...]] = [(measure_all, job, shards)]
    steps += [(add_counts, job, ranges, part, parts) for part in range(parts)]
    weighed = [(job, shard, manifest.documents, parts) for shard in shards] if manifest.phrases else []
    with progress("measuring", len(steps) + len(weighed), "steps") as advance:

        def every(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
            results: dict[int, Any] = {}
            for place, result in run(function, arguments):
                results[place] = result
                advance(1)
            return [results[place] for place in range(len(arguments))]

        statistics, encoder, fingerprint = every(_step, steps)[0]
        files = every(weigh_shard, weighed)
    entries = tuple(sorted((statistics, *files), key=lambda file: file.path))
    return replace(manifest, statistics=entries, encoder_used=encoder, fingerprint=fingerprint)


# ---------------------------------------------------------------------------- tasks


def _step(function: Callable[..., Any], *arguments: Any) -> Any:
    """Any of the steps below, so that different ones run at the same time."""
    return function(*arguments)


def sample_shard(job: Job, number: int, shard: ShardEntry) -> Record:
    """Store what a shard contributes that was not made or changed by this build."""
    store = open_store(job.url)
    copy = local_copy(store, shard)
    try:
        counts = contribute(job, store, number, copy.path)
    finally:
        copy.close()
    return store_record(store, job, "sample", number, Record(counts))


def add_counts(job: Job, ranges: Sequence[int], part: int, parts: int) -> None:
    """The counts of all shards for one part of all hashes."""
    store = open_store(job.url)
    counts = [read_counts(job, store, number, own, part, parts) for number, own in enumerate(ranges)]
    write_totals(job, store, part, add_frequencies(counts))


def weigh_shard(job: Job, shard: ShardEntry, documents: int, parts: int) -> FileEntry:
    """The norms of the documents of a shard in a collection of so many documents."""
    store = open_store(job.url)
    totals = (read_totals(job, store, part) for part in range(parts))
    copy = local_copy(store, shard)
    try:
        with Index(copy.path) as index, scratch() as folder:
            path = norms_path(shard.name)
            (folder / path).parent.mkdir()
            np.save(folder / path, norms(index, documents, totals, parts))
            return _stored(store, folder, path)
    finally:
        copy.close()


def measure_all(job: Job, shards: Sequence[ShardEntry]) -> tuple[FileEntry, str, str]:
    """The file of the statistics, and the encoder that made all vectors with its fingerprint."""
    store = open_store(job.url)
    samples, rows = zip(*(read_sample(job, store, number) for number in range(len(shards))), strict=True)
    with scratch() as folder:
        index = folder / "shard"
        needed = [file for file in shards[0].files if file.path.startswith(ENCODER_FILES)]
        download(store, needed, index)
        catalog = Catalog(index, write=False)
        try:
            row, encoder = catalog.encoder(), open_encoder(catalog, index)
            statistics = measure_statistics(samples, encoder, rows, catalog.generation or 1)
        finally:
            catalog.close()
        (folder / STATISTICS).write_text(json.dumps(statistics.object(), sort_keys=True), encoding="utf-8")
        entry = _stored(store, folder, STATISTICS)
    assert row is not None  # `open_encoder` would have raised
    return entry, row.spec, row.fingerprint


def _stored(store: Store, folder: Path, path: str) -> FileEntry:
    entry = file_entry(folder, path)
    store_files(store, folder, [entry])
    return entry
