"""An alignment of two documents as one HTML file that can be mailed: it loads nothing and runs nothing.

It begins with a summary. Both texts are side by side; the number before a passage links to its counterpart. The file's
security policy forbids all requests and scripts, and all text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from rprs.alignment.describe import Whose, coverage_sentence, similarity_text
from rprs.alignment.evidence import most_telling
from rprs.alignment.values import KINDS, Alignment, Coverage, Kind, Pair, Span
from rprs.document import Document, Metadata, Sentences
from rprs.results.citation import web_address
from rprs.results.hits import Explanation, Hit
from rprs.results.html_page import html_page
from rprs.results.names import title_of
from rprs.results.one_line import one_line, part_name
from rprs.results.panes import Numbered, Pane, html_text
from rprs.results.passages import SIGNS, Side, count_kinds, describe_pair, kind_class, passages, pieces, shortened
from rprs.results.serialize import About
from rprs.results.wording import CAUTION, RELATIONS

__all__ = ["alignment_report", "explanation_report"]

TELLING = 3  # pairs in the summary
EXCERPT = 500  # characters of a passage in the summary
REPEATED = 1_200  # and of a passage that is the same on both sides; it is in both texts in full


def explanation_report(explanation: Explanation, about: About, kinds: Collection[Kind] = KINDS) -> str:
    """The report of a query and a document that a search found; its footer has everything needed to reproduce it."""
    facts = {name.replace("_", " "): value for name, value in about.object().items() if value is not None}
    notes = {f"note {number}": note for number, note in enumerate(explanation.notes, 1)}
    details = {**_scores(explanation.hit, explanation.in_pool), **facts, **notes}
    return alignment_report(explanation.alignment, details, kinds)


def alignment_report(alignment: Alignment, details: Mapping[str, object], kinds: Collection[Kind] = KINDS) -> str:
    """The HTML file, with matches of these kinds and the technical details.

    Matches are numbered in the order of the query, and keep their numbers when other kinds are left out. The metadata
    field `path` is omitted: it reveals folders of this computer to the recipient.
    """
    pairs = [each for each in enumerate(alignment.pairs, 1) if each[1].kind in kinds]
    names = title_of(alignment.query), title_of(alignment.document)
    body = f"""<header>
<p class="what">Two documents compared</p>
<h1><span dir="auto">{html_text(names[0])}</span><i>⇄</i><span dir="auto">{html_text(names[1])}</span></h1>
{_summary(alignment, pairs, kinds)}
{_metadata(alignment.document.metadata)}
<nav aria-label="Sections"><a href="#texts">Both texts</a><a href="#matches">Matches</a><a
href="#unmatched">Without a counterpart</a><a href="#details">Technical details</a></nav>
</header>
<main>
<div class="texts" id="texts">
{_pane(alignment, "query", pairs)}
{_pane(alignment, "document", pairs)}
</div>
<section class="sheet" id="matches"><h2>{len(pairs):,} matching passages</h2>
{_table(pairs)}
</section>
<section class="sheet" id="unmatched"><h2>Without a counterpart</h2>
{_unmatched("your document", alignment.query, alignment.query_sentences, alignment.query_unmatched)}
{_unmatched("this document", alignment.document, alignment.document_sentences, alignment.document_unmatched)}
</section>
</main>
<footer id="details"><h2>Technical details</h2>
{_facts(details)}
</footer>"""
    return html_page(f"{names[0]} compared with {names[1]}", _style(), body)


@cache
def _style() -> str:
    return files("rprs.results").joinpath("report.css").read_text("utf-8")


# ---------------------------------------------------------------------------- summary and facts


def _summary(alignment: Alignment, pairs: Sequence[Numbered], kinds: Collection[Kind]) -> str:
    left_out = [kind for kind in KINDS if kind not in kinds]
    lines = [
        '<section class="summary" aria-label="Summary">',
        f'<p class="relation">{RELATIONS[alignment.relation]}</p>' if alignment.relation in RELATIONS else "",
        _coverage(alignment.query_coverage, "query"),
        _coverage(alignment.document_coverage, "document"),
        _legend(alignment.pairs),
        f"<p>Left out here: {html_text(' and '.join(left_out))}.</p>" if left_out else "",
        _telling(pairs),
        f'<p class="caution">{html_text(CAUTION)}</p>',
        "</section>",
    ]
    return "\n".join(line for line in lines if line)


def _coverage(coverage: Coverage, whose: Whose) -> str:
    """The coverage in words, and as a bar that says the same."""
    counts = {"identical": coverage.identical, "reworded": coverage.reworded, "same idea": coverage.same_idea}
    parts = "".join(
        f'<span class="{kind_class(kind)}" style="width:{100 * counts[kind] / coverage.words:.2f}%"></span>'
        for kind in KINDS
        if counts[kind]
    )
    sentence = html_text(coverage_sentence(coverage, whose))
    return f'<p class="coverage">{sentence}.</p>\n<div class="bar" aria-hidden="true">{parts}</div>'


def _legend(pairs: Sequence[Pair]) -> str:
    """How many matches there are of each kind, with the sign and colour of the kind."""
    counts = count_kinds(pairs)
    kinds = "".join(
        f'<li><span class="match {kind_class(kind)}"><b>{SIGNS[kind]}</b> {kind}</span> {number:,}</li>'
        for kind, number in counts.items()
    )
    boilerplate = sum(pair.boilerplate for pair in pairs)
    grey = f'<li><span class="match common">boilerplate</span> {boilerplate:,} of these</li>' if boilerplate else ""
    return f'<ul class="legend">{kinds}{grey}</ul>'


def _telling(pairs: Sequence[Numbered]) -> str:
    """The most telling matches."""
    numbers = {pair: number for number, pair in pairs}
    shown = [(numbers[pair], pair) for pair in most_telling([pair for _, pair in pairs], TELLING)]
    if not shown:
        return ""
    items = (
        f'<li class="{_row_class(pair)}"><a href="#q{number}">{SIGNS[pair.kind]}{number}</a> '
        f"{html_text(describe_pair(pair))}{_quotations(pair)}</li>"
        for number, pair in shown
    )
    return f'<h2>Most telling matches</h2>\n<ol class="telling">{"".join(items)}</ol>'


def _quotations(pair: Pair) -> str:
    """Both passages of a pair, shortened; the words of an identical pair once."""
    sides: list[Side] = ["query"] if pair.kind == "identical" else ["query", "document"]
    return "".join(f'<blockquote dir="auto">{_passage(pair, side, EXCERPT)}</blockquote>' for side in sides)


def _scores(hit: Hit, in_pool: bool) -> dict[str, object]:
    """The rank and the scores of a document in its search."""
    parts = {part_name(name): f"{value:.4g}" for name, value in hit.parts.items() if math.isfinite(value)}
    rank = {"rank": hit.rank, "keyword rank": hit.first_rank}
    added = {"rank": "not among the candidates of the search; added to them for this comparison"}
    return {**(rank if in_pool else added), "score": f"{hit.score:.4g}", **parts}


def _metadata(metadata: Metadata) -> str:
    fields = {name: value for name, value in metadata.items() if value not in (None, "") and name != "path"}
    return _facts(fields) if fields else ""


def _facts(facts: Mapping[str, object]) -> str:
    rows = (
        f'<dt dir="auto">{html_text(name)}</dt><dd dir="auto">{_value(value)}</dd>' for name, value in facts.items()
    )
    return "\n".join(["<dl>", *rows, "</dl>"])


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = html_text(str(value))
    return f'<a href="{text}" rel="noopener noreferrer">{text}</a>' if web_address(str(value)) else text


# ---------------------------------------------------------------------------- texts, matches, the rest


def _pane(alignment: Alignment, side: Side, pairs: Sequence[Numbered]) -> str:
    if side == "query":
        document, sentences, role = alignment.query, alignment.query_sentences, "Your document"
        spans = alignment.query_boilerplate, alignment.query_unmatched
    else:
        document, sentences, role = alignment.document, alignment.document_sentences, "This document"
        spans = alignment.document_boilerplate, alignment.document_unmatched
    body = "\n".join(
        f'<p dir="auto">{paragraph}</p>'
        for paragraph in Pane(side, document.text, sentences, pairs, *spans).paragraphs()
    )
    name, id = html_text(title_of(document)), html_text(document.id)
    return (
        f'<section class="text" id="{side}" tabindex="0" aria-labelledby="{side}-name">'
        f'<h2 id="{side}-name" dir="auto">{name}<small>{role}: {id}</small></h2>\n{body or "<p></p>"}\n</section>'
    )


def _table(pairs: Sequence[Numbered]) -> str:
    if not pairs:
        return "<p>No passage has a counterpart.</p>"
    rows = (
        f'<tr id="p{number}" class="{_row_class(pair)}"><td class="number"><a href="#q{number}">{SIGNS[pair.kind]}'
        f"{number}</a> <b>{pair.kind}</b>{_similarity(pair)}</td>"
        f'<td dir="auto">{_passage(pair, "query")}</td><td dir="auto">{_passage(pair, "document")}</td></tr>'
        for number, pair in pairs
    )
    head = '<tr><th class="number">match</th><th>your document</th><th>this document</th></tr>'
    return "\n".join(["<table>", f"<thead>{head}</thead>", "<tbody>", *rows, "</tbody>", "</table>"])


def _row_class(pair: Pair) -> str:
    return f"{kind_class(pair.kind)}{' common' if pair.boilerplate else ''}"


def _similarity(pair: Pair) -> str:
    similarity = "" if pair.kind == "identical" else f"<small>{similarity_text(pair)}</small>"
    return f"{similarity}<small>boilerplate</small>" if pair.boilerplate else similarity


def _passage(pair: Pair, side: Side, length: int | None = None) -> str:
    """One side of a pair, with changed words as deleted (query) or inserted (document)."""
    tag = "del" if side == "query" else "ins"
    limit = REPEATED if length is None and pair.kind == "identical" else length
    cut = pieces(pair, side)
    return "".join(
        f"<{tag}>{html_text(piece.text)}</{tag}>" if piece.changed else html_text(piece.text)
        for piece in (cut if limit is None else shortened(cut, limit))
    )


def _unmatched(whose: str, document: Document, sentences: Sentences, spans: Iterable[Span]) -> str:
    unmatched = [*spans]
    if not unmatched:
        return f"<h3>Every sentence of {whose} has a counterpart</h3>"
    items = (
        f'<li dir="auto"><b>{passage.numbers}</b>{html_text(one_line(document.text[slice(*passage.span)]))}</li>'
        for passage in passages(sentences, unmatched)
    )
    count = f"{len(unmatched):,} of {len(sentences):,} sentences of {whose}"
    return "\n".join([f"<h3>{count}</h3>", '<ol class="passages">', *items, "</ol>"])
