"""Queries as the command line takes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rprs.cli.talk import Remarks, Talk
from rprs.errors import ReadError, UsageError

if TYPE_CHECKING:
    from rprs.document import Document

__all__ = ["read_listed_queries"]


def read_listed_queries(talk: Talk, queries: Path, only: Path | None) -> list[Document]:
    """The queries of a file or folder, or those of them that a list of ids names."""
    from rprs.read import read_queries

    remarks = Remarks(talk)
    documents = list(read_queries(queries, skipped=lambda item: remarks(f"skipped {item}")))
    remarks.close()
    if only is None:
        return documents
    try:
        wanted = {line.strip() for line in only.read_text(encoding="utf-8").splitlines() if line.strip()}
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"{only}: cannot be read as a list of ids: {error}") from error
    missing = sorted(wanted - {query.id for query in documents})
    if missing:
        raise UsageError(f"{only} names {missing[0]!r}, which is none of the {len(documents):,} queries of {queries}")
    return [query for query in documents if query.id in wanted]
