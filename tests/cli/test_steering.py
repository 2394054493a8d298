"""Marks on the command line, and the numbered sentences of a query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rprs import Index, Searcher, read_one
from tests.support.cli import rprs_error, rprs_ok, sample_index


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("steering"))


@pytest.fixture(scope="module")
def index(index_path: Path) -> Iterator[Index]:
    with Index(index_path) as index:
        yield index


@pytest.fixture(scope="module")
def query(index_path: Path) -> Path:
    return index_path.parent / "query.txt"


def test_sentences_are_numbered_as_the_index_splits_them(index_path: Path, index: Index, query: Path) -> None:
    document = read_one(query)
    rows = rprs_ok("sentences", index_path, query, "--format", "jsonl").objects
    spans = index.splitter.split(document.text).spans.tolist()
    assert [[row["start"], row["end"]] for row in rows] == spans
    assert [row["number"] for row in rows] == list(range(1, len(spans) + 1))
    assert all(row["text"] == document.text[row["start"] : row["end"]] for row in rows)
    table = rprs_ok("sentences", index_path, query).out.splitlines()
    assert table[0].rstrip().split(maxsplit=1) == ["1", rows[0]["text"]]


def test_marks_steer_a_search_and_an_explanation(index_path: Path, index: Index, query: Path) -> None:
    document = read_one(query)
    spans = [(start, end) for start, end in index.splitter.split(document.text).spans.tolist()]
    words = ("--like", "loan.txt", "--not", "lease.txt", "--key", "2", "--ignore", "1")
    hits = rprs_ok("search", index_path, query, *words, "--format", "jsonl").objects
    marks = {"like": ["loan.txt"], "unlike": ["lease.txt"], "key": spans[1:2], "ignore": spans[:1]}
    expected = Searcher(index).search(document, **marks)  # type: ignore[arg-type]
    assert [(hit["id"], hit["score"]) for hit in hits] == [(hit.id, hit.score) for hit in expected]
    assert not {"loan.txt", "lease.txt"} & {hit["id"] for hit in hits}
    why = rprs_ok("explain", index_path, query, hits[0]["id"], *words, "--format", "jsonl").objects[0]
    assert (why["rank"], why["score"]) == (1, hits[0]["score"])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--key", "two"), "--key must be numbers of sentences such as 3-7,12. Got 'two'"),
        (("--key", "1,,2"), "--key must be numbers of sentences such as 3-7,12. Got '1,,2'"),
        (("--ignore", "0"), "--ignore 0: the query has the sentences 1 to "),
        (("--ignore", "2-1"), "--ignore 2-1: the query has the sentences 1 to "),
        (("--ignore", "1-99"), "--ignore 1-99: the query has the sentences 1 to "),
        (("--key", "1", "--ignore", "1"), "A sentence is marked as key and as ignored: "),
        (("--like", "loan.txt", "--not", "loan.txt"), "'loan.txt' is marked as relevant and as not relevant"),
        (("--like", "lone.txt"), "Did you mean 'loan.txt'"),
    ],
)
def test_wrong_marks_are_one_line(index_path: Path, query: Path, words: tuple[str, ...], line: str) -> None:
    assert line in rprs_error("search", index_path, query, *words)
