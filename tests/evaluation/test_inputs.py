"""What `rprs.evaluate` and `rprs.compare` accept: files, mappings, data frames, values of ir_measures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas
import pytest

import rprs
from rprs.document import Ranking
from rprs.errors import RprsError, UsageError
from rprs.evaluation.inputs import name_files, read_rankings

SCORES = {"q1": {"b": 1.0, "a": 2.0, "c": 1.0}, "q2": {"a": 0.5}}
QRELS = {"q1": {"a": 0, "c": 1}, "q2": {"a": 2}}
ORDER = {"q1": ("a", "b", "c"), "q2": ("a",)}
ROWS = [(query, id, score) for query, scores in SCORES.items() for id, score in scores.items()]
TREC = "".join(f"{query} Q0 {id} 0 {score} tag\n" for query, id, score in ROWS)
RANKINGS = {
    "q1": Ranking(("a", "b", "c"), np.array([2.0, 1.0, 1.0])),
    "q2": Ranking(("a",), np.array([0.5])),
}


def trec_file(folder: Path) -> Path:
    path = folder / "mine.trec"
    path.write_text(TREC)
    return path


RUNS: dict[str, Callable[[Path], Any]] = {
    "a path": trec_file,
    "a path as text": lambda folder: str(trec_file(folder)),
    "a Run": lambda folder: rprs.Run(RANKINGS, "mine"),
    "rankings": lambda folder: RANKINGS,
    "dicts": lambda folder: SCORES,
    "dicts of NumPy scores": lambda folder: {
        q: {d: np.float32(s) for d, s in each.items()} for q, each in SCORES.items()
    },
    "a frame": lambda folder: pandas.DataFrame(ROWS, columns=["query_id", "doc_id", "score"]),
    "a frame of PyTerrier": lambda folder: pandas.DataFrame(
        [(*row, 99 - at) for at, row in enumerate(ROWS)], columns=["qid", "docno", "score", "rank"]
    ),
    "scored documents": lambda folder: [ir_measures.ScoredDoc(*row) for row in ROWS],
    "a generator": lambda folder: (ir_measures.ScoredDoc(*row) for row in ROWS),
    "records": lambda folder: [dict(zip(("qid", "docno", "score"), row, strict=True)) for row in ROWS],
}


@pytest.mark.parametrize("kind", RUNS)
def test_every_kind_of_run_gives_the_same_rankings_with_ties_in_the_order_of_the_run(kind: str, tmp_path: Path) -> None:
    rankings = read_rankings(RUNS[kind](tmp_path))
    assert {query: ranking.ids for query, ranking in rankings.items()} == ORDER
    assert rankings["q1"].scores.tolist() == [2, 1, 1]
    evaluation = rprs.evaluate(RUNS[kind](tmp_path), QRELS, "RR P@1")
    assert evaluation["RR"] == (1 / 3 + 1) / 2
    assert rprs.evaluate(RUNS[kind](tmp_path), QRELS, "RR", ties="trec_eval")["RR"] == (1 / 2 + 1) / 2


def beir_folder(folder: Path) -> Path:
    (folder / "qrels").mkdir()
    lines = [f"{query}\t{id}\t{grade}\n" for query, grades in QRELS.items() for id, grade in grades.items()]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    return folder


def test_every_kind_of_judgements_gives_the_same_values(tmp_path: Path) -> None:
    rows = [(query, id, grade) for query, grades in QRELS.items() for id, grade in grades.items()]
    (tmp_path / "qrels.txt").write_text("".join(f"{query} 0 {id} {grade}\n" for query, id, grade in rows))
    kinds: list[Any] = [
        QRELS,
        tmp_path / "qrels.txt",
        beir_folder(tmp_path),
        pandas.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]),
        [ir_measures.Qrel(*row) for row in rows],
    ]
    for qrels in kinds:
        assert (
            rprs.evaluate(SCORES, qrels, "nDCG RR")
            .to_frame()
            .equals(rprs.evaluate(SCORES, QRELS, "nDCG RR").to_frame())
        )


def test_the_name_of_a_system_is_given_or_that_of_the_file_or_the_tag(tmp_path: Path) -> None:
    assert rprs.evaluate(trec_file(tmp_path), QRELS).name == "mine"
    assert rprs.evaluate(rprs.Run(RANKINGS, "tagged"), QRELS).name == "tagged"
    assert rprs.evaluate(rprs.Run(RANKINGS, "tagged"), QRELS, name="other").name == "other"
    assert rprs.evaluate(SCORES, QRELS).name == ""
    assert name_files(["x/a.trec.gz", "b.trec", Path("y/b.trec")]) == ["a", "b.trec", "y/b.trec"]


def test_measures_are_texts_measures_or_those_of_ir_measures() -> None:
    kinds: list[Any] = [
        "P@1 AP",
        ["P@1", "AP"],
        rprs.parse_measures("P@1,AP"),
        [ir_measures.P @ 1, ir_measures.AP],
        ["P_1", rprs.parse_measures("map")[0]],
    ]
    for measures in kinds:
        assert list(map(str, rprs.evaluate(SCORES, QRELS, measures).measures)) == ["P@1", "AP"]
    assert list(map(str, rprs.evaluate(SCORES, QRELS, ir_measures.nDCG @ 5).measures)) == ["nDCG@5"]
    assert " ".join(map(str, rprs.evaluate(SCORES, QRELS).measures)) == "P@1 P@10 R@10 R@100 AP nDCG@10 RR"


def test_an_evaluation_is_read_by_texts_and_shown_briefly() -> None:
    evaluation = rprs.evaluate(SCORES, QRELS, "AP P@1", name="mine")
    measure = rprs.parse_measures("AP")[0]
    assert evaluation["AP"] == evaluation["map"] == evaluation.total("AP") == evaluation[measure] == (1 / 3 + 1) / 2
    assert evaluation.values("AP").tolist() == [1 / 3, 1]
    assert repr(evaluation) == "<Evaluation mine: 2 queries, AP 0.6667, P@1 0.5000>"
    assert repr(rprs.evaluate(SCORES, QRELS, "AP")) == "<Evaluation: 2 queries, AP 0.6667>"
    with pytest.raises(UsageError, match="RR was not measured for mine: only AP P@1"):
        evaluation["RR"]
    with pytest.raises(UsageError, match="no measure named 'zzz'"):
        evaluation["zzz"]


def test_frames_of_an_evaluation() -> None:
    evaluation = rprs.evaluate(SCORES, QRELS, "AP P@1", name="mine")
    assert evaluation.to_frame().to_dict("list") == {"query_id": ["q1", "q2"], "AP": [1 / 3, 1], "P@1": [0, 1]}
    assert evaluation.to_frame(per_query=False).to_dict("records") == [{"system": "mine", "AP": 2 / 3, "P@1": 0.5}]


def test_names_in_the_html_of_evaluations_are_escaped() -> None:
    hostile = "<script>alert('&')</script>"
    evaluation = rprs.evaluate(SCORES, QRELS, "AP", name=hostile)
    comparison = rprs.compare({hostile: SCORES, "b": {"q1": {"c": 1}}}, QRELS, "AP")
    for source in (evaluation._repr_html_(), comparison._repr_html_()):
        assert "<script" not in source
        assert "&lt;script&gt;" in source
        assert ".6667" in source


WRONG: list[tuple[Any, str]] = [
    (7, "A run is a TREC file, a Run, a mapping"),
    (b"run", "A run is a TREC file"),
    (None, "A run is a TREC file"),
    (["run.trec"], "A scored document has query_id, doc_id and score. Got 'run.trec'"),
    ({"q1": ["a", "b"]}, "Got ['a', 'b'] for the query 'q1'"),
    ({"q1": {"a": "high"}}, "The score of 'a' for the query 'q1' must be a number. Got 'high'"),
    ({"q1": {"a": float("nan")}}, "must be a number. Got nan"),
    ({"q1": {"a": True}}, "must be a number. Got True"),
    ([("q1", "a", 1.0)], "A scored document has query_id"),
    ([{"qid": "q1", "docno": "a"}], "A run needs the column score. It has qid, docno"),
    (pandas.DataFrame({"query": ["q1"]}), "A run needs the column query_id or qid. It has query"),
    ([ir_measures.ScoredDoc("q1", "a", 1.0)] * 2, "The document 'a' is listed twice for the query 'q1'"),
    ("no/such/run.trec", "no such run file"),
    ({}, "none at all"),
]


@pytest.mark.parametrize(("run", "message"), WRONG)
def test_a_wrong_run_is_one_line(run: Any, message: str) -> None:
    with pytest.raises(RprsError) as error:
        rprs.evaluate(run, QRELS)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": 7}, "A measure is a text, such as 'P@1 AP', or a measure of ir_measures. Got 7"),
        ({"measures": ["AP", None]}, "A measure is a text"),
        ({"measures": []}, "Name a measure, such as"),
        ({"measures": ""}, "Name a measure, such as"),
        ({"ties": "id"}, "ties must be 'run' or 'trec_eval'. Got 'id' instead."),
        ({"qrels": 7}, "Got 7"),
        ({"qrels": {"q1": ["a"]}}, "Judgements must map 'q1' to grades by document"),
    ],
)
def test_wrong_options_of_evaluate_are_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RprsError) as error:
        rprs.evaluate(SCORES, **{"qrels": QRELS, **options})
    assert message in str(error.value)


# ---------------------------------------------------------------------------- compare


def test_runs_are_compared_by_their_names(tmp_path: Path) -> None:
    comparison = rprs.compare({"one": SCORES, "two": {"q1": {"c": 1}, "q2": {"a": 1}}}, QRELS, "AP RR")
    assert [evaluation.name for evaluation in comparison.evaluations] == ["one", "two"]
    assert comparison.baselines == ("one",)
    assert [(row.system, str(row.measure), row.wins) for row in comparison.rows] == [("two", "AP", 1), ("two", "RR", 1)]
    assert repr(comparison) == "<Comparison of one, two by AP, RR on 2 queries; baseline: one>"
    other = tmp_path / "other.trec"
    other.write_text(TREC)
    files = rprs.compare([trec_file(tmp_path), str(other), rprs.Run(RANKINGS, "third")], QRELS, baselines="other")
    assert [evaluation.name for evaluation in files.evaluations] == ["mine", "other", "third"]
    assert files.baselines == ("other",)
    assert " ".join(map(str, files.measures)) == "P@1 P@10 R@10 R@100 AP nDCG@10 RR"


def test_evaluations_need_no_judgements_and_bring_their_measures() -> None:
    one, two = (rprs.evaluate(SCORES, QRELS, "RR", name=name) for name in ("one", "two"))
    assert list(map(str, rprs.compare([one, two]).measures)) == ["RR"]
    assert len(rprs.compare([one, two], measures=(text for text in ["RR"])).rows) == 1
    mixed = rprs.compare({"renamed": one, "three": SCORES}, QRELS)
    assert [evaluation.name for evaluation in mixed.evaluations] == ["renamed", "three"]
    assert list(map(str, mixed.measures)) == ["RR"]


def test_frames_of_a_comparison() -> None:
    comparison = rprs.compare({"one": SCORES, "two": {"q1": {"c": 1}, "q2": {"a": 1}}}, QRELS, "RR")
    assert comparison.to_frame().to_dict("list") == {"system": ["one", "two"], "RR": [2 / 3, 1]}
    each = comparison.to_frame(per_query=True)
    assert each.to_dict("list") == {
        "system": ["one", "one", "two", "two"],
        "query_id": ["q1", "q2", "q1", "q2"],
        "RR": [1 / 3, 1, 1, 1],
    }
    (row,) = comparison.details().to_frame().to_dict("records")
    assert (row["system"], row["baseline"], row["wins"], row["losses"], row["ties"]) == ("two", "one", 1, 0, 1)
    assert row["difference"] == comparison.rows[0].difference


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        (SCORES, {}, "A run maps each query to a Ranking or to scores by document"),
        (RANKINGS, {}, "compare takes a mapping from names to runs, or a list of files"),
        ("a.trec", {}, "compare takes a mapping from names to runs, or a list of files. Got 'a.trec'"),
        (7, {}, "compare takes a mapping from names to runs"),
        ([SCORES, SCORES], {}, "Give the runs with names"),
        ([], {}, "at least two systems"),
        ({"a": SCORES, "b": SCORES}, {"qrels": None}, "The run 'a' can only be compared with qrels"),
        ({"a": SCORES, "b": SCORES}, {"baselines": 3}, "baselines must be names of systems. Got 3 instead."),
        (
            {"a": SCORES, "b": SCORES},
            {"baselines": [["a"]]},
            "baselines must be names of systems. Got [['a']] instead.",
        ),
        ({"a": SCORES, "b": SCORES}, {"measures": []}, "Name a measure to compare by, such as"),
        ({"a": SCORES, "b": SCORES}, {"baselines": "c"}, "There is no system 'c' to be a baseline: there are a, b"),
        ({"a": SCORES, "b": SCORES}, {"alpha": "5%"}, "alpha must be a number in (0, 1). Got '5%' instead."),
        ({"a": SCORES, "b": SCORES}, {"correction": None}, "correction must be 'bonferroni' or 'holm' or 'none'"),
        ({"a": SCORES, "b": SCORES}, {"test": "z"}, "test must be 't' or 'fisher'. Got 'z' instead."),
        ({"a": SCORES, "b": SCORES}, {"permutations": 1.5}, "permutations must be an integer in [1, inf)"),
        ({"a": SCORES, "b": SCORES}, {"seed": -1}, "seed must be an integer in [0, inf). Got -1 instead."),
        ({"a": SCORES, "b": SCORES}, {"ties": None}, "ties must be 'run' or 'trec_eval'. Got None instead."),
    ],
)
def test_wrong_arguments_of_compare_are_one_line(runs: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RprsError) as error:
        rprs.compare(runs, **{"qrels": QRELS, **options})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# ---------------------------------------------------------------------------- imports


def test_the_functions_load_without_heavy_packages() -> None:
    heavy = ["ir_measures", "numba", "onnxruntime", "pandas", "rich", "scipy", "torch"]
    code = f"import sys, rprs; rprs.evaluate; rprs.compare; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_without_pandas_a_frame_is_an_error_with_its_pip_line() -> None:
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import rprs\n"
        "evaluation = rprs.evaluate({'q': {'a': 1}}, {'q': {'a': 1}}, 'AP')\n"
        "for value in (evaluation, rprs.Run({}), rprs.Results((), 0, 0, (), {})):\n"
        "    try: value.to_frame()\n"
        "    except rprs.MissingExtra as error: print(error)\n"
    )
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split(" needs ")[0] for line in lines] == ["Evaluation.to_frame", "Run.to_frame", "Results.to_frame"]
    assert all("pip install 'rprs[pandas]'" in line for line in lines)
