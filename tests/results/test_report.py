"""The HTML report of two documents, as a browser would see it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rprs
from rprs import Alignment, Document, Explanation, Hit, Index, Pair, Searcher, System
from rprs.alignment.describe import coverage_sentence
from rprs.alignment.values import KINDS, Kind, Span
from rprs.document import Sentences, Value
from rprs.results.panes import Pane
from rprs.results.report import alignment_report, explanation_report
from tests.results.test_export import ABOUT
from tests.support.alignments import alignment_of, pair_of, sentences_of, span_of
from tests.support.cli import QUERY, TEXTS, rprs_error, rprs_ok, sample_index


class Page(HTMLParser):
    """Elements with attributes, and the text of both panes without the numbers of pairs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.panes: dict[str, str] = {}
        self.cells: list[str] = []
        self._open: list[str] = []
        self._pane = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.elements.append((tag, values))
        if tag == "meta":
            return
        self._open.append(tag)
        if tag == "section":
            self._pane = values.get("id") or ""
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag == "p" and self._pane:
            self.panes[self._pane] += " "

    def handle_data(self, data: str) -> None:
        if "p" in self._open and "a" not in self._open:
            self.panes[self._pane] = self.panes.get(self._pane, "") + data
        if "td" in self._open:
            self.cells[-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def targets(self) -> set[str]:
        return {attributes["id"] or "" for _, attributes in self.elements if attributes.get("id")}


def words(text: str) -> list[str]:
    return text.split()


# ---------------------------------------------------------------------------- a small alignment by hand

LEASE = Document(
    "lease.txt", "Supreme Court. The tenant shall pay the rent. No dogs. He pays monthly.", "Lease of 2019"
)
OTHER = Document(
    "b.txt", "Supreme Court. The tenant must pay the rent. He pays monthly. Cats are fine.", "Lease of 2024"
)
TEXTS_ = LEASE.text, OTHER.text
COURT = pair_of(*TEXTS_, "identical", ("Supreme Court.",) * 2, boilerplate=True)
RENT = pair_of(
    *TEXTS_,
    "reworded",
    ("The tenant shall pay the rent.", "The tenant must pay the rent."),
    changes=[("shall", "must")],
)
MONTHLY = pair_of(*TEXTS_, "identical", ("He pays monthly.",) * 2)
IDEA = pair_of(*TEXTS_, "same idea", ("No dogs.", "Cats are fine."))
SMALL = alignment_of(
    LEASE, OTHER, [COURT, RENT, IDEA, MONTHLY], boilerplate=([span_of(LEASE.text, "Supreme Court.")], [(0, 14)])
)


def test_the_report_begins_with_a_summary() -> None:
    text = alignment_report(replace(SMALL, relation="near duplicate"), {"version": "0.1.0"})
    assert "<title>Lease of 2019 compared with Lease of 2024</title>" in text
    summary = text[text.index('<section class="summary"') : text.index("</section>")]
    assert text.index("<h1>") < text.index('<section class="summary"') < text.index('id="texts"')
    assert "Near duplicate" in summary
    assert f"{coverage_sentence(SMALL.query_coverage, 'query')}." in summary
    assert f"{coverage_sentence(SMALL.document_coverage, 'document')}." in summary
    assert re.findall(r"<b>(.)</b> ([a-z ]+)</span> (\d+)", summary) == [
        ("=", "identical", "2"),
        ("±", "reworded", "1"),
        ("≈", "same idea", "1"),
    ]
    assert "boilerplate</span> 1 of these" in summary
    telling = re.findall(r'<a href="#q(\d)">(.)\d</a> ([a-z ]+)', summary)
    assert telling == [("2", "±", "reworded"), ("4", "=", "identical"), ("3", "≈", "same idea")]  # no boilerplate
    assert "Scores help you prioritise; they are not legal conclusions." in summary


def test_matches_have_a_colour_a_sign_and_a_word_and_changes_are_tracked() -> None:
    page = Page(text := alignment_report(SMALL, {}))
    assert page.cells == [
        *("=1 identicalboilerplate", "Supreme Court.", "Supreme Court."),
        *("±2 reworded92% of words", "The tenant shall pay the rent.", "The tenant must pay the rent."),
        *("≈3 same idea0.75", "No dogs.", "Cats are fine."),
        *("=4 identical", "He pays monthly.", "He pays monthly."),
    ]
    assert "The tenant <del>shall</del> pay the rent." in text
    assert "The tenant <ins>must</ins> pay the rent." in text
    assert [row.get("class") for row in page.all("tr")[1:]] == [
        "kind-identical common", "kind-reworded", "kind-same-idea", "kind-identical",
    ]  # fmt: skip
    marked = [span["class"] for span in page.all("span") if (span.get("class") or "").startswith("match")]
    assert {"match kind-identical common", "match kind-reworded", "match kind-same-idea"} <= {*marked}


def test_kinds_are_left_out_and_the_others_keep_their_numbers() -> None:
    text = alignment_report(SMALL, {}, ["reworded"])
    page = Page(text)
    assert page.cells[0].startswith("±2 reworded")
    assert len(page.cells) == 3
    assert "Left out here: identical and same idea." in text
    assert "Every sentence of your document has a counterpart" in text  # of some kind
    assert words(page.panes["query"]) == words(LEASE.text)


def test_of_several_matches_at_one_place_the_strongest_is_shown_and_the_others_are_counted() -> None:
    again = pair_of(*TEXTS_, "same idea", ("The tenant shall pay the rent.", "He pays monthly."))
    page = Page(text := alignment_report(alignment_of(LEASE, OTHER, [RENT, again, MONTHLY]), {}))
    assert '>±1</a><span id="q2"></span><a class="more" href="#p2"' in text
    assert 'title="Also matches 2">+1</a>' in text
    assert {f"{side}{number}" for side in "qdp" for number in (1, 2, 3)} <= page.targets()


# ---------------------------------------------------------------------------- a real search


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def index(index_path: Path) -> Iterator[Index]:
    with Index(index_path) as index:
        yield index


def reported(index: Index, id: str = "lease.txt") -> tuple[Explanation, Page, str]:
    searcher, query = Searcher(index), Document("query.txt", f"{QUERY} {TEXTS['lease.txt'].split('. ')[0]}.")
    explanation = searcher.explain(query, id)
    text = explanation_report(explanation, searcher.about(query, 10))
    return explanation, Page(text), text


def test_the_report_has_both_texts_and_each_match_on_both_sides(index: Index) -> None:
    explanation, page, text = reported(index)
    assert words(page.panes["query"]) == words(explanation.query.text)
    assert words(page.panes["document"]) == words(TEXTS["lease.txt"])
    count = len(explanation.hit.pairs)
    assert count
    assert {f"{side}{number}" for side in "qdp" for number in range(1, count + 1)} <= page.targets()
    assert {(link["href"] or "")[1:] for link in page.all("a")} <= page.targets()
    assert "It guards seven golden spoons." in text.partition('id="unmatched"')[2]
    system = System()
    settings = (index.fingerprint, str(system.first), str(system.rerank), "made.rprs", "100")
    assert all(f">{value}<" in text for value in settings)
    details = text.partition('id="details"')[2]
    assert re.search(r"<dt[^>]*>keyword rank</dt><dd[^>]*>\d+</dd>", details)
    assert re.search(r"<dt[^>]*>DP</dt><dd[^>]*>[\d.]+</dd>", details)


def test_the_report_loads_nothing_and_runs_nothing(index: Index) -> None:
    _, page, text = reported(index)
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv"))
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "link", "iframe", "object", "svg", "form"})
    assert all((link["href"] or "").startswith("#") for link in page.all("a"))
    assert "url(" not in text
    assert "@import" not in text
    assert "path" not in re.findall(r"<dt[^>]*>([^<]*)", text)


# ---------------------------------------------------------------------------- any text

NASTY = '<script>alert("x")</script> & \'"><img src=x onerror=alert(1)>'


def test_text_in_the_report_is_only_ever_text() -> None:
    metadata: dict[str, Value] = {NASTY: NASTY, "home": "javascript:alert(1)", "web": 'https://example.org/"onclick='}
    query = Document(NASTY, f"{NASTY} one. Two \x00\ud800.", NASTY)
    document = Document(f"d{NASTY}", f"𝔘 {NASTY} one. Three.", NASTY, {**metadata, "good": "https://example.org/?a&b"})
    parts = query.text[:-7], document.text[2:-7]
    pair = pair_of(query.text, document.text, "reworded", parts, changes=[("<script>", "<img")])
    left, right = (
        sentences_of(query.text, [parts[0], query.text[-6:]]),
        sentences_of(document.text, [parts[1], "Three."]),
    )
    alignment = alignment_of(query, document, [pair], (left, right))
    nasty_hit = Hit(1, document.id, 1.0, NASTY, document.metadata, 1, 1.0, {}, (pair,))
    about = replace(ABOUT, where=NASTY, query=NASTY)
    text = explanation_report(Explanation(nasty_hit, True, alignment, (NASTY,)), about)
    page = Page(text.encode().decode())
    plain = Page(alignment_report(replace(alignment, pairs=()), {}))
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img"})
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert words(page.panes["document"]) == words(document.text) == words(plain.panes["document"])
    assert words(page.panes["query"]) == words(query.text.replace("\x00\ud800", "\ufffd\ufffd"))
    outside = [link["href"] for link in page.all("a") if not (link["href"] or "").startswith("#")]
    assert outside == ["https://example.org/?a&b"]


def test_text_outside_sentences_is_kept() -> None:
    text = "Heading\n\nOne here. -- Two there.\nThe end"
    sentences = replace(sentences_of(text, ["One here.", "Two there."]), paragraphs=np.array([0, 1], dtype=np.int32))
    document = Document("d", text)
    page = Page(alignment_report(alignment_of(document, document, [], (sentences, sentences)), {}))
    assert words(page.panes["query"]) == words(page.panes["document"]) == words(text)


@st.composite
def spans_in(draw: st.DrawFn, length: int) -> Span:
    start = draw(st.integers(0, length - 1))
    return start, draw(st.integers(start + 1, length))


@given(data=st.data())
def test_whatever_overlaps_a_pane_is_the_text_and_links_every_match(data: st.DataObject) -> None:
    text = " ".join(f"word{number}" for number in range(12))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=5)))
    spans = np.array([*zip([0, *cuts], [*cuts, len(text)], strict=True)], dtype=np.int64)
    sentences = Sentences(spans, np.arange(len(spans), dtype=np.int32) // 2)
    pairs = []
    for number in range(1, data.draw(st.integers(0, 6)) + 1):
        span = data.draw(spans_in(len(text)))
        kind: Kind = data.draw(st.sampled_from(KINDS))
        grey = data.draw(st.booleans())
        pairs.append((number, Pair(text[slice(*span)], "x", kind, 0.5, span, (0, 1), 1, 1, grey)))
    whole = [(int(start), int(end)) for start, end in spans]
    page = Page(
        "".join(f"<p>{part}</p>" for part in Pane("query", text, sentences, pairs, whole[:1], whole[1:2]).paragraphs())
    )
    assert "".join(page.panes[""].split()) == text.replace(" ", "")
    assert page.targets() == {f"q{number}" for number, _ in pairs}


def long_report(sentence_count: int) -> str:
    """A report with many sentences of twenty words, every second of which matches itself."""
    sentences = [
        f"Sentence {number} has as many words as twenty which is what a sentence of a court has in the mean."
        for number in range(sentence_count)
    ]
    text = " ".join(sentences)
    ends = np.cumsum([len(sentence) + 1 for sentence in sentences])
    where = np.stack([np.append(0, ends[:-1]), ends - 1], axis=1)
    split = Sentences(where, np.zeros(sentence_count, dtype=np.int32))
    places = [(int(a), int(b)) for a, b in where[::2]]
    pairs = [Pair(text[a:b], text[a:b], "identical", 1.0, (a, b), (a, b), 20, 20) for a, b in places]
    document = Document("d", text)
    return alignment_report(alignment_of(document, document, pairs, (split, split)), {})


def test_a_report_of_100_000_words() -> None:
    page = long_report(5_000)
    assert page.count('<span class="match kind-identical"><a') == 5_000
    assert len(page) < 8_000_000


def test_the_work_of_a_report_grows_with_its_length() -> None:
    """Twice as long a report takes about twice as many function calls, not four times as many."""

    def calls(sentences: int) -> int:
        count = 0

        def trace(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(trace)
        try:
            long_report(sentences)
        finally:
            sys.setprofile(None)
        return count

    assert calls(800) < 2.5 * calls(400)


# ---------------------------------------------------------------------------- the command line


def test_the_command_line_writes_the_report(index_path: Path) -> None:
    query = index_path.parent / "query.txt"
    text = rprs_ok("explain", index_path, query, "lease.txt", "--format", "html", "--kind", "identical").out
    page = Page(text)
    assert text.startswith("<!doctype html>")
    assert words(page.panes["query"]) == words(QUERY)
    assert "Left out here: reworded and same idea." in text
    assert "no document 'nobody'" in rprs_error("explain", index_path, query, "nobody", "--format", "html")


def test_an_empty_alignment_says_so() -> None:
    nothing: Alignment = alignment_of(LEASE, OTHER, [])
    text = alignment_report(nothing, {})
    assert "No part of your document has a counterpart here." in text
    assert "No passage has a counterpart." in text
    assert "4 of 4 sentences of your document" in text


def test_the_report_has_the_colours_of_the_web_interface() -> None:
    def tints(style: Path) -> list[str]:
        return re.findall(r"--(?:(?:match|mark)-[\w-]+|del|ins): #\w+", style.read_text(encoding="utf-8"))

    package = Path(rprs.__file__).parent
    colours = tints(package / "results/report.css")
    assert colours == tints(package / "serve/web/kinds.css")
    assert len(colours) == 2 * (2 * 4 + 2)  # of three kinds and boilerplate, and of changes, in light and in dark
