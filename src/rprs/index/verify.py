"""Check that every byte of an index is as it was written, and that its parts fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from rprs.errors import IndexCorrupt, InvalidIndex
from rprs.files.mapping import map_file
from rprs.index.arguments import index_path
from rprs.index.blocks import block_sums
from rprs.index.catalog import Catalog
from rprs.index.damage import damaged_files, document_damage
from rprs.index.files import File
from rprs.index.leftovers import leftovers
from rprs.index.rows import SegmentRow, StoredDocument
from rprs.index.segment import NAMES, NEWER_NAMES, PHRASE_NAMES, Segment, folder, hashes_path, vectors_path
from rprs.index.sentence_hashes import sentence_hashes
from rprs.progress import Progress, as_progress
from rprs.scoring.phrases import in_order

__all__ = ["verify"]

ATTEMPTS = 20  # states of an index that is changed all the time


def verify(path: str | Path, progress: Progress | bool | None = None) -> list[str]:
    """Every problem of an index, one line each; an empty list if there is none.

    Others may write meanwhile: what they have deleted is no problem, so that the new state is verified then.
    """
    root, progress = index_path(path), as_progress(progress)
    for _ in range(ATTEMPTS):
        commit, problems = _verify_state(root, progress)
        if not problems or commit == _last_commit(root):
            break
    return problems


def _verify_state(root: Path, progress: Progress) -> tuple[int | None, list[str]]:
    """The number of the last commit, or None if it cannot be read, and every problem of that state."""
    try:
        catalog = Catalog(root, write=False)
    except IndexCorrupt as error:
        return None, [str(error)]
    try:
        recorded = catalog.recorded
        catalog.begin_snapshot()
        damage = list(_until_unreadable(_database(catalog)))
        if damage:  # then nothing else in the catalog can be trusted
            return _commit(catalog), damage
        checks = (
            _history(catalog, root, recorded),
            _segments(catalog),
            _listing(catalog),
            _files(catalog, root, progress),
            _contents(catalog, root, progress),
        )
        return _commit(catalog), [line for check in checks for line in _until_unreadable(check)]
    finally:
        catalog.close()


def _last_commit(root: Path) -> int | None:
    try:
        catalog = Catalog(root, write=False)
    except InvalidIndex:
        return None
    try:
        return _commit(catalog)
    finally:
        catalog.close()


def _commit(catalog: Catalog) -> int | None:
    try:
        return catalog.commit
    except IndexCorrupt:
        return None


def _until_unreadable(problems: Iterator[str]) -> Iterator[str]:
    """The problems, up to damage that prevents further checks."""
    try:
        yield from problems
    except IndexCorrupt as error:
        yield str(error)
    except FileNotFoundError as error:
        yield f"{error.filename} is missing"


def _database(catalog: Catalog) -> Iterator[str]:
    yield from (f"catalog.sqlite: {line}" for line in catalog.integrity_problems())


def _files(catalog: Catalog, root: Path, progress: Progress) -> Iterator[str]:
    files, damaged = catalog.files(), set[str]()
    for damage in damaged_files(root, files, progress):
        damaged.add(damage.path)
        yield f"{damage.path} {damage.problem}"
    stored = catalog.block_sums()
    if stored is None:
        return
    yield from (f"catalog.sqlite: the checksums of {path} belong to no file" for path in stored.keys() - _paths(files))
    for file in files:
        if file.path not in damaged and block_sums(map_file(root / file.path)) != stored.get(file.path):
            yield f"catalog.sqlite: the checksums of {file.path} have changed"


def _history(catalog: Catalog, root: Path, recorded: int) -> Iterator[str]:
    """Whether commits are missing; then files that belong to none are theirs, not those of an interrupted writer."""
    try:
        catalog.check_history(recorded)
    except IndexCorrupt as error:
        yield str(error)
        orphans = {path.relative_to(root) for path in leftovers(root, (file.path for file in catalog.files()))}
        for place in sorted({path.parent if path.suffix else path for path in orphans}):
            yield f"{place.as_posix()} belongs to a lost commit"


def _paths(files: Iterable[File]) -> set[str]:
    return {file.path for file in files}


def _listing(catalog: Catalog) -> Iterator[str]:
    """Whether the list of the segments and the places of the documents are as they were written."""
    checks = (catalog.check_segments, catalog.check_places) if catalog.has_sums else ()
    for check in checks:
        try:
            check()
        except IndexCorrupt as error:
            yield str(error)


def _segments(catalog: Catalog) -> Iterator[str]:
    """Every segment has its files, every file its segment, and every document is in one."""
    rows = catalog.segments()
    names = (*NAMES, *PHRASE_NAMES) if catalog.phrases else NAMES
    arrays = {f"{folder(row.number)}/{name}.npy" for row in rows for name in names}
    vectors = {vectors_path(row.number, row.generation) for row in rows if row.generation is not None}
    named = {file.path for file in catalog.files() if file.path.startswith("segments/")}
    if catalog.refit is not None:  # the vectors that an interrupted refit has made so far
        named -= {vectors_path(row.number, catalog.refit[0]) for row in rows}
    named -= {f"{folder(row.number)}/{name}.npy" for row in rows for name in NEWER_NAMES}  # older segments have none
    named -= {hashes_path(row.number) for row in rows}  # only segments whose encoder takes long have them
    if not catalog.phrases:  # an upgrade may have been interrupted
        named = {path for path in named if "/phrase_" not in path}
    yield from (f"catalog.sqlite: {path} and its segment do not fit" for path in sorted((arrays | vectors) ^ named))
    yield from (f"catalog.sqlite: {id!r} is in no segment" for id in catalog.ids_without_segment())


def _contents(catalog: Catalog, root: Path, progress: Progress) -> Iterator[str]:
    rows, phrases, vector_type = catalog.segments(), catalog.phrases, catalog.vectors
    with progress("checking documents", sum(row.documents for row in rows), "documents") as advance:
        for row in rows:
            try:
                segment = Segment.open(
                    root, row.number, row.generation, phrases=phrases, hashes=True, vector_type=vector_type
                )
            except (IndexCorrupt, FileNotFoundError) as error:
                yield f"segment {row.number} cannot be opened: {error}"
                continue
            yield from (f"segment {row.number}: {problem}" for problem in _segment(catalog, segment, row))
            for document in catalog.stored_documents(row.number):
                yield from (f"catalog.sqlite: {problem}" for problem in _document(document, segment))
                advance(1)


def _document(stored: StoredDocument, segment: Segment) -> Iterator[str]:
    if (problem := document_damage(stored)) is not None:
        yield problem
    ordinal, sizes = stored.ordinal, (stored.words, stored.sentences)
    if ordinal >= len(segment.lengths) or sizes != (segment.lengths[ordinal], len(segment.sentences(ordinal))):
        yield f"the size of {stored.id!r} is not that in its segment"
    elif not _has_right_hashes(stored, segment):
        yield f"the hashes of the sentences of {stored.id!r} do not fit its text"


def _segment(catalog: Catalog, segment: Segment, row: SegmentRow) -> Iterator[str]:
    """Whether a segment agrees with the catalog and its terms are in order; opening it checks the rest."""
    listed, phrases = catalog.rows_of_segment(row.number), segment.phrases
    checks = {
        "the number of documents": len(segment.lengths) == row.documents == listed,
        "the number of sentences": len(segment.spans) == row.sentences,
        "the number of words": int(segment.lengths.sum()) == row.tokens,
        "the encoder of its vectors": row.generation in (None, catalog.generation),
        "the order of its terms": bool(np.all(segment.term_hash[1:] >= segment.term_hash[:-1])),
        "the occurrences of its terms": _has_right_counts(segment),
        "the order of its phrases": phrases is None or bool(in_order(phrases.directory, phrases.data, row.documents)),
    }
    yield from (f"{name} does not fit" for name, valid in checks.items() if not valid)


def _has_right_hashes(stored: StoredDocument, segment: Segment) -> bool:
    """Whether the hashes of a document's sentences are those of their texts, if they are stored."""
    if segment.sentence_hashes is None:
        return True
    text, first = stored.text or "", int(segment.sentence_offsets[stored.ordinal])
    hashes = sentence_hashes(text[start:end] for start, end in segment.sentences(stored.ordinal).spans.tolist())
    return np.array_equal(segment.sentence_hashes[first : first + len(hashes)], hashes)


def _has_right_counts(segment: Segment) -> bool:
    """Whether the occurrences of terms are the sums of those in their postings, if they are stored."""
    if segment.term_counts is None:
        return True
    ascending = bool(np.all(np.diff(segment.posting_offsets) > 0))  # otherwise there is nothing to count
    return ascending and np.array_equal(segment.term_counts, segment.counted)
