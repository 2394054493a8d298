"""What depends on all documents of a generation: measured by tasks over its shards, and published with it.

Norms need the document frequencies of all shards. They are counted and added up in ranges of hashes, so that no node
holds those of a whole collection (`rprs.index.frequencies`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from rprs.cluster.manifest import FileEntry, Manifest, ShardEntry
from rprs.cluster.statistics import RANGE, Sample, measure_statistics, sample_of
from rprs.cluster.store import Store, open_store
from rprs.cluster.tasks import Job, Tasks
from rprs.cluster.transfer import download, file_entry, local_copy, scratch, store_files
from rprs.index import Index
from rprs.index.catalog import Catalog
from rprs.index.encoders import open_encoder
from rprs.index.frequencies import Frequencies, add_frequencies, frequencies, norms
from rprs.index.phrases import streams
from rprs.progress import Advance, Progress

__all__ = [
    "STATISTICS",
    "add_counts",
    "count_shard",
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


def measure(job: Job, manifest: Manifest, run: Tasks, progress: Progress) -> Manifest:
    """The manifest with the statistics of all its documents, whose files are in the store."""
    shards = manifest.shards

    def every(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], advance: Advance) -> list[Any]:
        results: dict[int, Any] = {}
        for place, result in run(function, [(job, *each) for each in arguments]):
            results[place] = result
            advance(1)
        return [results[place] for place in range(len(arguments))]

    with progress("sampling", len(shards), "shards") as advance:
        samples: list[_Measured] = every(sample_shard, list(enumerate(shards)), advance)
    parts = 1 + sum(each.phrase_bytes for each in samples) // RANGE
    files: list[FileEntry] = []
    with progress("measuring", 2 * len(shards) + parts + 1 if manifest.phrases else 1, "steps") as advance:
        if manifest.phrases:
            every(count_shard, [(number, shard, parts) for number, shard in enumerate(shards)], advance)
            every(add_counts, [(part, len(shards)) for part in range(parts)], advance)
            files = every(weigh_shard, [(shard, manifest.documents, parts) for shard in shards], advance)
        whole = [sample.sample for sample in samples]
        statistics, encoder, fingerprint = every(measure_all, [(whole, shards)], advance)[0]
    entries = tuple(sorted((statistics, *files), key=lambda file: file.path))
    return replace(manifest, statistics=entries, encoder_used=encoder, fingerprint=fingerprint)


# ---------------------------------------------------------------------------- tasks


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a shard contributes: a sample, and how many bytes its phrases take."""

    sample: Sample
    phrase_bytes: int


@contextmanager
def _opened(store: Store, shard: ShardEntry) -> Iterator[Index]:
    copy = local_copy(store, shard)
    try:
        with Index(copy.path) as index:
            yield index
    finally:
        copy.close()


def sample_shard(job: Job, number: int, shard: ShardEntry) -> _Measured:
    """The sample of a shard; the ids of its documents with the hashes of their texts are stored."""
    store = open_store(job.url)
    with _opened(store, shard) as index:
        with index._lock:
            rows = index._content_rows()
        store.write(_rows_path(job, number), json.dumps(rows).encode())
        return _Measured(sample_of(index), sum(len(stream.data) for stream in streams(index.segments)))


def count_shard(job: Job, number: int, shard: ShardEntry, parts: int) -> None:
    """How many documents of a shard have each term and phrase, in ranges of hashes."""
    store = open_store(job.url)
    with _opened(store, shard) as index:
        for part in range(parts):
            store.write(_counts_path(job, part, number), _to_bytes(frequencies(index, part, parts)))


def add_counts(job: Job, part: int, shards: int) -> None:
    """The counts of all shards for one range of hashes."""
    store = open_store(job.url)
    counts = [_from_bytes(store.read(_counts_path(job, part, number))) for number in range(shards)]
    store.write(_totals_path(job, part), _to_bytes(add_frequencies(counts)))


def weigh_shard(job: Job, shard: ShardEntry, documents: int, parts: int) -> FileEntry:
    """The norms of the documents of a shard in a collection of so many documents."""
    store = open_store(job.url)
    totals = (_from_bytes(store.read(_totals_path(job, part))) for part in range(parts))
    with _opened(store, shard) as index, scratch() as folder:
        path = norms_path(shard.name)
        (folder / path).parent.mkdir()
        np.save(folder / path, norms(index, documents, totals, parts))
        return _stored(store, folder, path)


def measure_all(job: Job, samples: Sequence[Sample], shards: Sequence[ShardEntry]) -> tuple[FileEntry, str, str]:
    """The file of the statistics, and the encoder that made all vectors with its fingerprint."""
    store = open_store(job.url)
    rows = (json.loads(store.read(_rows_path(job, number))) for number in range(len(shards)))
    pairs = [[(id, content) for id, content in each] for each in rows]
    with scratch() as folder:
        index = folder / "shard"
        needed = [file for file in shards[0].files if file.path.startswith(ENCODER_FILES)]
        download(store, needed, index)
        catalog = Catalog(index, write=False)
        try:
            row, encoder = catalog.encoder(), open_encoder(catalog, index)
            statistics = measure_statistics(samples, encoder, pairs, catalog.generation or 1)
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


def _rows_path(job: Job, number: int) -> str:
    return f"builds/{job.key}/rows/{number:06d}.json"


def _counts_path(job: Job, part: int, number: int) -> str:
    return f"builds/{job.key}/counts/{part:06d}/{number:06d}.npz"


def _totals_path(job: Job, part: int) -> str:
    return f"builds/{job.key}/totals/{part:06d}.npz"


def _to_bytes(counts: Frequencies) -> bytes:
    buffer = BytesIO()
    np.savez(buffer, **{field.name: getattr(counts, field.name) for field in fields(counts)})
    return buffer.getvalue()


def _from_bytes(content: bytes) -> Frequencies:
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        return Frequencies(**{field.name: arrays[field.name] for field in fields(Frequencies)})
