"""The steps of a build that run on any node: each reads what earlier ones have stored, and stores a record at its end.

A step depends on its arguments and on the store alone, and gives the same bytes wherever it runs. A step that was
interrupted is run again from its beginning; one whose record is there is not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from rprs import spec
from rprs.cluster.contributions import contribute
from rprs.cluster.job import Job, Record, store_record
from rprs.cluster.manifest import FileEntry, ShardEntry, parse_files
from rprs.cluster.parts import Part, documents_of, lines_of, shard_of, source_files
from rprs.cluster.store import Store, open_store
from rprs.cluster.transfer import (
    AT_ONCE,
    describe_index,
    download,
    file_entry,
    keep_copy,
    scratch,
    store_files,
    take_copy,
)
from rprs.document import Document
from rprs.encode import Fittable, FittedEncoder
from rprs.encode.fitted import Table
from rprs.files.atomic import unsynced
from rprs.index import Writer
from rprs.index.batches import batches
from rprs.index.encoders import LoadedEncoder, load_encoder
from rprs.index.sample import choose_sentences
from rprs.progress import silent
from rprs.read.bounded import reads_in_processes, use_processes
from rprs.read.files import read_contents
from rprs.read.ocr import use_ocr
from rprs.read.source import USUAL, Skipped

__all__ = [
    "READ",
    "change_shard",
    "encode_shard",
    "fit",
    "index_shard",
    "read_part",
    "shard_name",
    "store_part",
]


READ = "lines"  # the step that reads; an unfinished build of an earlier version has compressed documents under `read`

# ---------------------------------------------------------------------------- reading


def read_part(job: Job, number: int, part: Part) -> Record:
    """Read the files of a part, and store their documents by shard."""
    skipped: list[tuple[str, str, bool]] = []
    by_shard: dict[int, list[Document]] = {}
    with use_ocr(job.ocr), nullcontext() if reads_in_processes() else use_processes(1):
        for _, items in read_contents.get()(source_files(part), USUAL):
            for item in items:
                if isinstance(item, Skipped):
                    skipped.append((item.path, item.reason, item.partly))
                else:
                    by_shard.setdefault(shard_of(item.id, job.shards), []).append(item)
    return store_part(job, number, by_shard, skipped)


def store_part(
    job: Job, number: int, by_shard: dict[int, list[Document]], skipped: Sequence[tuple[str, str, bool]] = ()
) -> Record:
    """Store the documents of a part by shard."""
    store = open_store(job.url)
    with ThreadPoolExecutor(AT_ONCE) as pool:  # the disk syncs several files in the time of one
        written = [
            pool.submit(store.write, _documents_path(job, number, shard), lines_of(documents))
            for shard, documents in sorted(by_shard.items())
        ]
    for each in written:
        each.result()
    counts = {str(shard): len(documents) for shard, documents in sorted(by_shard.items())}
    return store_record(store, job, READ, number, Record(counts, tuple(skipped)))


def _documents_path(job: Job, part: int, shard: int) -> str:
    return f"builds/{job.key}/documents/{shard:06d}/{part:06d}.jsonl"


class _Documents:
    """The documents of a shard, in the order of the parts; of those with the same id, the first."""

    def __init__(self, store: Store, job: Job, shard: int, parts: Sequence[int]) -> None:
        self._store, self._paths = store, [_documents_path(job, part, shard) for part in parts]
        self.skipped: list[tuple[str, str, bool]] = []

    def __iter__(self) -> Iterator[Document]:
        places: dict[str, str] = {}
        for path in self._paths:
            for document in documents_of(self._store.read(path)):
                place = str(document.metadata.get("path", ""))
                if document.id in places:
                    reason = f"the id {document.id!r} is already used by a document of {places[document.id]}"
                    self.skipped.append((place, reason, False))
                else:
                    places[document.id] = place
                    yield document


# ---------------------------------------------------------------------------- shards


def index_shard(job: Job, shard: int, parts: Sequence[int]) -> Record:
    """Make a shard of the documents of all parts: complete, or without vectors if the encoder is yet to be fitted."""
    store, component = open_store(job.url), job.component
    documents = _Documents(store, job, shard, parts)
    waits = isinstance(component, Fittable)
    with scratch() as folder:
        index = folder / "shard.rprs"
        with unsynced(), _new_writer(job, index) as writer:
            if waits:
                for batch in batches(documents, writer.catalog, writer.batch, Counter()):
                    writer.commit(batch)
                sample = writer.sample(cast("Any", component).sample)
            else:
                writer.adopt(_loaded(component))
                writer.add(documents)
        if waits:
            store.write(_sample_path(job, shard), json.dumps(sample).encode())
        entry, counts = _finish(job, store, shard, index, contributes=not waits)
    record = Record(counts, tuple(documents.skipped), entry)
    return store_record(store, job, "index", shard, record)


def encode_shard(job: Job, shard: int, entry: ShardEntry) -> Record:
    """Encode the sentences of a shard with the encoder that was fitted to all shards."""
    store = open_store(job.url)
    with scratch() as folder:
        index = folder / "shard.rprs"
        take_copy(store, entry, index)
        with unsynced(), Writer(index, measured=False) as writer:
            writer.adopt(_fitted(store, job, folder))
            writer.finish()
        finished, counts = _finish(job, store, shard, index, entry)
    return store_record(store, job, "encode", shard, Record(counts, (), finished))


def change_shard(job: Job, shard: int, entry: ShardEntry, parts: Sequence[int], removed: Sequence[str]) -> Record:
    """Add documents to a shard of an earlier generation, and remove some."""
    store = open_store(job.url)
    documents = _Documents(store, job, shard, parts)
    with scratch() as folder:
        index = folder / "shard.rprs"
        download(store, entry.files, index)
        with unsynced(), Writer(index, measured=False) as writer:
            counts = {"removed": writer.remove(removed) if removed else 0}
            added = writer.add(documents)
            counts |= {"added": added.added, "changed": added.changed, "unchanged": added.unchanged}
        new = entry
        if any(counts[name] for name in ("removed", "added", "changed")):
            new, measured = _finish(job, store, shard, index, entry)
            counts |= measured
    return store_record(store, job, "change", shard, Record(counts, tuple(documents.skipped), new))


def _finish(
    job: Job, store: Store, shard: int, index: Path, before: ShardEntry | None = None, *, contributes: bool = True
) -> tuple[ShardEntry, dict[str, int]]:
    """Store a closed index, but for the files that it had `before`, and keep it as the local copy of this node.

    While the disk or the network is busy, it is measured.
    """
    entry = describe_index(index, shard_name(shard))
    stored = () if before is None else {file.sha256 for file in before.files}
    counts = {"documents": entry.documents, "sentences": entry.sentences}
    with ThreadPoolExecutor(1) as pool:
        storing = pool.submit(store_files, store, index, entry.files, stored)
        if contributes:
            counts |= contribute(job, store, shard, index)
        storing.result()
    keep_copy(store, entry, index)
    return entry, counts


def shard_name(number: int) -> str:
    """The name of a shard."""
    return f"{number:05d}"


def _new_writer(job: Job, index: Path) -> Writer:
    settings = job.settings
    return Writer(
        index,
        create=True,
        splitter=settings.splitter,
        analyzer=settings.analyzer,
        encoder=settings.encoder,
        phrases=settings.phrases,
        vectors=settings.vectors,
        measured=False,
    )


# ---------------------------------------------------------------------------- the encoder

_LOADED: dict[str, LoadedEncoder] = {}  # at most one: a node encodes many shards with the same


def _loaded(component: Any) -> LoadedEncoder:
    """An encoder that needs no fit, loaded once in each process."""
    key = spec.text(component, full=True)
    if key not in _LOADED:
        _LOADED.clear()
        _LOADED[key] = load_encoder(component, silent)
    return _LOADED[key]


def _sample_path(job: Job, shard: int) -> str:
    return f"builds/{job.key}/samples/{shard:06d}.json"


def _read_sample(store: Store, job: Job, shard: int) -> list[tuple[int, str]]:
    return [(key, sentence) for key, sentence in json.loads(store.read(_sample_path(job, shard)))]


def fit(job: Job, sentences: int) -> Record:
    """Fit the encoder to the samples of all shards, as one index of all `sentences` would; it is stored like a shard.

    A collection that is no larger than the sample uses the teacher, which has no files.
    """
    store, component = open_store(job.url), job.component
    files: tuple[FileEntry, ...] = ()
    used = component.teacher
    if sentences > component.sample:
        used = component
        samples = [_read_sample(store, job, shard) for shard in range(job.shards)]
        table: FittedEncoder = component.fit(choose_sentences(samples, component.sample), silent)
        if isinstance(table, Table):  # by the clock, each fit would have other bytes
            table = replace(table, report={name: value for name, value in table.report.items() if name != "seconds"})
        with scratch() as folder:
            table.save(folder)
            files = tuple(file_entry(folder, place.name) for place in sorted(folder.iterdir()))
            store_files(store, folder, files)
    content = {"encoder": spec.text(used, full=True), "files": [asdict(file) for file in files]}
    store.write(_encoder_path(job), json.dumps(content).encode())
    return store_record(store, job, "fit", 0, Record({"sentences": sentences}))


def _encoder_path(job: Job) -> str:
    return f"builds/{job.key}/encoder.json"


def _fitted(store: Store, job: Job, folder: Path) -> LoadedEncoder:
    """The encoder that `fit` has stored."""
    table = json.loads(store.read(_encoder_path(job)))
    component = cast("Any", spec.parse("encoder", table["encoder"]))
    if not isinstance(component, Fittable):
        return _loaded(component)
    place = folder / "encoder"
    download(store, parse_files(table["files"]), place)
    encoder: Any = component.open(place)
    return LoadedEncoder(encoder, component, encoder.report)
