"""Read the files of a plan and commit their documents, together with the records of what was read.

A batch is one transaction: documents, the files they came from, and which of these were read completely. Killed between
two batches, the next synchronisation finds the first one done and plans the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from rprs.document import Document
from rprs.index import Added, Writer
from rprs.index.batches import Batch, same_label
from rprs.index.sources import FileRow, Origin, Sources
from rprs.progress import Advance
from rprs.read.files import Report, read_contents
from rprs.read.source import USUAL, Skipped
from rprs.read.storable import displayed
from rprs.syncing.listing import state_of
from rprs.syncing.plan import Plan, Reading

__all__ = ["COPIES", "Changes"]

COPIES = "also_at"  # the metadata field with the other places of identical files
LOOK = 1_000  # documents after which a file is checked for changes
REMOVALS = 1_000  # documents that are removed in one transaction


@dataclass(slots=True)
class _Draft:
    """The changes since the last commit."""

    documents: list[Document] = field(default_factory=list)
    changed: int = 0
    relabelled: list[Document] = field(default_factory=list)
    renamed: dict[str, Document] = field(default_factory=dict)
    removed: dict[str, None] = field(default_factory=dict)
    owned: list[tuple[str, str]] = field(default_factory=list)  # id and path
    complete: list[FileRow] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)  # paths of files of which only a part is in the batch
    characters: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.owned or self.removed or self.complete or self.incomplete)


class Changes:
    """Applies a plan to an index, file by file."""

    def __init__(
        self,
        writer: Writer,
        sources: Sources,
        plan: Plan,
        origins: dict[str, Origin],
        skipped: Report,
        advance: Advance,
    ) -> None:
        self.writer, self.sources, self.plan, self.skipped, self.advance = writer, sources, plan, skipped, advance
        self.total, self.moved, self.removed = Added(), 0, 0
        self._draft = _Draft()
        self._claimed: dict[str, str] = {}  # by id: the path of the file that has this document now
        self._vacated = set(plan.vacated)
        self._ids: dict[str, list[str]] = {}  # by path: the documents that were read from it before
        for id, origin in origins.items():
            if origin.root == sources.root:
                self._ids.setdefault(origin.path, []).append(id)
        read_now = {reading.row.path for reading in plan.readings}
        self._owners = {
            id: origin.path if origin.root == sources.root else f"{origin.root}: {origin.path}"
            for id, origin in origins.items()
            if id not in plan.vacated and not (origin.root == sources.root and origin.path in read_now)
        }

    # ------------------------------------------------------------------------ reading

    def read(self) -> None:
        """Read all files that must be read, and commit their documents."""
        files = [reading.listed.file for reading in self.plan.readings]
        contents = read_contents.get()(files, USUAL)
        for reading, (_, items) in zip(self.plan.readings, contents, strict=True):
            self._read(reading, items)
            if self._draft.characters >= self.writer.batch:
                self._commit()
        self._draft.complete += self.plan.rows
        self._drop(self._superseded())
        self._commit()

    def _read(self, reading: Reading, items: Iterator[Document | Skipped]) -> None:
        file, path, partial_commit = reading.listed.file, reading.row.path, False
        batch: list[Document] = []
        ids, problems, characters, settled = set[str](), list[Skipped](), 0, True
        for item in items:
            if isinstance(item, Document) and (owner := self._owner(item.id, path)) is not None:
                item = Skipped(displayed(file.path), f"the id {item.id!r} is already used by a document of {owner}")
                settled = False  # the other document may go
            if isinstance(item, Skipped):
                problems.append(item)
                continue
            self._claimed[item.id] = path
            ids.add(item.id)
            batch.append(_with_copies(item, reading.row.copies))
            characters += len(item.text)
            self.advance(1)
            if len(ids) % LOOK == 0 and not self._unchanged(reading):  # it may grow faster than it is read
                break
            if characters >= self.writer.batch:  # a file of a gigabyte does not fit into memory
                partial_commit = self._commit_part(path, batch)
                batch, characters = [], 0
        if not self._unchanged(reading):
            settled = False
            problems = [Skipped(displayed(file.path), "changed while it was being read: the next sync reads it")]
            if not partial_commit:
                self._release(batch, path)
                self._report(problems)
                return
        self._stage(batch, path)
        if ids:  # otherwise it can't be read at present, and its last readable version stays
            self._drop(id for id in self._ids.get(path, []) if id not in self._claimed)
        if not ids:
            problems += _of_copies(problems, reading)
        self._report(problems)
        stored = tuple((problem.path, problem.reason, problem.partly) for problem in problems)
        row = replace(reading.row, problems=stored)
        self._draft.complete.append(row if settled else replace(row, state="", sha256=""))

    def _owner(self, id: str, path: str) -> str | None:
        """The other file that has a document with this id."""
        owner = self._claimed.get(id, self._owners.get(id, path))
        again = id in self._claimed and owner == path
        return owner if owner != path or again else None

    def _release(self, batch: list[Document], path: str) -> None:
        """Let go of the documents of a file that was not read completely; those of its last version stay."""
        for document in batch:
            del self._claimed[document.id]
        self._owners.update(dict.fromkeys(self._ids.get(path, []), path))

    def _unchanged(self, reading: Reading) -> bool:
        try:
            return state_of(reading.listed.file.path) == reading.listed.state
        except OSError:
            return False

    def _report(self, problems: list[Skipped]) -> None:
        for problem in problems:
            self.skipped(problem)

    # ------------------------------------------------------------------------ committing

    def _stage(self, batch: list[Document], path: str) -> None:
        """Add the documents of a file to the draft."""
        draft, catalog = self._draft, self.writer.catalog
        for document in batch:
            draft.owned.append((document.id, path))
            draft.removed.pop(document.id, None)  # a record that is now in another file
            stored = None if document.id in draft.renamed else catalog.labels([document.id]).get(document.id)
            if stored is None and (old := self._vacated_twin(document)) is not None:
                draft.renamed[old] = document
                self.moved += 1
            elif stored is None or stored[0] != document.content_hash:
                draft.documents.append(document)
                draft.changed += stored is not None
            elif not same_label(document, stored):
                draft.relabelled.append(document)
            draft.characters += len(document.text)

    def _vacated_twin(self, document: Document) -> str | None:
        """The id of a document with the same text whose file is gone: the file has moved."""
        for id in self.writer.catalog.ids_with_content(document.content_hash):
            if id in self._vacated and id not in self._claimed:
                self._vacated.discard(id)
                return id
        return None

    def _drop(self, ids: Iterable[str]) -> None:
        self._draft.removed.update(dict.fromkeys(ids))

    def _commit_part(self, path: str, batch: list[Document]) -> bool:
        self._stage(batch, path)
        self._draft.incomplete.append(path)
        self._commit()
        return True

    def _commit(self) -> None:
        draft, self._draft = self._draft, _Draft()
        if draft.is_empty:
            return
        record = partial(self._record, draft)
        batch = Batch(draft.documents, draft.changed, draft.relabelled, draft.renamed, list(draft.removed), record)
        self.total += self.writer.commit(batch)

    def _record(self, draft: _Draft) -> None:
        self.sources.own(draft.owned)
        self.sources.forget(draft.incomplete)
        self.sources.record(draft.complete)

    # ------------------------------------------------------------------------ removing

    def _superseded(self) -> list[str]:
        """Documents of files that are now copies of others, or whose bytes are elsewhere, and that were not renamed."""
        return [id for id in self._vacated - set(self.plan.lost) if id not in self._claimed]

    def remove_lost(self) -> None:
        """Remove the documents whose files are gone, and no longer record these files."""
        lost = [id for id in self.plan.lost if id in self._vacated and id not in self._claimed]
        for start in range(0, len(lost), REMOVALS):
            self.writer.commit(Batch([], 0, [], removed=lost[start : start + REMOVALS]))
        self.removed = len(lost)
        self.forget_gone(self.plan.gone)

    def forget_gone(self, paths: list[str]) -> None:
        """No longer record files that are gone and have no documents in the index."""
        if paths:
            self.writer.commit(Batch([], 0, [], record=partial(self.sources.forget, paths)))


def _with_copies(document: Document, copies: tuple[str, ...]) -> Document:
    if not copies:
        return document
    return replace(document, metadata={**document.metadata, COPIES: "; ".join(copies)})


def _of_copies(problems: list[Skipped], reading: Reading) -> list[Skipped]:
    """The same problems of identical files, which can't be read either."""
    folder = displayed(reading.listed.file.path).removesuffix(reading.row.path)
    return [replace(problem, path=folder + copy) for problem in problems for copy in reading.row.copies]
