"""Any collection → a BEIR folder: `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv` and `exclude.tsv`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from rprs.collection.source import Collection, Report
from rprs.document import Document
from rprs.errors import UsageError
from rprs.progress import Advance, Progress, silent
from rprs.read import Qrels, ignore

__all__ = ["Written", "write_beir"]


@dataclass(frozen=True, slots=True)
class Written:
    """Counts of a conversion, including judgements whose document or query is missing."""

    documents: int
    queries: int
    judgements: int
    excluded: int  # pairs that must not be ranked
    missing: int  # judgements of documents that are not in the collection
    missing_relevant: int  # of these, judgements with a grade above 0
    unasked: int  # judged queries that are not in the collection


def write_beir(
    collection: Collection,
    to: Path,
    *,
    split: str | None = None,
    progress: Progress = silent,
    skipped: Report = ignore,
) -> Written:
    """Write a collection as a BEIR folder, which appears only when it is complete.

    `split` defaults to the split of the collection, or `test`.
    """
    if to.exists():
        raise UsageError(f"{to} already exists: remove it, or write to another folder")
    if not to.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {to.parent} to write {to.name} to")
    qrels, excluded = collection.qrels(), collection.excluded()
    draft = to.absolute().parent / f".{to.name}-{uuid4().hex[:8]}"
    try:
        (draft / "qrels").mkdir(parents=True)
        with progress("writing", unit="documents") as advance:
            documents = _write_records(draft / "corpus.jsonl", collection.documents(skipped), advance)
        with progress("writing", unit="queries") as advance:
            queries = _write_records(draft / "queries.jsonl", collection.queries(skipped), advance)
        name = split or getattr(collection, "split", None) or "test"
        _write_table(draft / "qrels" / f"{name}.tsv", ("query-id", "corpus-id", "score"), _judgements(qrels))
        pairs = _write_table(draft / "exclude.tsv", ("query-id", "corpus-id"), _pairs(queries, excluded))
        draft.rename(to)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    missing = [int(grade) for _, document, grade in _judgements(qrels) if document not in documents]
    return Written(
        documents=len(documents),
        queries=len(queries),
        judgements=sum(map(len, qrels.values())),
        excluded=pairs,
        missing=len(missing),
        missing_relevant=sum(grade > 0 for grade in missing),
        unasked=sum(query not in queries for query in qrels),
    )


def _write_records(path: Path, documents: Iterable[Document], advance: Advance) -> dict[str, None]:
    """Write documents as JSON lines, without the paths they were read from, and return their ids in order."""
    ids: dict[str, None] = {}
    with path.open("w", encoding="utf-8") as stream:
        for document in documents:
            metadata = {key: value for key, value in document.metadata.items() if key != "path"}
            record = {"_id": document.id, "title": document.title, "text": document.text, "metadata": metadata}
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            ids[document.id] = None
            advance(1)
    return ids


def _judgements(qrels: Qrels) -> Iterator[tuple[str, str, str]]:
    return ((query, document, str(grade)) for query, judged in qrels.items() for document, grade in judged.items())


def _pairs(queries: Iterable[str], excluded: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    return ((query, document) for query in queries for document in sorted(excluded.get(query, ())))


def _write_table(path: Path, header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> int:
    """Write a table and return the number of its rows."""
    count = 0
    with path.open("w", encoding="utf-8") as stream:
        stream.write("\t".join(header) + "\n")
        for row in rows:
            stream.write("\t".join(row) + "\n")
            count += 1
    return count
