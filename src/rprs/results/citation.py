"""Bibliographic references from the metadata of documents; nothing is invented."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from rprs.document import Metadata
from rprs.read.dates import iso_date
from rprs.results.hits import Hit
from rprs.results.one_line import one_line

__all__ = ["Citation", "citation_of", "web_address"]

Kind = Literal["article", "paper", "case", "patent", "other"]

# possible names of metadata fields, the most likely first; case, blanks and hyphens do not matter
_AUTHORS = ("authors", "author", "inventors", "inventor", "creators", "creator")
_DATES = ("decision_date", "date_filed", "publication_date", "date_published", "published", "issued", "date")
_ADDRESSES = ("url", "uri", "link", "source_url", "homepage_url", "homepage")
_JOURNALS = ("journal", "journal_title", "journal_name")
_PROCEEDINGS = ("booktitle", "proceedings", "conference")
_DOCKETS = ("docket_number", "docket", "case_number", "citation")
_PATENTS = ("patent_number", "publication_number", "patent")
_OWNERS = ("assignee", "assignees", "applicant", "applicants", "holder")

_MONTH = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2]))?")
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Citation:
    """A reference; unknown fields are empty."""

    kind: Kind
    id: str
    title: str
    authors: tuple[str, ...]
    date: str  # 2016, 2016-03 or 2016-03-31
    doi: str
    url: str
    within: str  # the journal, or the proceedings
    publisher: str  # for a case the court, for a patent its owner
    number: str  # of the docket, or of the patent
    volume: str
    issue: str
    pages: str
    language: str

    @property
    def year(self) -> str:
        """The year of the date."""
        return self.date[:4]


def citation_of(hit: Hit) -> Citation:
    """The reference to a document; its fields decide whether it is a case, a patent, an article or a paper."""
    fields = _Fields(hit.metadata)
    journal, proceedings = fields.first(*_JOURNALS), fields.first(*_PROCEEDINGS)
    court, patent = fields.first("court"), fields.first(*_PATENTS)
    kind: Kind = (
        "case" if court else "patent" if patent else "article" if journal else "paper" if proceedings else "other"
    )
    owner = {"case": court, "patent": fields.first(*_OWNERS)}.get(kind, "")
    return Citation(
        kind=kind,
        id=one_line(hit.id),
        title=one_line(hit.title),
        authors=_authors(fields.first(*_AUTHORS)),
        date=_date_in_year(_date(fields.first("year")), [_date(text) for text in fields.all(*_DATES)]),
        doi=_doi(fields.first("doi")),
        url=next((url for url in map(web_address, fields.all(*_ADDRESSES)) if url), ""),
        within=journal or proceedings,
        publisher=owner or fields.first("publisher"),
        number={"case": fields.first(*_DOCKETS), "patent": patent}.get(kind, ""),
        volume=fields.first("volume"),
        issue=fields.first("issue", "number"),
        pages=fields.first("pages"),
        language=fields.first("language", "lang"),
    )


class _Fields:
    """Metadata by names whose case, blanks and hyphens do not matter; only texts and numbers count."""

    def __init__(self, metadata: Metadata) -> None:
        self.values = {
            re.sub(r"[\s-]+", "_", name.strip().casefold()): one_line(str(value))
            for name, value in metadata.items()
            if isinstance(value, str | int | float) and not isinstance(value, bool)
        }

    def all(self, *names: str) -> list[str]:
        return [self.values[name] for name in names if self.values.get(name)]

    def first(self, *names: str) -> str:
        return next(iter(self.all(*names)), "")


def web_address(text: str) -> str:
    """The text if it is an http or https address, otherwise nothing: no other scheme becomes a link."""
    address = text.strip()
    try:
        parts = urlsplit(address)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return ""
    return address if valid and not re.search(r"[\s\x00-\x1f\x7f<>\"]", address) else ""


def _date(text: str) -> str:
    month = _MONTH.fullmatch(text)
    return month[0] if month else iso_date(text)


def _date_in_year(year: str, dates: Sequence[str]) -> str:
    """The first date; if the year is known, the first date in that year, since others may be of a later edition."""
    return next((date for date in dates if date and date.startswith(year[:4])), year)


def _doi(text: str) -> str:
    match = _DOI.fullmatch(text)
    return match[1] if match else ""


# ---------------------------------------------------------------------------- names


def _authors(text: str) -> tuple[str, ...]:
    """Names in a JSON list, or separated by semicolons or the word "and"; a comma may be part of a name."""
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = [text]
        names = [_name(author) for author in listed]
    else:
        names = re.split(r"\s*;\s*|\s+and\s+", text)
    return tuple(one_line(name) for name in names if name.strip())


def _name(author: Any) -> str:
    if not isinstance(author, Mapping):
        return author if isinstance(author, str) else ""
    parts = [author.get(key) for key in ("family", "given")]
    name = author.get("name") or ", ".join(part for part in parts if isinstance(part, str) and part)
    return name if isinstance(name, str) else ""
