"""Is every byte of an index what was written, and does it all fit together?"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rprs.document import Document
from rprs.errors import IndexCorrupt
from rprs.index.catalog import Catalog, SegmentRow
from rprs.index.segment import Segment
from rprs.progress import Progress, silent

__all__ = ["verify"]


def verify(path: str | Path, progress: Progress = silent) -> list[str]:
    """Everything that is wrong with an index, a line each; nothing if it is whole."""
    root = Path(path)
    try:
        catalog = Catalog(root, write=False)
    except IndexCorrupt as error:
        return [str(error)]
    try:
        return [*_database(catalog), *_files(catalog, root, progress), *_contents(catalog, root, progress)]
    finally:
        catalog.close()


def _database(catalog: Catalog) -> Iterator[str]:
    for (line,) in catalog.rows("PRAGMA integrity_check"):
        if line != "ok":
            yield f"catalog.sqlite: {line}"


def _files(catalog: Catalog, root: Path, progress: Progress) -> Iterator[str]:
    files = catalog.files()
    with progress("checking files", sum(file.bytes for file in files), "bytes") as advance:
        for file in files:
            target = root / file.path
            if not target.is_file():
                yield f"{file.path} is missing"
            elif target.stat().st_size != file.bytes:
                yield f"{file.path} has {target.stat().st_size} bytes instead of {file.bytes}"
            else:
                with target.open("rb") as stream:
                    if hashlib.file_digest(stream, "sha256").hexdigest() != file.sha256:
                        yield f"{file.path} has changed: its checksum differs"
            advance(file.bytes)


def _contents(catalog: Catalog, root: Path, progress: Progress) -> Iterator[str]:
    rows = catalog.segments()
    with progress("checking documents", sum(row.documents for row in rows), "documents") as advance:
        for row in rows:
            try:
                segment = Segment(root, row.number, row.generation)
            except (IndexCorrupt, FileNotFoundError) as error:
                yield f"segment {row.number} cannot be opened: {error}"
                continue
            yield from (f"segment {row.number}: {problem}" for problem in _segment(segment, row))
            query = (
                "SELECT id, ordinal, content_hash, text, sentences FROM documents LEFT JOIN texts ON document = number "
                "WHERE segment = ? AND removed = 0"
            )
            for id, ordinal, content_hash, text, sentences in catalog.connection.execute(query, (row.number,)):
                if text is None or Document(id, text).content_hash != content_hash:
                    yield f"the text of {id!r} has changed"
                elif ordinal >= len(segment.lengths) or sentences != len(segment.sentences(ordinal)):
                    yield f"the sentences of {id!r} are not those of its segment"
                advance(1)


def _segment(segment: Segment, row: SegmentRow) -> Iterator[str]:
    """What must hold between the arrays of a segment."""
    sentences = int(segment.sentence_offsets[-1])
    postings = int(segment.posting_offsets[-1])
    checks = {
        "the number of documents": len(segment.lengths) == row.documents == len(segment.sentence_offsets) - 1,
        "the number of sentences": sentences == row.sentences == len(segment.spans) == len(segment.paragraphs),
        "the number of terms": len(segment.term_hash) == len(segment.posting_offsets) - 1,
        "the number of postings": postings == len(segment.posting_documents) == len(segment.posting_counts),
        "the order of its terms": bool(np.all(segment.term_hash[1:] >= segment.term_hash[:-1])),
        "the number of vectors": segment.vectors is None or len(segment.vectors) == sentences,
    }
    yield from (f"{what} does not fit" for what, holds in checks.items() if not holds)
