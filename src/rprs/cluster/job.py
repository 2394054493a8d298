"""What a build consists of, and the records of its steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from rprs import spec
from rprs.cluster.manifest import ShardEntry, parse_shard
from rprs.cluster.store import Store
from rprs.scoring.vectors import VectorType

__all__ = [
    "Job",
    "Record",
    "Settings",
    "Tasks",
    "in_this_process",
    "parse_record",
    "record_path",
    "store_record",
]


class Tasks(Protocol):
    """Runs a step of a build for many arguments, on whatever nodes there are."""

    def __call__(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """The results as they come, each with the place of its arguments."""
        ...


def in_this_process(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
    """Runs one after the other."""
    for place, each in enumerate(arguments):
        yield place, function(*each)


@dataclass(frozen=True, slots=True)
class Settings:
    """What every shard is made with, as full texts."""

    splitter: str
    analyzer: str
    encoder: str
    phrases: bool
    vectors: VectorType


@dataclass(frozen=True, slots=True)
class Job:
    """A build: the address of the store, the key of all inputs, and how documents are divided."""

    url: str
    key: str
    shards: int
    settings: Settings
    ocr: str = "auto"

    @property
    def component(self) -> Any:
        """The encoder that the user chose."""
        return spec.parse("encoder", self.settings.encoder)


@dataclass(frozen=True, slots=True)
class Record:
    """What a step reports: counts, what was skipped, and the shard that it has made.

    The counts of one that measures a shard include `ranges`.
    """

    counts: dict[str, int] = field(default_factory=dict)
    skipped: tuple[tuple[str, str, bool], ...] = ()
    shard: ShardEntry | None = None


def record_path(job: Job, step: str, number: int) -> str:
    """Where a step stores its record."""
    return f"builds/{job.key}/{step}/{number:06d}.json"


def parse_record(content: bytes) -> Record:
    """A record that a step has stored."""
    table = json.loads(content)
    shard = None if table["shard"] is None else parse_shard(table["shard"])
    return Record(table["counts"], tuple(tuple(each) for each in table["skipped"]), shard)


def store_record(store: Store, job: Job, step: str, number: int, record: Record) -> Record:
    """Store the record of a step, which ends it."""
    store.write(record_path(job, step, number), json.dumps(asdict(record)).encode())
    return record
