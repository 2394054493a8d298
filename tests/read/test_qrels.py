from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.errors import ReadError, UsageError
from rprs.read import read_exclusions, read_pairs, read_qrels, write_qrels
from rprs.read.qrels import find_exclusions

TREC = "q2 0 d1 1\n\nq1\tQ0\td3 0\nq1 0 d2 -1\nq1 0 d2 -1\n"
BEIR = "query-id\tcorpus-id\tscore\nq2\td1\t1\nq1\td3\t0\nq1\td2\t-1\n"
BARE = "q2 d1 1\nq1 d3 0\nq1 d2 -1\n"


@pytest.mark.parametrize("content", [TREC, BEIR, BARE], ids=["trec", "beir", "bare"])
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_all_forms_of_judgements_read_the_same(tmp_path: Path, content: str, suffix: str) -> None:
    path = tmp_path / f"qrels{suffix}"
    packed = {".gz": gzip.compress(content.encode()), ".xz": lzma.compress(content.encode())}
    path.write_bytes(packed.get(suffix, content.encode()))
    assert read_qrels(path) == {"q2": {"d1": 1}, "q1": {"d3": 0, "d2": -1}}
    assert list(read_qrels(path)) == ["q2", "q1"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("q1 0 d1 1\nq1 0 d2\n", "qrels:2: 3 columns; judgements have four"),
        ("q1 d1\n", "qrels:1: 2 columns"),
        ("query-id corpus-id score\nq1 with space d1 1\n", "qrels:2: 5 columns"),
        ("q1 0 d1 1\nq1 0 d2 high\n", "qrels:2: the grade 'high' is not an integer"),
        ("q1 0 d1 1.5\n", "qrels:1: the grade '1.5'"),
        ("q1 0 d1 1\nq1 0 d1 2\n", "qrels:2: the document d1 has two different grades for the query q1"),
    ],
)
def test_an_invalid_line_is_named(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "qrels").write_text(content)
    with pytest.raises(ReadError, match=problem):
        read_qrels(tmp_path / "qrels")


def test_unreadable_files_are_one_line_errors(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such qrels file"):
        read_qrels(tmp_path / "none")
    (tmp_path / "qrels.gz").write_bytes(gzip.compress(TREC.encode())[:-12])
    with pytest.raises(ReadError, match="cannot be read as a qrels file"):
        read_qrels(tmp_path / "qrels.gz")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00q1")
    with pytest.raises(ReadError, match="cannot be read as a qrels file"):
        read_qrels(tmp_path / "binary")


names = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1)


@given(st.dictionaries(names, st.dictionaries(names, st.integers(-2, 9), min_size=1)))
def test_judgements_are_read_back_as_written(qrels: dict[str, dict[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "qrels")
        write_qrels(path, qrels)
        stream = io.StringIO()
        write_qrels(stream, qrels)
        assert path.read_text(encoding="utf-8") == stream.getvalue()
        assert read_qrels(path) == qrels


def test_an_id_with_white_space_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'d 1' cannot be written to a qrels file"):
        write_qrels(tmp_path / "qrels", {"q": {"d 1": 1}})
    write_qrels(tmp_path / "qrels", {"q": {"d1": 1}})
    assert (tmp_path / "qrels").read_text() == "q 0 d1 1\n"


def test_pairs(tmp_path: Path) -> None:
    path = tmp_path / "exclude.tsv"
    path.write_text("query-id\tcorpus-id\nq1\td1\nq1\td2\nq2\td1\n")
    assert read_pairs(path) == {"q1": {"d1", "d2"}, "q2": {"d1"}}
    path.write_text("q1\td1\n")
    with pytest.raises(ReadError, match=r"exclude.tsv:1: the first line must be the header"):
        read_pairs(path)
    path.write_text("query-id\tcorpus-id\nq1\td1\t1\n")
    with pytest.raises(ReadError, match=r"exclude.tsv:2: 3 columns"):
        read_pairs(path)


# ---------------------------------------------------------------------------- exclusions


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_exclusions_of_a_beir_folder(tmp_path: Path, ending: str) -> None:
    content = b"query-id\tcorpus-id\nq1\td1\n"
    packed = {".gz": gzip.compress(content), ".xz": lzma.compress(content)}
    path = tmp_path / f"exclude.tsv{ending}"
    (tmp_path / "queries.jsonl").touch()
    assert find_exclusions(tmp_path) is None
    assert read_exclusions(None, tmp_path) == {}
    path.write_bytes(packed.get(ending, content))
    assert find_exclusions(str(tmp_path)) == path
    assert find_exclusions(tmp_path / "queries.jsonl") is None  # a file in a folder without a corpus
    (tmp_path / f"corpus.jsonl{ending}").touch()
    assert find_exclusions(tmp_path / "queries.jsonl") == path
    assert read_exclusions(None, str(tmp_path / "queries.jsonl")) == {"q1": {"d1"}}
    assert read_exclusions(path) == {"q1": {"d1"}}


def test_exclusions_from_values(tmp_path: Path) -> None:
    exclude: dict[Any, Any] = {"q1": ["d1", "d2"], 2: {3}}
    assert read_exclusions(exclude, tmp_path) == {"q1": {"d1", "d2"}, "2": {"3"}}
    assert read_exclusions(None) == {}
    assert read_exclusions(None, ["a text"]) == {}
    (tmp_path / "corpus.jsonl").touch()
    (tmp_path / "exclude.tsv").write_text("query-id\tcorpus-id\nq1\td1\n")
    assert read_exclusions({}, tmp_path) == {}  # values take precedence over the folder


@pytest.mark.parametrize(
    ("exclude", "problem"),
    [
        (5, "exclude must be a file or a mapping from query ids to document ids. Got 5"),
        (["d1"], "exclude must be a file or a mapping"),
        ({"q1": "d1"}, "exclude must map the query 'q1' to a list of document ids. Got 'd1'"),
        ({"q1": None}, "exclude must map the query 'q1' to a list of document ids. Got None"),
        ({"q1": b"d1"}, "exclude must map the query 'q1'"),
    ],
)
def test_wrong_exclusions_are_one_line(exclude: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        read_exclusions(exclude)
    with pytest.raises(ReadError, match="no such exclusion file"):
        read_exclusions("nowhere.tsv")
