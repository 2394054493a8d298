"""What `evaluate` and `compare` accept as a run: files, mappings, data frames and scored documents.

Documents are ordered by score, best first; equal scores keep the order in which the documents are listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path, PurePath
from typing import Any

from rprs.document import Ranking
from rprs.errors import UsageError

__all__ = ["RunInput", "name_files", "name_of", "read_rankings"]

# Any: a DataFrame, or an iterable of scored documents as ir_measures has them
RunInput = str | PurePath | Mapping[str, Ranking] | Mapping[str, Mapping[str, float]] | Any

_FORMS = "a TREC file, a Run, a mapping from queries to documents with scores, a DataFrame or ScoredDocs"
_COLUMNS = (("query_id", "qid"), ("doc_id", "docno"), ("score",))


def read_rankings(run: RunInput) -> Mapping[str, Ranking]:
    """The rankings by query of a TREC file, a mapping, a DataFrame, or an iterable of scored documents.

    A mapping has, for each query, a `Ranking` or scores by document. A DataFrame has the columns query_id (or qid),
    doc_id (or docno) and score; scored documents have attributes or keys of these names. A column of ranks is ignored,
    as in trec_eval.
    """
    from rprs.read.runs import read_run

    if isinstance(run, str | PurePath):
        return read_run(run)
    if isinstance(run, Mapping):
        return {str(query): _ranking(query, ranking) for query, ranking in run.items()}
    scores: dict[str, dict[str, float]] = {}
    for query, document, score in _rows(run):
        _add(scores.setdefault(str(query), {}), query, document, score)
    return {query: _by_score(documents) for query, documents in scores.items()}


def name_of(run: RunInput) -> str:
    """The name of a file without its suffixes, the tag of a `Run`, or nothing."""
    if isinstance(run, str | PurePath):
        from rprs.read.source import stem_of

        return stem_of(Path(run))
    tag = getattr(run, "tag", "") if isinstance(run, Mapping) else ""
    return tag if isinstance(tag, str) else ""


def name_files(paths: Sequence[str | PurePath]) -> list[str]:
    """The names of files without their suffixes; the paths of those whose names are the same."""
    stems = [name_of(path) for path in paths]
    names = [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, paths, strict=True)]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise UsageError(f"The run {repeated[0]} is given twice")
    return names


def _ranking(query: object, ranking: object) -> Ranking:
    if isinstance(ranking, Ranking):
        return ranking
    if not isinstance(ranking, Mapping):
        raise UsageError(
            f"A run maps each query to a Ranking or to scores by document. Got {ranking!r:.80} for the query {query!r}"
        )
    scores: dict[str, float] = {}
    for document, score in ranking.items():
        _add(scores, query, document, score)
    return _by_score(scores)


def _add(scores: dict[str, float], query: object, document: object, score: object) -> None:
    if isinstance(score, bool) or not isinstance(score, Real) or math.isnan(score):
        raise UsageError(
            f"The score of {document!r} for the query {query!r} must be a number. Got {score!r:.80} instead."
        )
    if str(document) in scores:
        raise UsageError(f"The document {document!r} is listed twice for the query {query!r}")
    scores[str(document)] = float(score)


def _by_score(scores: Mapping[str, float]) -> Ranking:
    from rprs.read.runs import ranking_by_score

    return ranking_by_score(scores)


def _rows(run: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Query, document and score of every row."""
    if hasattr(run, "columns") and hasattr(run, "to_dict"):
        names = [_key(list(run.columns), options) for options in _COLUMNS]
        return zip(*(run[name].tolist() for name in names), strict=True)
    if isinstance(run, bytes) or not isinstance(run, Iterable):
        raise UsageError(f"A run is {_FORMS}. Got {run!r:.80}")
    return map(_row, run)


def _row(row: Any) -> tuple[Any, Any, Any]:
    if isinstance(row, Mapping):
        query, document, score = (row[_key(list(row), options)] for options in _COLUMNS)
        return query, document, score
    try:
        return row.query_id, row.doc_id, row.score
    except AttributeError as error:
        raise UsageError(f"A scored document has query_id, doc_id and score. Got {row!r:.80}") from error


def _key(names: Sequence[Any], options: Sequence[str]) -> str:
    key = next((option for option in options if option in names), None)
    if key is None:
        listed = ", ".join(map(str, names)) or "none"
        raise UsageError(f"A run needs the column {' or '.join(options)}. It has {listed:.80}")
    return key
