"""Which documents of a cluster may be ranked: a description that every shard applies to its own documents."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rprs.index import Index
from rprs.rank.batch import mask_digest
from rprs.rank.date_limit import DateLimit
from rprs.rank.stages import Mask

__all__ = ["ClusterMask", "Scope", "ScopeCounts", "apply_scope", "combine_counts"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The restrictions of a search, without anything that only one shard knows."""

    where: str | None = None
    ids: tuple[str, ...] = ()  # that are left out
    contents: tuple[str, ...] = ()  # hashes of texts that are left out
    limit: DateLimit | None = None  # with a given date
    marked_ids: tuple[str, ...] = ()  # left out after the date limit has counted
    marked_contents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeCounts:
    """What a shard found when it applied a scope."""

    allowed: int
    newer: int  # documents that the date limit leaves out
    undated: int  # documents without a date
    digest: str  # of the mask


def combine_counts(counts: Sequence[ScopeCounts]) -> ScopeCounts:
    """Those of all shards."""
    return ScopeCounts(
        allowed=sum(each.allowed for each in counts),
        newer=sum(each.newer for each in counts),
        undated=sum(each.undated for each in counts),
        digest=hashlib.sha256("".join(each.digest for each in counts).encode()).hexdigest(),
    )


@dataclass(frozen=True)
class ClusterMask:
    """Stands for a mask over all documents where these are on other machines; `count` asks all shards."""

    scope: Scope
    count: Callable[[Scope], ScopeCounts]

    @cached_property
    def counts(self) -> ScopeCounts:
        """What all shards found; asked for only if it is needed, since most searches do without."""
        return self.count(self.scope)

    def sum(self) -> int:
        """How many documents may be ranked."""
        return self.counts.allowed

    def digest(self) -> str:
        """A hash of the documents that may be ranked."""
        return self.counts.digest


def apply_scope(scope: Scope, index: Index) -> tuple[Mask, ScopeCounts]:
    """The documents of an index that may be ranked."""
    mask = index.select(scope.where)
    mask[_numbers(index, scope.ids, scope.contents)] = False
    newer = undated = 0
    if scope.limit is not None and scope.limit.given is not None:
        dates = index.dates(scope.limit.field)
        without, later = dates.undated, dates.newer_than(scope.limit.given)
        newer, undated = int((mask & later).sum()), int((mask & without).sum())
        mask = mask & ~later if scope.limit.undated == "keep" else mask & ~later & ~without
    mask[_numbers(index, scope.marked_ids, scope.marked_contents)] = False
    return mask, ScopeCounts(int(mask.sum()), newer, undated, mask_digest(mask))


def _numbers(index: Index, ids: Sequence[str], contents: Sequence[str]) -> list[int]:
    """The numbers of documents with these ids or texts, as far as the index has them."""
    by_id = [number for number in map(index.number, ids) if number is not None]
    return [*by_id, *(number for content in contents for number in index.with_content(content))]
