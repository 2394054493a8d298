"""Hits and alignments as tables on a terminal.

Kinds of match have a sign, a word and a colour. Changed words are marked as in tracked changes: struck through and
underlined where the terminal has colours, otherwise as [-removed-] and {+added+}.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rprs.alignment.describe import coverage_percentages, coverage_sentence, similarity_text
from rprs.alignment.evidence import most_telling
from rprs.alignment.values import Alignment, Coverage, Kind, Pair, Span
from rprs.cli.output import collection_suffix, stdout_console, title_suffix
from rprs.document import Document, Sentences
from rprs.passages.values import PassageHit, PassageResults
from rprs.results.hits import Duplicate, Explanation, Hit, Results
from rprs.results.one_line import one_line, part_name
from rprs.results.passages import SIGNS, Side, count_kinds, describe_pair, passages, pieces, shortened
from rprs.results.wording import CAUTION, RELATIONS

PAIRS = 20  # of an alignment without --all
ONLY_BOILERPLATE = "only headings, citations or standard wording match"
CELL = 600  # characters of a passage side by side
CONTEXT = 300  # characters before and behind a passage
STYLES: dict[Kind, str] = {"identical": "green", "reworded": "yellow", "same idea": "blue"}
_BLOCKS = " ▏▎▍▌▋▊▉█"


# ---------------------------------------------------------------------------- hits


def print_hits(results: Results, *, details: bool = False) -> None:
    """One line per hit; beneath it its most telling pair, its duplicates and, with `details`, its scores."""
    console = stdout_console()
    covered = any(hit.query_coverage for hit in results)
    header = f"  #  {'of yours':<11}{'of theirs':<11}" if covered else "  #  "
    _print_line(console, Text(f"{header}document", style="dim"))
    for hit in results:
        line = Text(f"{hit.rank:>3}  ")
        if covered:
            line.append(f"{bar(hit.query_coverage)}  {bar(hit.document_coverage)}  ")
        line.append(hit.id, "bold cyan")
        line.append(title_suffix(hit.id, hit.title))
        line.append(collection_suffix(hit.collection))
        if hit.relation in RELATIONS:
            line.append(f"  ({RELATIONS[hit.relation].lower()})", "bold")
        _print_line(console, line)
        for pair in hit.pairs[:1]:
            _print_pair(console, pair)
        if not hit.pairs and hit.query_coverage and hit.query_coverage.matched:
            _print_line(console, Text(f"     {ONLY_BOILERPLATE}", style="dim"))
        if hit.duplicates:
            listed = ", ".join(map(_duplicate, hit.duplicates))
            _print_line(console, Text(f"     also {listed}", style="dim"))
        if details:
            _print_line(console, Text(f"     {scores(hit)}", style="dim"))


def _duplicate(duplicate: Duplicate) -> str:
    where = f" in {duplicate.collection}" if duplicate.collection else ""
    return f"{duplicate.id}{where} ({RELATIONS[duplicate.relation].lower()})"


def _print_pair(console: Console, pair: Pair) -> None:
    style = "dim" if pair.boilerplate else ""
    kind = f"{SIGNS[pair.kind]} {describe_pair(pair)}{', boilerplate' if pair.boilerplate else ''}"
    query = Text.assemble("     ", (kind, style or STYLES[pair.kind]), ": ", style=style)
    document = Text.assemble("     ", ("⇄", style or STYLES[pair.kind]), " ", style=style)
    _print_line(console, query.append_text(_passage(console, pair, "query")))
    _print_line(console, document.append_text(_passage(console, pair, "document")))


def _print_line(console: Console, line: Text) -> None:
    line.truncate(console.width, overflow="ellipsis")
    console.print(line, soft_wrap=True)


def scores(hit: Hit) -> str:
    """The score of a hit with its parts, and its rank in the first stage."""
    parts = ", ".join(f"{part_name(name)} {value:.3f}" for name, value in hit.parts.items() if math.isfinite(value))
    score = f"{hit.score:.4f}" if abs(hit.score) < 10 else f"{hit.score:,.1f}"
    return f"score {score}{f' ({parts})' if parts else ''}; keyword rank {hit.first_rank}"


def bar(coverage: Coverage | None, width: int = 4) -> str:
    """The share of words with a counterpart as a bar and a percentage, nine columns wide."""
    if coverage is None:
        return " " * (width + 5)
    percent = coverage_percentages(coverage)[0]
    full, rest = divmod(round(coverage.share * width * 8), 8)
    blocks = "█" * full + (_BLOCKS[rest] if rest else "")
    return f"{blocks:<{width}} {percent:>3}%"


# ---------------------------------------------------------------------------- explanations and alignments


def print_explanation(explanation: Explanation, kinds: Sequence[Kind], all_pairs: bool) -> None:
    """What a query and a document have in common, and the scores of the document."""
    hit = explanation.hit
    place = f"rank {hit.rank}" if explanation.in_pool else "not among the candidates of the search; added to them"
    print_alignment(explanation.alignment, kinds, all_pairs)
    stdout_console().print(Text(f"Technical details: {place}; {scores(hit)}", style="dim"))


def print_alignment(alignment: Alignment, kinds: Sequence[Kind], all_pairs: bool) -> None:
    """Coverage in words, pairs of these kinds side by side, and the parts of both texts without a counterpart."""
    console = stdout_console()
    names = (_name(alignment.query), "bold"), "  ⇄  ", (_name(alignment.document), "bold cyan")
    console.print(Text.assemble(*names))
    if alignment.relation in RELATIONS:
        console.print(Text(f"{RELATIONS[alignment.relation]}.", style="bold"))
    console.print(f"{coverage_sentence(alignment.query_coverage, 'query')}.")
    console.print(f"{coverage_sentence(alignment.document_coverage, 'document')}.")
    _print_counts(console, alignment.pairs)
    pairs = [pair for pair in alignment.pairs if pair.kind in kinds]
    shown: Sequence[Pair] = pairs
    if len(pairs) > PAIRS and not all_pairs:
        shown = sorted(most_telling(pairs, PAIRS), key=lambda pair: pair.query_span)
    if shown:
        console.print(_side_by_side(console, shown))
        console.print()
    if len(shown) < len(pairs):
        console.print(f"The {len(shown)} most telling of {len(pairs):,} matches; --all prints them all.")
    _print_unmatched(console, alignment.query, alignment.query_sentences, alignment.query_unmatched, all_pairs)
    console.print(CAUTION)


def _print_counts(console: Console, pairs: Sequence[Pair]) -> None:
    """How many pairs there are of each kind."""
    line = Text()
    for kind, number in count_kinds(pairs).items():
        line.append(f"{SIGNS[kind]} {kind} {number:,}   ", STYLES[kind])
    boilerplate = sum(pair.boilerplate for pair in pairs)
    if boilerplate:
        line.append(f"({boilerplate:,} boilerplate)", "dim")
    line.rstrip()
    console.print(line)


def _name(document: Document) -> str:
    return f"{document.id}{title_suffix(document.id, document.title)}"


def _side_by_side(console: Console, pairs: Iterable[Pair]) -> Table:
    table = Table(box=None, padding=(0, 2, 1, 0), header_style="dim", expand=True, pad_edge=False)
    table.add_column("match", min_width=12)
    table.add_column("your document", ratio=1)
    table.add_column("this document", ratio=1)
    for pair in pairs:
        style = "dim" if pair.boilerplate else ""
        kind = Text(f"{SIGNS[pair.kind]} {pair.kind}", style=style or STYLES[pair.kind])
        if pair.kind != "identical":
            kind.append(f"\n{similarity_text(pair)}")
        if pair.boilerplate:
            kind.append("\nboilerplate")
        sides = [_passage(console, pair, side) for side in ("query", "document")]
        table.add_row(kind, *sides, style=style)
    return table


def _passage(console: Console, pair: Pair, side: Side) -> Text:
    """One side of a pair on one line, with changed words marked."""
    text = Text()
    opening, closing = ("[-", "-]") if side == "query" else ("{+", "+}")
    for piece in shortened(pieces(pair, side), CELL):
        if not piece.changed:
            text.append(piece.text)
        elif console.color_system:
            text.append(piece.text, "red strike" if side == "query" else "green underline")
        else:
            text.append(f"{opening}{piece.text}{closing}")
    return text


# ---------------------------------------------------------------------------- passages


def print_passages(results: PassageResults) -> None:
    """Each passage within its context; beneath a reworded one, the words that were searched for."""
    console = stdout_console()
    for hit in results:
        pair = hit.pair
        first, last = hit.sentences
        place = f"sentence {first:,}" if first == last else f"sentences {first:,}–{last:,}"
        line = Text.assemble(f"{hit.rank:>3}  ", (hit.id, "bold cyan"), title_suffix(hit.id, hit.title))
        line.append(collection_suffix(hit.collection))
        _print_line(console, line.append(f"  {place} of {hit.of:,}"))
        sign = Text.assemble("     ", (f"{SIGNS[pair.kind]} {describe_pair(pair)}", STYLES[pair.kind]))
        _print_line(console, sign.append(", boilerplate" if pair.boilerplate else "", "dim"))
        _print_wrapped(console, _in_context(console, hit))
        if pair.kind == "reworded":
            _print_wrapped(console, Text.assemble(("yours: ", "dim"), _passage(console, pair, "query")))


def _print_wrapped(console: Console, text: Text) -> None:
    """A text beneath a hit, on as many lines as it takes."""
    for line in text.wrap(console, max(console.width - 5, 20)):
        line.rstrip()
        console.print(Text.assemble("     ", line), soft_wrap=True)


def _in_context(console: Console, hit: PassageHit) -> Text:
    """A passage on one line, with the text before and behind it; without colours, it stands between » and «."""
    before, after = (shorten(one_line(text), CONTEXT) for text in (hit.before, hit.after))
    passage = _passage(console, hit.pair, "document")
    if console.color_system:
        passage.stylize("bold")
    else:
        passage = Text.assemble("»", passage, "«")
    glue = " " if before and hit.before[-1:].isspace() else ""
    space = " " if after and hit.after[:1].isspace() else ""
    return Text.assemble((before + glue, "dim"), passage, (space + after, "dim"))


def _print_unmatched(
    console: Console, document: Document, sentences: Sentences, unmatched: Sequence[Span], all_passages: bool
) -> None:
    if not unmatched:
        console.print("Every sentence of your document has a counterpart.")
        return
    console.print(f"Without a counterpart: {len(unmatched):,} of {len(sentences):,} sentences of your document")
    listed = passages(sentences, unmatched)
    for passage in listed if all_passages else listed[:PAIRS]:
        text = shorten(one_line(document.text[slice(*passage.span)]), console.width - 13)
        console.print(Text.assemble((f"{passage.numbers:>11}  ", "dim"), text), soft_wrap=True)
    if not all_passages and len(listed) > PAIRS:
        console.print(f"and {len(listed) - PAIRS:,} more passages; --all prints them all.")


def shorten(text: str, width: int) -> str:
    """The beginning and the end of a text that does not fit."""
    if cell_len(text) <= width:
        return text
    end = Text(text[-max(width // 3, 1) :])
    start = Text(text)
    start.truncate(max(width - end.cell_len - 3, 1))
    return f"{start.plain.rstrip()} … {end.plain.lstrip()}"
