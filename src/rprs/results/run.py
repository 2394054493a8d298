"""The rankings of a set of queries."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, TextIO

from rprs.document import Ranking, Truncation
from rprs.errors import MissingExtra, UsageError
from rprs.files.atomic import write_compressed
from rprs.read.runs import read_run, write_run

__all__ = ["Run"]


@dataclass(frozen=True)
class Run(Mapping[str, Ranking]):
    """Rankings by query id, in the order of the queries; `run["q1"].ids` are documents, best first.

    `failures` has, for each query that could not be answered, the reason.
    """

    rankings: Mapping[str, Ranking]
    tag: str = "rprs"
    failures: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, query: str) -> Ranking:
        return self.rankings[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rankings)

    def __len__(self) -> int:
        return len(self.rankings)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<Run {self.tag}: {len(self)} queries, {sum(map(len, self.values()))} documents{failed}>"

    @classmethod
    def read(cls, path: str | PurePath) -> Run:
        """The run of a TREC file; also .gz and .xz."""
        return cls(read_run(path), PurePath(path).name.split(".")[0])

    @property
    def truncation(self) -> Truncation:
        """How many inputs a model saw in part only, over all queries."""
        return sum((ranking.truncation for ranking in self.values()), Truncation())

    @property
    def text(self) -> str:
        """The run in TREC format."""
        stream = io.StringIO()
        self._write_to(stream)
        return stream.getvalue()

    def write(self, to: TextIO | str | PurePath) -> None:
        """Write the run in TREC format to a stream or to a file (.gz and .xz are compressed), complete or not at all."""
        if isinstance(to, str | PurePath):
            write_compressed(to, self.text)
        else:
            self._write_to(to)

    def writable(self) -> Run:
        """The rankings that a TREC file can hold; the others, with white space in an id, are listed in `failures`."""
        kept, failures = dict[str, Ranking](), dict(self.failures)
        for query, ranking in self.items():
            try:
                write_run(io.StringIO(), query, ranking, "tag")
                kept[query] = ranking
            except UsageError as error:
                failures[query] = str(error)
        return replace(self, rankings=kept, failures=failures)

    def _write_to(self, stream: TextIO) -> None:
        for query, ranking in self.items():
            write_run(stream, query, ranking, "_".join(self.tag.split()))

    def to_frame(self) -> Any:
        """A pandas DataFrame with the columns query_id, doc_id, rank and score, as ir_measures names them."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtra("Run.to_frame", "pandas", "pandas") from error
        rows = [
            (query, id, rank, score)
            for query, ranking in self.items()
            for rank, (id, score) in enumerate(zip(ranking.ids, ranking.scores.tolist(), strict=True), 1)
        ]
        return pandas.DataFrame(rows, columns=["query_id", "doc_id", "rank", "score"])
