"""The rankings of a set of queries."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, TextIO

from rprs.document import Ranking, Truncation
from rprs.errors import UsageError
from rprs.evaluation.frame import data_frame
from rprs.files.atomic import write_compressed
from rprs.read.runs import one_word, read_run, write_run
from rprs.read.source import stem_of

__all__ = ["Run"]

_QUERIES_SHOWN = 20


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
        return f"<Run {self._summary()}>"

    def _repr_html_(self) -> str:
        from rprs.results.notebook import run_html

        answered = ((query, ranking) for query, ranking in self.items() if len(ranking))
        rows = [
            (query, len(ranking), ranking.ids[0], float(ranking.scores[0]))
            for query, ranking in islice(answered, _QUERIES_SHOWN)
        ]
        return run_html(f"Run {self._summary()}", rows, len(self) - len(rows))

    def _summary(self) -> str:
        documents = sum(map(len, self.values()))
        failed = f", {len(self.failures):,} failed" if self.failures else ""
        return f"{self.tag}: {len(self):,} queries, {documents:,} documents{failed}"

    @classmethod
    def read(cls, path: str | PurePath) -> Run:
        """The run in a TREC file, also .gz and .xz; its tag is the name of the file without suffixes."""
        return cls(read_run(path), stem_of(Path(path)))

    @property
    def truncation(self) -> Truncation:
        """How many inputs a model truncated, over all queries."""
        return sum((ranking.truncation for ranking in self.values()), Truncation())

    @property
    def text(self) -> str:
        """The run in TREC format."""
        stream = io.StringIO()
        self._write_to(stream)
        return stream.getvalue()

    def write(self, to: TextIO | str | PurePath) -> None:
        """Write the run in TREC format to a stream or a file; .gz and .xz are compressed.

        A file appears complete or not at all. White space in the tag is replaced by underscores.
        """
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
            write_run(stream, query, ranking, one_word(self.tag))

    def to_frame(self) -> Any:
        """A pandas DataFrame with the columns query_id, doc_id, rank and score, as ir_measures names them.

        Further columns hold the parts of the scores, such as qp and dp, if the rankings have any.
        """
        rankings = self.values()
        parts = list(dict.fromkeys(name for ranking in rankings for name in ranking.parts))
        columns: dict[str, list[Any]] = {
            "query_id": [query for query, ranking in self.items() for _ in ranking.ids],
            "doc_id": [id for ranking in rankings for id in ranking.ids],
            "rank": [rank for ranking in rankings for rank in range(1, len(ranking) + 1)],
            "score": [score for ranking in rankings for score in ranking.scores.tolist()],
        }
        for name in parts:
            columns[name] = [value for ranking in rankings for value in _part(ranking, name)]
        return data_frame("Run.to_frame", columns)


def _part(ranking: Ranking, name: str) -> list[float]:
    return ranking.parts[name].tolist() if name in ranking.parts else [math.nan] * len(ranking)
