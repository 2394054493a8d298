"""Runs: rankings of many queries, written as TREC files and read back, shown in short, as data frames."""

from __future__ import annotations

import gzip
import io
import lzma
from pathlib import Path

import numpy as np
import pandas
import pytest

from rprs import Hit, ReadError, Run, UsageError, evaluate
from rprs.document import Ranking, Truncation
from rprs.results.hits import ranking_of
from tests.support.cli import rprs_ok, sample_index
from tests.support.html import Fragment

RUN = Run(
    {
        "q2": Ranking(
            ("b", "a"), np.array([0.1 + 0.2, 1e-300]), {"qp": np.array([0.5, 0.25]), "dp": np.array([0.1, 0])}
        ),
        "q1": Ranking(("ä",), np.array([-1.5])),
        "q3": Ranking((), np.empty(0)),
    },
    "rprs(n=4, k1=2.8)",
    {"q4": "the query has no sentences"},
)
TEXT = (
    "q2 Q0 b 1 0.30000000000000004 rprs(n=4,_k1=2.8)\n"
    "q2 Q0 a 2 1e-300 rprs(n=4,_k1=2.8)\n"
    "q1 Q0 ä 1 -1.5 rprs(n=4,_k1=2.8)\n"
)


def test_a_run_is_a_mapping_in_the_order_of_the_queries() -> None:
    assert list(RUN) == ["q2", "q1", "q3"]
    assert len(RUN) == 3
    assert RUN["q2"].ids == ("b", "a")
    assert "q4" not in RUN
    assert RUN.failures == {"q4": "the query has no sentences"}
    with pytest.raises(KeyError):
        RUN["q4"]


def test_the_text_of_a_run_has_one_line_per_document_and_a_tag_of_one_word() -> None:
    assert RUN.text == TEXT
    stream = io.StringIO()
    RUN.write(stream)
    assert stream.getvalue() == TEXT
    assert Run({}).text == ""


@pytest.mark.parametrize("name", ["my.run.trec", "my.run.trec.gz", "my.run.trec.xz"])
def test_a_run_is_written_and_read_back_bit_by_bit(tmp_path: Path, name: str) -> None:
    RUN.write(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    unpacked = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(Path(name).suffix, bytes)(data)
    assert unpacked.decode("utf-8") == TEXT
    back = Run.read(str(tmp_path / name))
    assert (back.tag, list(back), back.failures) == ("my.run", ["q2", "q1"], {})
    for query, ranking in back.items():
        assert ranking.ids == RUN[query].ids
        assert ranking.scores.tolist() == RUN[query].scores.tolist()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_run_that_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("before")
    good = Ranking(("a",), np.array([1.0]))
    for query, ranking, message in (
        ("my query", good, "The query 'my query' cannot be written to a run file"),
        (
            "q",
            Ranking(("my file.txt",), np.array([1.0])),
            r"The document 'my file\.txt' cannot be written to a run file",
        ),
        ("q", Ranking(("a", "b"), np.array([1.0, 2.0])), "its scores must not increase"),
    ):
        with pytest.raises(UsageError, match=message):
            Run({"good": good, query: ranking}).write(path)
    assert path.read_text() == "before"
    with pytest.raises(UsageError, match="There is no folder"):
        RUN.write(tmp_path / "none" / "run.trec")
    with pytest.raises(ReadError, match="no such run file"):
        Run.read(tmp_path / "none.trec")
    assert [path.name for path in tmp_path.iterdir()] == ["run.trec"]


def test_truncations_are_added_up() -> None:
    cut = Ranking((), np.empty(0), truncation=Truncation(1, 3, 512))
    assert Run({"a": cut, "b": cut, "c": RUN["q1"]}).truncation == Truncation(2, 6, 512)


def test_a_run_is_shown_in_short() -> None:
    assert repr(RUN) == "<Run rprs(n=4, k1=2.8): 3 queries, 3 documents, 1 failed>"
    assert repr(Run({})) == "<Run rprs: 0 queries, 0 documents>"


def test_a_run_as_html_has_the_best_document_of_each_query_and_no_markup_of_theirs() -> None:
    page = Fragment(RUN._repr_html_())
    assert page.cells[4:] == ["q2", "2", "b", "0.3000", "q1", "1", "ä", "-1.5000"]
    hostile = "<img/src=x/onerror=alert(1)>"
    page = Fragment(Run({hostile: Ranking((hostile,), np.array([1.0]))}, hostile)._repr_html_())
    assert page.tags == {"p", "table", "tr", "th", "td"}
    assert page.cells[4:] == [hostile, "1", hostile, "1.0000"]
    many = Fragment(Run({f"q{n}": RUN["q1"] for n in range(1000)})._repr_html_())
    assert len(many.cells) == 4 * 21
    assert "980 more queries are not shown." in many.text


def test_a_frame_has_the_parts_of_the_scores_as_columns() -> None:
    frame = RUN.to_frame()
    assert list(frame.columns) == ["query_id", "doc_id", "rank", "score", "qp", "dp"]
    assert frame[["query_id", "doc_id", "rank", "score"]].to_numpy().tolist() == [
        ["q2", "b", 1, 0.1 + 0.2],
        ["q2", "a", 2, 1e-300],
        ["q1", "ä", 1, -1.5],
    ]
    assert frame["qp"].tolist()[:2] == [0.5, 0.25]
    assert frame["dp"].isna().tolist() == [False, False, True]
    assert list(Run({"q": RUN["q1"]}).to_frame().columns) == ["query_id", "doc_id", "rank", "score"]
    empty = Run({}).to_frame()
    assert isinstance(empty, pandas.DataFrame)
    assert (list(empty.columns), len(empty)) == (["query_id", "doc_id", "rank", "score"], 0)


def test_a_run_and_its_frame_are_evaluated_alike() -> None:
    qrels = {"q2": {"a": 1}, "q1": {"ä": 2}}
    assert evaluate(RUN, qrels, "RR AP")["RR"] == evaluate(RUN.to_frame(), qrels, "RR AP")["RR"] == 0.75


def test_hits_as_a_ranking() -> None:
    ranking = ranking_of([Hit(1, "a", 2.5, "", {}, 1, 1.0), Hit(2, "b", 1.5, "", {}, 1, 1.0)])
    assert (ranking.ids, ranking.scores.tolist()) == (("a", "b"), [2.5, 1.5])
    assert len(ranking_of([])) == 0


def test_a_search_prints_a_run_that_reads_back(tmp_path: Path) -> None:
    index = sample_index(tmp_path)
    out = rprs_ok(
        "search", index, tmp_path / "query.txt", "-k", 3, "--rerank", "rprs(n=4, k1=2)", "--format", "trec"
    ).out
    (tmp_path / "found.trec").write_text(out)
    run = Run.read(tmp_path / "found.trec")
    assert list(run) == ["query.txt"]
    assert len(run["query.txt"]) == 3
    assert {line.split()[5] for line in out.splitlines()} == {"rprs(n=4,k1=2.0)"}
