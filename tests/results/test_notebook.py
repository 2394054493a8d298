"""Hits, results and explanations in notebooks: short representations, HTML without surprises, data frames."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs import Coverage, Document, Duplicate, Explanation, Hit, Index, Pair, Results, Searcher
from rprs.results.notebook import COLOURS, LIMIT, PAIRS_PER_HIT
from tests.support.alignments import alignment_of, pair_of, sentences_of
from tests.support.html import Fragment
from tests.support.indexes import index_of

HOSTILE = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\u2028\x00"
PLAIN = "</td></table><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;"
QUERY = Document("query.txt", "The rent\nis due. Bread is baked. Nobody came.", "My brief")
DOCUMENT = Document("2016/a.txt", "So. The rent was due.", "Moss v. Reed")
PAIR = pair_of(
    QUERY.text, DOCUMENT.text, "reworded", ("The rent\nis due.", "The rent was due."), changes=[("is", "was")]
)
ALIGNMENT = alignment_of(QUERY, DOCUMENT, [PAIR])
COVERAGE = Coverage(10, 0, 4, 0), Coverage(5, 0, 4, 0)
HIT = Hit(
    *(1, DOCUMENT.id, 1.25, DOCUMENT.title, {"court": "hill"}, 3, 7.25, {"qp": 0.5, "dp": 0.25}, (PAIR,)),
    *COVERAGE,
    duplicates=(Duplicate("copy.txt", "", "identical", 1.25, 2, {}),),
)
RESULTS = Results((HIT, Hit(2, "b", 0.5, "", {}, 1, 9.0)), 100, 7, ("a note",), {"first stage": 0.1})
EXPLANATION = Explanation(HIT, True, ALIGNMENT)

TEXTS = {
    "lease": "The tenant paid the rent late. The landlord kept the deposit. A court was asked.",
    "river": "A river flooded the fields. The dam gave way. Nobody paid the landlord.",
}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of([Document(id, text, f"The {id}", {"year": 2001}) for id, text in TEXTS.items()]) as index:
        yield index


def test_representations_are_short() -> None:
    assert repr(PAIR) == "<Pair, reworded (92% of words): 'The rent is due.' ⇄ 'The rent was due.'>"
    assert repr(ALIGNMENT) == "<Alignment of query.txt and 2016/a.txt: 1 pair, 44% and 80% of words>"
    assert repr(HIT) == "<Hit 1: 2016/a.txt, score 1.25, 'Moss v. Reed', 1 pair>"
    assert repr(RESULTS[1]) == "<Hit 2: b, score 0.5, 0 pairs>"
    assert repr(RESULTS) == "<Results: 2 hits among 100 candidates; best: 2016/a.txt (1.25)>"
    assert repr(replace(RESULTS, hits=(), candidates=1)) == "<Results: 0 hits among 1 candidate>"
    assert repr(EXPLANATION) == "<Explanation of 2016/a.txt for query.txt: 1 pair, 2 of 3 query sentences uncovered>"
    long = replace(PAIR, query="word " * 1000, document="word " * 1000)
    assert len(repr(long)) < 150
    assert len(repr(replace(HIT, title="word " * 1000, pairs=(long,) * 1000))) < 130


def test_results_are_a_ranked_table_with_evidence() -> None:
    page = Fragment(RESULTS._repr_html_())
    assert page.cells[:5] == ["", "of yours", "of theirs", "score", "document"]
    first, second = page.cells[5:10], page.cells[10:]
    assert first[:4] == ["1", "40%", "80%", "1.2500"]
    evidence = "± reworded, 92% of words: The rent is due. ⇄ The rent was due."
    assert first[4] == f"Moss v. Reed 2016/a.txt{evidence}also copy.txt (identical text)"
    assert second == ["2", "", "", "0.5000", "b"]
    assert "a note" in page.text
    assert Fragment(HIT._repr_html_()).cells[5:] == first
    without = Fragment(replace(RESULTS, hits=(RESULTS[1],))._repr_html_())
    assert without.cells == ["", "score", "document", "2", "0.5000", "b"]
    assert "No hits." in Fragment(replace(RESULTS, hits=())._repr_html_()).text


def test_an_explanation_has_its_pairs_and_the_uncovered_sentences() -> None:
    page = Fragment(EXPLANATION._repr_html_())
    row = ["± reworded, 92% of words", "The rent is due.", "The rent was due."]
    assert page.cells == ["match", "query", "document", *row]
    assert "The rent <del>is</del> due." in EXPLANATION._repr_html_()
    assert "The rent <ins>was</ins> due." in EXPLANATION._repr_html_()
    assert "My brief ⇄ Moss v. Reed" in page.text
    assert "44% of your document has a counterpart here: 44% reworded." in page.text
    assert "80% of this document has a counterpart in yours: 80% reworded." in page.text
    before, _, after = page.text.partition("2 of 3 sentences of your document have no counterpart.")
    assert "Bread is baked." not in before
    details = "Technical details: rank 1; score 1.2500, QP 0.500, DP 0.250; keyword rank 3"
    assert after == f"Bread is baked.Nobody came.{details}"
    assert Fragment(ALIGNMENT._repr_html_()).cells == page.cells
    outside = replace(EXPLANATION, in_pool=False, hit=replace(HIT, parts={}), alignment=replace(ALIGNMENT, pairs=()))
    assert "not among the candidates of the search; score 1.2500;" in Fragment(outside._repr_html_()).text
    assert "No passage has a counterpart." in Fragment(outside._repr_html_()).text


def test_long_outputs_are_limited_and_say_so() -> None:
    split = sentences_of(QUERY.text, ["The rent\nis due.", *["Bread is baked."] * 3000])
    alignment = alignment_of(QUERY, DOCUMENT, [PAIR] * 5000, (split, ALIGNMENT.document_sentences))
    many = replace(EXPLANATION, hit=replace(HIT, pairs=(PAIR,) * 5000), alignment=alignment)
    page = Fragment(many._repr_html_())
    assert len(page.cells) == 3 * (LIMIT + 1)
    assert "The other 4,900 matches are in pairs." in page.text
    assert page.text.count("Bread is baked.") == LIMIT
    assert "The other 2,900 are in query_unmatched." in page.text
    assert Fragment(many.hit._repr_html_()).text.count("⇄") == PAIRS_PER_HIT


def hostile(text: str) -> list[str]:
    """Everything that can be shown, with that text wherever a text may be."""
    pair = Pair(text, text, "same idea", 0.5, (0, len(text)), (0, len(text)), 1, 1)
    hit = replace(HIT, id=text, title=f"{text}!", metadata={text: text}, pairs=(pair,))
    document = Document(text, f"{text}. {text}", text)
    split = sentences_of(document.text, [text, f". {text}"])
    explanation = Explanation(hit, True, alignment_of(document, document, [pair], (split, split)), (text,))
    results = Results((hit,), 1, 1, (text,), {})
    return [value._repr_html_() for value in (pair, hit, results, explanation)]


def test_hostile_text_is_only_ever_text() -> None:
    for source in hostile(HOSTILE):
        page = Fragment(source)
        assert page.tags <= {"p", "b", "br", "table", "tr", "th", "td", "span", "div", "ul", "li", "del", "ins"}
        assert {name for name, _ in page.attributes} <= {"style", "dir"}
        assert PLAIN in page.text


@given(st.text(min_size=1, max_size=30))
def test_any_text_leaves_the_markup_as_it_is(text: str) -> None:
    for source, usual in zip(hostile(text), hostile("x"), strict=True):
        page, plain = Fragment(source), Fragment(usual)
        assert (page.tags, page.attributes, len(page.cells)) == (plain.tags, plain.attributes, len(plain.cells))
        source.encode("utf-8")


def test_nothing_is_loaded_and_colours_are_those_of_the_theme_except_of_signs() -> None:
    for value in (PAIR, HIT, RESULTS, EXPLANATION):
        source = value._repr_html_()
        assert not re.search(r"url\(|src=|href=|<style|<script|<link", source)
        plain = re.sub(r'<b style="color:(#\w{6})">[=±≈]</b>', "", source)
        assert set(re.findall(r"(?:^|[;\"])(?:color|background):([^;\"]+)", plain)) <= {"inherit", "transparent"}
        assert set(re.findall(r"#[0-9a-f]{3,6}\b", source)) <= {*COLOURS.values()}


def test_a_frame_of_results_has_the_columns_of_the_csv_export() -> None:
    frame = RESULTS.to_frame()
    assert list(frame.columns) == [
        *("rank", "id", "title", "relation", "query_matched", "query_identical", "query_reworded", "query_same_idea"),
        *("document_matched", "document_identical", "document_reworded", "document_same_idea", "duplicates"),
        *("score", "qp", "dp", "first_rank", "first_score"),
        *("kind", "similarity", "query_passage", "document_passage", "court"),
    ]
    assert frame["score"].tolist() == [1.25, 0.5]
    assert frame["qp"].tolist()[0] == 0.5
    assert math.isnan(frame["qp"].tolist()[1])
    assert frame["query_passage"].tolist()[0] == "The rent is due."
    assert frame["court"].isna().tolist() == [False, True]
    assert len(replace(RESULTS, hits=()).to_frame()) == 0


def test_a_real_search_is_shown_with_its_evidence(index: Index) -> None:
    searcher = Searcher(index)
    query = Document("mine", "The landlord kept the deposit. Bread is baked at dawn.")
    results = searcher.search(query)
    assert repr(results).startswith(f"<Results: 2 hits among 2 candidates; best: {results[0].id} (")
    page = Fragment(results._repr_html_())
    assert "The lease lease" in page.text
    assert "= identical: The landlord kept the deposit. ⇄ The landlord kept the deposit." in page.text
    assert results.to_frame()["year"].tolist() == [2001, 2001]
    explanation = searcher.explain(query, "lease")
    assert "The landlord kept the deposit." in Fragment(explanation._repr_html_()).cells
    run = searcher.run([query])
    assert run.to_frame()[["doc_id", "qp", "dp"]].to_numpy().tolist() == [[hit.id, hit.qp, hit.dp] for hit in results]
