"""Metadata filters: which documents they select, and that no part of them is ever run as SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.document import Document, Metadata
from rprs.errors import UsageError
from rprs.index import Index, Writer, verify
from rprs.index.fields import Field
from rprs.index.where import to_sql
from tests.support.crash import HASHED, memory_folder
from tests.support.indexes import index_of

# As JSON gives them (a, b) and as CSV does, where every value is a text (c, d).
METADATA: dict[str, Metadata] = {
    "a": {"date": "2015-12-31", "court": "ca9", "pages": 9, "open": True, "score": 1.5, "note": 'O\'Brien v. "X"'},
    "b": {"date": "2016-01-01", "court": "ca2", "pages": 10, "open": False, "score": -2.0, "Case Name": "Élan, Inc."},
    "c": {"date": "2016-07", "court": "CA9", "pages": "100", "open": "true", "score": "n/a", "note": None},
    "d": {"court": "", "pages": "7 pages", "in": "x", "d'or": "y", "select": "drop"},
}
TITLES = {"a": "Harbour", "b": "The Mill", "c": "100", "d": ""}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with memory_folder() as folder:
        with Writer(folder / "a.rprs", create=True, encoder=HASHED) as writer:
            writer.add(Document(id, f"Text of {id}.", TITLES[id], metadata) for id, metadata in METADATA.items())
        with Index(folder / "a.rprs") as opened:
            yield opened


def test_fields_are_listed_with_their_values(index: Index) -> None:
    fields = {field.name: field for field in index.fields}
    assert set(fields) == {name for metadata in METADATA.values() for name in metadata}
    assert fields["date"] == Field(
        "date", "date", 3, 3, "2015-12-31", "2016-07", _once("2015-12-31", "2016-01-01", "2016-07")
    )
    assert (fields["note"].documents, fields["note"].kind) == (1, "text")  # null is no value
    assert fields["court"].values == _once("", "CA9", "ca2", "ca9")
    assert (fields["pages"].kind, fields["pages"].documents) == ("text", 4)  # numbers and texts
    assert set(fields["open"].values) == {(True, 1), (False, 1), ("true", 1)}
    with_numbers = [Document(str(number), "Text.", "", {"year": 1900 + number // 2}) for number in range(500)]
    with index_of(with_numbers) as numbered:
        assert numbered.fields == (Field("year", "number", 500, 250, 1900, 2149, ()),)


def _once(*values: str) -> tuple[tuple[str, int], ...]:
    return tuple((value, 1) for value in values)


def test_documents_are_found_by_words_of_ids_and_titles(index: Index) -> None:
    def ids(words: str, limit: int = 20) -> tuple[list[str], int]:
        documents, total = index.find(words, limit)
        return [document.id for document in documents], total

    assert ids("HARB") == (["a"], 1)
    assert ids("b mill") == (["b"], 1)
    assert ids("mill harbour") == ([], 0)
    assert ids("", 2) == (["a", "b"], 4)
    assert ids("%") == ids("' OR 1 --") == ([], 0)
    assert index.find("mill")[0][0] == Document("b", "", "The Mill", METADATA["b"])


def selected(index: Index, where: str) -> str:
    return "".join(id for id, allowed in zip(index.ids, index.select(where), strict=True) if allowed)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        # dates are texts that sort; a year alone is a number
        ("date < 2016-01-01", "a"),
        ("date >= 2016-01-01", "bc"),
        ("date >= 2016", "bc"),
        ("date = 2016", "bc"),
        ("date > 2016", ""),
        ("date <= 2015", "a"),
        ("date != 2016-01-01", "ac"),
        # numbers, also where a table held them as texts
        ("pages < 10", "ad"),
        ("pages >= 10", "bc"),
        ("pages = 100", "c"),
        ("pages = 100.0", "c"),
        ('pages = "100"', "c"),
        ('pages = "9"', "a"),
        ("pages > -1", "abcd"),
        ("score < 0", "b"),
        ("score = 1.5", "a"),
        ("score = +1.5", "a"),
        ("score > 0", "a"),
        # texts
        ("court = ca9", "a"),
        ("court == ca9", "a"),
        ("court <> ca9", "bcd"),
        ("court != ca9", "bcd"),
        ("court=ca9", "a"),
        ("court ~ ca", "abc"),
        ("court ~ CA9", "ac"),
        ('"Case Name" ~ ÉLAN', "b"),
        ("'Case Name' = 'Élan, Inc.'", "b"),
        ("court = ''", "d"),
        ("pages ~ 0", "bc"),
        # yes and no
        ("open = true", "ac"),
        ("open = false", "b"),
        ("open != true", "b"),
        # lists
        ("court in (ca9, ca2)", "ab"),
        ("court in (ca9)", "a"),
        ("pages in (9, 100, '7 pages')", "acd"),
        ("id in (a, d, nobody)", "ad"),
        ("not court in (ca9, ca2)", "cd"),
        # there or not
        ("date missing", "d"),
        ("date present", "abc"),
        ("note missing", "bcd"),
        ("nothing present", ""),
        ("nothing = 1", ""),
        ("nothing != 1", ""),
        ("not nothing = 1", "abcd"),
        # id and title, and fields named like keywords of the filter language
        ("id = b", "b"),
        ("id >= b", "bcd"),
        ("title ~ mill", "b"),
        ("title = 100", "c"),
        ("title = ''", "d"),
        ('"id" = a', ""),
        ('"in" = x', "d"),
        ("in = x", "d"),
        ("select = drop", "d"),
        ('"d\'or" = y', "d"),
        # and, or, not, brackets
        ("court = ca9 or court = ca2 and pages > 9", "ab"),
        ("(court = ca9 or court = ca2) and pages > 9", "b"),
        ("not (court = ca9 or court = ca2)", "cd"),
        ("NOT date < 2016-01-01 AND court PRESENT", "bcd"),
        ("not not court = ca9", "a"),
        ("((((court = ca9))))", "a"),
        # quotes
        ("note = 'O\"'", ""),
        ('note ~ "O\'Brien"', "a"),
        ("note ~ '\"X\"'", "a"),
        # SQL that stays a text
        ('court = "\' OR 1=1 --"', ""),
        ("court = '\"; DROP TABLE documents; --'", ""),
        ('"x\') OR 1=1 --" = 1', ""),
        ("court ~ '%'", ""),
        ("court = 'ca9\\'", ""),
        ("removed = 0", ""),
        ("content_hash present", ""),
    ],
)
def test_which_documents_a_filter_selects(index: Index, where: str, expected: str) -> None:
    assert selected(index, where) == expected


def test_no_filter_selects_everything(index: Index) -> None:
    assert index.select(None).all()
    assert index.select("").all()


def test_a_long_list_works(index: Index) -> None:
    listed = ", ".join(f"id{number}" for number in range(20_000))
    assert selected(index, f"id in ({listed}, a) or pages in ({', '.join(map(str, range(200, 9000)))})") == "a"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("court", "a comparison is missing at the end"),
        ("court =", "a value is missing at the end"),
        ("= ca9", "expected the name of a field, found '='"),
        ("court ca9", "expected a comparison after the field, found 'ca9'"),
        ("court = ca9 pages = 1", "unexpected 'pages'"),
        ("court = (ca9)", r"expected a value, found '\('"),
        ("(court = ca9", "is missing at the end"),
        ("court = ca9)", r"unexpected '\)'"),
        ("court in ca9", r"expected '\('"),
        ("court in (ca9", "is missing at the end"),
        ("court in ()", r"expected a value, found '\)'"),
        ("court = 'ca9", "cannot read"),
        ("court ! ca9", "cannot read"),
        ("and", "is missing at the end"),
        ("not", "is missing at the end"),
        ("court = ca9 and", "is missing at the end"),
        ("'a\"b' = 1", "cannot hold a double quote"),
        ("court = \udce9", "not valid Unicode"),
        ("(" * 2000 + "a = 1" + ")" * 2000, "more than 50 brackets"),
        ("not " * 5000 + "a = 1", "more than 50 brackets"),
        (" or ".join(["a = 1"] * 5000), "cannot be used: "),
    ],
)
def test_a_wrong_filter_is_one_line(index: Index, where: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        index.select(where)
    assert "\n" not in str(caught.value)


words = st.sampled_from("court pages date id title in not and or missing present 1 x".split())
marks = st.sampled_from(["(", ")", ",", "=", "!=", "<", "~", "'a b'", '"', "'", ";", "--", "\0", "%", "?", "\\", "\n"])
filters = st.one_of(st.text(max_size=30), st.lists(st.one_of(words, marks), max_size=14).map(" ".join))
SQL = set(
    """AND AS CASE CAST ELSE END GLOB IN IS NOT NULL OR REAL TEXT THEN WHEN 0 1 9 casefold coalesce false id instr
    json_extract json_type metadata title true""".split()
)


@given(where=filters)
def test_any_text_is_a_filter_or_a_usage_error(index: Index, where: str) -> None:
    try:
        sql, values = to_sql(where) if where.strip() else ("1", [])
        index.select(where)
    except UsageError:
        return
    assert sql.count("?") == len(values)
    assert set(re.findall(r"\w+", sql)) <= SQL  # no part of the filter


def test_the_index_is_unchanged_by_filters(index: Index) -> None:
    assert verify(index.path) == []
    assert index.ids == ["a", "b", "c", "d"]
