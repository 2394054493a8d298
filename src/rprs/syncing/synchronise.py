"""Bring an index in step with a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rprs.errors import InvalidIndex, ReadError, UsageError
from rprs.files.hashes import sha256
from rprs.index import Writer
from rprs.index.arguments import index_path, require_choice
from rprs.index.catalog import Catalog
from rprs.index.sources import FileRow, Origin, Sources
from rprs.progress import Progress, as_progress
from rprs.read.files import Report, check_paths, ignore
from rprs.read.source import Skipped
from rprs.read.storable import displayed, reason
from rprs.spec import Component
from rprs.syncing.changes import Changes
from rprs.syncing.listing import Listed, Listing, list_source, prefixes
from rprs.syncing.plan import Plan, make_plan

__all__ = ["Synced", "look_at", "plan_sync", "sync"]

_NAME = re.compile(r"[\w][\w .+-]{0,99}(?<! )")


@dataclass(frozen=True, slots=True)
class Synced:
    """What `sync` did, in documents.

    `gone` documents no longer have a file, but were kept; `notes` are lines about what could not be done.
    """

    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    gone: int = 0
    sentences: int = 0
    terms: int = 0
    notes: tuple[str, ...] = ()


def sync(
    source: str | Path,
    index: str | Path,
    *,
    root: str = "",
    remove: bool | Callable[[int], bool] = True,
    relocated: bool = False,
    retry: bool = False,
    encoder: str | Component | None = None,
    splitter: str | Component | None = None,
    analyzer: str | Component | None = None,
    skipped: Report = ignore,
    progress: Progress | bool | None = None,
) -> Synced:
    """Bring an index in step with a folder (or a file): add, replace, rename and remove documents.

    Ids are paths within the source, after the name of the `root` if it has one, wherever this is called from. Files
    that were moved or renamed keep their vectors. Identical files are one document, whose field `also_at` names the
    other places. `remove` decides about documents whose files are gone; a function gets their number. An index can be
    in step with several folders if each has its own `root`. `relocated` says that the folder of the root is now
    elsewhere, `retry` reads files again of which something could not be read. `skipped` is called with everything that
    is not in the index. An interrupted call is resumed by the next one. Without an index, one is created.
    """
    folder, path, progress = _source(source), index_path(index), as_progress(progress)
    _prefix(root)
    if not callable(remove):
        require_choice("remove", remove)
    if not callable(skipped):
        raise UsageError(f"skipped must be a function of one argument. Got {skipped!r:.80} instead.")
    require_choice("relocated", relocated)
    require_choice("retry", retry)
    with Writer(path, create=True, encoder=encoder, splitter=splitter, analyzer=analyzer, progress=progress) as writer:
        sources, listing = _listing(writer.catalog, folder, path, root, relocated)
        if sources.folder != str(folder):
            _begin(sources, writer.catalog, listing)
        plan = _plan(listing, sources.files(), sources.origins(), root, progress, retry)
        removing = bool(plan.lost) and (remove(len(plan.lost)) if callable(remove) else remove)
        if removing and not listing.files:
            raise ReadError(
                f"{folder} has no files, but {path} has {len(plan.lost):,} documents of it: is the drive mounted? "
                "Remove them with `rprs remove` if they are not needed"
            )
        return _apply(writer, sources, plan, removing, skipped)


def plan_sync(
    source: str | Path,
    index: str | Path,
    *,
    root: str = "",
    relocated: bool = False,
    retry: bool = False,
    progress: Progress | bool | None = None,
) -> Plan:
    """What `sync` would do, without changing anything."""
    folder, path, progress = _source(source), index_path(index), as_progress(progress)
    try:
        catalog = Catalog(path, write=False)
    except InvalidIndex:
        if (path / "catalog.sqlite").is_file():
            raise
        return _plan(list_source(folder, _prefix(root), path), {}, {}, root, progress, retry)
    try:
        sources, listing = _listing(catalog, folder, path, root, relocated)
        recorded, origins = sources.files(), sources.origins()
        if sources.folder != str(folder):
            recorded = {row.path: row for row in _relocated(recorded)}
            origins |= _adopted(catalog, sources, listing)
        return _plan(listing, recorded, origins, root, progress, retry)
    finally:
        catalog.close()


def look_at(source: str | Path, index: str | Path) -> str:
    """A fingerprint of the files of a source by their names, sizes and times, without opening them."""
    return list_source(_source(source), "", index_path(index).resolve()).fingerprint


# ---------------------------------------------------------------------------- the source and its root


def _source(source: str | Path) -> Path:
    (path,) = check_paths([source])
    try:
        folder = Path(path).resolve()
        if folder.exists():
            return folder
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        raise ReadError(f"{displayed(Path(path))}: {reason(error)}") from error
    raise ReadError(f"{path}: no such file or folder; is its drive mounted?")


def _prefix(root: object) -> str:
    """What the ids of a root begin with."""
    if not isinstance(root, str) or (root and not _NAME.fullmatch(root)):
        raise UsageError(f"The name of a root has letters, digits, spaces and .+-_ only. Got {root!r:.80} instead.")
    return f"{root}/" if root else ""


def _listing(catalog: Catalog, folder: Path, index: Path, root: str, relocated: bool) -> tuple[Sources, Listing]:
    """The records of the root and the files of the source, if the two belong together."""
    listing = list_source(folder, _prefix(root), index.resolve())
    sources = Sources(catalog, root)
    known = sources.folder
    if known not in (None, str(folder)) and not relocated and Path(str(known)).exists():
        which = f"the root {root!r} of {index}" if root else str(index)
        raise UsageError(
            f"{which} is in sync with {known}: to add {folder}, give it a name of its own (--root NAME); if the folder "
            "has moved there, use --relocated"
        )
    return sources, listing


def _begin(sources: Sources, catalog: Catalog, listing: Listing) -> None:
    """Record the folder of the root. The first time, documents that `rprs index` read from it become its own."""
    rows, adopted = _relocated(sources.files()), _adopted(catalog, sources, listing)
    with catalog.transaction():
        sources.use_folder(str(listing.source))
        sources.record(rows)
        sources.own((id, origin.path) for id, origin in adopted.items())


def _relocated(recorded: Mapping[str, FileRow]) -> list[FileRow]:
    """The records after the folder has moved: all files must be read, since the paths of their documents differ."""
    return [replace(row, copies=("elsewhere",)) for row in recorded.values()]


def _adopted(catalog: Catalog, sources: Sources, listing: Listing) -> dict[str, Origin]:
    """Documents of the index that were read from files of the source before it was synchronised."""
    if sources.folder is not None:
        return {}
    owned, adopted, folder = sources.origins(), dict[str, Origin](), listing.source
    for id, value in catalog.field_values("path"):
        place = Path(str(value)).resolve()
        if id not in owned and place.is_relative_to(folder):
            inner = folder.name if place == folder else place.relative_to(folder).as_posix()
            # a member of an archive has the path of the archive, a slash and its name
            adopted[id] = Origin(sources.root, next((path for path in prefixes(inner) if path in listing.files), inner))
    return adopted


# ---------------------------------------------------------------------------- planning and applying


def _plan(
    listing: Listing,
    recorded: Mapping[str, FileRow],
    origins: Mapping[str, Origin],
    root: str,
    progress: Progress,
    retry: bool,
) -> Plan:
    owners = {id: origin.path for id, origin in origins.items() if origin.root == root}
    with progress("comparing", unit="files") as advance:

        def hash_file(listed: Listed) -> str:
            advance(1)
            return sha256(listed.file.path)

        return make_plan(listing, recorded, owners, hash_file, retry=retry)


def _apply(writer: Writer, sources: Sources, plan: Plan, removing: bool, skipped: Report) -> Synced:
    for problem in plan.problems:
        skipped(problem)
    for row in plan.settled:
        for problem_of_file in row.problems:
            skipped(Skipped(*problem_of_file))
    with writer.progress("reading", unit="documents") as advance:
        changes = Changes(writer, sources, plan, sources.origins(), skipped, advance)
        changes.read()
    if removing:
        changes.remove_lost()
    else:
        changes.forget_gone(_without_documents(sources, plan))
    notes = writer.finish()
    owned = sum(origin.root == sources.root for origin in sources.origins().values())
    gone = 0 if removing else len(plan.lost)
    total = changes.total
    unchanged = owned - total.added - total.changed - changes.moved - gone
    return Synced(
        total.added, total.changed, changes.moved, changes.removed, unchanged, gone, total.sentences, total.terms, notes
    )


def _without_documents(sources: Sources, plan: Plan) -> list[str]:
    kept = {origin.path for origin in sources.origins().values() if origin.root == sources.root}
    return [path for path in plan.gone if path not in kept]
