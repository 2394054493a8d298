"""Hits as a table of comma-separated values, safe to open in a spreadsheet; the same columns as a data frame."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from rprs.alignment.values import Coverage
from rprs.document import Metadata, Value
from rprs.results.hits import Hit
from rprs.results.one_line import describe_details, one_line
from rprs.results.serialize import About

__all__ = ["OF_SEARCH", "columns", "condensed_csv", "csv_text", "metadata_columns", "write"]

OF_SEARCH = ("collection", "relation")  # columns that describe the search if they are the same for all hits

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")  # a cell that begins with one of these may be run as a formula
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


def write(hits: Sequence[Hit], about: About) -> str:
    """A comment with the provenance of the result, the names of the columns, and one line per hit.

    The comment is one cell that begins with `# rprs:`; `pandas.read_csv(path, skiprows=1)` skips it. Columns that are
    empty in all lines are left out; a relation or collection that all hits have is in the comment. A metadata field
    with the name of another column is called `metadata.` and its name. A text that a spreadsheet would run as a formula
    begins with an apostrophe.
    """
    return condensed_csv(columns(hits), about.object(), OF_SEARCH)


def condensed_csv(
    table: Mapping[str, Sequence[Value]], settings: Mapping[str, object], of_search: Collection[str]
) -> str:
    """A table as CSV after its settings, without columns that say nothing.

    Left out are columns without any value, and those that describe the search if two or more rows have the same value:
    it is among the settings.
    """
    rows = len(next(iter(table.values()), ()))
    filled = {name: values for name, values in table.items() if not rows or any(_cell(each) for each in values)}
    same = {name: filled[name][0] for name in of_search if name in filled and rows > 1 and len({*filled[name]}) == 1}
    kept = {name: values for name, values in filled.items() if name not in same}
    return csv_text([*kept], zip(*kept.values(), strict=True), f"# rprs: {describe_details({**settings, **same})}")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Value]], comment: str = "") -> str:
    """A table as CSV in which no text can run as a formula, after a line with a comment, if there is one."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    if comment:
        writer.writerow([comment])
    writer.writerow(map(_cell, header))
    writer.writerows(map(_cell, row) for row in rows)
    return stream.getvalue()


def columns(hits: Sequence[Hit]) -> dict[str, list[Value]]:
    """The values of all hits by column: coverage, scores, the most telling pair, duplicates, metadata."""
    parts = [name for name in _names(hit.parts for hit in hits) if name not in ("qp", "dp")]
    pairs = [hit.pairs[0] if hit.pairs else None for hit in hits]
    table: dict[str, list[Value]] = {
        "rank": [hit.rank for hit in hits],
        "id": [hit.id for hit in hits],
        "title": [hit.title for hit in hits],
        **({"collection": [hit.collection for hit in hits]} if any(hit.collection for hit in hits) else {}),
        "relation": [hit.relation for hit in hits],
        **_coverage("query", [hit.query_coverage for hit in hits]),
        **_coverage("document", [hit.document_coverage for hit in hits]),
        "duplicates": ["; ".join(f"{each.id} ({each.relation})" for each in hit.duplicates) for hit in hits],
        "score": [hit.score for hit in hits],
        "qp": [hit.qp for hit in hits],
        "dp": [hit.dp for hit in hits],
        **{name: [hit.parts.get(name) for hit in hits] for name in parts},
        "first_rank": [hit.first_rank for hit in hits],
        "first_score": [hit.first_score for hit in hits],
        "kind": [pair.kind if pair else None for pair in pairs],
        "similarity": [pair.similarity if pair else None for pair in pairs],
        "query_passage": [one_line(pair.query) if pair else None for pair in pairs],
        "document_passage": [one_line(pair.document) if pair else None for pair in pairs],
    }
    return {**table, **metadata_columns([hit.metadata for hit in hits], [*table])}


def metadata_columns(rows: Sequence[Metadata], reserved: Sequence[str]) -> dict[str, list[Value]]:
    """The metadata of all rows by column; no column has a name that is reserved."""
    fields = _names(rows)
    names = _unique(fields, reserved)
    return {name: [row.get(field) for row in rows] for field, name in zip(fields, names, strict=True)}


def _coverage(side: str, coverages: Sequence[Coverage | None]) -> dict[str, list[Value]]:
    """Four columns: the share of words of one side that have a counterpart, in all and by kind."""
    words = ("matched", "identical", "reworded", "same_idea")
    return {
        f"{side}_{name}": [_share(getattr(each, name), each.words) if each else None for each in coverages]
        for name in words
    }


def _share(words: int, total: int) -> float:
    return round(words / total, 4) if total else 0.0


def _names(groups: Iterable[Iterable[str]]) -> list[str]:
    """Every name, in the order in which they first occur."""
    return list(dict.fromkeys(name for names in groups for name in names))


def _unique(fields: Sequence[str], reserved: Sequence[str]) -> list[str]:
    """Column names for the fields, different from each other and from the reserved ones."""
    used = {*reserved, *fields}
    names: list[str] = []
    for field in fields:
        name = field
        while name in reserved or (name != field and name in used):
            name = f"metadata.{name}"
        used.add(name)
        names.append(name)
    return names


def _cell(value: Value) -> str:
    """A number in full, an empty cell for a missing value, and a text that is not run as a formula."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    formula = isinstance(value, str) and _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if formula else text
