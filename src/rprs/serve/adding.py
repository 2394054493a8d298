"""Documents for a collection: from files, from values and from folders of this computer, with what was skipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rprs.document import Document
from rprs.errors import InvalidIndex, NotAllowed, ReadError, UsageError
from rprs.index import Added
from rprs.progress import show_reading
from rprs.read import Skipped, read
from rprs.read.bounded import use_processes
from rprs.read.ocr import recognition_notes, use_ocr
from rprs.read.reasons import group_by_reason
from rprs.serve.collections import Collections
from rprs.serve.handlers import as_json
from rprs.serve.index_models import AddRequest, CreateRequest
from rprs.serve.jobs import Job
from rprs.serve.limits import Limits
from rprs.serve.requests import Submission, document_of
from rprs.serve.uploads import read_uploads

__all__ = ["Adding", "check_folders"]

NAMES = 20  # of skipped files that are listed for each reason


class Adding:
    """The work of the routes that create and extend collections; `folders` are those whose files may be read."""

    def __init__(self, collections: Collections, limits: Limits, folders: Sequence[Path] = ()) -> None:
        self.collections, self.limits = collections, limits
        self.folders = [folder.resolve() for folder in folders]

    def overview(self) -> dict[str, Any]:
        """All collections, and whether they can be searched together."""
        listed = []
        for name, service in self.collections.services.items():
            try:
                with service.snapshot() as snapshot:
                    facts = {key: snapshot.facts[key] for key in ("documents", "sentences", "fingerprint", "encoder")}
            except InvalidIndex:  # the others can be searched all the same
                facts = {"documents": 0, "sentences": 0, "fingerprint": "", "encoder": "cannot be opened"}
            listed.append({"name": name, **facts})
        reason = self.collections.why_not_together()
        return {
            "collections": listed,
            "together": reason is None,
            "reason": reason,
            "can_create": self.collections.home is not None,
            "folders": [str(folder) for folder in self.folders],
        }

    def create(self, job: Job, submission: Submission[CreateRequest]) -> bytes:
        """Build a new collection."""
        request = submission.request
        source = _Source(self, job, submission)
        with self._reading(job):
            added = self.collections.create(request.name, source.documents(), request.encoder, job.progress)
        return as_json({**self._outcome(added, source), "name": request.name})

    def add(self, job: Job, submission: Submission[AddRequest]) -> bytes:
        """Add documents to the collection of the request."""
        source = _Source(self, job, submission)
        documents = source.documents()  # those of a folder are read while others wait: they may not fit into memory
        with self._reading(job):
            added = self.collections.add(documents if submission.request.folder else list(documents), job.progress)
        with self.collections.snapshot() as snapshot:
            return as_json({**self._outcome(added, source), "fingerprint": snapshot.fingerprint})

    @contextmanager
    def _reading(self, job: Job) -> Iterator[None]:
        """Within this block, the files of folders are read as on the command line."""
        with show_reading(job.progress), use_ocr(self.limits.ocr), use_processes():
            yield

    def _outcome(self, added: Added, source: _Source) -> dict[str, Any]:
        counts = {"added": added.added, "changed": added.changed, "unchanged": added.unchanged}
        groups = [
            {"reason": reason, "count": len(items), "names": [item.path for item in items[:NAMES]]}
            for reason, items in group_by_reason(source.skipped)
        ]
        skipped = [str(item) for item in source.skipped]
        return {**counts, "skipped": skipped, "skipped_by_reason": groups, "notes": source.notes}

    def allowed(self, folder: str) -> Path:
        """A folder of this computer that may be read; a link that leads out of an allowed folder does not help."""
        try:
            path = Path(folder).expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as error:  # no such user, a zero in the name, a loop of links
            raise ReadError("This cannot be the path of a folder") from error
        if not any(path.is_relative_to(each) for each in self.folders):
            raise NotAllowed("This server may not read this folder; start the server with --files and its path")
        if not path.is_dir():
            raise ReadError(f"{folder}: no such folder")
        return path


class _Source:
    """The documents of a request, one after the other, and what was skipped on the way."""

    def __init__(self, adding: Adding, job: Job, submission: Submission[Any]) -> None:
        self._adding, self._job, self._submission = adding, job, submission
        self.skipped: list[Skipped] = []
        self.notes: list[str] = []
        folder = submission.request.folder
        self._folder = None if folder is None else adding.allowed(folder)
        if not (submission.files or submission.request.documents or self._folder):
            raise ReadError("There is nothing to add: send documents or files, or name a folder")

    def documents(self) -> Iterator[Document]:
        """The documents with text; without any, the reason is an error."""
        count = 0
        for document in self._all():
            self._job.check()
            if document.text.strip():
                count += 1
                self.notes += recognition_notes([document])[: NAMES - len(self.notes)]
                yield document
            else:
                self.skipped.append(Skipped(document.id, "contains no text"))
        if not count:
            more = f" (and {len(self.skipped) - 1:,} more)" if len(self.skipped) > 1 else ""
            raise ReadError(f"{self.skipped[0]}{more}" if self.skipped else "There are no documents in the folder")

    def _all(self) -> Iterator[Document]:
        submission = self._submission
        if submission.files:
            with self._job.progress("reading", len(submission.files), "files") as advance:
                for file in submission.files:
                    yield from self._uploaded(file)
                    advance(1)
        yield from (document_of(document) for document in submission.request.documents)
        if self._folder is not None:
            yield from read([self._folder], skipped=self.skipped.append)

    def _uploaded(self, file: Any) -> list[Document]:
        """The documents of a file; one that cannot be read is listed, so that the others are added all the same."""
        try:
            documents, problems = read_uploads(file.file, file.filename or "", self._adding.limits, self._job.stop)
        except ReadError as error:
            documents, problems = [], [str(error)]
        self.skipped += [_skipped(line) for line in problems]
        return documents


def _skipped(line: str) -> Skipped:
    path, separator, reason = line.partition(": ")
    return Skipped(path, reason) if separator else Skipped("", line)


def check_folders(folders: Sequence[Path]) -> Sequence[Path]:
    """Raise an error for a folder that does not exist."""
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder; --files names a folder whose files may be read")
    return folders
