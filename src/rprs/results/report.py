"""An explanation as one HTML file that can be mailed: it loads nothing and runs nothing.

Both texts are side by side; the number before a sentence links to the other sentence of the pair. The file's security
policy forbids all requests and scripts, and all text is escaped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from rprs.alignment.describe import coverage_sentence
from rprs.document import Document, Metadata, Sentences
from rprs.results.citation import web_address
from rprs.results.hits import Explanation, Pair, Span
from rprs.results.one_line import one_line
from rprs.results.serialize import About

__all__ = ["report"]

TINTS = 8
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_NOT_IN_HTML = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

Numbered = Mapping[Span, Sequence[tuple[int, Pair]]]  # the pairs of each sentence, with their numbers


def report(
    explanation: Explanation, query: Sentences, document: Sentences, about: About, min_similarity: float = -1.0
) -> str:
    """The HTML file; `query` and `document` are the sentences of both texts. Pairs below `min_similarity` are left out.

    Pairs are numbered in the order of the query, and keep their numbers when others are left out. The metadata field
    `path` is omitted: it reveals folders of this computer to the recipient.
    """
    strong = explanation
    pairs = [each for each in enumerate(explanation.hit.pairs, 1) if each[1].similarity >= min_similarity]
    names = _name(strong.query), _name(strong.document)
    left = _blocks(strong.query.text, query, _by_span(pairs, "query_span"), ("q", "d"), frozenset(strong.uncovered))
    right = _blocks(strong.document.text, document, _by_span(pairs, "document_span"), ("d", "q"), frozenset())
    weaker = f"; pairs below a similarity of {min_similarity:g} are left out" if min_similarity > -1 else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(one_line(f"{names[0]} ⇄ {names[1]}"))}</title>
<style>
{_style()}</style>
</head>
<body>
<header>
<p class="what">Two documents, aligned sentence by sentence</p>
<h1><span dir="auto">{_text(names[0])}</span><i>⇄</i><span dir="auto">{_text(names[1])}</span></h1>
<ul class="numbers">
{_lines("<li>{}</li>", _numbers(strong))}
</ul>
<p class="caution">These numbers are an aid to ranking, not a verdict.</p>
{_metadata(strong.document.metadata)}
<nav aria-label="Sections"><a href="#texts">Both texts</a><a href="#pairs">Pairs</a><a
href="#unmatched">Unmatched sentences</a><a href="#about">Technical details</a></nav>
</header>
<main>
<div class="texts" id="texts">
{_pane("query", "Query", strong.query, left)}
{_pane("document", "Document", strong.document, right)}
</div>
<section class="sheet" id="pairs"><h2>{len(pairs):,} pairs of sentences{weaker}</h2>
{_table(pairs)}
</section>
<section class="sheet" id="unmatched">
{_unmatched(strong, query)}
</section>
</main>
<footer id="about"><h2>Technical details</h2>
{_about(about, explanation.notes)}
</footer>
</body>
</html>
"""


@cache
def _style() -> str:
    return files("rprs.results").joinpath("report.css").read_text("utf-8")


def _text(text: str) -> str:
    """Text escaped for HTML, also within attributes."""
    return escape(_NOT_IN_HTML.sub("\ufffd", text), quote=True)


def _lines(form: str, texts: Iterable[str]) -> str:
    return "\n".join(form.format(_text(text)) for text in texts)


def _name(document: Document) -> str:
    return document.title or document.id


# ---------------------------------------------------------------------------- numbers and facts


def _numbers(explanation: Explanation) -> Iterator[str]:
    """Rank, scores and coverage of the document, in words."""
    hit = explanation.hit
    if explanation.in_pool:
        places = hit.first_rank - hit.rank
        change = f"up {places}" if places > 0 else f"down {-places}" if places else "unchanged"
        yield f"Rank {hit.rank}; rank {hit.first_rank} in the first stage ({change})"
    else:
        yield "Not among the candidates of the first stage; added to them for this comparison"
    meaning = {
        "qp": "QP (share of the query found in the document)",
        "dp": "DP (share of the document that relates to the query)",
    }
    yield "; ".join(
        f"{meaning.get(name, name.replace('_', ' '))} {value:.4g}"
        for name, value in ({"Score": hit.score} | dict(hit.parts)).items()
        if math.isfinite(value)
    )
    alignment = explanation.alignment
    yield coverage_sentence(alignment.query_coverage, "query")
    yield coverage_sentence(alignment.document_coverage, "document")


def _metadata(metadata: Metadata) -> str:
    fields = {name: value for name, value in metadata.items() if value not in (None, "") and name != "path"}
    return _facts(fields) if fields else ""


def _about(about: About, notes: Sequence[str]) -> str:
    facts = {name.replace("_", " "): value for name, value in about.object().items()}
    return _facts({**facts, **{f"note {number}": note for number, note in enumerate(notes, 1)}})


def _facts(facts: Mapping[str, object]) -> str:
    rows = (f'<dt dir="auto">{_text(name)}</dt><dd dir="auto">{_value(value)}</dd>' for name, value in facts.items())
    return "\n".join(["<dl>", *rows, "</dl>"])


def _value(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = _text(str(value))
    return f'<a href="{text}" rel="noopener noreferrer">{text}</a>' if web_address(str(value)) else text


# ---------------------------------------------------------------------------- both texts


def _pane(side: str, role: str, document: Document, blocks: Iterable[str]) -> str:
    label = f'<h2 id="{side}-name" dir="auto">{_text(_name(document))}<small>{role}: {_text(document.id)}</small></h2>'
    body = "\n".join(f'<p dir="auto">{block}</p>' for block in blocks)
    return (
        f'<section class="text" id="{side}" tabindex="0" aria-labelledby="{side}-name">{label}\n{body or "<p></p>"}\n'
        "</section>"
    )


def _by_span(pairs: Sequence[tuple[int, Pair]], side: str) -> Numbered:
    by_span: dict[Span, list[tuple[int, Pair]]] = {}
    for number, pair in pairs:
        by_span.setdefault(getattr(pair, side), []).append((number, pair))
    return by_span


def _blocks(
    text: str, sentences: Sentences, pairs: Numbered, sides: tuple[str, str], uncovered: frozenset[Span]
) -> Iterator[str]:
    """The paragraphs of the complete text, sentences marked; `sides` are the letters of this side and the other."""
    block: list[str] = []
    end, paragraph = 0, None
    for (start, stop), number in zip(sentences.spans.tolist(), sentences.paragraphs.tolist(), strict=True):
        if number != paragraph and block:
            yield "".join(block)
            block = []
        between = text[end:start]
        block.append(_text(between if block else between.lstrip()))
        block.append(_sentence(text[start:stop], pairs.get((start, stop), ()), sides, (start, stop) in uncovered))
        end, paragraph = stop, number
    block.append(_text(text[end:].rstrip()))
    yield "".join(block)


def _sentence(text: str, pairs: Sequence[tuple[int, Pair]], sides: tuple[str, str], uncovered: bool) -> str:
    if not pairs:
        return f'<span class="open">{_text(text)}</span>' if uncovered else _text(text)
    here, there = sides
    links = "<wbr>".join(
        f'<a id="{here}{number}" href="#{there}{number}" aria-label="Pair {number}, similarity {pair.similarity:.2f}: '
        f'go to the other sentence" title="similarity {pair.similarity:.2f}">{number}</a>'
        for number, pair in pairs
    )
    return f'<span class="match {_tint(pairs[0][0])}">{links}{_text(text)}</span>'


def _tint(number: int) -> str:
    return f"tint-{(number - 1) % TINTS + 1}"


# ---------------------------------------------------------------------------- pairs and unmatched sentences


def _table(pairs: Sequence[tuple[int, Pair]]) -> str:
    if not pairs:
        return "<p>No sentence of the document is among the nearest neighbours of a query sentence.</p>"
    rows = (
        f'<tr><td class="number {_tint(number)}"><a href="#q{number}">{number}</a></td>'
        f'<td dir="auto">{_text(one_line(pair.query))}</td><td class="number">{pair.similarity:.3f}</td>'
        f'<td dir="auto">{_text(one_line(pair.document))}</td></tr>'
        for number, pair in pairs
    )
    head = '<tr><th class="number">#</th><th>query</th><th class="number">similarity</th><th>document</th></tr>'
    return "\n".join(["<table>", f"<thead>{head}</thead>", "<tbody>", *rows, "</tbody>", "</table>"])


def _unmatched(explanation: Explanation, query: Sentences) -> str:
    uncovered = explanation.uncovered
    if not uncovered:
        return "<h2>Unmatched sentences</h2>\n<p>Every sentence of the query has a match.</p>"
    count = f"{len(uncovered):,} of {explanation.sentences:,} sentences of the query"
    items = (
        f'<li dir="auto"><b>{first}{f"–{last}" if last > first else ""}</b>'
        f"{_text(one_line(explanation.query.text[start:stop]))}</li>"
        for first, last, (start, stop) in _passages(frozenset(uncovered), query)
    )
    return "\n".join([f"<h2>Unmatched sentences: {count}</h2>", '<ol class="passages">', *items, "</ol>"])


def _passages(uncovered: frozenset[Span], query: Sentences) -> Iterator[tuple[int, int, Span]]:
    """Runs of consecutive unmatched sentences: the numbers of the first and the last, from 1, and the span."""
    first, span = 0, (0, 0)
    number = 0
    for number, (start, stop) in enumerate(query.spans.tolist(), 1):
        if (start, stop) in uncovered:
            first, span = (first, (span[0], stop)) if first else (number, (start, stop))
        elif first:
            yield first, number - 1, span
            first = 0
    if first:
        yield first, number, span
