"""Shards that a process has opened, from local copies that it makes on first use; no Ray."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from rprs import errors
from rprs.cluster.manifest import Manifest, ShardEntry, blob_path, parse_manifest
from rprs.cluster.measuring import STATISTICS, norms_path
from rprs.cluster.shard import Shard
from rprs.cluster.statistics import Statistics
from rprs.cluster.store import Store, open_store
from rprs.cluster.transfer import LocalCopy, local_copy
from rprs.errors import RprsError, StoreError

__all__ = ["Held", "failure", "read_statistics", "result_of"]


class Held:
    """Some shards of a generation, by their numbers."""

    def __init__(self, url: str, manifest: bytes, numbers: Sequence[int]) -> None:
        self._copies: list[LocalCopy] = []
        self._shards: dict[int, Shard] = {}
        parsed = parse_manifest(manifest, url)
        store = open_store(url)
        try:
            statistics = self._copy(store, _statistics_entry(parsed))
            values = json.loads((statistics.path / STATISTICS).read_text(encoding="utf-8"))
            self.statistics = measured = Statistics.from_object(values)
            for number in numbers:
                entry = parsed.shards[number]
                norms = statistics.path / norms_path(entry.name)
                path = self._copy(store, entry).path
                self._shards[number] = Shard(path, measured, norms if norms.exists() else None)
        except BaseException:
            self.close()
            raise
        self.generation = parsed.generation

    def _copy(self, store: Store, entry: ShardEntry) -> LocalCopy:
        copy = local_copy(store, entry)
        self._copies.append(copy)
        return copy

    @property
    def shards(self) -> list[Shard]:
        """The shards in the order of their numbers."""
        return [self._shards[number] for number in sorted(self._shards)]

    def answer(self, number: int, method: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """True and what the shard answers, or False and the error that it raises, as plain values."""
        try:
            return True, self._shards[number].answer(method, *arguments)
        except RprsError as error:
            return False, failure(error)

    def state(self) -> dict[str, Any]:
        """What `status` shows of this process."""
        return {"process": os.getpid(), "generation": self.generation, "shards": sorted(self._shards)}

    def close(self) -> None:
        """Close the shards; their copies may then be deleted."""
        for shard in self._shards.values():
            shard.close()
        for copy in self._copies:
            copy.close()


def _statistics_entry(manifest: Manifest) -> ShardEntry:
    """The files of the statistics, which are copied like those of a shard."""
    return ShardEntry("statistics", 0, 0, 0, manifest.statistics)


def read_statistics(store: Store, manifest: Manifest) -> Statistics:
    """The statistics of a generation, without its shards."""
    for file in manifest.statistics:
        if file.path == STATISTICS:
            content = store.read(blob_path(file.sha256))
            if sha256(content).hexdigest() == file.sha256:
                return Statistics.from_object(json.loads(content))
    raise StoreError(f"The statistics of the generation {manifest.generation} in {store.url} are damaged: build again")


# ---------------------------------------------------------------------------- errors as plain values


def failure(error: Exception) -> tuple[str, str]:
    """The class and message of an error, which cross machines instead of the object."""
    return type(error).__name__, " ".join(str(error).split())


def result_of(outcome: tuple[bool, Any]) -> Any:
    """The value of an outcome; an error is raised with its own class and message."""
    succeeded, value = outcome
    if succeeded:
        return value
    name, message = value
    cls = getattr(errors, name, RprsError) if name in errors.__all__ else RprsError
    error = cls.__new__(cls)
    error.args = (message,)
    raise error
