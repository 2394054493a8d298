"""Coverage of a document by others: which rows each source covers, with which words, and what none covers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rprs
from rprs import Document, EmptyQuery, Index, NoDocument, Searcher, UsageError
from rprs.alignment.coverage import cover
from rprs.alignment.words import fold_words
from rprs.charts.values import Chart, Cover
from tests.charts.test_claims import LOCK
from tests.support.cli import ENCODER
from tests.support.web_samples import COMMON, COPIED, EDITED, REWRITTEN, case_query, cases

FIRST = "Pilots sold rusty anchors beside our quay during one cold morning in March."
SECOND = "A widow mended seven heavy sails near that chapel before this week ended."
THIRD = "Nobody counted silver bells which notaries forgot beneath every old bridge."
FOREIGN = "Quarks tunnel through seventeen indigo manifolds."


def chart_of(query: str, **documents: str) -> Chart:
    return rprs.coverage(query, documents, encoder=ENCODER)


def shown(chart: Chart, cover: Cover | None) -> tuple[str, str, str] | None:
    return None if cover is None else (chart.sources[cover.source].id, cover.kind, " ".join(cover.text.split()))


# ---------------------------------------------------------------------------- examples by hand


def test_rows_sources_and_gaps() -> None:
    edited = SECOND.replace("heavy", "broken")
    chart = chart_of(f"{FIRST} {SECOND}\n\n{FOREIGN} {THIRD}", a=f"{FIRST}\n\n{edited}", b=f"{THIRD} {SECOND}")
    assert [group.label for group in chart.groups] == ["Paragraph 1", "Paragraph 2"]
    assert [(row.label, row.text, row.group) for row in chart.rows] == [
        ("1", FIRST, 0),
        ("2", SECOND, 0),
        ("3", FOREIGN, 1),
        ("4", THIRD, 1),
    ]
    assert [[shown(chart, cover) for cover in row.covers] for row in chart.rows] == [
        [("a", "identical", FIRST)],
        [("b", "identical", SECOND), ("a", "reworded", edited)],
        [],
        [("b", "identical", THIRD)],
    ]
    assert [row.text for row in chart.gaps] == [FOREIGN]
    assert [chart.query.text[slice(*span)] for span in chart.passages_without_source()] == [FOREIGN]
    assert chart.coverage.identical == sum(row.words for row in chart.rows if row.covers)
    assert chart.coverage.words == sum(row.words for row in chart.rows)
    first, second = chart.groups
    assert [(source.id, part.matched) for source, part in chart.sources_of(first)] == [("a", 26), ("b", 13)]
    assert [source.id for source, _ in chart.sources_of(second)] == ["b"]
    assert repr(chart).endswith(": 2 sources, 86% of words covered, 1 of 4 rows without a source>")


def test_a_long_match_is_cut_where_sentences_end() -> None:
    """One identical pair of three sentences: each row has its own sentence of the source, with its full stop."""
    chart = chart_of(f"{FIRST} {SECOND} {THIRD}", copy=f"{FOREIGN}\n\n{FIRST} {SECOND} {THIRD} {FOREIGN}")
    assert [shown(chart, row.best) for row in chart.rows] == [
        ("copy", "identical", text) for text in (FIRST, SECOND, THIRD)
    ]


def test_an_edited_match_is_cut_where_sentences_end() -> None:
    """Two sentences became one; what was changed is given where it is."""
    joined = f"{FIRST[:-1].replace('cold', 'warm')}, and {SECOND[0].lower()}{SECOND[1:].replace('heavy', 'narrow')}"
    chart = chart_of(f"{FIRST} {SECOND}", joined=joined)
    first, second = (row.best for row in chart.rows)
    assert first
    assert second
    assert first.text.startswith("Pilots sold rusty anchors")
    assert first.text.endswith("during one warm morning in March")
    assert second.text.endswith("before this week ended.")
    assert "widow mended seven narrow sails" in second.text
    words = [
        joined[slice(*each.document_span)]
        for cover in (first, second)
        for part in cover.passages
        for each in part.changes
    ]
    assert "warm" in words
    assert "narrow" in words


def test_a_part_of_a_sentence_is_covered() -> None:
    clause = "the widow mended the heavy sail beside the chapel"
    many = [f"{word}{number}" for number in range(20) for word in ("quark", "indigo", "manifold")]
    query = f"In a year of great storms, although nobody had asked for it or paid one crown, {clause}."
    chart = chart_of(query, a=f"Yesterday {clause} {' '.join(many)}.")
    (row,) = chart.rows
    assert row.best
    assert (row.best.kind, row.best.words, row.best.strength) == ("identical", 9, 9 / row.words)
    assert shown(chart, row.best) == ("a", "identical", clause)


def test_the_best_source_covers_most_of_a_row() -> None:
    """A reworded sentence is better than a clause of it in the same words."""
    edited = FIRST.replace("rusty", "blue")
    clause = " ".join(FIRST.split()[4:12])
    chart = chart_of(
        FIRST,
        clause=f"{' '.join(f'quark{number}' for number in range(24))} {clause}.",
        edited=edited,
    )
    (row,) = chart.rows
    assert [(chart.sources[cover.source].id, cover.kind) for cover in row.covers] == [
        ("edited", "reworded"),
        ("clause", "identical"),
    ]
    assert [cover.strength for cover in row.covers] == pytest.approx([12 / 13, 8 / 13])


def test_claims_have_a_row_for_each_element() -> None:
    prior = (
        "A known lock has a bolt of steel that slides in a housing. Elsewhere, a motor that pulls the bolt is shown."
    )
    chart = chart_of(LOCK, prior=prior)
    rows = {row.label: row for row in chart.rows if chart.groups[row.group].claim}
    assert [*rows][:5] == ["1[pre]", "1[a]", "1[b]", "1[c]", "1[d]"]
    assert [group.label for group in chart.groups if group.claim] == ["Claim 1", "Claim 2", "Claim 3"]
    assert chart.groups[-1].label == "Paragraph 6"  # the abstract
    best = rows["1[a]"].best
    assert best
    assert (best.kind, best.text) == ("identical", "a bolt of steel that slides in a housing.")
    assert rows["1[c]"].best
    assert rows["2[b]"].best is None
    assert [row.span for row in chart.rows] == sorted(row.span for row in chart.rows)


# ---------------------------------------------------------------------------- with an index


@pytest.fixture(scope="module")
def searcher() -> Iterator[Searcher]:
    with Index.in_memory(cases(), encoder=ENCODER) as index:
        yield Searcher(index)


def test_the_hits_of_a_search_are_the_sources(searcher: Searcher) -> None:
    chart = searcher.coverage(case_query(), k=5)
    results = searcher.search(case_query(), 5)
    assert [(source.rank, source.id) for source in chart.sources] == [(hit.rank, hit.id) for hit in results]
    assert [source.query_coverage for source in chart.sources] == [hit.query_coverage for hit in results]
    rows = {row.text: row for row in chart.rows}
    assert rows[COMMON].boilerplate
    assert shown(chart, rows[COPIED].best) == (chart.sources[0].id, "identical", COPIED)
    assert shown(chart, rows[EDITED].best) == (chart.sources[0].id, "reworded", REWRITTEN)
    assert [row.text.split()[0] for row in chart.gaps] == ["Quarks"] * 3
    assert chart.sources[0].duplicates
    assert rprs.coverage(case_query(), results, index=searcher.index).rows == chart.rows
    named = searcher.coverage(case_query(), ["case-4", "case-1", "case-4"])
    assert [(source.rank, source.id) for source in named.sources] == [(1, "case-4"), (2, "case-1")]
    assert named == rprs.coverage(case_query(), ["case-4", "case-1"], index=searcher.index)


def test_boilerplate_can_be_left_out(searcher: Searcher) -> None:
    with_all, without = (searcher.coverage(case_query(), k=3, boilerplate=value) for value in (True, False))
    row = with_all.rows[0]
    assert row.text == COMMON
    assert all(cover.boilerplate for cover in row.covers)
    assert not without.rows[0].covers
    assert not without.rows[0].is_gap
    assert without.coverage.words == with_all.coverage.words - row.words


def test_wrong_arguments_are_one_line(searcher: Searcher) -> None:
    with pytest.raises(EmptyQuery, match="no sentences"):
        searcher.coverage("  \n ", ["case-1"])
    with pytest.raises(NoDocument, match="'nobody'"):
        searcher.coverage("A text.", ["nobody"])
    with pytest.raises(UsageError, match="the list of ids is empty"):
        searcher.coverage("A text.", [])
    with pytest.raises(UsageError, match=r"must be a list of strings\. Got 'case-1' instead"):
        searcher.coverage("A text.", "case-1")
    with pytest.raises(UsageError, match="k must be an integer"):
        searcher.coverage("A text.", k=-1)
    with pytest.raises(UsageError, match=r"at most 200 sources\. Got 201"):
        rprs.coverage("A text.", [f"Text {number}." for number in range(201)], encoder=ENCODER)
    with pytest.raises(UsageError, match="give the index, too"):
        rprs.coverage("A text.", searcher.search(COPIED, 1))
    with pytest.raises(UsageError, match="leave out either the index or the encoder"):
        rprs.coverage("A text.", ["case-1"], index=searcher.index, encoder=ENCODER)


# ---------------------------------------------------------------------------- properties

SENTENCES = st.sampled_from([FIRST, SECOND, THIRD, FOREIGN, COPIED, EDITED, REWRITTEN, "Heron v. Otter", "It is so."])
TEXTS = st.lists(st.tuples(SENTENCES, st.sampled_from([" ", "\n\n"])), min_size=1, max_size=6).map(
    lambda parts: "".join(sentence + end for sentence, end in parts).strip()
)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
@settings(max_examples=40)
def test_rows_add_up_to_the_alignments(query: str, texts: list[str]) -> None:
    """Every word of a row counts once, and each source covers what its alignment says."""
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    with Index.in_memory(documents, encoder=ENCODER) as index:
        searcher = Searcher(index)
        chart = searcher.coverage(query, [document.id for document in documents])
        words = fold_words(query)
        assert "".join("".join(row.text.split()) for row in chart.rows) == "".join(query.split())
        for place, source in enumerate(chart.sources):
            own = [cover for row in chart.rows for cover in row.covers if cover.source == place]
            parts = [(part.kind, part.query_span) for cover in own for part in cover.passages]
            assert cover(words, parts) == searcher.align(query, source.id).query_coverage == source.query_coverage
        for row in chart.rows:
            assert [each.order for each in row.covers] == sorted(each.order for each in row.covers)
            for each in row.covers:
                text = texts[each.source]
                assert 0 < each.words <= row.words
                assert each.words == sum(part.words for part in each.passages)
                for part in each.passages:
                    assert part.text == text[slice(*part.document_span)]
                    assert row.span[0] <= part.query_span[0] < part.query_span[1] <= row.span[1]
                    if part.kind == "identical":
                        yours = fold_words(query[slice(*part.query_span)]).hashes.tolist()
                        assert yours == fold_words(part.text).hashes.tolist()
