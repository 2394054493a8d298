"""Is every byte of an index what was written, and does it all fit together?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rprs.document import Document
from rprs.errors import IndexCorrupt
from rprs.files.hashes import sha256
from rprs.index.catalog import Catalog, SegmentRow, label
from rprs.index.segment import NAMES, Segment, folder, vectors_path
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
        catalog.connection.execute("BEGIN")  # one state, whoever writes meanwhile
        broken = list(_told(_database(catalog)))
        if broken:  # what it says of the files is worth nothing then
            return broken
        parts = (_segments(catalog), _files(catalog, root, progress), _contents(catalog, root, progress))
        return [line for part in parts for line in _told(part)]
    finally:
        catalog.close()


def _told(problems: Iterator[str]) -> Iterator[str]:
    """The problems, up to one that keeps from looking further."""
    try:
        yield from problems
    except IndexCorrupt as error:
        yield str(error)


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
            elif sha256(target) != file.sha256:
                yield f"{file.path} has changed: its checksum differs"
            advance(file.bytes)


def _segments(catalog: Catalog) -> Iterator[str]:
    """Every segment has its files, every file its segment, and every document is in one."""
    rows = catalog.segments()
    arrays = {f"{folder(row.number)}/{name}.npy" for row in rows for name in NAMES}
    vectors = {vectors_path(row.number, row.generation) for row in rows if row.generation is not None}
    named = {file.path for file in catalog.files() if file.path.startswith("segments/")}
    yield from (f"catalog.sqlite: {path} and its segment do not fit" for path in sorted((arrays | vectors) ^ named))
    for (id,) in catalog.rows("SELECT id FROM documents WHERE segment NOT IN (SELECT number FROM segments)"):
        yield f"catalog.sqlite: {id!r} is in no segment"


def _contents(catalog: Catalog, root: Path, progress: Progress) -> Iterator[str]:
    rows = catalog.segments()
    with progress("checking documents", sum(row.documents for row in rows), "documents") as advance:
        for row in rows:
            try:
                segment = Segment(root, row.number, row.generation)
            except (IndexCorrupt, FileNotFoundError) as error:
                yield f"segment {row.number} cannot be opened: {error}"
                continue
            yield from (f"segment {row.number}: {problem}" for problem in _segment(catalog, segment, row))
            query = (
                "SELECT id, title, metadata, label, ordinal, content_hash, text, tokens, sentences FROM documents "
                "LEFT JOIN texts ON document = number WHERE segment = ? AND removed = 0"
            )
            for id, title, metadata, checksum, ordinal, content_hash, text, *sizes in catalog.stream(query, row.number):
                if label(id, title, metadata) != checksum:
                    yield f"catalog.sqlite: the title or the metadata of {id!r} have changed"
                if text is None or Document(id, text).content_hash != content_hash:
                    yield f"catalog.sqlite: the text of {id!r} has changed"
                if ordinal >= len(segment.lengths) or sizes != _sizes(segment, ordinal):
                    yield f"catalog.sqlite: the size of {id!r} is not that in its segment"
                advance(1)


def _sizes(segment: Segment, ordinal: int) -> list[int]:
    return [int(segment.lengths[ordinal]), len(segment.sentences(ordinal))]


def _segment(catalog: Catalog, segment: Segment, row: SegmentRow) -> Iterator[str]:
    """What must hold between the arrays of a segment and its line in the catalog, beyond what opening it checks."""
    listed = catalog.one("SELECT count(*) FROM documents WHERE segment = ?", row.number)
    checks = {
        "the number of documents": len(segment.lengths) == row.documents == listed,
        "the number of sentences": len(segment.spans) == row.sentences,
        "the number of words": int(segment.lengths.sum()) == row.tokens,
        "the encoder of its vectors": row.generation in (None, catalog.generation),
        "the order of its terms": bool(np.all(segment.term_hash[1:] >= segment.term_hash[:-1])),
    }
    yield from (f"{what} does not fit" for what, holds in checks.items() if not holds)
