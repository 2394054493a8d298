"""Results to take away: hits as CSV, JSON lines, a TREC run, RIS or BibTeX, and an aligned view as a page to mail.

Every file carries the settings, the fingerprint of the index and the version, so that it can be had again:

| format | where it stands |
|---|---|
| csv | columns at the end whose names begin with `about.` |
| jsonl | a first line `{"about": …}` |
| trec | the last column, the tag |
| ris | a note (N1) of each reference |
| bibtex | a note of each entry, and an `@comment` at the beginning |
| the report | its footer |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rprs.results import bibtex, csv_table, jsonl, ris, trec
from rprs.results.hits import Hit
from rprs.results.serialize import About

__all__ = ["FORMATS", "Format"]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file to take hits away in; `write` gives its text."""

    name: str
    suffix: str
    media_type: str
    write: Callable[[Sequence[Hit], About], str]
    encoding: str = "utf-8"  # of the file, as those programs expect it that open it by a double click


FORMATS: Mapping[str, Format] = {
    format.name: format
    for format in (
        Format("csv", ".csv", "text/csv", csv_table.write, "utf-8-sig"),
        Format("jsonl", ".jsonl", "application/jsonl", jsonl.write),
        Format("trec", ".trec", "text/plain", trec.write),
        Format("ris", ".ris", "application/x-research-info-systems", ris.write),
        Format("bibtex", ".bib", "application/x-bibtex", bibtex.write),
    )
}
