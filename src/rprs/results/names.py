"""Names of exported files, which say what the file is about and are valid on every operating system."""

from __future__ import annotations

import re
import unicodedata

from rprs.document import Document

__all__ = ["ascii_name", "chart_name", "hits_name", "matter_name", "passages_name", "report_name", "title_of"]

LENGTH = 80  # characters of a title in a name: a path has at most 255 bytes on most systems
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff<>:"/\\|?*]+')


def hits_name(query: Document, suffix: str) -> str:
    """The name of a file with the hits of a query: `Similar to lease.csv`."""
    return f"Similar to {_part(query)}{suffix}"


def report_name(query: Document, document: Document) -> str:
    """The name of the report of two documents: `lease compared with Holland v. Illinois.html`."""
    return f"{_part(query)} compared with {_part(document)}.html"


def chart_name(query: Document, suffix: str) -> str:
    """The name of a file with the coverage chart of a document: `Coverage of lease.docx`."""
    return f"Coverage of {_part(query)}{suffix}"


def passages_name(passage: str, suffix: str) -> str:
    """The name of a file with passages: `Passages like The tenant withheld the rent.csv`."""
    return f"Passages like {_short(passage)}{suffix}"


def matter_name(name: str, suffix: str) -> str:
    """The name of a file with an exported matter: `Dunmore v. Pellam.docx`."""
    return f"{_short(name)}{suffix}"


def title_of(document: Document) -> str:
    """What a document is called: its title, or else its id."""
    return " ".join(document.title.split()) or document.id


def ascii_name(name: str) -> str:
    """The name in ASCII, for programs that cannot read others."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "-", plain).lstrip(".-") or "rprs"


def _part(document: Document) -> str:
    """The title of a document as a part of a file name."""
    return _short(title_of(document))


def _short(text: str) -> str:
    words = _FORBIDDEN.sub(" ", text[: 20 * LENGTH]).split()
    short = " ".join(words)[:LENGTH].strip(" .")
    return short or "document"
