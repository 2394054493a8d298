"""Hits, explanations and documents as tables on a terminal, and as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rprs.alignment.describe import coverage_sentence, similarity_text
from rprs.alignment.evidence import most_telling
from rprs.document import Document
from rprs.index.info import describe_calibration, describe_encoder, describe_language
from rprs.index.lookup import DocumentSummary
from rprs.read.source import stem_of
from rprs.results.hits import Explanation, Hit, Pair, Results, Span

PAIRS = 20  # of an explanation without --all
INDENT = 2  # of --format json
_BLOCKS = " ▏▎▍▌▋▊▉█"


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


# ---------------------------------------------------------------------------- hits


def print_hits(results: Results) -> None:
    """One line per hit, and beneath it the best pair of sentences."""
    console = stdout_console()
    has_shares = any("qp" in hit.parts for hit in results)
    width = max([len("score"), *(len(_score(hit.score)) for hit in results)])
    header = f"  #  {'score':>{width}}  {'QP':<11}{'DP':<11}" if has_shares else f"  #  {'score':>{width}}  "
    _line(console, Text(f"{header}{'first':<10}document", style="dim"))
    for hit in results:
        line = Text(f"{hit.rank:>3}  ")
        line.append(f"{_score(hit.score):>{width}}  ", "bold")
        if has_shares:
            line.append(f"{bar(hit.qp)}  {bar(hit.dp)}  ")
        line.append(f"{movement(hit):<10}", "dim")
        line.append(hit.id, "bold cyan")
        line.append(_title(hit.id, hit.title))
        _line(console, line)
        for pair in hit.pairs[:1]:
            _line(console, Text.assemble("     ", (f"{pair.similarity:.2f}", "green"), f"  {flat(pair.query)}"))
            _line(console, Text.assemble("        ", ("⇄", "green"), f"  {flat(pair.document)}"))


def _line(console: Console, line: Text) -> None:
    line.truncate(console.width, overflow="ellipsis")
    console.print(line, soft_wrap=True)


def _score(score: float) -> str:
    return f"{score:.4f}" if abs(score) < 10 else f"{score:,.1f}"


def bar(share: float, width: int = 4) -> str:
    """A share of 1 as a bar and a percentage, nine columns wide."""
    if not math.isfinite(share):
        return " " * (width + 5)
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    blocks = "█" * full + (_BLOCKS[rest] if rest else "")
    return f"{blocks:<{width}} {share * 100:>3.0f}%"


def _title(id: str, title: str) -> str:
    """A title to print after an id; empty if it repeats the id."""
    return "" if title in ("", id, stem_of(PurePath(id))) else f"  {title}"


def movement(hit: Hit) -> str:
    """The rank in the first stage, and how far the re-ranker moved the document."""
    up = hit.first_rank - hit.rank
    return f"{hit.first_rank} {f'↑{up}' if up > 0 else f'↓{-up}' if up else '='}"


def flat(text: str) -> str:
    """A sentence on one line."""
    return " ".join(text.split())


# ---------------------------------------------------------------------------- explanations


def most_similar(pairs: Sequence[Pair], limit: int) -> list[Pair]:
    """The most telling pairs."""
    return list(most_telling(pairs, limit))


@dataclass(frozen=True, slots=True)
class Passage:
    """Neighbouring sentences of the query, numbered from 1."""

    first: int
    last: int
    span: Span


def uncovered_passages(explanation: Explanation) -> list[Passage]:
    """The uncovered sentences; neighbouring ones form one passage."""
    spans = sorted({*explanation.uncovered, *(pair.query_span for pair in explanation.hit.pairs)})
    uncovered, passages = set(explanation.uncovered), list[Passage]()
    for number, span in enumerate(spans, 1):
        if span not in uncovered:
            continue
        if passages and passages[-1].last == number - 1:
            passages[-1] = Passage(passages[-1].first, number, (passages[-1].span[0], span[1]))
        else:
            passages.append(Passage(number, number, span))
    return passages


def print_explanation(explanation: Explanation, all_pairs: bool) -> None:
    """The scores, the pairs side by side, and the parts of the query without a match."""
    console = stdout_console()
    pairs = explanation.hit.pairs
    console.print(
        Text.assemble((_name(explanation.query), "bold"), "  ⇄  ", (_name(explanation.document), "bold cyan"))
    )
    for line in summary(explanation):
        console.print(line)
    best = list(pairs) if all_pairs else most_similar(pairs, PAIRS)
    if best:
        console.print(_side_by_side(best))
    if len(best) < len(pairs):
        console.print(
            f"The {len(best)} best of {len(pairs):,} pairs; --all prints them all, in the order of the query."
        )
    _print_uncovered(console, explanation, all_pairs)


def summary(explanation: Explanation) -> list[str]:
    """The rank and score of the document, and how much of both texts matches."""
    hit = explanation.hit
    place = f"rank {hit.rank}, {hit.first_rank} in the first stage"
    if not explanation.in_pool:
        place = "not among the candidates of the first stage; added to them for this comparison"
    parts = ", ".join(f"{_symbol(name)} {value:.3f}" for name, value in hit.parts.items() if math.isfinite(value))
    return [
        f"score {_score(hit.score)}{f' ({parts})' if parts else ''}; {place}",
        coverage_sentence(explanation.alignment.query_coverage, "query"),
        coverage_sentence(explanation.alignment.document_coverage, "document"),
    ]


def _symbol(name: str) -> str:
    """QP and DP are symbols of the paper; other parts of a score have names in words."""
    return name.upper() if name in ("qp", "dp") else name.replace("_", " ")


def _percent(part: int, total: int) -> str:
    return f"{100 * part / max(total, 1):.0f}%"


def _name(document: Document) -> str:
    return f"{document.id}{_title(document.id, document.title)}"


def _side_by_side(pairs: Iterable[Pair]) -> Table:
    table = Table(box=None, padding=(0, 2, 1, 0), header_style="dim", expand=True, pad_edge=False)
    table.add_column("#", justify="right", style="dim")
    table.add_column("query", ratio=1)
    table.add_column("", style="green")
    table.add_column("document", ratio=1)
    for number, pair in enumerate(pairs, 1):
        table.add_row(str(number), flat(pair.query), similarity_text(pair), flat(pair.document))
    return table


def _print_uncovered(console: Console, explanation: Explanation, all_passages: bool) -> None:
    passages = uncovered_passages(explanation)
    if not passages:
        console.print("Every sentence of the query has a match.")
        return
    console.print(
        f"Without a match: {len(explanation.uncovered):,} of {explanation.sentences:,} sentences of the query"
    )
    for passage in passages if all_passages else passages[:PAIRS]:
        numbers = f"{passage.first}–{passage.last}" if passage.last > passage.first else str(passage.first)
        text = shorten(flat(explanation.query.text[slice(*passage.span)]), console.width - 13)
        console.print(Text.assemble((f"{numbers:>11}  ", "dim"), text), soft_wrap=True)
    if not all_passages and len(passages) > PAIRS:
        console.print(f"and {len(passages) - PAIRS:,} more passages; --all prints them all.")


def shorten(text: str, width: int) -> str:
    """The beginning and the end of a text that does not fit."""
    if cell_len(text) <= width:
        return text
    end = Text(text[-max(width // 3, 1) :])
    start = Text(text)
    start.truncate(max(width - end.cell_len - 3, 1))
    return f"{start.plain.rstrip()} … {end.plain.lstrip()}"


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
        title = _title(document.id, document.title).strip()
        table.add_row(Text(document.id), f"{document.sentences:,}", f"{document.words:,}", Text(title))
    stdout_console().print(table)


def print_document(document: Document, summary: DocumentSummary) -> None:
    """The facts about a document, one per line, then its text."""
    counts = [("sentences", f"{summary.sentences:,}"), ("words", f"{summary.words:,}")]
    metadata = [(name, "" if value is None else str(value)) for name, value in document.metadata.items()]
    print_rows([("id", document.id), ("title", document.title), *counts, *metadata])
    print(f"\n{document.text}")
