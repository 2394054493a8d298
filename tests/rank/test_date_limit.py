"""Date limits: which documents are newer than a query, in every kind of search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rprs
from rprs.document import Document
from rprs.errors import UsageError
from rprs.files.cache import Cache
from rprs.index import Index
from rprs.index.dates import read_dates
from rprs.rank.batch import allowed_documents
from rprs.rank.date_limit import DateLimit, as_date_limit
from rprs.read.dates import Period, parse_period
from rprs.results.trec import tag
from rprs.search import Searcher
from tests.support.indexes import index_of

TALES = [
    Document(f"t{number}", f"The ferry left the harbour at dusk. It carried {number} crates.", "", {"date": value})
    for number, value in enumerate(["2014", "2015", "2015-05", "2015-06", "2015-06-01", "2015-06-02", "2016-01-01"])
]
UNDATED = [
    Document("none", "The ferry left the quay."),
    Document("words", "The harbour was dark.", "", {"date": "in spring"}),
]
ALL = [*TALES, *UNDATED]
QUERY = Document("query", "A ferry left the harbour at dusk.", "", {"date": "2015-06-01", "filed": "2015"})
NEWER = {"t5", "t6"}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of(ALL[:4], ALL[4:]) as opened:
        yield opened


@pytest.fixture(scope="module")
def searcher(index: Index) -> Searcher:
    return Searcher(index)


def found(searcher: Searcher, query: Any, **options: Any) -> set[str]:
    return {hit.id for hit in searcher.search(query, 100, group=False, **options)}


# ---------------------------------------------------------------------------- the comparison


def is_newer(document: str, limit: str) -> bool:
    """The rule, read literally: compare year, month and day as far as both have them; two times as moments."""
    if "T" in document and "T" in limit:
        return datetime.fromisoformat(document) > datetime.fromisoformat(limit)
    parts = [[int(part) for part in text.partition("T")[0].split("-")] for text in (document, limit)]
    known = min(map(len, parts))
    return parts[0][:known] > parts[1][:known]


DAYS = st.dates(date(2014, 12, 1), date(2015, 2, 5)).map(str)
TIMES = st.builds("{}T{:02}:00:00{}".format, DAYS, st.integers(0, 23), st.sampled_from(["+00:00", "-05:00", "+12:00"]))
DATES = st.one_of(DAYS, DAYS.map(lambda day: day[:7]), DAYS.map(lambda day: day[:4]), TIMES)


@given(st.lists(DATES, min_size=1, max_size=8), DATES)
def test_dates_are_compared_as_far_as_both_are_given(values: list[str], limit: str) -> None:
    ids = [str(number) for number in range(len(values))]
    dates = read_dates(enumerate(values), len(ids))
    period = parse_period(limit)
    assert period is not None
    assert dates.newer_than(period).tolist() == [is_newer(value, limit) for value in values]


def test_equal_and_less_exact_dates_are_kept(searcher: Searcher) -> None:
    assert found(searcher, QUERY, before="date") == {each.id for each in ALL} - NEWER


# ---------------------------------------------------------------------------- the option


@pytest.mark.parametrize(
    ("before", "limit", "text"),
    [
        ("date", DateLimit("date"), "date"),
        (" date of filing ", DateLimit("date of filing"), "date of filing"),
        ("2015-06-01", DateLimit("date", parse_period("2015-06-01")), "date=2015-06-01"),
        ("2015", DateLimit("date", parse_period("2015")), "date=2015"),
        (date(2015, 6, 1), DateLimit("date", parse_period("2015-06-01")), "date=2015-06-01"),
        ("filed=2015-06", DateLimit("filed", parse_period("2015-06")), "filed=2015-06"),
        ("a=b=2015", DateLimit("a=b", parse_period("2015")), "a=b=2015"),
    ],
)
def test_a_limit_is_a_field_a_date_or_both(before: Any, limit: DateLimit, text: str) -> None:
    parsed = as_date_limit(before)
    assert parsed == limit
    assert str(parsed) == text
    assert as_date_limit(str(parsed), "drop") == replace(limit, undated="drop")
    assert as_date_limit(None) is None


@pytest.mark.parametrize("before", ["", " ", 2015, "2015-13-01", "date=", "date=soon", "=2015", ["date"]])
def test_a_wrong_limit_is_one_line(searcher: Searcher, before: Any) -> None:
    for call in (searcher.search, searcher.rank, searcher.run):
        with pytest.raises(UsageError, match=r"^The date limit") as caught:
            call([QUERY], before=before)
        assert "\n" not in str(caught.value)


def test_undated_is_a_choice_and_needs_a_limit(searcher: Searcher) -> None:
    with pytest.raises(UsageError, match=r"'undated' must be keep or drop\. Got 'ask'"):
        searcher.search(QUERY, before="date", undated="ask")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="needs 'before'"):
        searcher.search(QUERY, undated="drop")


# ---------------------------------------------------------------------------- searches


def test_documents_without_a_date_are_kept_or_dropped_and_counted(searcher: Searcher) -> None:
    kept = searcher.search(QUERY, 100, before="date")
    assert kept.notes[:2] == (
        "Date limit: nothing newer than 2015-06-01; 2 documents left out",
        "Date limit: 2 documents without a date kept",
    )
    dropped = searcher.search(QUERY, 100, before="date", undated="drop", where="id != words", group=False)
    assert {hit.id for hit in dropped} == {each.id for each in TALES} - NEWER
    assert dropped.notes[1] == "Date limit: 1 document without a date left out"
    assert searcher.rank(QUERY, before="date").notes == ("Date limit: 2 documents without a date kept",)


@pytest.mark.parametrize("rerank", ["rprs", "none"])
@pytest.mark.parametrize("undated", ["keep", "drop"])
def test_a_limit_is_the_same_as_excluding_the_newer_documents(index: Index, rerank: str, undated: Any) -> None:
    searcher = Searcher(index, rerank=rerank, depth=4)
    newer = [*NEWER, *(each.id for each in UNDATED if undated == "drop")]
    limited, excluded = searcher.rank(QUERY, before="date", undated=undated), searcher.rank(QUERY, exclude=newer)
    assert limited.ids == excluded.ids
    assert limited.scores.tolist() == excluded.scores.tolist()
    if rerank != "none":
        explained = searcher.explain(QUERY, "t5", before="date", undated=undated)  # appended, although it is newer
        assert repr(explained.hit) == repr(searcher.explain(QUERY, "t5", exclude=newer).hit)
        assert not explained.in_pool
        assert explained.notes[0].startswith("Date limit: nothing newer than 2015-06-01")


def test_of_several_documents_the_earliest_date_counts(searcher: Searcher) -> None:
    parts = [QUERY, Document("old", "A quay at dusk.", "", {"date": "2014-03-01"}), "A text without a date."]
    assert found(searcher, parts, before="date", undated="drop") == {"t0"}
    assert found(searcher, parts[::-1], before="date", undated="drop") == {"t0"}
    same_day = [Document(time, "A quay.", "", {"date": f"2015-06-01T{time}"}) for time in ("12:00", "09:00", "10:00")]
    assert DateLimit("date").resolved([*same_day, QUERY]) == "date=2015-06-01T09:00:00"


def test_a_text_has_no_date_but_a_limit_may_be_given(searcher: Searcher) -> None:
    assert found(searcher, QUERY.text, before="2015", undated="drop") == {each.id for each in TALES[:-1]}
    assert found(searcher, QUERY.text, before=date(2014, 12, 31), undated="drop") == {"t0"}
    assert found(searcher, QUERY, before="date=2014") == {"t0", "none", "words"}


def test_a_query_without_a_date_is_an_error(searcher: Searcher) -> None:
    line = "The date limit needs a date of the query: 'bare' has no 'date'; give a date instead, as in date=2015-06-01"
    with pytest.raises(UsageError, match=f"^{line}$"):
        searcher.search(Document("bare", QUERY.text), before="date")
    with pytest.raises(UsageError, match="'date' of 'words' is 'in spring', which is not a date"):
        searcher.explain(UNDATED[1], "t0", before="date")


def test_a_field_without_dates_is_an_error(searcher: Searcher) -> None:
    line = "The date limit has no effect: no document has a date in 'filed'"
    for call in (searcher.search, searcher.rank, lambda query, **options: searcher.run([query], **options)):
        with pytest.raises(UsageError, match=line):
            call(QUERY, before="filed")
    with Index.in_memory([], encoder="hashed") as empty:
        assert list(Searcher(empty).search(QUERY, before="date")) == []
    with Index.in_memory(TALES[4:], encoder="hashed") as dated, pytest.raises(UsageError, match=r"with dates: date$"):
        Searcher(dated).search(QUERY, before="dat=2015")


def test_numbers_and_times_in_metadata_are_dates() -> None:
    stamps: list[Any] = [
        "2015-06-01T10:00Z",
        "2015-06-01T11:59:59+02:00",
        "2015-06-01T12:00:01+02:00",
        2015,
        20150602,
        2016.0,
    ]
    tales = [replace(each, metadata={"at": stamp}) for each, stamp in zip(TALES, stamps, strict=False)]
    with Index.in_memory(tales, encoder="hashed") as index:
        query = replace(QUERY, metadata={"at": "2015-06-01T12:00:00+02:00"})
        assert found(Searcher(index, "bm25"), query, before="at") == {"t0", "t1", "t3"}
        assert found(Searcher(index, "bm25"), QUERY, before="at=2015-06-01") == {"t0", "t1", "t2", "t3"}


def test_dates_follow_changes_of_the_index(tmp_path: Path) -> None:
    path = tmp_path / "changing.rprs"
    rprs.build(path, TALES, encoder="hashed")
    with Index(path) as old:
        with rprs.Writer(path) as writer:
            writer.add([replace(TALES[0], metadata={"date": "2020"})])
            writer.remove(["t1"])
        with Index(path) as new:
            assert found(Searcher(old, "bm25"), QUERY, before="date") == {"t0", "t1", "t2", "t3", "t4"}
            assert found(Searcher(new, "bm25"), QUERY, before="date") == {"t2", "t3", "t4"}


# ---------------------------------------------------------------------------- runs and provenance


def test_a_run_applies_the_limit_of_each_query(searcher: Searcher, tmp_path: Path) -> None:
    queries = [QUERY, replace(QUERY, id="early", metadata={"date": "2014-07"}), replace(QUERY, id="bare", metadata={})]
    cache = Cache(tmp_path / "work")
    for _ in range(2):
        run = searcher.run(queries, before="date", undated="drop", cache=cache)
        assert {name: set(run[name].ids) for name in run} == {"query": {"t0", "t1", "t2", "t3", "t4"}, "early": {"t0"}}
        assert run["early"].notes == ("Date limit: 2 documents without a date left out",)
        assert list(run.failures) == ["bare"]
        assert "has no 'date'" in run.failures["bare"]
    kept = searcher.run(queries, before="date", cache=cache)
    assert set(kept["early"].ids) == {"t0", "none", "words"}
    assert set(searcher.run(queries, cache=cache)["early"].ids) == {each.id for each in ALL}
    with pytest.raises(UsageError, match="has no 'date'"):
        searcher.run(queries, before="date", strict=True)


def test_provenance_has_the_date_and_reproduces_the_search(searcher: Searcher) -> None:
    about = searcher.about(QUERY, 5, before="date", undated="drop")
    assert (about.before, about.undated) == ("date=2015-06-01", "drop")
    assert "|before=date=2015-06-01|undated=drop|" in tag(about)
    text = replace(QUERY, metadata={})
    assert found(searcher, text, before=about.before, undated=about.undated) == found(
        searcher, QUERY, before="date", undated="drop"
    )
    plain = searcher.about(QUERY, 5)
    assert (plain.before, plain.undated) == (None, None)
    assert "undated" not in tag(plain)


def test_the_mask_counts_only_documents_that_would_be_ranked(index: Index) -> None:
    limit = DateLimit("date", Period(0, 0, None, "never"))
    allowed = allowed_documents(index, [TALES[6]], where="id != t5", exclude=["none"], limit=limit)
    assert [index.ids[number] for number in np.flatnonzero(allowed.mask)] == ["words"]
    assert (allowed.newer, allowed.undated) == (5, ("Date limit: 1 document without a date kept",))


# ---------------------------------------------------------------------------- tuning

JUDGEMENTS = {"query": {"t3": 1, "t5": 1}, "early": {"t0": 2, "t6": 1}, "bare": {"t1": 1}}
QUERIES = [QUERY, replace(QUERY, id="early", metadata={"date": 2014}), replace(QUERY, id="bare", metadata={})]


@pytest.mark.parametrize(
    "options",
    [
        {"what": "rerank", "rerank": "rprs", "grid": {"n": [1, 2], "k1": [0, 1], "b": [1]}},
        {"what": "rerank", "rerank": "birch", "grid": {"a": [0.5], "w2": [0.1, 0.5], "w3": [0]}},
        {"what": "first", "first": "bm25", "grid": {"k1": [0, 2], "b": [0, 1], "kli": [None]}},
        {"what": "first", "first": "cosine"},
        {"what": "first", "first": "rprs", "grid": {"n": [1, 2], "k1": [0], "b": [1]}},
        {"what": "depth", "rerank": "rprs", "grid": {"depth": [2, 8]}},
        {"what": "cutoff", "measure": "micro_F1"},
    ],
    ids=lambda options: f"{options['what']} {options.get('first', options.get('rerank', ''))}",
)
def test_tuning_under_a_limit_is_tuning_without_the_newer_documents(
    index: Index, options: dict[str, Any], tmp_path: Path
) -> None:
    cache = Cache(tmp_path / "work")
    free = rprs.tune(index, QUERIES[:2], JUDGEMENTS, cache=cache, **options)
    limited = rprs.tune(index, QUERIES, JUDGEMENTS, before="date", cache=cache, **options)
    newer = {"query": NEWER, "early": {each.id for each in TALES[1:]}}
    excluded = rprs.tune(index, QUERIES[:2], JUDGEMENTS, exclude=newer, **options)
    np.testing.assert_array_equal(limited.totals, excluded.totals)  # NaN where there is no point
    assert not np.array_equal(limited.totals, free.totals, equal_nan=True)
    assert limited.best == excluded.best
    assert limited.notes[:2] == (
        "Date limit: 2 documents without a date kept",
        "Date limit: 1 of 3 queries have no date and are left out",
    )
    assert (limited.about["date_limit"], limited.about["undated"]) == ("date", "keep")
    assert "date_limit" not in excluded.about


def test_tuning_without_any_date_is_one_error(index: Index) -> None:
    with pytest.raises(UsageError, match="'bare' has no 'date'"):
        rprs.tune(index, QUERIES[2:], JUDGEMENTS, before="date")


# ---------------------------------------------------------------------------- exports


def test_every_export_has_the_limit(searcher: Searcher) -> None:
    from rprs.results import FORMATS

    about = searcher.about(QUERY, 5, before="date")
    for name, format in FORMATS.items():
        text = format.write(searcher.search(QUERY, 5, before="date"), about)
        assert "2015-06-01" in text, name
    assert json.loads(json.dumps(about.object()))["undated"] == "keep"
