"""Hits and explanations on a terminal, and as JSON."""

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

from rprs.document import Document
from rprs.index.info import describe_encoder
from rprs.read.source import stem_of
from rprs.results.hits import Explanation, Hit, Pair, Results, Span
from rprs.results.serialize import matches
from rprs.search import TELLING

PAIRS = 20  # shown of an explanation, unless all are asked for
_BLOCKS = " ▏▎▍▌▋▊▉█"


def paper() -> Console:
    """Standard output, as wide as the terminal."""
    return Console(highlight=False, markup=False, emoji=False)


# ---------------------------------------------------------------------------- JSON


def print_json(value: Mapping[str, Any]) -> None:
    """One object on one line."""
    utf8 = (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=not utf8, allow_nan=False))


# ---------------------------------------------------------------------------- hits


def print_hits(results: Results) -> None:
    """A line a hit, and beneath it the pair of sentences that speaks most for it."""
    console = paper()
    proportions = any("qp" in hit.parts for hit in results)
    wide = max([len("score"), *(len(_score(hit.score)) for hit in results)])
    header = f"  #  {'score':>{wide}}  {'QP':<11}{'DP':<11}" if proportions else f"  #  {'score':>{wide}}  "
    _line(console, Text(f"{header}{'first':<10}document", style="dim"))
    for hit in results:
        line = Text(f"{hit.rank:>3}  ")
        line.append(f"{_score(hit.score):>{wide}}  ", "bold")
        if proportions:
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
    drawn = "█" * full + (_BLOCKS[rest] if rest else "")
    return f"{drawn:<{width}}{share * 100:>3.0f} %"


def _title(id: str, title: str) -> str:
    """A title to be put after an id, unless it says the same."""
    return "" if title in ("", id, stem_of(PurePath(id))) else f"  {title}"


def movement(hit: Hit) -> str:
    """The first stage's rank and how far the re-ranker moved the document from there."""
    up = hit.first_rank - hit.rank
    return f"{hit.first_rank} {f'↑{up}' if up > 0 else f'↓{-up}' if up else '='}"


def flat(text: str) -> str:
    """A sentence on one line."""
    return " ".join(text.split())


# ---------------------------------------------------------------------------- explanations


def most_similar(pairs: Sequence[Pair], limit: int) -> list[Pair]:
    """The best few; pairs with a short sentence, such as a heading, come last."""

    def order(pair: Pair) -> tuple[bool, float]:
        return min(len(pair.query), len(pair.document)) < TELLING, -pair.similarity

    return sorted(pairs, key=order)[:limit]


@dataclass(frozen=True, slots=True)
class Passage:
    """Neighbouring sentences of the query, numbered from 1."""

    first: int
    last: int
    span: Span


def passages(found: Explanation) -> list[Passage]:
    """The uncovered sentences, those that follow each other as one."""
    spans = sorted({*found.uncovered, *(pair.query_span for pair in found.hit.pairs)})
    open_, grouped = set(found.uncovered), list[Passage]()
    for number, span in enumerate(spans, 1):
        if span not in open_:
            continue
        if grouped and grouped[-1].last == number - 1:
            grouped[-1] = Passage(grouped[-1].first, number, (grouped[-1].span[0], span[1]))
        else:
            grouped.append(Passage(number, number, span))
    return grouped


def print_explanation(found: Explanation, sentences: int, everything: bool) -> None:
    """Scores in plain words, the pairs side by side, and what of the query is uncovered."""
    console = paper()
    pairs = found.hit.pairs
    console.print(Text.assemble((_name(found.query), "bold"), "  ⇄  ", (_name(found.document), "bold cyan")))
    for line in summary(found, sentences):
        console.print(line)
    shown = list(pairs) if everything else most_similar(pairs, PAIRS)
    if shown:
        console.print(_side_by_side(found, shown))
    if len(shown) < len(pairs):
        console.print(f"The {len(shown)} best of {len(pairs):,} pairs; --all shows them all, in the query's order.")
    _print_uncovered(console, found, everything)


def summary(found: Explanation, sentences: int) -> list[str]:
    """Where the document stands, and the shares of both that are alike."""
    hit = found.hit
    place = f"rank {hit.rank}, {hit.first_rank} in the first stage"
    if not found.in_pool:
        place = "not among the candidates of the first stage; put at their end to be compared"
    matched_query, matched = matches(hit.pairs)
    parts = ", ".join(f"{_symbol(name)} {value:.3f}" for name, value in hit.parts.items() if math.isfinite(value))
    return [
        f"score {_score(hit.score)}{f' ({parts})' if parts else ''}; {place}",
        f"{matched_query:,} of {found.sentences:,} sentences of the query ({_percent(matched_query, found.sentences)}) "
        f"have a match in the document; {matched:,} of its {sentences:,} sentences ({_percent(matched, sentences)}) "
        "match the query.",
    ]


def _symbol(name: str) -> str:
    """QP and DP are symbols of the paper; other parts of a score have names."""
    return name.upper() if name in ("qp", "dp") else name.replace("_", " ")


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.0f} %"


def _name(document: Document) -> str:
    return f"{document.id}{_title(document.id, document.title)}"


def _side_by_side(found: Explanation, pairs: Iterable[Pair]) -> Table:
    table = Table(box=None, padding=(0, 2, 1, 0), header_style="dim", expand=True, pad_edge=False)
    table.add_column("#", justify="right", style="dim")
    table.add_column("query", ratio=1)
    table.add_column("", style="green")
    table.add_column("document", ratio=1)
    for number, pair in enumerate(pairs, 1):
        table.add_row(str(number), flat(pair.query), f"{pair.similarity:.2f}", flat(pair.document))
    return table


def _print_uncovered(console: Console, found: Explanation, everything: bool) -> None:
    groups = passages(found)
    if not groups:
        console.print("Every sentence of the query has a match.")
        return
    console.print(f"Without a match: {len(found.uncovered):,} of {found.sentences:,} sentences of the query")
    for group in groups if everything else groups[:PAIRS]:
        many = f"{group.first}–{group.last}" if group.last > group.first else str(group.first)
        text = shorten(flat(found.query.text[slice(*group.span)]), console.width - 13)
        console.print(Text.assemble((f"{many:>11}  ", "dim"), text), soft_wrap=True)
    if not everything and len(groups) > PAIRS:
        console.print(f"and {len(groups) - PAIRS:,} more passages; --all shows them all.")


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
    """What an index holds, a line a fact."""
    console = paper()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, _fact(name, value))
    console.print(table)


def _fact(name: str, value: Any) -> str:
    if value is None:
        return "none yet"
    if name == "bytes":
        return f"{value:,} ({value / 1e6:,.1f} MB)"
    if name == "encoder":
        return f"{describe_encoder(value)}; {value['dimension']} dimensions, fingerprint {value['fingerprint']}"
    return f"{value:,}" if isinstance(value, int) else str(value)
