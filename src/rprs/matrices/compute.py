"""All documents of a collection, or a set of queries, against an index: in several processes, and resumable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, Unpack

from rprs import __version__
from rprs.document import Document
from rprs.errors import EmptyQuery, UsageError
from rprs.files.cache import Cache, as_cache
from rprs.files.journal import open_journal
from rprs.index import Index
from rprs.matrices.compare import Comparison, Settings
from rprs.matrices.values import Match, Matrix
from rprs.matrices.workers import Task, compare_in_processes
from rprs.progress import Progress, as_progress
from rprs.rank import System
from rprs.rank.date_limit import Undated, as_date_limit
from rprs.rank.identity import identity
from rprs.rank.system import SystemOptions
from rprs.read.inputs import Queries, read_query_set
from rprs.search import Searcher

__all__ = ["matrix"]

Entries = dict[str, dict[str, Any]]


def matrix(
    index: Index | str | Path,
    queries: Queries | None = None,
    system: System | str | None = None,
    *,
    k: int = 10,
    where: str | None = None,
    before: str | date | None = None,
    undated: Undated = "keep",
    evidence: bool = False,
    strict: bool = False,
    jobs: int = 1,
    cache: Cache | str | Path | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[SystemOptions],
) -> Matrix:
    """The k best matches of every document of an index within it, or of each of some queries: who matches whom?

    `queries` are documents, texts by id, a folder or a file, as in `Searcher.run`; without them, all documents of the
    index that `where` selects are compared with each other. A document is never its own match, but a copy of it under
    another id is. `evidence=True` adds shares and the most telling pair of each match, which takes longer. `jobs` is
    the number of processes; a script that uses more than one must start below `if __name__ == "__main__":`. With a
    `cache`, an interrupted computation resumes. A query that cannot be answered is listed in `failures`, or, with
    `strict`, raises its error.
    """
    settings = Settings(_count("k", k), where, None if before is None else str(before), undated, evidence)
    with ExitStack() as stack:
        opened = index if isinstance(index, Index) else stack.enter_context(Index(index))
        searcher = Searcher(opened, system, progress=False, **options)
        searcher.system.load(as_progress(progress))
        selected = opened.select(where)
        if limit := as_date_limit(before, undated):
            limit.dates(opened)
        failures: dict[str, str] = {}
        if queries is None:
            documents: Sequence[Document | str] = [
                id for id, chosen in zip(opened.ids, selected.tolist(), strict=True) if chosen
            ]
        else:
            documents = list(
                read_query_set(queries, strict=strict, skipped=lambda item: failures.update({item.path: item.reason}))
            )
        if not documents and not failures:
            raise UsageError("There is nothing to compare: no document passes the filter, or the queries are empty")
        work = _Work(searcher, settings, _count("jobs", jobs), as_progress(progress))
        entries = work.run(documents, as_cache(cache))
        about = _about(opened, searcher.system, settings)
    return _matrix([_name(query) for query in documents], entries, failures, strict, queries is None, about, evidence)


class _Work:
    """How documents are compared: in this process or in others, with a journal or without."""

    def __init__(self, searcher: Searcher, settings: Settings, jobs: int, progress: Progress) -> None:
        self.searcher, self.index, self.settings = searcher, searcher.index, settings
        self.jobs, self.progress = jobs, progress
        if jobs > 1 and not (self.index.path / "catalog.sqlite").exists():
            raise UsageError("An index in memory cannot be shared with other processes: use jobs=1")

    def run(self, queries: Sequence[Document | str], cache: Cache | None) -> Entries:
        """The entry of each query by its id."""
        inputs = None if cache is None else self._inputs(queries, cache)
        if cache is None or inputs is None:
            return dict(self._shown(queries, 0))
        entries: Entries = {}

        def produce(folder: Path) -> None:
            folder.mkdir(exist_ok=True)
            with open_journal(folder / "entries.jsonl") as journal:
                left = [query for query in queries if _name(query) not in journal.entries]
                for name, entry in self._shown(left, len(queries) - len(left)):
                    journal.add(name, entry)
                entries.update(journal.entries)

        step = cache.grow("matrix", inputs, produce)
        if not entries:  # it was complete
            with open_journal(step.path / "entries.jsonl") as journal:
                entries.update(journal.entries)
        return entries

    def _inputs(self, queries: Sequence[Document | str], cache: Cache) -> dict[str, Any] | None:
        """Everything that the entries depend on; None where nothing can be cached."""
        system = self.searcher.system
        stages = [identity(system.first, cache), identity(system.rerank, cache)]
        if None in stages:
            return None
        names = [query if isinstance(query, str) else [query.id, query.content_hash] for query in queries]
        return {
            "index": self.index.fingerprint,
            "stages": stages,
            "depth": system.depth,
            "cutoff": str(system.cutoff),
            "settings": asdict(self.settings),
            "queries": hashlib.sha256(json.dumps(names).encode()).hexdigest(),
        }

    def _shown(self, queries: Sequence[Document | str], done: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """The entries as they are finished, with their progress."""
        with self.progress("comparing", len(queries) + done, "documents") as advance:
            advance(done)
            for named in self._entries(queries):
                yield named
                advance(1)

    def _entries(self, queries: Sequence[Document | str]) -> Iterable[tuple[str, dict[str, Any]]]:
        if self.jobs == 1 or len(queries) < 2:
            comparison = Comparison(self.searcher, self.settings)
            return ((_name(query), comparison.entry(query)) for query in queries)
        task = Task(self.index.path, self.index.fingerprint, self.searcher.system, self.settings)
        return compare_in_processes(task, queries, min(self.jobs, len(queries)))


def _name(query: Document | str) -> str:
    return query if isinstance(query, str) else query.id


def _about(index: Index, system: System, settings: Settings) -> dict[str, str | int]:
    values = {
        "version": __version__,
        "index": index.path.resolve().name,
        "fingerprint": index.fingerprint,
        "documents": len(index),
        "first": str(system.first),
        "rerank": None if system.rerank is None else str(system.rerank),
        "depth": system.depth,
        "cutoff": None if system.cutoff is None else str(system.cutoff),
        **asdict(settings),
        "undated": settings.undated if settings.before else None,
    }
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in values.items()
        if value is not None
    }


def _matrix(
    names: Sequence[str],
    entries: Entries,
    failures: dict[str, str],
    strict: bool,
    within: bool,
    about: dict[str, str | int],
    evidence: bool,
) -> Matrix:
    failed = {name: str(entries[name]["failure"]) for name in names if "failure" in entries[name]}
    if failed and strict:
        raise EmptyQuery(next(iter(failed.values())))
    answered = tuple(name for name in names if name not in failed)
    all_failures = {**failures, **failed}
    if not answered:
        reason = next(iter(all_failures.values()))
        raise UsageError(f"None of the {len(all_failures):,} documents could be compared: {reason}")
    matches = tuple(Match(**values) for name in answered for values in entries[name]["matches"])
    return Matrix(matches, answered, within, about, all_failures, evidence)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} must be an integer in [1, inf). Got {value!r} instead.")
    return value
