"""What depends on all documents of a generation: measured on all shards together, and published with it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from rprs.cluster.manifest import Manifest
from rprs.cluster.statistics import Statistics
from rprs.cluster.store import Store
from rprs.cluster.tasks import Tasks
from rprs.cluster.transfer import file_entry, local_copy, scratch, store_files
from rprs.index import Index
from rprs.index.phrases import squared_norms
from rprs.index.union import UnionIndex
from rprs.progress import Progress

__all__ = ["STATISTICS", "measure", "norms_path"]

STATISTICS = "statistics.json"


def norms_path(shard: str) -> str:
    """The norms of the documents of a shard, among the files of the statistics."""
    return f"norms/{shard}.npy"


def measure(store: Store, manifest: Manifest, run: Tasks, progress: Progress) -> Manifest:
    """The manifest with the statistics of all its documents, whose files are in the store."""
    with ExitStack() as opened, scratch() as folder:
        copies = [local_copy(store, shard) for shard in manifest.shards]
        for copy in copies:
            opened.callback(copy.close)
        parts = [opened.enter_context(Index(copy.path)) for copy in copies]
        union = UnionIndex(parts)
        (folder / "norms").mkdir()
        paths = [STATISTICS]
        if manifest.phrases:
            with progress("weighing phrases", unit="postings") as advance:
                squares = squared_norms(union.segments, union.numbers, len(union), advance)
            for place, shard in enumerate(manifest.shards):
                own = np.flatnonzero(union._owner == place)
                rows = np.zeros((len(own), squares.shape[1]))
                rows[union._local[own]] = squares[own]
                np.save(folder / norms_path(shard.name), rows)
                paths.append(norms_path(shard.name))
        statistics = Statistics(
            manifest.documents,
            manifest.words,
            manifest.sentences,
            union.fingerprint,
            union.calibration,
            union._language,
        )
        (folder / STATISTICS).write_text(json.dumps(statistics.object()))
        files = tuple(file_entry(folder, path) for path in sorted(paths))
        store_files(store, folder, files)
        row = parts[0].catalog.encoder()
    used, fingerprint = ("", "") if row is None else (row.spec, row.fingerprint)
    return replace(manifest, statistics=files, encoder_used=used, fingerprint=fingerprint)
