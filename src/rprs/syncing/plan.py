"""What must be done to bring an index in step with its source: a comparison of the files with the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

from rprs.index.sources import FileRow
from rprs.read.source import Skipped, suffix_of
from rprs.read.storable import displayed, reason
from rprs.syncing.listing import Listed, Listing, recordable

__all__ = ["Plan", "Reading", "make_plan"]

Why = Literal["new", "changed", "moved", "places"]  # places: only where else the same bytes are has changed
Identity = tuple[str, str]  # SHA-256 and suffix, which decides how a text is read


@dataclass(frozen=True, slots=True)
class Reading:
    """A file that must be read."""

    listed: Listed
    row: FileRow  # to be recorded once it is read
    why: Why
    earlier: str = ""  # where its document was before, for one that has moved


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that differs between a source and the records of the index."""

    problems: list[Skipped]  # files and folders that cannot even be opened
    gone: list[str]  # paths of files that were recorded and no longer exist
    lost: list[str]  # ids of their documents, without those that only moved
    vacated: frozenset[str]  # ids of documents whose file is gone or is now a copy of another
    readings: list[Reading] = field(default_factory=list)
    rows: list[FileRow] = field(default_factory=list)  # to record without reading: copies, and files with other times
    copies: list[FileRow] = field(default_factory=list)  # those of `rows` that were no copies of the same file before
    settled: list[FileRow] = field(default_factory=list)  # of files that are not read again

    @property
    def is_empty(self) -> bool:
        """Whether the index is in step with its source."""
        return not (self.readings or self.rows or self.gone or self.vacated)


def make_plan(
    listing: Listing,
    recorded: Mapping[str, FileRow],
    owners: Mapping[str, str],
    hash_file: Callable[[Listed], str],
    *,
    retry: bool = False,
) -> Plan:
    """Compare a listing with the records of a root and its documents, which `owners` gives with their files.

    `retry` reads files again of which something was not read.
    """
    listing, groups = _grouped(listing, recorded, hash_file)
    former = {*recorded, *owners.values()} - listing.files.keys()
    uncertain = {path for path in former if listing.is_uncertain(path)}
    gone = former - uncertain
    owning = {*owners.values()}
    moved = _moved(groups, recorded, owning, gone)
    left = gone - {*moved.values()}
    lost = sorted(id for id, path in owners.items() if path in left)
    standing = {paths[0] for paths in groups.values()} | uncertain
    vacated = frozenset(id for id, path in owners.items() if path not in standing)
    plan = Plan(list(listing.problems), sorted(gone), lost, vacated)
    for identity, (first, *copies) in groups.items():
        row = FileRow(first, "", identity[0], tuple(copies))
        earlier = "" if first in owning else moved.get(identity, "")
        _compare(plan, listing.files[first], row, recorded.get(first), earlier, retry)
        for copy in copies:
            before, row = recorded.get(copy), FileRow(copy, "", identity[0], (first,))
            _keep(plan, listing.files[copy], row, before)
            if before is None or (before.sha256, before.copies) != (row.sha256, row.copies):
                plan.copies.append(row)
    return plan


def _grouped(
    listing: Listing, recorded: Mapping[str, FileRow], hash_file: Callable[[Listed], str]
) -> tuple[Listing, dict[Identity, list[str]]]:
    """The files that can be opened, and their paths by content: the first of identical ones stands for the others."""
    files, problems = dict[str, Listed](), list(listing.problems)
    groups: dict[Identity, list[str]] = {}
    for path, listed in listing.files.items():
        try:
            sha256 = _hash(listed, recorded.get(path), hash_file)
        except OSError as error:
            problems.append(Skipped(displayed(listed.file.path), reason(error)))
            continue
        files[path] = listed
        groups.setdefault((sha256, suffix_of(PurePath(path))), []).append(path)
    return Listing(listing.source, files, tuple(problems)), groups


def _moved(
    groups: Mapping[Identity, list[str]], recorded: Mapping[str, FileRow], owning: set[str], gone: set[str]
) -> dict[Identity, str]:
    """By content: the earlier place of a document whose file is gone, or is now a copy of one that sorts before it."""
    left = gone | {path for _, *copies in groups.values() for path in copies if path in owning}
    former = sorted(left & recorded.keys(), key=lambda path: (path in owning, path))  # the last one has documents
    return {identity: path for path in former if (identity := _identity(recorded[path])) in groups}


def _hash(listed: Listed, row: FileRow | None, hash_file: Callable[[Listed], str]) -> str:
    """The hash of a file, computed only if its state shows that it may have changed."""
    return row.sha256 if row is not None and row.sha256 and row.state == listed.state else hash_file(listed)


def _identity(row: FileRow) -> Identity:
    return row.sha256, suffix_of(PurePath(row.path))


def _compare(plan: Plan, listed: Listed, row: FileRow, before: FileRow | None, earlier: str, retry: bool) -> None:
    """Plan the reading of a file, unless it was read before and has not changed."""
    same_bytes = before is not None and before.sha256 == row.sha256
    if before is not None and same_bytes and before.copies == row.copies and not (retry and before.problems):
        _keep(plan, listed, FileRow(row.path, "", row.sha256, row.copies, before.problems), before)
        plan.settled.append(before)
        return
    why: Why = "moved" if earlier and (before is None or same_bytes) else "new" if before is None else "changed"
    if why == "changed" and before is not None and same_bytes and before.copies != row.copies:
        why = "places"
    recorded = FileRow(row.path, recordable(listed.state), row.sha256, row.copies)
    plan.readings.append(Reading(listed, recorded, why, earlier if why == "moved" else ""))


def _keep(plan: Plan, listed: Listed, row: FileRow, before: FileRow | None) -> None:
    """Record a file that need not be read, if its record differs."""
    row = FileRow(row.path, recordable(listed.state), row.sha256, row.copies, row.problems)
    if row != before:
        plan.rows.append(row)
