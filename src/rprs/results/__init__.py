"""Results and their export: hits as CSV, JSON lines, a TREC run, RIS or BibTeX; an explanation as an HTML report.

Files are named for their documents (`rprs.results.names`).
Every file contains what is needed to reproduce it (settings, fingerprint of the index, version):

| format | where |
|---|---|
| csv | a first line with one cell, `# rprs: …` |
| jsonl | a first line `{"about": …}` |
| trec | the last column, the tag |
| ris | a note (N1) of each reference |
| bibtex | a note of each entry, and an `@comment` at the beginning |
| the report | its footer |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rprs.results import bibtex, csv_table, jsonl, ris, trec
from rprs.results.hits import Hit
from rprs.results.serialize import About

__all__ = ["FORMATS", "Format"]


Exported = TypeVar("Exported")
Details = TypeVar("Details")


@dataclass(frozen=True, slots=True)
class Format(Generic[Exported, Details]):
    """A file format for hits; `write` returns the text of the file."""

    name: str
    suffix: str
    media_type: str
    write: Callable[[Sequence[Exported], Details], str]
    encoding: str = "utf-8"  # of the file: spreadsheets need a byte order mark to recognise UTF-8


FORMATS: Mapping[str, Format[Hit, About]] = {
    format.name: format
    for format in (
        Format("csv", ".csv", "text/csv", csv_table.write, "utf-8-sig"),
        Format("jsonl", ".jsonl", "application/jsonl", jsonl.write),
        Format("trec", ".trec", "text/plain", trec.write),
        Format("ris", ".ris", "application/x-research-info-systems", ris.write),
        Format("bibtex", ".bib", "application/x-bibtex", bibtex.write),
    )
}
