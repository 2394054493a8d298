"""TREC run files: `query Q0 document rank score tag`, one line a document; also .gz and .xz."""

from __future__ import annotations

import io
import math
import zlib
from collections.abc import Mapping
from lzma import LZMAError
from pathlib import Path, PurePath
from typing import TextIO

import numpy as np

from rprs.document import Ranking
from rprs.errors import ReadError, UsageError
from rprs.read.source import opened

__all__ = ["one_word", "ranking_by_score", "read_run", "write_run"]


def read_run(path: str | PurePath) -> dict[str, Ranking]:
    """The rankings of a run by query, in the order of the queries in the file.

    As trec_eval does, the score decides and the rank column does not; equal scores keep the order of the file.
    """
    found: dict[str, dict[str, float]] = {}
    try:
        with opened(Path(path)) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig") as lines:
            for at, line in enumerate(lines, 1):
                if line.strip():
                    query, document, score = _parsed(line, f"{path}:{at}")
                    if document in found.setdefault(query, {}):
                        raise ReadError(f"{path}:{at}: the document {document} is there twice for the query {query}")
                    found[query][document] = score
    except FileNotFoundError as error:
        raise ReadError(f"{path}: no such run file") from error
    except (OSError, EOFError, ValueError, LZMAError, zlib.error) as error:
        raise ReadError(f"{path}: cannot be read as a run: {error}") from error
    return {query: ranking_by_score(scores) for query, scores in found.items()}


def _parsed(line: str, where: str) -> tuple[str, str, float]:
    columns = line.split()
    if len(columns) != 6:
        raise ReadError(f"{where}: {len(columns)} columns; a run has six: query Q0 document rank score tag")
    try:
        score = float(columns[4])
    except ValueError:
        score = math.nan
    if math.isnan(score):
        raise ReadError(f"{where}: the score {columns[4]!r} is not a number")
    return columns[0], columns[2], score


def ranking_by_score(documents: Mapping[str, float]) -> Ranking:
    """Documents with scores as a ranking, best first; equal scores keep their order."""
    ids, scores = list(documents), np.array(list(documents.values()), dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    return Ranking(tuple(ids[place] for place in order), scores[order])


def one_word(text: str) -> str:
    """A text as the tag of a run: without white space, which separates the columns of a run file."""
    return "_".join(text.split())


def write_run(to: TextIO | str | PurePath, query_id: str, ranking: Ranking, tag: str) -> None:
    """Write the ranking of one query: to a stream, or at the end of a file.

    The scores are written in full, so that `read_run` gives the same ranking back.
    """
    for what, name in (("query", query_id), ("tag", tag), *(("document", id) for id in ranking.ids)):
        if len(name.split()) != 1 or name.strip() != name:
            raise UsageError(f"The {what} {name!r} cannot stand in a run file: its columns are parted by white space")
    scores = ranking.scores.tolist()
    if not all(score >= following for score, following in zip(scores, scores[1:] or scores, strict=False)):
        raise UsageError(f"The ranking for the query {query_id!r} cannot be written as a run: its scores do not fall")
    lines = [
        f"{query_id} Q0 {id} {rank} {score!r} {tag}\n"
        for rank, (id, score) in enumerate(zip(ranking.ids, scores, strict=True), 1)
    ]
    if isinstance(to, (str, PurePath)):
        with Path(to).open("a", encoding="utf-8") as stream:
            stream.writelines(lines)
    else:
        to.writelines(lines)
