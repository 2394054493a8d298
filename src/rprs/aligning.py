"""Align two documents, with or without an index: `rprs.align(query, document)`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rprs.alignment.values import Alignment
    from rprs.document import Document, Query
    from rprs.index import Index
    from rprs.spec import Component

__all__ = ["align"]


def align(
    query: Query,
    document: Document | str,
    *,
    index: Index | str | Path | None = None,
    encoder: str | Component | None = None,
    boilerplate: bool = True,
) -> Alignment:
    """What two documents have in common: identical and reworded passages, and sentences with the same idea.

    Both are texts or Documents. With an `index`, its splitter, encoder and calibration are used, phrases that many of
    its documents have count as boilerplate, and `document` may be an id. Otherwise, sentences are split and encoded as
    in a new index (with `encoder`), and only rules recognise boilerplate. `boilerplate=False` leaves boilerplate out of
    pairs and coverage.
    """
    from rprs.document import combine, query_documents, text_document
    from rprs.errors import UsageError
    from rprs.evidence import Evidence
    from rprs.index import Index
    from rprs.index.encoders import load_once
    from rprs.index.memory import index_in_memory
    from rprs.progress import as_progress

    if index is not None and encoder is not None:
        raise UsageError(f"An index has its own encoder: leave out either the index or the encoder {encoder!s:.80}")
    left = combine(query_documents(query))
    if index is not None:
        opened = index if isinstance(index, Index) else Index(index)
        try:
            if isinstance(document, str) and document in opened:
                return Evidence(left, opened).align(document, boilerplate=boilerplate)
            right = text_document(document) if isinstance(document, str) else document
            return Evidence(left, opened).align_text(right, boilerplate=boilerplate)
        finally:
            if opened is not index:
                opened.close()
    right = text_document(document) if isinstance(document, str) else document
    with index_in_memory(
        [right], splitter=None, analyzer=None, encoder=encoder, progress=as_progress(None), load=load_once
    ) as memory:
        return Evidence(left, memory).align_text(right, boilerplate=boilerplate)
