"""Documents, queries and judgements as library functions accept them: paths, lists, records, dicts, data frames."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest

from rprs.document import Document
from rprs.errors import ReadError, RprsError, UsageError
from rprs.read import read
from rprs.read.inputs import read_documents, read_judgements, read_query_set

READERS = pytest.mark.parametrize("read_values", [read_documents, read_query_set])
Read = Callable[[Any], Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("The first text.")
    (tmp_path / "b.txt").write_text("The second text.")
    return tmp_path


def error_line(read_values: Callable[[Any], Any], values: Any) -> str:
    with pytest.raises(RprsError) as raised:
        list(read_values(values))
    assert "\n" not in str(raised.value)
    return str(raised.value)


# ---------------------------------------------------------------------------- paths


@READERS
@pytest.mark.parametrize("kind", [str, Path])
def test_a_folder_a_file_and_a_list_of_files(folder: Path, read_values: Read, kind: Callable[[Path], Any]) -> None:
    both = list(read(folder))
    assert list(read_values(kind(folder))) == both
    assert list(read_values(kind(folder / "a.txt"))) == both[:1]
    assert list(read_values([kind(folder / "a.txt"), kind(folder / "b.txt")])) == both


def test_a_beir_folder_has_documents_and_queries(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "document"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "query"}\n')
    assert [document.id for document in read_documents(tmp_path)] == ["d"]
    assert [query.id for query in read_query_set(tmp_path)] == ["q"]
    assert [query.id for query in read_query_set([tmp_path])] == ["q"]


def test_a_table_of_queries(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("1\tone\n2\ttwo\n")
    assert [(query.id, query.text) for query in read_query_set(tmp_path / "topics.tsv")] == [("1", "one"), ("2", "two")]


@READERS
def test_a_mistyped_path_in_a_list_is_an_error(folder: Path, read_values: Read) -> None:
    for paths in ([str(folder / "a.txt"), str(folder / "b.tyt")], ["nowhere.txt"], ["no/where"], [folder / "none"]):
        assert "no such file or folder" in error_line(read_values, paths)
    line = error_line(read_values, [str(folder / "a.txt"), "A text beside a path."])
    assert line.startswith("'A text beside a path.': no such file or folder (for a text that looks like a path, use")
    assert [document.text for document in read_values([{"text": "nowhere.txt"}])] == ["nowhere.txt"]


@READERS
def test_a_list_mixing_paths_with_other_values_is_an_error(folder: Path, read_values: Read) -> None:
    for other in (5, None, Document("d", "text"), b"a.txt", {"text": "text"}):
        error_line(read_values, [folder / "a.txt", other])
        error_line(read_values, [str(folder / "a.txt"), other])


@READERS
def test_strange_paths_are_one_line(read_values: Read) -> None:
    assert "no such file or folder" in error_line(read_values, "nowhere")
    for path in ("nul\0character", "x" * 5000):
        error_line(read_values, path)


def test_files_that_cannot_be_read_are_reported(folder: Path) -> None:
    (folder / "c.txt").write_bytes(b"")
    reports: list[str] = []
    assert len(list(read_documents(folder, skipped=lambda item: reports.append(item.reason)))) == 2
    assert reports == ["an empty file"]
    with pytest.raises(ReadError, match=r"c\.txt: an empty file"):
        list(read_documents(folder, strict=True))


# ---------------------------------------------------------------------------- values


@READERS
def test_a_list_of_texts(read_values: Read) -> None:
    texts = ["The first text.", "One-word", "U.S.", "A long text without a line break. " * 40]
    assert list(read_values(texts[:2])) == [Document("0", texts[0]), Document("1", texts[1])]
    assert [document.text for document in read_values(iter(texts))] == texts
    assert [document.text for document in read_values(np.array(texts[:2]))] == texts[:2]
    assert list(read_values([])) == []


@READERS
def test_documents_stay_what_they_are(read_values: Read) -> None:
    documents = [Document("a", "one", "title", {"year": 1999}), Document("b", "two")]
    assert list(read_values(documents)) == documents
    assert list(read_values(document for document in documents)) == documents
    assert list(read_values(documents[0])) == documents[:1]
    assert list(read_values({"x": documents[0]})) == documents[:1]


@READERS
def test_texts_by_id(read_values: Read) -> None:
    assert list(read_values({"a": "one", 7: "two"})) == [Document("a", "one"), Document("7", "two")]
    assert list(read_values({"a": {"text": "one", "year": 1999}})) == [Document("a", "one", "", {"year": 1999})]


@READERS
@pytest.mark.parametrize(
    "record",
    [
        {"id": 5, "text": "one"},
        {"_id": "5", "contents": "one"},
        {"docno": np.int64(5), "body": "one"},
        {"qid": 5, "query": "one"},
        {"query_id": np.uint8(5), "text": np.str_("one")},
        {"ID": "5", "Text": "one"},
        {"id": "5", "text": ["one"]},
    ],
)
def test_records_with_the_usual_columns(read_values: Read, record: dict[str, Any]) -> None:
    assert list(read_values([record])) == [Document("5", "one")]


def test_a_record_is_the_same_document_as_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "title": "Title", "text": "body", "year": 2001, "tags": ["x"]}\n')
    (from_file,) = read(tmp_path / "a.jsonl")
    (from_value,) = read_documents([{"id": 1, "title": "Title", "text": "body", "year": 2001, "tags": ["x"]}])
    assert (from_value.id, from_value.title, from_value.text) == (from_file.id, from_file.title, from_file.text)
    assert from_value.metadata == {key: value for key, value in from_file.metadata.items() if key != "path"}


def test_metadata_is_plain() -> None:
    record = {
        "text": "one",
        "day": date(2001, 2, 3),
        "numbers": np.array([1, 2]),
        "share": np.float32(0.5),
        "missing": float("nan"),
        "endless": float("inf"),
        "none": None,
        "metadata": {"court": "High Court"},
        9: True,
    }
    (document,) = read_documents([record])
    assert document.id == "0"
    assert document.metadata == {
        **{"court": "High Court", "day": "2001-02-03", "numbers": "[1, 2]", "share": 0.5, "9": True},
    }


@READERS
def test_texts_are_cleaned_as_in_files(read_values: Read) -> None:
    values = ["a\r\nb\0c", {"text": "a\r\nb\0c"}, {"id": "half \ud800", "text": "half \ud800"}]
    assert [document.text for document in read_values(values)] == ["a\nbc", "a\nbc", "half \ufffd"]
    for document in read_values(values):
        (document.id + document.text).encode()


@READERS
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "Expected a path, a list of texts, records or documents, or a DataFrame. Got None"),
        (5, "Got 5"),
        (b"text", "Got b'text'"),
        (object, "Got <class 'object'>"),
        ([None], "Item 0 must be a text, a record or a Document. Got None"),
        ([5], "Item 0 must be"),
        ([b"text"], "Item 0 must be"),
        (bytearray(b"text"), "Item 0 must be"),
        (["a text", 5], "Got 5|'5'|5: no such file"),
        ([["a text"]], "Item 0 must be"),
        (np.zeros((9, 9)), "Item 0 must be"),
        ({"a": 5}, "Item 0 must be"),
        ({"a": None}, "Item 0 must be"),
        ({None: "text"}, "The id of a record must be a text or an integer|its id, in the column id, is empty"),
        ({"id": "a", "text": "one"}, r"A single record must be in a list: \[\{...\}\]"),
        ([""], "Text 0 is empty"),
        (["a text", " \n"], "Text 1 is empty"),
        ([{}], "Record 0: no text: expected one of the columns text, contents, body, content, query"),
        ([{"id": "a"}], "the columns are id"),
        ([{"text": ""}], "Record 0: its text, in the column text, is empty"),
        ([{"text": None}], "Record 0: its text, in the column text, is empty"),
        ([{"text": float("nan")}], "Record 0: its text, in the column text, is empty"),
        ([{"text": b"one"}], "Record 0: the column 'text' is bytes; decode it to text"),
        ([{"text": {"a": 1}}], "Record 0: its text is not a text but"),
        ([{"text": True}], "Record 0: its text is not a text but"),
        ([{"text": "one", "id": None}], "Record 0: its id, in the column id, is empty"),
        ([{"text": "one", "id": ""}], "The id of a record must be a text or an integer. Got ''"),
        ([{"text": "one", "id": 1.5}], "The id of a record must be a text or an integer. Got 1.5"),
        ([{"text": "one", "id": True}], "The id of a record must be a text or an integer. Got True"),
        ([{"text": "one", "id": ["a"]}], "The id of a record must be a text or an integer"),
        ([{"text": "one", "title": {"a": 1}}], "Record 0: its title is not a text"),
    ],
)
def test_wrong_values_are_one_line(read_values: Read, values: Any, message: str) -> None:
    with pytest.raises(RprsError, match=message) as raised:
        list(read_values(values))
    assert "\n" not in str(raised.value)


def test_queries_need_distinct_ids() -> None:
    for queries in ([Document("a", "one"), Document("a", "two")], [{"id": 0, "text": "one"}, {"id": "0", "text": "x"}]):
        with pytest.raises(UsageError, match="Two queries have the same id"):
            list(read_query_set(queries))


# ---------------------------------------------------------------------------- data frames


@READERS
def test_a_data_frame_is_a_table_of_records(read_values: Read) -> None:
    frame = pd.DataFrame({"id": [1, 2], "text": ["one", "two"], "title": [None, "two"], "year": [1999, np.nan]})
    assert list(read_values(frame)) == [Document("1", "one", "", {"year": 1999.0}), Document("2", "two", "two")]
    assert list(read_values(frame.set_index("id"))) == list(read_values(frame))
    assert [document.id for document in read_values(frame[["text"]])] == ["0", "1"]
    assert list(read_values(frame.convert_dtypes()))[1] == Document("2", "two", "two")
    assert list(read_values(frame["text"])) == [Document("0", "one"), Document("1", "two")]


@READERS
def test_dates_in_a_data_frame(read_values: Read) -> None:
    frame = pd.DataFrame({"text": ["one", "two"], "day": pd.to_datetime(["2001-02-03", None])})
    first, second = read_values(frame)
    assert str(first.metadata["day"]).startswith("2001-02-03")
    assert second.metadata == {}


@READERS
@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"id": ["a"], "words": ["one"]}), "Record 0: no text"),
        (pd.DataFrame({"id": ["a", None], "text": ["one", "two"]}), "Record 1: its id, in the column id, is empty"),
        (pd.DataFrame({"id": [1, None], "text": ["one", "two"]}), "must be a text or an integer. Got 1.0"),
        (pd.DataFrame({"text": ["one", None]}), "Record 1: its text, in the column text, is empty"),
        (pd.DataFrame({"text": ["one", pd.NA]}), "Record 1: its text, in the column text, is empty"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), "must be distinct. Got text, text"),
        (pd.DataFrame([["a", "b"]]), "Record 0: no text"),
    ],
)
def test_wrong_data_frames_are_one_line(read_values: Read, frame: Any, message: str) -> None:
    assert message in error_line(read_values, frame)


def test_no_rows() -> None:
    assert list(read_documents(pd.DataFrame({"text": []}))) == []


# ---------------------------------------------------------------------------- judgements

JUDGED = {"1": {"a": 2, "b": 0}, "2": {"a": -1}}
ROWS = [(1, "a", 2), (1, "b", 0), (2, "a", -1)]


@pytest.mark.parametrize(
    "qrels",
    [
        JUDGED,
        {1: {"a": np.int64(2), "b": 0.0}, np.int64(2): {"a": np.float32(-1)}},
        [ir_measures.Qrel(str(query), document, grade) for query, document, grade in ROWS],
        [{"query_id": query, "doc_id": document, "relevance": grade} for query, document, grade in ROWS],
        [{"qid": query, "docno": document, "label": grade} for query, document, grade in ROWS],
        [{"query-id": query, "corpus-id": document, "score": grade} for query, document, grade in ROWS],
        pd.DataFrame(ROWS, columns=["query_id", "doc_id", "relevance"]),
        pd.DataFrame(ROWS, columns=["qid", "docno", "label"]).set_index("qid"),
    ],
)
def test_judgements_from_values(qrels: Any) -> None:
    assert read_judgements(qrels) == JUDGED


def test_judgements_from_files(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    with pytest.raises(ReadError, match=r"has no judgements qrels/test\.tsv: name one of its files \(none\)"):
        read_judgements(tmp_path)
    (tmp_path / "qrels/dev.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
    with pytest.raises(ReadError, match=r"name one of its files \(dev\.tsv\)"):
        read_judgements(tmp_path)
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\ta\t-1\n")
    assert read_judgements(tmp_path) == read_judgements(str(tmp_path / "qrels/test.tsv")) == JUDGED
    with pytest.raises(ReadError, match="no such qrels file"):
        read_judgements("nowhere.qrels")


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        (None, "Expected a qrels file, grades by query and document, or a DataFrame of judgements. Got None"),
        (5, "Got 5"),
        (b"1 0 a 1", "Got b'1 0 a 1'"),
        (["1 0 a 1"], "A judgement must have query_id, doc_id and relevance. Got '1 0 a 1'"),
        ([("1", "a", 1)], "A judgement must have query_id, doc_id and relevance"),
        ([{"query_id": "1", "doc_id": "a"}], "A judgement must have query_id, doc_id and relevance"),
        (pd.DataFrame({"query": ["1"]}), "A judgement must have query_id, doc_id and relevance"),
        ({"1": ["a"]}, "Judgements must map '1' to grades by document. Got ['a']"),
        ({"1": {"a": "1"}}, "A grade must be an integer. Got '1'"),
        ({"1": {"a": 1.5}}, "A grade must be an integer. Got 1.5"),
        ({"1": {"a": True}}, "A grade must be an integer. Got True"),
        ({"1": {"a": None}}, "A grade must be an integer. Got None"),
        ({"1": {"a": float("nan")}}, "A grade must be an integer. Got nan"),
        ({"1": {"a": float("inf")}}, "A grade must be an integer. Got inf"),
        ({None: {"a": 1}}, "The id of a query must be a text or an integer. Got None"),
        ({"1": {1.0: 1}}, "The id of a document must be a text or an integer. Got 1.0"),
        ({1: {"a": 1}, "1": {"a": 2}}, "The document 'a' has two different grades for the query '1'"),
    ],
)
def test_wrong_judgements_are_one_line(qrels: Any, message: str) -> None:
    assert message in error_line(read_judgements, qrels)
