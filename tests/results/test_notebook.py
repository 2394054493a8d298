"""Hits, results and explanations in notebooks: short representations, HTML without surprises, data frames."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs import Document, Explanation, Hit, Index, Pair, Results, Searcher
from rprs.results.notebook import LIMIT, PAIRS_PER_HIT
from tests.support.html import Fragment
from tests.support.indexes import index_of

HOSTILE = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\u2028\x00"
PLAIN = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;"
PAIR = Pair("The rent\nis due.", "The rent was due.", 0.756, (0, 16), (3, 20), 1)
HIT = Hit(1, "2016/a.txt", 1.25, "Moss v. Reed", {"court": "hill"}, 3, 7.25, {"qp": 0.5, "dp": 0.25}, (PAIR,))
RESULTS = Results((HIT, Hit(2, "b", 0.5, "", {}, 1, 9.0)), 100, 7, ("a note",), {"first stage": 0.1})
QUERY = Document("query.txt", "The rent\nis due. Bread is baked. Nobody came.", "My brief")
EXPLANATION = Explanation(
    HIT, True, QUERY, Document(HIT.id, "So. The rent was due.", HIT.title), 3, ((17, 32), (33, 45))
)

TEXTS = {
    "lease": "The tenant paid the rent late. The landlord kept the deposit. A court was asked.",
    "river": "A river flooded the fields. The dam gave way. Nobody paid the landlord.",
}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of([Document(id, text, f"The {id}", {"year": 2001}) for id, text in TEXTS.items()]) as index:
        yield index


def test_representations_are_short() -> None:
    assert repr(PAIR) == "<Pair 0.76: 'The rent is due.' ⇄ 'The rent was due.'>"
    assert repr(HIT) == "<Hit 1: 2016/a.txt, score 1.25, 'Moss v. Reed', 1 pair>"
    assert repr(RESULTS[1]) == "<Hit 2: b, score 0.5, 0 pairs>"
    assert repr(RESULTS) == "<Results: 2 hits among 100 candidates; best: 2016/a.txt (1.25)>"
    assert repr(replace(RESULTS, hits=(), candidates=1)) == "<Results: 0 hits among 1 candidate>"
    assert repr(EXPLANATION) == "<Explanation of 2016/a.txt for query.txt: 1 pair, 2 of 3 query sentences uncovered>"
    long = replace(PAIR, query="word " * 1000, document="word " * 1000)
    assert len(repr(long)) < 130
    assert len(repr(replace(HIT, title="word " * 1000, pairs=(long,) * 1000))) < 130


def test_results_are_a_ranked_table_with_evidence() -> None:
    page = Fragment(RESULTS._repr_html_())
    assert page.cells[:5] == ["", "score", "QP", "DP", "document"]
    first, second = page.cells[5:10], page.cells[10:]
    assert first[:4] == ["1", "1.2500", "50%", "25%"]
    assert first[4] == "Moss v. Reed 2016/a.txt0.76 The rent is due. ⇄ The rent was due."
    assert second == ["2", "0.5000", "", "", "b"]
    assert "a note" in page.text
    assert Fragment(HIT._repr_html_()).cells[5:] == first
    without = Fragment(replace(RESULTS, hits=(RESULTS[1],))._repr_html_())
    assert without.cells == ["", "score", "document", "2", "0.5000", "b"]
    assert "No hits." in Fragment(replace(RESULTS, hits=())._repr_html_()).text


def test_an_explanation_has_its_pairs_and_the_uncovered_sentences() -> None:
    page = Fragment(EXPLANATION._repr_html_())
    assert page.cells == ["similarity", "query", "document", "0.756", "The rent is due.", "The rent was due."]
    assert "My brief ⇄ Moss v. Reed" in page.text
    assert "score 1.2500, QP 50%, DP 25%; rank 1" in page.text
    before, _, after = page.text.partition("2 of 3 sentences of the query have no match.")
    assert "Bread is baked." not in before
    assert after == "Bread is baked.Nobody came."
    outside = replace(EXPLANATION, in_pool=False, hit=replace(HIT, parts={}, pairs=()))
    assert "score 1.2500; not among the candidates of the first stage" in Fragment(outside._repr_html_()).text
    assert "No aligned sentences." in Fragment(outside._repr_html_()).text


def test_long_outputs_are_limited_and_say_so() -> None:
    many = replace(EXPLANATION, hit=replace(HIT, pairs=(PAIR,) * 5000), uncovered=((17, 32),) * 3000, sentences=8000)
    page = Fragment(many._repr_html_())
    assert len(page.cells) == 3 * (LIMIT + 1)
    assert "The other 4,900 pairs are in hit.pairs." in page.text
    assert page.text.count("Bread is baked.") == LIMIT
    assert "The other 2,900 are in uncovered." in page.text
    assert Fragment(many.hit._repr_html_()).text.count("⇄") == PAIRS_PER_HIT


def hostile(text: str) -> list[str]:
    """Everything that can be shown, with that text wherever a text may be."""
    pair = replace(PAIR, query=text, document=text)
    hit = replace(HIT, id=text, title=f"{text}!", metadata={text: text}, pairs=(pair,))
    document = Document(text, text, text)
    explanation = Explanation(hit, True, document, document, 2, ((0, len(text)),), (text,))
    results = Results((hit,), 1, 1, (text,), {})
    return [value._repr_html_() for value in (pair, hit, results, explanation)]


def test_hostile_text_is_only_ever_text() -> None:
    for source in hostile(HOSTILE):
        page = Fragment(source)
        assert page.tags <= {"p", "b", "br", "table", "tr", "th", "td", "span", "div", "ul", "li"}
        assert {name for name, _ in page.attributes} <= {"style", "dir"}
        assert PLAIN in page.text


@given(st.text(min_size=1, max_size=30))
def test_any_text_leaves_the_markup_as_it_is(text: str) -> None:
    for source, usual in zip(hostile(text), hostile("x"), strict=True):
        page, plain = Fragment(source), Fragment(usual)
        assert (page.tags, page.attributes, len(page.cells)) == (plain.tags, plain.attributes, len(plain.cells))
        source.encode("utf-8")


def test_nothing_is_loaded_and_colours_are_those_of_the_theme() -> None:
    for value in (PAIR, HIT, RESULTS, EXPLANATION):
        source = value._repr_html_()
        assert not re.search(r"url\(|src=|href=|<style|<script|<link|#[0-9a-f]{3,6}\b", source)
        assert set(re.findall(r"(?:^|[;\"])(?:color|background):([^;\"]+)", source)) <= {"inherit", "transparent"}


def test_a_frame_of_results_has_the_columns_of_the_csv_export() -> None:
    frame = RESULTS.to_frame()
    assert list(frame.columns) == [
        *("rank", "id", "title", "score", "qp", "dp", "first_rank", "first_score"),
        *("similarity", "query_sentence", "document_sentence", "court"),
    ]
    assert frame["score"].tolist() == [1.25, 0.5]
    assert frame["qp"].tolist()[0] == 0.5
    assert math.isnan(frame["qp"].tolist()[1])
    assert frame["query_sentence"].tolist()[0] == "The rent is due."
    assert frame["court"].isna().tolist() == [False, True]
    assert len(replace(RESULTS, hits=()).to_frame()) == 0


def test_a_real_search_is_shown_with_its_evidence(index: Index) -> None:
    searcher = Searcher(index)
    query = Document("mine", "The landlord kept the deposit. Bread is baked at dawn.")
    results = searcher.search(query)
    assert repr(results).startswith(f"<Results: 2 hits among 2 candidates; best: {results[0].id} (")
    page = Fragment(results._repr_html_())
    assert "The lease lease" in page.text
    assert "The landlord kept the deposit. ⇄ The landlord kept the deposit." in page.text
    assert results.to_frame()["year"].tolist() == [2001, 2001]
    explanation = searcher.explain(query, "lease")
    assert "The landlord kept the deposit." in Fragment(explanation._repr_html_()).cells
    run = searcher.run([query])
    assert run.to_frame()[["doc_id", "qp", "dp"]].to_numpy().tolist() == [[hit.id, hit.qp, hit.dp] for hit in results]
