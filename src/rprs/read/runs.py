"""TREC run files: `query Q0 document rank score tag`, one line per document; also .gz and .xz.

A header of ir_metadata (https://www.ir-metadata.org), YAML in lines that start with #, is skipped:

    # ir_metadata.start
    # tag: "bm25"
    # ir_metadata.end
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import TextIO

import numpy as np

from rprs.document import Ranking
from rprs.errors import ReadError, UsageError
from rprs.read.columns import read_columns

__all__ = ["HEADER_END", "HEADER_START", "one_word", "ranking_by_score", "read_run", "write_run"]

HEADER_START, HEADER_END = "# ir_metadata.start", "# ir_metadata.end"


def read_run(path: str | PurePath) -> dict[str, Ranking]:
    """The rankings of a run by query, in the order of the queries in the file.

    As in trec_eval, the scores decide and the rank column is ignored; equal scores keep the order of the file. A header
    of ir_metadata is skipped.
    """
    scores: dict[str, dict[str, float]] = {}
    for location, columns in _without_header(read_columns(path, "run")):
        if len(columns) != 6:
            raise ReadError(f"{location}: {len(columns)} columns; a run has six: query Q0 document rank score tag")
        query, document = columns[0], columns[2]
        if document in scores.setdefault(query, {}):
            raise ReadError(f"{location}: the document {document} occurs twice for the query {query}")
        scores[query][document] = _score(columns[4], location)
    return {query: ranking_by_score(by_document) for query, by_document in scores.items()}


def _without_header(lines: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, list[str]]]:
    """The lines of a run after its header, if it has one."""
    remaining = iter(lines)
    first = next(remaining, None)
    if first is None:
        return
    if first[1] != HEADER_START.split():
        yield first
    else:
        for location, columns in remaining:
            if columns == HEADER_END.split():
                break
            if not columns[0].startswith("#"):
                raise ReadError(f"{location}: the header does not end: expected {HEADER_END!r} before this line")
        else:
            raise ReadError(f"{first[0]}: the header does not end: expected {HEADER_END!r} after this line")
    yield from remaining


def _score(text: str, location: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if math.isnan(score):
        raise ReadError(f"{location}: the score {text!r} is not a number")
    return score


def ranking_by_score(documents: Mapping[str, float]) -> Ranking:
    """Documents with scores as a ranking, best first; equal scores keep their order."""
    ids, scores = list(documents), np.array(list(documents.values()), dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    return Ranking(tuple(ids[position] for position in order), scores[order])


def one_word(text: str) -> str:
    """A text as the tag of a run: without white space, which separates the columns of a run file."""
    return "_".join(text.split())


def write_run(to: TextIO | str | PurePath, query_id: str, ranking: Ranking, tag: str) -> None:
    """Write the ranking of one query to a stream, or append it to a file.

    Scores are written in full precision, so that `read_run` reads back the same ranking.
    """
    if not isinstance(ranking, Ranking):
        raise UsageError(f"Expected the Ranking of one query; Run.write writes a complete run. Got {ranking!r:.80}")
    for what, name in (("query", query_id), ("tag", tag), *(("document", id) for id in ranking.ids)):
        if len(str(name).split()) != 1 or str(name).strip() != name:
            raise UsageError(f"The {what} {name!r} cannot be written to a run file: white space separates its columns")
    scores = ranking.scores.tolist()
    if not all(score >= following for score, following in zip(scores, scores[1:] or scores, strict=False)):
        raise UsageError(
            f"The ranking for the query {query_id!r} cannot be written to a run file: its scores must not increase"
        )
    lines = [
        f"{query_id} Q0 {id} {rank} {score!r} {tag}\n"
        for rank, (id, score) in enumerate(zip(ranking.ids, scores, strict=True), 1)
    ]
    if isinstance(to, (str, PurePath)):
        with Path(to).open("a", encoding="utf-8") as stream:
            stream.writelines(lines)
    else:
        to.writelines(lines)
