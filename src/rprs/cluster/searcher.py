"""Search in a cluster, with the interface of `Searcher` and the same answers, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from rprs.cluster.calls import Call
from rprs.cluster.coordinate import ClusterSources, distributed, load_remote
from rprs.cluster.index import ClusterIndex
from rprs.cluster.scope import ClusterMask, Scope
from rprs.cluster.statistics import Statistics
from rprs.document import Document
from rprs.errors import NoDocument
from rprs.passages.find import Sources
from rprs.progress import Progress, as_progress
from rprs.rank.batch import Allowed, require_ids, undated_note
from rprs.rank.date_limit import DateLimit
from rprs.rank.restrictions import Restrictions
from rprs.rank.steering import NO_MARKS, Marks
from rprs.rank.system import System, SystemOptions, as_system
from rprs.rank.two_stages import Outcome, run_stages
from rprs.search import Searcher

__all__ = ["ClusterSearcher"]


class ClusterSearcher(Searcher):
    """Ranks the documents of all shards by their similarity to a whole document: see `Searcher`.

    `call` asks the shards of one generation, `statistics` are those that were published with it.
    """

    index: ClusterIndex

    def __init__(
        self,
        call: Call,
        shards: int,
        statistics: Statistics,
        system: System | str | None = None,
        *,
        name: str = "cluster",
        progress: Progress | bool | None = None,
        **options: Unpack[SystemOptions],
    ) -> None:
        self.system = as_system(system, options)
        self._distributed = self.system.changed(first=distributed(self.system.first))
        self.index = ClusterIndex(call, shards, statistics, name)
        self.progress = as_progress(progress)

    # ------------------------------------------------------------------------ what differs from one index

    def _run(self, document: Document, allowed: Any, marks: Marks = NO_MARKS, also: str | None = None) -> Outcome:
        return run_stages(
            self._distributed, self.index, document, allowed, self.progress, marks=marks, also=also, load=load_remote
        )

    def _passage_sources(self, allowed: Any) -> Sources:
        return ClusterSources(self.index, allowed)

    def _digest(self, mask: Any) -> str:
        own: ClusterMask = mask
        return own.digest()

    def _check(self, where: str | None, limit: DateLimit | None) -> None:
        self.index.count(Scope(where))
        if limit is not None:
            self._require_dates(limit)

    def _allowed(self, restrictions: Restrictions, documents: Sequence[Document]) -> Any:
        excluded, limit = require_ids(restrictions.exclude), restrictions.limit
        own = () if restrictions.keep_self else tuple(documents)
        scope = Scope(
            where=restrictions.where,
            ids=(*excluded, *(each.id for each in own)),
            contents=tuple(each.content_hash for each in own),
            marked_ids=restrictions.marks.unlike,
            marked_contents=self._copies(restrictions.marks, restrictions.keep_self),
        )
        if limit is None:
            return Allowed(self.index.allowed(scope))  # type: ignore[arg-type]  # it stands for a mask
        self._require_dates(limit)
        period = limit.period(documents)
        mask = self.index.allowed(replace(scope, limit=replace(limit, given=period)))
        counts = mask.counts
        return Allowed(mask, period.text, counts.newer, (undated_note(limit, counts.undated),))  # type: ignore[arg-type]  # as above

    def _require_dates(self, limit: DateLimit) -> None:
        if len(self.index) and not self.index.dated(limit.field):
            raise limit.no_effect(self.index)

    def _copies(self, marks: Marks, keep_self: bool) -> tuple[str, ...]:
        """The hashes of relevant documents' texts, which may not be hits; see `steering.left_out`."""
        known = self.index.locate((*marks.like, *marks.unlike))
        for id in (*marks.like, *marks.unlike):
            if id not in known:
                place = self.index.path
                raise NoDocument(f"There is no document {id!r:.80} in {place}: remove the mark, or correct the id")
        return () if keep_self or not marks.like else tuple(self.index.content_hashes(marks.like))
