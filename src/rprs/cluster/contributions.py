"""What a shard contributes to the measurement of its generation, stored when the shard is made or changed.

Its counts are stored in ranges of hashes (`rprs.index.frequencies`), as many as shards of its size need together. These
are powers of two, so that the ranges of a larger shard are within those of a smaller one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.cluster.job import Job
from rprs.cluster.statistics import RANGE, Sample, sample_of
from rprs.cluster.store import Store
from rprs.index import Index
from rprs.index.frequencies import Frequencies, frequencies, narrowed
from rprs.index.phrases import streams

__all__ = ["contribute", "read_counts", "read_sample", "read_totals", "write_totals"]


def contribute(job: Job, store: Store, number: int, path: Path) -> dict[str, int]:
    """Store the sample of a shard and how many documents have each term and phrase; in how many `ranges`."""
    with Index(path) as index:
        with index._lock:
            rows = index._content_rows()
        store.write(_sample_path(job, number), _sample_bytes(sample_of(index), rows))
        size = sum(len(stream.data) for stream in streams(index.segments)) * job.shards
        ranges = 1 << (size // RANGE).bit_length()
        if job.settings.phrases:
            for part in range(ranges):
                store.write(_counts_path(job, number, part), _to_bytes(frequencies(index, part, ranges)))
    return {"ranges": ranges}


# ---------------------------------------------------------------------------- samples


def read_sample(job: Job, store: Store, number: int) -> tuple[Sample, list[tuple[str, str]]]:
    """The sample of a shard; the ids of its documents with the hashes of their texts, in the order of the ids."""
    with np.load(BytesIO(store.read(_sample_path(job, number))), allow_pickle=False) as arrays:
        table = json.loads(arrays["values"].tobytes())
        vectors = np.split(arrays["vectors"], arrays["stops"])[:-1]
    rows = [(id, content) for id, content in table.pop("rows")]
    table["calibration"] = dict(zip(table.pop("hashes"), vectors, strict=True))
    table["language"] = [(key, sentence) for key, sentence in table["language"]]
    table["settings"] = tuple(table["settings"])
    return Sample(**table), rows


def _sample_bytes(sample: Sample, rows: Sequence[tuple[str, str]]) -> bytes:
    vectors: Mapping[str, NDArray[Any]] = sample.calibration
    table = asdict(replace(sample, calibration={})) | {"rows": rows, "hashes": list(vectors)}
    del table["calibration"]
    buffer = BytesIO()
    np.savez(
        buffer,
        values=np.frombuffer(json.dumps(table).encode("ascii"), dtype=np.uint8),
        vectors=np.concatenate(list(vectors.values())) if vectors else np.empty(0),
        stops=np.cumsum([len(each) for each in vectors.values()], dtype=np.int64),
    )
    return buffer.getvalue()


def _sample_path(job: Job, number: int) -> str:
    return f"builds/{job.key}/measured/{number:06d}.npz"


# ---------------------------------------------------------------------------- counts


def read_counts(job: Job, store: Store, number: int, ranges: int, part: int, parts: int) -> Frequencies:
    """The counts of a shard that were stored in so many ranges, for one of some equal parts of all hashes."""
    counts = _from_bytes(store.read(_counts_path(job, number, part * ranges // parts)))
    return counts if ranges == parts else narrowed(counts, part, parts)


def read_totals(job: Job, store: Store, part: int) -> Frequencies:
    """The counts of all shards for one part of all hashes."""
    return _from_bytes(store.read(_totals_path(job, part)))


def write_totals(job: Job, store: Store, part: int, counts: Frequencies) -> None:
    """Store them."""
    store.write(_totals_path(job, part), _to_bytes(counts))


def _counts_path(job: Job, number: int, part: int) -> str:
    return f"builds/{job.key}/counted/{number:06d}/{part:06d}.npz"


def _totals_path(job: Job, part: int) -> str:
    return f"builds/{job.key}/totals/{part:06d}.npz"


def _to_bytes(counts: Frequencies) -> bytes:
    buffer = BytesIO()
    np.savez(buffer, **{field.name: getattr(counts, field.name) for field in fields(counts)})
    return buffer.getvalue()


def _from_bytes(content: bytes) -> Frequencies:
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        return Frequencies(**{field.name: arrays[field.name] for field in fields(Frequencies)})
