"""Facts and documents as tables on a terminal, and objects as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rprs.document import Document
from rprs.index.info import describe_calibration, describe_encoder, describe_language
from rprs.index.lookup import DocumentSummary
from rprs.read.source import stem_of

INDENT = 2  # of --format json


def stdout_console() -> Console:
    """Standard output, as wide as the terminal."""
    return Console(highlight=False, markup=False, emoji=False)


# ---------------------------------------------------------------------------- JSON


def print_json(value: Any, *, indent: int | None = None) -> None:
    """A JSON value: on one line, or indented."""
    utf8 = (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=not utf8, allow_nan=False, indent=indent))


def print_object(value: Mapping[str, Any], *, lines: bool) -> None:
    """One JSON object, on one line (jsonl) or indented (json)."""
    print_json(value, indent=None if lines else INDENT)


def print_objects(values: Sequence[Mapping[str, Any]], *, lines: bool) -> None:
    """JSON objects, one per line (jsonl) or as one array (json)."""
    if lines:
        for value in values:
            print_json(value)
    else:
        print_json(values, indent=INDENT)


# ---------------------------------------------------------------------------- facts


def print_facts(facts: Mapping[str, Any]) -> None:
    """The facts about an index, one per line."""
    print_rows((name, _fact(name, value)) for name, value in facts.items())


def print_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Names with their values, one row each."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    stdout_console().print(table)


def _fact(name: str, value: Any) -> str:
    if name == "language":
        return describe_language(value)
    if name == "same_idea":
        return describe_calibration(value)
    if value is None:
        return "none yet"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "bytes":
        return f"{value:,} ({value / 1e6:,.1f} MB)"
    if name == "encoder":
        return f"{describe_encoder(value)}; {value['dimension']} dimensions, fingerprint {value['fingerprint']}"
    return f"{value:,}" if isinstance(value, int) else str(value)


# ---------------------------------------------------------------------------- documents


def print_documents(documents: Iterable[DocumentSummary]) -> None:
    """One line per document."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("document", style="bold cyan", overflow="fold")
    table.add_column("sentences", justify="right")
    table.add_column("words", justify="right")
    table.add_column("title", overflow="fold")
    for document in documents:
        title = title_suffix(document.id, document.title).strip()
        table.add_row(Text(document.id), f"{document.sentences:,}", f"{document.words:,}", Text(title))
    stdout_console().print(table)


def title_suffix(id: str, title: str) -> str:
    """A title to print after an id; empty if it repeats the id."""
    return "" if title in ("", id, stem_of(PurePath(id))) else f"  {title}"


def collection_suffix(collection: str) -> Text:
    """The collection of a document to print after its title; empty if only one was searched."""
    return Text(f"  in {collection}" if collection else "", "dim")


def print_document(document: Document, summary: DocumentSummary) -> None:
    """The facts about a document, one per line, then its text."""
    counts = [("sentences", f"{summary.sentences:,}"), ("words", f"{summary.words:,}")]
    metadata = [(name, "" if value is None else str(value)) for name, value in document.metadata.items()]
    print_rows([("id", document.id), ("title", document.title), *counts, *metadata])
    print(f"\n{document.text}")
