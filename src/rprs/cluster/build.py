"""Build a generation, or change the last one: parts are read, shards made, then all of it is published at once.

Whatever is interrupted, running the same command again continues: every step that has stored its record is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rprs import spec
from rprs.cluster import tasks
from rprs.cluster.generations import newest, publish
from rprs.cluster.job import Job, Record, Settings, Tasks, in_this_process, parse_record, record_path
from rprs.cluster.manifest import Manifest, ShardEntry
from rprs.cluster.measuring import measure, sample_shard
from rprs.cluster.parts import Part, list_parts, shard_of
from rprs.cluster.store import Store, open_store
from rprs.document import Document, document_id
from rprs.encode import Fittable
from rprs.errors import UsageError
from rprs.files.hashes import digest
from rprs.index.arguments import parse_components, require_count, require_document, require_vector_type, settings_of
from rprs.progress import Progress, as_progress
from rprs.read.source import Skipped
from rprs.scoring.vectors import VectorType

__all__ = ["Built", "add", "build", "remove"]

PART_CHARACTERS = 16_000_000  # of documents that are given as values
Sources = Sequence[str | Path] | Iterable[Document]


@dataclass(frozen=True, slots=True)
class Built:
    """What a change has published, with counts of documents; `generation` is the old one if nothing has changed."""

    manifest: Manifest
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    is_new: bool = True
    notes: tuple[str, ...] = ()

    @property
    def generation(self) -> int:
        """The number of the generation."""
        return self.manifest.generation


def build(
    url: str | Path,
    sources: Sources,
    shards: int,
    *,
    splitter: str | spec.Component | None = None,
    analyzer: str | spec.Component | None = None,
    encoder: str | spec.Component | None = None,
    phrases: bool = True,
    vectors: VectorType = "float16",
    ocr: str = "auto",
    run: Tasks = in_this_process,
    skipped: Callable[[Skipped], None] = lambda _item: None,
    progress: Progress | bool | None = None,
) -> Built:
    """Build a generation from files, folders or documents, and publish it after those that the store has already."""
    count = require_count("shards", shards, 1)
    texts = settings_of(parse_components(splitter, analyzer, encoder), phrases, require_vector_type(vectors))
    settings = Settings(texts["splitter"], texts["analyzer"], texts["encoder"], phrases, vectors)
    store, parts = open_store(url), _parts(sources)
    key = digest(["build", count, asdict(settings), ocr, [_part_key(part) for part in parts]])
    present = newest(store)
    if present is not None and present.source == key:
        return Built(present, unchanged=present.documents, is_new=False)
    work = _Work(store, Job(store.url, key, count, settings, ocr), run, skipped, as_progress(progress))
    read = work.read(parts)
    records = work.step("index", "indexing", tasks.index_shard, [(shard, read[shard]) for shard in range(count)])
    entries = [_shard_of(record) for record in records]
    if not any(entry.documents for entry in entries):
        raise UsageError("The sources contain no document that can be indexed: name files or folders that do")
    if isinstance(work.job.component, Fittable):
        sentences = sum(entry.sentences for entry in entries)
        work.step("fit", "fitting the encoder", tasks.fit, [(sentences,)], numbered=False)
        records = work.step("encode", "encoding", tasks.encode_shard, list(enumerate(entries)))
        entries = [_shard_of(record) for record in records]
    manifest = work.publish(entries, records, present)
    return Built(manifest, added=manifest.documents)


def add(
    url: str | Path,
    sources: Sources,
    *,
    ocr: str = "auto",
    run: Tasks = in_this_process,
    skipped: Callable[[Skipped], None] = lambda _item: None,
    progress: Progress | bool | None = None,
) -> Built:
    """Publish a generation with new and changed documents; shards that do not change are shared with the last one."""
    return _change(open_store(url), _parts(sources), (), ocr, run, skipped, as_progress(progress))


def remove(
    url: str | Path, ids: Iterable[str], *, run: Tasks = in_this_process, progress: Progress | bool | None = None
) -> Built:
    """Publish a generation without some documents."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise UsageError(f"Expected a list of ids. Got {ids!r:.80}")
    texts = [document_id(id) for id in ids]
    return _change(open_store(url), [], texts, "auto", run, lambda _item: None, as_progress(progress))


def _change(
    store: Store,
    parts: list[Part] | list[list[Document]],
    removed: Sequence[str],
    ocr: str,
    run: Tasks,
    skipped: Callable[[Skipped], None],
    progress: Progress,
) -> Built:
    base = newest(store)
    if base is None:
        raise UsageError(f"There is no cluster at {store.url}: build one with `rprs cluster build SOURCE --to URL`")
    settings = Settings(base.splitter, base.analyzer, base.encoder, base.phrases, require_vector_type(base.vectors))
    key = digest(["change", base.source, base.generation, ocr, [_part_key(part) for part in parts], sorted(removed)])
    work = _Work(store, Job(store.url, key, len(base.shards), settings, ocr), run, skipped, progress)
    read = work.read(parts)
    gone: list[list[str]] = [[] for _ in base.shards]
    for id in removed:
        gone[shard_of(id, len(gone))].append(id)
    numbers = [shard for shard in range(len(gone)) if read[shard] or gone[shard]]
    items = [(shard, base.shards[shard], read[shard], gone[shard]) for shard in numbers]
    records = dict(zip(numbers, work.step("change", "changing shards", tasks.change_shard, items), strict=True))
    entries = [_shard_of(records[shard]) if shard in records else base.shards[shard] for shard in range(len(gone))]
    added, changed, unchanged, gone_documents = (
        sum(record.counts[name] for record in records.values()) for name in ("added", "changed", "unchanged", "removed")
    )
    if tuple(entries) == base.shards:
        work.delete()
        return Built(base, added, changed, unchanged, gone_documents, is_new=False)
    manifest = work.publish(entries, [records.get(shard) for shard in range(len(gone))], base)
    return Built(manifest, added, changed, unchanged, gone_documents, notes=_grown(manifest))


def _grown(manifest: Manifest) -> tuple[str, ...]:
    """A note if a collection that began too small for a fit is large enough by now."""
    component: Any = spec.parse("encoder", manifest.encoder)
    fitted = isinstance(component, Fittable)
    if not fitted or manifest.encoder_used == manifest.encoder or manifest.sentences <= component.sample:
        return ()
    return ("The collection is now large enough for a fitted encoder: build it again to use one",)


def _shard_of(record: Record) -> ShardEntry:
    assert record.shard is not None  # the steps that make shards store them
    return record.shard


# ---------------------------------------------------------------------------- sources


def _parts(sources: Any) -> list[Part] | list[list[Document]]:
    """Files in parts to be read by tasks, or documents in parts that are stored by this process."""
    if isinstance(sources, str | Path):
        return list_parts([sources])
    if not isinstance(sources, Iterable):
        raise UsageError(f"Expected files, folders or documents. Got {sources!r:.80}")
    items = list(sources)
    if not any(isinstance(item, Document) for item in items):
        return list_parts(items)
    parts: list[list[Document]] = [[]]
    filled = 0
    for item in items:
        parts[-1].append(require_document(item))
        filled += len(item.text)
        if filled >= PART_CHARACTERS:
            parts.append([])
            filled = 0
    return parts


def _part_key(part: Part | list[Document]) -> Any:
    if isinstance(part, Part):
        return part.key()
    return digest([[one.id, one.title, one.content_hash, str(dict(one.metadata))] for one in part])


# ---------------------------------------------------------------------------- steps


class _Work:
    """One build: runs the steps that have no record yet, and publishes what they made."""

    def __init__(
        self, store: Store, job: Job, run: Tasks, skipped: Callable[[Skipped], None], progress: Progress
    ) -> None:
        self.store, self.job, self.run, self.skipped, self.progress = store, job, run, skipped, progress
        self._done = {each.path for each in store.list(f"builds/{job.key}")}

    def step(
        self,
        name: str,
        what: str,
        function: Callable[..., Record],
        items: Sequence[tuple[Any, ...]],
        *,
        numbered: bool = True,
        unit: str = "shards",
    ) -> list[Record]:
        """The records of all items, whose first value is the number of the record."""
        numbers = [item[0] if numbered else 0 for item in items]
        paths = [record_path(self.job, name, number) for number in numbers]
        records: dict[int, Record] = {
            place: parse_record(self.store.read(path)) for place, path in enumerate(paths) if path in self._done
        }
        missing = [place for place in range(len(items)) if place not in records]
        with self.progress(what, len(items), unit) as advance:
            advance(len(records))
            for place, record in self.run(function, [(self.job, *items[place]) for place in missing]):
                records[missing[place]] = record
                advance(1)
        for place in range(len(items)):
            for path, reason, partly in records[place].skipped:
                self.skipped(Skipped(path, reason, partly))
        return [records[place] for place in range(len(items))]

    def read(self, parts: list[Part] | list[list[Document]]) -> list[list[int]]:
        """Read all parts; for each shard, the parts that have documents for it."""
        if parts and isinstance(parts[0], list):
            records = [self._store_values(number, part) for number, part in enumerate(parts)]
        else:
            records = self.step(tasks.READ, "reading", tasks.read_part, list(enumerate(parts)), unit="parts")
        by_shard: list[list[int]] = [[] for _ in range(self.job.shards)]
        for number, record in enumerate(records):
            for shard in record.counts:
                by_shard[int(shard)].append(number)
        return by_shard

    def _store_values(self, number: int, documents: list[Document]) -> Record:
        path = record_path(self.job, tasks.READ, number)
        if path in self._done:
            return parse_record(self.store.read(path))
        by_shard: dict[int, list[Document]] = {}
        for document in documents:
            by_shard.setdefault(shard_of(document.id, self.job.shards), []).append(document)
        return tasks.store_part(self.job, number, by_shard)

    def ranges(self, entries: Sequence[ShardEntry], records: Sequence[Record | None]) -> list[int]:
        """The ranges in which the counts of each shard are stored; those not made or changed by this build follow."""
        ranges = [0 if record is None else record.counts.get("ranges", 0) for record in records]
        missing = [(number, entries[number]) for number, own in enumerate(ranges) if not own]
        if missing:
            sampled = self.step("sample", "sampling", sample_shard, missing)
            for (number, _), record in zip(missing, sampled, strict=True):
                ranges[number] = record.counts["ranges"]
        return ranges

    def publish(
        self, entries: Sequence[ShardEntry], records: Sequence[Record | None], base: Manifest | None
    ) -> Manifest:
        """Measure all shards together, and publish them as the next generation; `records` made some of them."""
        settings = self.job.settings
        manifest = Manifest(
            generation=1 if base is None else base.generation + 1,
            source=self.job.key,
            splitter=settings.splitter,
            analyzer=settings.analyzer,
            encoder=settings.encoder,
            phrases=settings.phrases,
            vectors=settings.vectors,
            encoder_used="",
            fingerprint="",
            shards=tuple(entries),
        )
        measured = measure(self.job, manifest, self.ranges(entries, records), self.run, self.progress)
        publish(self.store, measured)
        self.delete()
        return measured

    def delete(self) -> None:
        """Delete what the steps have stored for one another."""
        self.store.delete([each.path for each in self.store.list(f"builds/{self.job.key}")])
