from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.document import Ranking
from rprs.errors import ReadError, UsageError
from rprs.read import read_run, write_run

RUN = """q2 Q0 d1 1 3.5 tag
q1 Q0 d3 1 1 tag
q1 Q0 d2 2 1e1 tag

q1\tQ0\td1\t3\t1.0\ttag
q1 Q0 d9 4 -2 tag
"""


@pytest.mark.parametrize("suffix", ["", ".trec", ".gz", ".xz"])
def test_the_score_decides_and_ties_keep_the_order_of_the_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    packed = {".gz": gzip.compress(RUN.encode(), mtime=0), ".xz": lzma.compress(RUN.encode())}
    path.write_bytes(packed.get(suffix, RUN.encode()))
    run = read_run(path)
    assert list(run) == ["q2", "q1"]
    assert run["q1"].ids == ("d2", "d3", "d1", "d9")
    assert run["q1"].scores.tolist() == [10, 1, 1, -2]
    assert run["q1"].scores.dtype == np.float64


def test_a_header_of_ir_metadata_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    header = "# ir_metadata.start\n# tag: one\n# data:\n#   name: a b c d e f\n#\n# ir_metadata.end\n"
    path.write_text(header + RUN)
    annotated = read_run(path)
    path.write_text(RUN)
    assert list(annotated) == ["q2", "q1"]
    assert [(ranking.ids, ranking.scores.tolist()) for ranking in annotated.values()] == [
        (ranking.ids, ranking.scores.tolist()) for ranking in read_run(path).values()
    ]
    path.write_text("#1 Q0 d1 1 2.0 tag\n")  # an id, not a comment
    assert read_run(path)["#1"].ids == ("d1",)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# ir_metadata.start\n# tag: one\nq1 Q0 d1 1 2.0 tag\n# ir_metadata.end\n", 3),
        ("# ir_metadata.start\n# tag: one\n", 1),
    ],
)
def test_a_header_without_its_end_is_an_error(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "run.trec"
    path.write_text(text)
    with pytest.raises(ReadError, match=rf"^{path}:{line}: the header does not end: expected .*'# ir_metadata.end'"):
        read_run(path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q1 Q0 d2 2 1.0", "5 columns; a run has six: query Q0 document rank score tag"),
        ("q1 Q0 d 2 2 1.0 tag", "7 columns; a run has six"),
        ("q1 Q0 d2 2 high tag", "the score 'high' is not a number"),
        ("q1 Q0 d2 2 nan tag", "the score 'nan' is not a number"),
        ("q1 Q0 d1 2 1.0 tag", "the document d1 occurs twice for the query q1"),
    ],
)
def test_an_error_names_the_file_and_the_line(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "run.trec"
    path.write_text(f"q1 Q0 d1 1 2.0 tag\n{line}\n")
    with pytest.raises(ReadError) as raised:
        read_run(path)
    assert str(raised.value).startswith(f"{path}:2: {problem}")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.gz", b"no"),
        ("a.xz", b"no"),
        ("b.gz", gzip.compress(RUN.encode(), mtime=0)[:-9]),
        ("c.trec", b"q \xff\xfe\0"),
        ("d.gz", b""),
    ],
)
def test_a_damaged_run_is_one_clear_error(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    if content:
        with pytest.raises(ReadError, match=f"{name}: cannot be read as a run"):
            read_run(path)
    else:
        assert read_run(path) == {}


def test_a_missing_run_and_a_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such run file"):
        read_run(tmp_path / "none.trec")
    with pytest.raises(ReadError, match="Is a directory"):
        read_run(tmp_path)


scores = st.lists(st.floats(allow_nan=False) | st.sampled_from([0.0, 0.1, 1 / 3, 1e300, 5e-324]), max_size=20)


@given(st.dictionaries(st.sampled_from(["q1", "q2", "é"]), scores, max_size=3))
def test_a_run_is_read_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, queries: dict[str, list[float]]
) -> None:
    path = tmp_path_factory.mktemp("run") / "run.trec"
    path.touch()
    rankings = {
        query: Ranking(
            tuple(f"d{n}" for n in range(len(values))), np.array(sorted(values, reverse=True), dtype=np.float64)
        )
        for query, values in queries.items()
        if values
    }
    for query, ranking in rankings.items():
        write_run(path, query, ranking, "rprs(n=4,k1=2.8)")
    back = read_run(path)
    assert list(back) == list(rankings)
    for query, ranking in rankings.items():
        assert back[query].ids == ranking.ids
        assert back[query].scores.tolist() == ranking.scores.tolist()


def test_the_lines_of_a_run() -> None:
    stream = io.StringIO()
    write_run(stream, "q1", Ranking(("a", "b"), np.array([0.30000000000000004, 0.0])), "bm25")
    write_run(stream, "q2", Ranking((), np.array([])), "bm25")
    assert stream.getvalue() == "q1 Q0 a 1 0.30000000000000004 bm25\nq1 Q0 b 2 0.0 bm25\n"


@pytest.mark.parametrize(
    ("query", "id", "tag", "problem"),
    [
        ("q 1", "a", "t", "The query 'q 1' cannot be written to a run file"),
        ("q", "my file.pdf", "t", "The document 'my file.pdf' cannot be written to a run file"),
        ("q", "", "t", "The document '' cannot be written to a run file"),
        ("q", "a", "my tag\n", r"The tag 'my tag\\n' cannot be written to a run file"),
    ],
)
def test_names_that_the_format_cannot_represent_are_an_error(query: str, id: str, tag: str, problem: str) -> None:
    stream = io.StringIO()
    with pytest.raises(UsageError, match=problem):
        write_run(stream, query, Ranking((id,), np.array([1.0])), tag)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, float("nan")], [float("nan")]])
def test_increasing_scores_are_an_error(values: list[float]) -> None:
    ids = tuple("ab"[: len(values)])
    with pytest.raises(UsageError, match="its scores must not increase"):
        write_run(io.StringIO(), "q", Ranking(ids, np.array(values)), "t")
