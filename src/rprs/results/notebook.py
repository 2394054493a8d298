"""Hits and explanations as HTML fragments for notebooks.

They contain neither scripts nor external resources, all text is escaped, and colours are those of the notebook's theme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from rprs.results.hits import Explanation, Hit, Pair, Span
from rprs.results.one_line import one_line

__all__ = ["explanation_html", "hits_html", "pairs_html", "run_html"]

PAIRS_PER_HIT = 3
LIMIT = 100  # rows of an explanation: a notebook keeps every output in its file
_LINE = "border-bottom:1px solid rgba(127,127,127,.35)"
_CELL = "text-align:left;vertical-align:top;padding:.3em .6em;color:inherit;background:transparent"
_NUMBER = f"{_CELL};text-align:right;white-space:nowrap"
_QUIET = "opacity:.75;font-size:.9em"


def hits_html(hits: Sequence[Hit], notes: Iterable[str] = ()) -> str:
    """A ranked table: score, QP and DP where there are any, title, and the best pairs of sentences as evidence."""
    shares = any("qp" in hit.parts or "dp" in hit.parts for hit in hits)
    header = ["", "score", *(["QP", "DP"] if shares else []), "document"]
    rows = [_row(header, "th"), *(_hit_row(hit, shares) for hit in hits)]
    empty = "" if hits else "<p>No hits.</p>"
    return _table(rows) + empty + "".join(f'<p style="{_QUIET}">{_text(note)}</p>' for note in notes)


def pairs_html(pairs: Sequence[Pair]) -> str:
    """A table of aligned sentences."""
    rows = [
        _row(["similarity", "query", "document"], "th"),
        *(_row([f"{pair.similarity:.3f}", pair.query, pair.document]) for pair in pairs),
    ]
    return _table(rows)


def explanation_html(explanation: Explanation) -> str:
    """The aligned pairs, and the sentences of the query without a match; only the first of each if there are many."""
    hit, uncovered = explanation.hit, explanation.uncovered
    title = f"{_name(explanation.query.title, explanation.query.id)} ⇄ {_name(hit.title, hit.id)}"
    shares = "".join(
        f", {name} {_percent(value)}" for name, value in (("QP", hit.qp), ("DP", hit.dp)) if math.isfinite(value)
    )
    rank = f"rank {hit.rank}" if explanation.in_pool else "not among the candidates of the first stage"
    return "".join(
        [
            f"<p><b>{_text(title)}</b><br>score {hit.score:.4f}{shares}; {rank}</p>",
            pairs_html(hit.pairs[:LIMIT]) if hit.pairs else "<p>No aligned sentences.</p>",
            _more(len(hit.pairs), "pairs are in <code>hit.pairs</code>"),
            f"<p>{len(uncovered):,} of {explanation.sentences:,} sentences of the query have no match.</p>",
            _listed(explanation.query.text, uncovered[:LIMIT]),
            _more(len(uncovered), "are in <code>uncovered</code>"),
        ]
    )


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


def _hit_row(hit: Hit, shares: bool) -> str:
    numbers = [str(hit.rank), f"{hit.score:.4f}", *([_percent(hit.qp), _percent(hit.dp)] if shares else [])]
    cells = [f'<td style="{_NUMBER};{_LINE}">{number}</td>' for number in numbers]
    id = f' <span style="{_QUIET}">{_text(hit.id)}</span>' if hit.title and hit.title != hit.id else ""
    evidence = "".join(_evidence(pair) for pair in hit.pairs[:PAIRS_PER_HIT])
    document = f'<span dir="auto"><b>{_text(_name(hit.title, hit.id))}</b></span>{id}{evidence}'
    return f'<tr style="background:transparent">{"".join(cells)}<td style="{_CELL};{_LINE}">{document}</td></tr>'


def _evidence(pair: Pair) -> str:
    return (
        f'<div style="{_QUIET}">{pair.similarity:.2f} <span dir="auto">{_text(pair.query)}</span> ⇄ '
        f'<span dir="auto">{_text(pair.document)}</span></div>'
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
    return escape(one_line(text), quote=True)


def _name(title: str, id: str) -> str:
    return title or id


def _percent(share: float) -> str:
    return f"{share:.0%}" if math.isfinite(share) else ""
