"""Hits as a table of comma-separated values that a spreadsheet opens, and opens harmlessly."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence

from rprs.document import Value
from rprs.results.hits import Hit
from rprs.results.prose import flat
from rprs.results.serialize import About

__all__ = ["csv_text", "write"]

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")  # what a cell begins with that a spreadsheet may run
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


def write(hits: Sequence[Hit], about: About) -> str:
    """A line a hit: its numbers, its best pair of sentences, each field of metadata, and what the result depends on.

    A field of metadata that has the name of another column is called `metadata.` and its name. A text that a
    spreadsheet would take for a formula begins with an apostrophe.
    """
    parts = [name for name in _names(hit.parts for hit in hits) if name not in ("qp", "dp")]
    fields = _names(hit.metadata for hit in hits)
    known = {f"about.{name}": value for name, value in about.object().items()}
    own = ["rank", "id", "title", "score", "qp", "dp", *parts, "first_rank", "first_score"]
    own += ["similarity", "query_sentence", "document_sentence"]
    header = [*own, *_unlike(fields, [*own, *known]), *known]
    rows = list[Sequence[Value]]()
    for hit in hits:
        numbers = [hit.score, hit.qp, hit.dp, *(hit.parts.get(name) for name in parts)]
        row = [hit.rank, hit.id, hit.title, *numbers, hit.first_rank, hit.first_score, *_evidence(hit)]
        rows.append([*row, *(hit.metadata.get(field) for field in fields), *known.values()])
    return csv_text(header, rows)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    """A table as CSV in which no text can run as a formula."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(map(_cell, header))
    writer.writerows(map(_cell, row) for row in rows)
    return stream.getvalue()


def _names(found: Iterable[Iterable[str]]) -> list[str]:
    """Every name, in the order in which they first occur."""
    return list(dict.fromkeys(name for names in found for name in names))


def _unlike(fields: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names of columns for the fields, each unlike all others."""
    used = {*taken, *fields}
    columns: list[str] = []
    for field in fields:
        column = field
        while column in taken or (column != field and column in used):
            column = f"metadata.{column}"
        used.add(column)
        columns.append(column)
    return columns


def _evidence(hit: Hit) -> Sequence[Value]:
    if not hit.pairs:
        return None, None, None
    best = hit.pairs[0]
    return best.similarity, flat(best.query), flat(best.document)


def _cell(value: Value) -> str:
    """A number in full, nothing for what is not there, and a text that cannot be run."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    run = isinstance(value, str) and _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if run else text
