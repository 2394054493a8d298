"""Hits and explanations as HTML fragments for notebooks.

They contain neither scripts nor external resources, and all text is escaped. Colours are those of the notebook's theme,
except those of the signs of kinds, which suit any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from rprs.alignment.describe import coverage_percentages, coverage_sentence
from rprs.alignment.values import Alignment, Coverage, Kind, Pair, Span
from rprs.results.hits import Explanation, Hit
from rprs.results.one_line import one_line, part_name
from rprs.results.passages import SIGNS, Side, describe_pair, pieces, shortened
from rprs.results.wording import RELATIONS

__all__ = ["alignment_html", "explanation_html", "hits_html", "pairs_html", "run_html"]

PAIRS_PER_HIT = 3
EXCERPT = 400  # characters of a passage beneath a hit
LIMIT = 100  # rows of an explanation: a notebook keeps every output in its file
COLOURS: dict[Kind, str] = {  # legible on white and on black
    "identical": "#2f8f4e",
    "reworded": "#a97a08",
    "same idea": "#3d85c6",
}
_LINE = "border-bottom:1px solid rgba(127,127,127,.35)"
_CELL = "text-align:left;vertical-align:top;padding:.3em .6em;color:inherit;background:transparent"
_NUMBER = f"{_CELL};text-align:right;white-space:nowrap"
_QUIET = "opacity:.75;font-size:.9em"


def hits_html(hits: Sequence[Hit], notes: Iterable[str] = ()) -> str:
    """A ranked table: coverage of both documents where there is any, score, title, and the most telling pairs."""
    covered = any(hit.query_coverage for hit in hits)
    header = ["", *(["of yours", "of theirs"] if covered else []), "score", "document"]
    rows = [_row(header, "th"), *(_hit_row(hit, covered) for hit in hits)]
    empty = "" if hits else "<p>No hits.</p>"
    return _table(rows) + empty + "".join(f'<p style="{_QUIET}">{_text(note)}</p>' for note in notes)


def pairs_html(pairs: Sequence[Pair]) -> str:
    """A table of matching passages; words that differ are marked, and boilerplate is grey."""
    return _table([_row(["match", "query", "document"], "th", ()), *map(_pair_row, pairs)])


def _pair_row(pair: Pair) -> str:
    grey = ";opacity:.6" if pair.boilerplate else ""
    kind = f"{_kind(pair)} {_text(describe_pair(pair))}{', boilerplate' if pair.boilerplate else ''}"
    cells = [kind, _passage(pair, "query"), _passage(pair, "document")]
    row = "".join(f'<td dir="auto" style="{_CELL};{_LINE}">{cell}</td>' for cell in cells)
    return f'<tr style="background:transparent{grey}">{row}</tr>'


def alignment_html(alignment: Alignment) -> str:
    """Coverage in words, the pairs, and the sentences of the query without a counterpart; only the first of each."""
    query, pairs, unmatched = alignment.query, alignment.pairs, alignment.query_unmatched
    title = f"{_name(query.title, query.id)} ⇄ {_name(alignment.document.title, alignment.document.id)}"
    relation = f"<b>{RELATIONS[alignment.relation]}.</b><br>" if alignment.relation in RELATIONS else ""
    coverage = "<br>".join(
        f"{_text(sentence)}."
        for sentence in (
            coverage_sentence(alignment.query_coverage, "query"),
            coverage_sentence(alignment.document_coverage, "document"),
        )
    )
    sentences = f"{len(unmatched):,} of {len(alignment.query_sentences):,} sentences of your document"
    return "".join(
        [
            f"<p><b>{_text(title)}</b><br>{relation}{coverage}</p>",
            pairs_html(pairs[:LIMIT]) if pairs else "<p>No passage has a counterpart.</p>",
            _more(len(pairs), "matches are in <code>pairs</code>"),
            f"<p>{sentences} have no counterpart.</p>",
            _listed(query.text, unmatched[:LIMIT]),
            _more(len(unmatched), "are in <code>query_unmatched</code>"),
        ]
    )


def explanation_html(explanation: Explanation) -> str:
    """The alignment, and the rank and scores of the document."""
    hit = explanation.hit
    parts = "".join(f", {part_name(name)} {value:.3f}" for name, value in hit.parts.items() if math.isfinite(value))
    rank = f"rank {hit.rank}" if explanation.in_pool else "not among the candidates of the search"
    details = f"{rank}; score {hit.score:.4f}{parts}; keyword rank {hit.first_rank}"
    return f'{alignment_html(explanation.alignment)}<p style="{_QUIET}">Technical details: {details}</p>'


def run_html(title: str, rows: Sequence[tuple[str, int, str, float]], left_out: int) -> str:
    """One row per query: how many documents it has, and the best of them with its score."""
    table = [
        _row(["query", "documents", "best document", "score"], "th"),
        *(
            _row([query, f"{documents:,}", best, f"{score:.4f}"], numbers=(1, 3))
            for query, documents, best, score in rows
        ),
    ]
    more = f'<p style="{_QUIET}">{left_out:,} more queries are not shown.</p>' if left_out else ""
    return f"<p>{_text(title)}</p>{_table(table)}{more}"


def _hit_row(hit: Hit, covered: bool) -> str:
    shares = [_percent(hit.query_coverage), _percent(hit.document_coverage)] if covered else []
    numbers = [str(hit.rank), *shares, f"{hit.score:.4f}"]
    cells = [f'<td style="{_NUMBER};{_LINE}">{number}</td>' for number in numbers]
    id = f' <span style="{_QUIET}">{_text(hit.id)}</span>' if hit.title and hit.title != hit.id else ""
    relation = f" <b>({RELATIONS[hit.relation].lower()})</b>" if hit.relation in RELATIONS else ""
    evidence = "".join(_evidence(pair) for pair in hit.pairs[:PAIRS_PER_HIT])
    listed = ", ".join(f"{each.id} ({RELATIONS[each.relation].lower()})" for each in hit.duplicates)
    also = f'<div style="{_QUIET}">also {_text(listed)}</div>' if listed else ""
    document = f'<span dir="auto"><b>{_text(_name(hit.title, hit.id))}</b></span>{id}{relation}{evidence}{also}'
    return f'<tr style="background:transparent">{"".join(cells)}<td style="{_CELL};{_LINE}">{document}</td></tr>'


def _evidence(pair: Pair) -> str:
    return (
        f'<div style="{_QUIET}">{_kind(pair)} {_text(describe_pair(pair))}: '
        f'<span dir="auto">{_passage(pair, "query", EXCERPT)}</span> ⇄ '
        f'<span dir="auto">{_passage(pair, "document", EXCERPT)}</span></div>'
    )


def _kind(pair: Pair) -> str:
    """The sign of a kind, in its colour."""
    colour = "inherit" if pair.boilerplate else COLOURS[pair.kind]
    return f'<b style="color:{colour}">{SIGNS[pair.kind]}</b>'


def _passage(pair: Pair, side: Side, length: int = 10**9) -> str:
    tag = "del" if side == "query" else "ins"
    return "".join(
        f"<{tag}>{_escaped(piece.text)}</{tag}>" if piece.changed else _escaped(piece.text)
        for piece in shortened(pieces(pair, side), length)
    )


def _listed(text: str, spans: Sequence[Span]) -> str:
    items = "".join(f'<li dir="auto">{_text(text[start:end])}</li>' for start, end in spans)
    return f"<ul>{items}</ul>" if items else ""


def _more(number: int, where: str) -> str:
    return f'<p style="{_QUIET}">The other {number - LIMIT:,} {where}.</p>' if number > LIMIT else ""


def _table(rows: Iterable[str]) -> str:
    style = "border-collapse:collapse;color:inherit;background:transparent"
    return f'<table style="{style}">{"".join(rows)}</table>'


def _row(texts: Sequence[str], tag: str = "td", numbers: Sequence[int] = (0,)) -> str:
    """A row of texts; columns of numbers are aligned to the right."""
    cells = (
        f'<{tag} dir="auto" style="{_NUMBER if at in numbers else _CELL};{_LINE}">{_text(text)}</{tag}>'
        for at, text in enumerate(texts)
    )
    return f'<tr style="background:transparent">{"".join(cells)}</tr>'


def _text(text: str) -> str:
    return _escaped(one_line(text))


def _escaped(text: str) -> str:
    return escape(text, quote=True)


def _name(title: str, id: str) -> str:
    return title or id


def _percent(coverage: Coverage | None) -> str:
    return f"{coverage_percentages(coverage)[0]}%" if coverage else ""
