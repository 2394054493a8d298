"""The generations of a store: published once, kept, verified, and swept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from rprs.cluster.manifest import FileEntry, Manifest, blob_path, generation_path, parse_manifest, parse_shard
from rprs.cluster.store import Store, open_store
from rprs.errors import StoreError, UsageError
from rprs.index.arguments import require_count
from rprs.progress import Progress, as_progress

__all__ = ["Swept", "generations", "load", "newest", "publish", "require_newest", "sweep", "verify_files"]

YOUNG = timedelta(days=1)  # a file that no generation needs yet may belong to a build under way
_NAME = re.compile(r"generations/(\d{8,})\.json")


def generations(store: Store) -> list[int]:
    """The numbers of all generations, oldest first."""
    names = (_NAME.fullmatch(each.path) for each in store.list("generations"))
    return sorted(int(name[1]) for name in names if name)


def load(store: Store, generation: int) -> Manifest:
    """A generation by its number."""
    path = generation_path(generation)
    try:
        manifest = parse_manifest(store.read(path), f"{store.url}/{path}")
    except FileNotFoundError as error:
        numbers = ", ".join(map(str, generations(store))) or "none"
        raise UsageError(f"{store.url} has no generation {generation}: it has {numbers}") from error
    if manifest.generation != generation:
        raise StoreError(f"{store.url}/{path} is the generation {manifest.generation}: restore the file")
    return manifest


def newest(store: Store) -> Manifest | None:
    """The last generation; None in an empty store."""
    numbers = generations(store)
    return load(store, numbers[-1]) if numbers else None


def require_newest(store: Store) -> Manifest:
    """The last generation; an error in an empty store."""
    manifest = newest(store)
    if manifest is None:
        raise UsageError(f"There is no cluster at {store.url}: build one with `rprs cluster build SOURCE --to URL`")
    return manifest


def publish(store: Store, manifest: Manifest) -> None:
    """Make a generation visible, unless another process has published one of that number."""
    for file in manifest.files:
        if store.size(blob_path(file.sha256)) != file.bytes:
            raise StoreError(f"{file.path} ({file.sha256}) is missing in {store.url}: build again")
    if not store.create(generation_path(manifest.generation), manifest.to_json()):
        raise StoreError(
            f"Another process has published the generation {manifest.generation} in {store.url}: run the command again"
        )


# ---------------------------------------------------------------------------- verifying and sweeping


def verify_files(url: str, files: tuple[FileEntry, ...]) -> list[str]:
    """What is wrong with some files of a store, one line each."""
    store = open_store(url)
    return [line for file in files for line in _problems(store, file)]


def _problems(store: Store, file: FileEntry) -> Iterator[str]:
    from rprs.cluster.transfer import scratch

    with scratch() as folder:
        copy = folder / "file"
        try:
            store.download(blob_path(file.sha256), copy)
        except FileNotFoundError:
            yield f"{file.path} ({file.sha256}) is missing"
            return
        with copy.open("rb") as stream:
            digest = sha256()
            while chunk := stream.read(2**20):
                digest.update(chunk)
        if digest.hexdigest() != file.sha256:
            yield f"{file.path} ({file.sha256}) is damaged"


@dataclass(frozen=True, slots=True)
class Swept:
    """What was deleted."""

    generations: tuple[int, ...]
    files: int
    bytes: int


def sweep(url: str, keep: int = 2, *, progress: Progress | bool | None = None, young: timedelta = YOUNG) -> Swept:
    """Delete all generations but the last `keep`, and the files that none of the others needs.

    Files that were written within a day stay: a build that is under way needs them. Stop readers of the deleted
    generations before.
    """
    store, kept = open_store(url), require_count("keep", keep, 1)
    numbers = generations(store)
    if not numbers:
        raise UsageError(f"There is no cluster at {store.url}: nothing to sweep")
    old, rest = tuple(numbers[:-kept]), numbers[-kept:]
    needed = {file.sha256 for number in rest for file in load(store, number).files} | _under_way(store)
    store.delete([generation_path(number) for number in old])
    limit = datetime.now(UTC) - young
    unneeded = [
        each for each in store.list("files") if each.path.rsplit("/", 1)[-1] not in needed and each.modified < limit
    ]
    with as_progress(progress)("deleting files", len(unneeded), "files") as advance:
        store.delete([each.path for each in unneeded])
        advance(len(unneeded))
    return Swept(old, len(unneeded), sum(each.bytes for each in unneeded))


def _under_way(store: Store) -> set[str]:
    """The files of shards that an unfinished build has made."""
    import json

    needed: set[str] = set()
    for each in store.list("builds"):
        if re.search(r"/(index|encode|change)/\d+\.json$", each.path):
            shard = json.loads(store.read(each.path))["shard"]
            needed |= {file.sha256 for file in parse_shard(shard).files}
    return needed
