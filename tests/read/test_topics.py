"""TREC topics and tables of queries: what is read, what is skipped with its line, and what remains one document."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from rprs.document import Document
from rprs.errors import ReadError
from rprs.read import Fields, read, read_one, read_queries
from rprs.read.topics import find_query_reader
from rprs.testing.readers import check_bytes, check_reader

CLASSIC = """
<top>

<num> Number: 401
<title> heating costs, tenants

<desc> Description:
Who pays for heating
where a flat is let?

<narr> Narrative:
Relevant cases name the party that pays.

</top>

<top>
<num> Number: 402
<title> landlords &amp; crime
<desc> Description:
Which landlords were convicted?
<narr> Narrative:
Cases with x < y are relevant.
</top>
"""
OLDEST = """<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain:  International Economics
<title> Topic:  Ship Subsidies
<desc> Description:
Payments to shipyards.
<smry> Summary:
The same.
<con> Concept(s):
1. shipyard
</top>
"""
CLOSED = """<?xml version="1.0" encoding="UTF-8"?>
<!-- topics of <topic> 1 and 2 -->
<topics task="search">
  <topic number="1">
    <query>origin of the vessel</query>
    <question>where was it built?</question>
    <narrative>shipyard and year</narrative>
  </topic>
  <topic number='2'>
    <query><![CDATA[response to <b>salvage</b>]]></query>
    <description>how does it respond?</description>
  </topic>
</topics>
"""
PATIENTS = """<topics task="trials">
<topic number="1">
The patient is forty.

She has <i>chronic</i> pain.
</topic>
</topics>
"""


def write(path: Path, content: str) -> Path:
    data = content.encode()
    path.write_bytes({".gz": gzip.compress(data), ".xz": lzma.compress(data)}.get(path.suffix, data))
    return path


def texts(path: Path, strict: bool = False) -> dict[str, str]:
    return {query.id: query.text for query in read_queries(path, strict=strict)}


def skipped(path: Path) -> list[str]:
    lines: list[str] = []
    list(read_queries(path, skipped=lambda item: lines.append(str(item).removeprefix(f"{path.parent}/"))))
    return lines


# ---------------------------------------------------------------------------- topics


@pytest.mark.parametrize("name", ["topics.txt", "topics.401-450", "topics.xml", "topics", "topics.txt.gz", "t.trec.xz"])
def test_classic_topics(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, CLASSIC)
    first, second = read_queries(path, strict=True)
    assert (first.id, first.text, first.title) == ("401", "heating costs, tenants", "")
    assert first.metadata == {
        "path": str(path),
        "description": "Who pays for heating where a flat is let?",
        "narrative": "Relevant cases name the party that pays.",
    }
    assert (second.id, second.text) == ("402", "landlords & crime")
    assert second.metadata["narrative"] == "Cases with x < y are relevant."


def test_topics_without_closing_tags_and_with_windows_line_ends(tmp_path: Path) -> None:
    content = CLASSIC.replace("</top>", "").replace("\n", "\r\n").replace("<top>", "<TOP>").replace("<num>", "<NUM>")
    assert texts(write(tmp_path / "topics.txt", content)) == {
        "401": "heating costs, tenants",
        "402": "landlords & crime",
    }


def test_the_oldest_topics(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "topics.txt", OLDEST), strict=True) == {"051": "Ship Subsidies"}


def test_topics_in_xml(tmp_path: Path) -> None:
    first, second = read_queries(write(tmp_path / "topics.xml", CLOSED), strict=True)
    assert (first.id, first.text) == ("1", "origin of the vessel")
    assert first.metadata["narrative"] == "shipyard and year"
    assert (second.id, second.text) == ("2", "response to salvage")
    assert second.metadata["description"] == "how does it respond?"


def test_a_topic_that_is_only_text(tmp_path: Path) -> None:
    path = write(tmp_path / "topics.xml", PATIENTS)
    assert texts(path) == {"1": "The patient is forty. She has chronic pain."}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<desc> Description: only this", "only this"),
        ("<narr> Narrative: only this", "only this"),
        ("<title>  </title><desc>only this</desc>", "only this"),
        ("<question>only</question> <subtopic>this</subtopic>", "only this"),
        ("<title>only</title><title>this</title>", "only this"),
        ("<query>only this</query><title></title>", "only this"),
    ],
)
def test_the_text_of_a_topic_without_a_title(tmp_path: Path, body: str, text: str) -> None:
    assert texts(write(tmp_path / "topics.txt", f"<top><num>7</num>{body}</top>")) == {"7": text}


def test_invalid_topics_are_skipped_with_their_line(tmp_path: Path) -> None:
    content = """<top>
<num> Number: 1
<title> one
</top>
<top>
<title> no number
</top>
<!--
two lines --><top><num> Number: 2 b <title> two words
</top>
<top><num>3</num></top>
<topic id=1><title>again</title></topic>
<top><num>4<title>truncated"""
    path = write(tmp_path / "topics.txt", content)
    assert texts(path) == {"1": "one", "4": "truncated"}
    assert skipped(path) == [
        "topics.txt:5: a topic without a number",
        "topics.txt:9: the id '2 b' must be a single word",
        "topics.txt:11: the topic '3' has no text",
        "topics.txt:12: the id '1' is already used in line 1",
    ]
    with pytest.raises(ReadError, match=r"topics\.txt:5: a topic without a number"):
        texts(path, strict=True)


# ---------------------------------------------------------------------------- tables

TABLE = 'q1\twhat is the origin?\nq2\t"to be" or not\n'


@pytest.mark.parametrize("header", ["", "qid\tquery\n", "query_id\ttext\n", "Query-ID\tQuery\n", "id\tquery\n"])
@pytest.mark.parametrize("name", ["queries.tsv", "queries.txt", "queries.tsv.gz", "queries.txt.xz"])
def test_tables_of_queries(tmp_path: Path, name: str, header: str) -> None:
    path = write(tmp_path / name, header + TABLE)
    assert texts(path, strict=True) == {"q1": "what is the origin?", "q2": '"to be" or not'}


def test_a_header_of_records_is_read_as_records(tmp_path: Path) -> None:
    content = 'id\ttext\tyear\n1\t"two\nlines"\t1999\n'
    (query,) = read_queries(write(tmp_path / "queries.tsv", content), strict=True)
    assert (query.id, query.text, query.metadata["year"]) == ("1", "two\nlines", 1999)
    content = "qid\tquery\tyear\n1\tone\t1999\n"
    (query,) = read_queries(write(tmp_path / "queries.tsv", content), strict=True)
    assert (query.id, query.text, query.metadata["year"]) == ("1", "one", 1999)


def test_columns_that_the_caller_names(tmp_path: Path) -> None:
    path = write(tmp_path / "queries.tsv", "case\tfacts\tquery\n1\tone\tother\n")
    (query,) = read_queries(path, strict=True, fields=Fields(id=("case",), text=("facts",)))
    assert (query.id, query.text) == ("1", "one")


@pytest.mark.parametrize("name", ["queries.tsv", "queries.txt"])
def test_invalid_lines_of_a_table_are_skipped_with_their_number(tmp_path: Path, name: str) -> None:
    content = "qid\tquery\n1\tone\n\n2\n3\tthree\tmore\n\tno id\nmy 4\tfour\n5\t \n1\tagain\n6\tsix"
    path = write(tmp_path / name, content)
    assert texts(path) == {"1": "one", "6": "six"}
    assert skipped(path) == [
        f"{name}:4: 1 columns; a table of queries has two: an id, a tab, a text",
        f"{name}:5: 3 columns; a table of queries has two: an id, a tab, a text",
        f"{name}:6: the id '' must be a single word",
        f"{name}:7: the id 'my 4' must be a single word",
        f"{name}:8: the query '5' has no text",
        f"{name}:9: the id '1' is already used in line 2",
    ]


def test_a_tsv_file_without_queries(tmp_path: Path) -> None:
    assert skipped(write(tmp_path / "a.tsv", "one column\nand more\n")) == [
        "a.tsv: no text: expected one of the columns text, contents, body, content, query; the columns are one column"
    ]
    assert skipped(write(tmp_path / "b.tsv", "qid\tquery\n")) == ["b.tsv: contains no documents"]


# ---------------------------------------------------------------------------- texts that are one document


@pytest.mark.parametrize(
    "content",
    [
        "one\ttab in one line",
        "1\tFacts\n1\tOrder\n",
        "1\tFacts\nThe order is quashed.\n",
        "1\tFacts\n\n2\tOrder\n",
        "1\tFacts\n2\tOrder\tSigned\n",
        "first part\tFacts\nsecond part\tOrder\n",
        "1\tFacts\n2\t \n",
        "\tFacts\n\tOrder\n",
        "The <top> of the page\n<top>\n<num> 1\n<title> one\n",
        "<topless>\n<num> 1\n",
    ],
)
def test_a_plain_text_is_one_document(tmp_path: Path, content: str) -> None:
    path = write(tmp_path / "query.txt", content)
    (query,) = read_queries(path, strict=True)
    assert (query.id, query.title) == ("query.txt", "query")
    assert query.text == content
    assert query == read_one(path)


def test_only_queries_are_read_as_topics_and_tables(tmp_path: Path) -> None:
    for name, content in (("topics.txt", CLASSIC), ("table.txt", TABLE)):
        path = write(tmp_path / name, content)
        (document,) = read(path, strict=True)
        assert document == read_one(path)
        assert document.text == content
    queries = list(read_queries(tmp_path, strict=True))
    assert [query.id for query in queries] == ["table.txt", "topics.txt"]  # in a folder, each file is one query


@pytest.mark.parametrize(
    ("name", "content"), [("t.txt", CLASSIC), ("t.xml", CLOSED), ("t.tsv", TABLE), ("t.txt", "qid\tquery\n" + TABLE)]
)
def test_readers_of_queries_fulfil_the_contract(name: str, content: str) -> None:
    documents = check_reader(find_query_reader(Path(name)), content.encode(), rounds=100)
    assert len(documents) == 2
    assert all(isinstance(document, Document) for document in documents)


@pytest.mark.parametrize(
    "content", ["<!--" * 20_000, "<top>" * 20_000, "<a " * 20_000, "a\tb\n" * 20_000, "<top " * 9, "<?" * 20_000]
)
def test_hostile_files_of_queries(content: str) -> None:
    check_bytes(find_query_reader(Path("t.txt")), content.encode())
    check_bytes(find_query_reader(Path("t.tsv")), content.encode())
