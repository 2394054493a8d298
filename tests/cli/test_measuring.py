"""The commands `rprs evaluate` and `rprs compare`."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest

from rprs.document import Ranking
from rprs.evaluation.evaluate import evaluate
from rprs.evaluation.measures import parse_measure
from rprs.read import read_run, write_run
from tests.support.cli import rprs, rprs_error, rprs_ok

QRELS = {f"q{n:02}": {f"d{n}": 2, f"d{n + 1}": 1, f"d{n + 2}": 0} for n in range(30)}


def write(path: Path, luck: float, seed: int) -> Path:
    """A run whose scores are the grades plus noise, whose strength is `luck`."""
    random = np.random.default_rng(seed)
    for query, grades in QRELS.items():
        scores = {f"d{n}": grades.get(f"d{n}", 0) + luck * random.normal() for n in range(40)}
        ids = sorted(scores, key=lambda id: -scores[id])
        write_run(path, query, Ranking(tuple(ids), np.array([scores[id] for id in ids])), path.stem)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("measuring")
    write(root / "bm25.trec", 0.7, 1)
    write(root / "rprs.trec", 0.3, 2)
    write(root / "luck.trec", 9.0, 3)
    lines = [f"{query} 0 {id} {grade}\n" for query, grades in QRELS.items() for id, grade in grades.items()]
    (root / "qrels.txt").write_text("".join(lines))
    rows = [f"{query}\t{id}\t{grade}\n" for query, grades in QRELS.items() for id, grade in grades.items()]
    (root / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    return root


def expected(folder: Path, name: str, text: str) -> float:
    measure = parse_measure(text)
    return evaluate(read_run(folder / f"{name}.trec"), QRELS, [measure]).total(measure)


# ---------------------------------------------------------------------------- evaluate


@pytest.mark.parametrize("qrels", ["qrels.txt", "test.tsv"])
def test_a_table_has_one_row_per_run_and_one_column_per_measure(folder: Path, qrels: str) -> None:
    runs = [folder / "bm25.trec", folder / "rprs.trec"]
    outcome = rprs_ok(
        "evaluate", *runs, "--qrels", folder / qrels, "-m", "P@1 MAP@5", "-m", "micro_F1@4", "--digits", 3
    )
    lines = [line.split() for line in outcome.out.splitlines()]
    assert lines[0] == ["system", "P@1", "AP@5", "micro_F1@4"]
    for name, line in zip(("bm25", "rprs"), lines[1:], strict=True):
        values = [f"{expected(folder, name, text):.3f}".removeprefix("0") for text in ("P@1", "AP@5", "micro_F1@4")]
        assert line == [name, *values]
    assert outcome.err == ""


def test_the_default_measures(folder: Path) -> None:
    out = rprs_ok("evaluate", folder / "bm25.trec", "--qrels", folder / "qrels.txt").out
    assert out.split("\n")[0].split() == ["system", "P@1", "P@10", "R@10", "R@100", "AP", "nDCG@10", "RR"]


def test_values_of_every_query(folder: Path) -> None:
    words = ["evaluate", folder / "bm25.trec", "--qrels", folder / "qrels.txt", "-m", "AP RR", "--per-query"]
    rows = list(csv.reader(io.StringIO(rprs_ok(*words, "--format", "csv").out)))
    assert rows[0] == ["system", "query", "AP", "RR"]
    assert [row[1] for row in rows[1:]] == [*QRELS, "all"]
    values = [float(row[2]) for row in rows[1:]]
    assert sum(values[:-1]) / 30 == pytest.approx(values[-1]) == pytest.approx(expected(folder, "bm25", "AP"))


def test_json_has_all_digits_and_the_notes(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "bm25.trec").read_text().splitlines(keepends=True)
    short = tmp_path / "short.trec"
    short.write_text("".join(line for line in lines if not line.startswith(("q00", "q01", "q02"))))
    words = ["evaluate", short, "--qrels", folder / "qrels.txt", "-m", "AP", "--format", "jsonl"]
    outcome = rprs_ok(*words)
    (printed,) = outcome.objects
    measure = parse_measure("AP")
    assert printed == {
        "system": "short",
        "queries": 30,
        "values": {"AP": evaluate(read_run(short), QRELS, [measure]).total(measure)},
        "notes": ["3 of 30 queries are not in the run; they count as 0"],
    }
    assert outcome.err == "short: 3 of 30 queries are not in the run; they count as 0\n"
    each = rprs_ok(*words, "--per-query").objects
    assert len(each) == 31
    assert each[0] == {"system": "short", "query": "q00", "values": {"AP": 0}}


@pytest.mark.parametrize("more", [[], ["--per-query"]])
def test_json_is_one_array_of_the_same_objects(folder: Path, more: list[str]) -> None:
    runs = [folder / "bm25.trec", folder / "rprs.trec"]
    words = ["evaluate", *runs, "--qrels", folder / "qrels.txt", "-m", "AP P@1", *more, "--format"]
    objects = json.loads(rprs_ok(*words, "json").out)
    assert objects == rprs_ok(*words, "jsonl").objects
    totals = [each for each in objects if "queries" in each]
    assert [each["system"] for each in totals] == ["bm25", "rprs"]
    assert totals[1]["values"] == {text: expected(folder, "rprs", text) for text in ("AP", "P@1")}
    assert len(objects) == (62 if more else 2)


@pytest.mark.parametrize(
    ("format", "begins"), [("markdown", "| system | AP |\n| --- | ---: |\n| bm25 |"), ("latex", "\\begin{table}\n")]
)
def test_tables_for_papers(folder: Path, format: str, begins: str) -> None:
    words = ["evaluate", folder / "bm25.trec", "--qrels", folder / "qrels.txt", "-m", "AP", "--format", format]
    assert rprs_ok(*words).out.startswith(begins)


def test_a_run_may_be_compressed(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "bm25.trec.gz"
    packed.write_bytes(gzip.compress((folder / "bm25.trec").read_bytes()))
    out = [rprs_ok("evaluate", run, "--qrels", folder / "qrels.txt").out for run in (packed, folder / "bm25.trec")]
    assert out[0] == out[1]


def test_ties_may_be_those_of_trec_eval(tmp_path: Path) -> None:
    (tmp_path / "tied.trec").write_text("q Q0 a 1 1.0 x\nq Q0 b 2 1.0 x\n")
    (tmp_path / "qrels.txt").write_text("q 0 b 1\n")
    words = ["evaluate", tmp_path / "tied.trec", "--qrels", tmp_path / "qrels.txt", "-m", "RR", "--format", "jsonl"]
    assert rprs_ok(*words).objects[0]["values"] == {"RR": 0.5}
    assert rprs_ok(*words, "--ties", "trec_eval").objects[0]["values"] == {"RR": 1}


def test_runs_with_the_same_file_name_are_named_by_their_paths(folder: Path, tmp_path: Path) -> None:
    same = tmp_path / "bm25.trec"
    same.write_bytes((folder / "rprs.trec").read_bytes())
    words = ["--qrels", folder / "qrels.txt", "-m", "AP", "--format", "jsonl"]
    names = [each["system"] for each in rprs_ok("evaluate", folder / "bm25.trec", same, *words).objects]
    assert names == [str(folder / "bm25.trec"), str(same)]
    assert rprs_error("evaluate", same, same, *words) == f"The run {same} is given twice"


def test_mistakes_are_one_line(folder: Path, tmp_path: Path) -> None:
    run, qrels = folder / "bm25.trec", folder / "qrels.txt"
    (tmp_path / "other.txt").write_text("z1 0 d1 1\n")
    (tmp_path / "none.txt").write_text("q01 0 d1 0\n")
    assert "did you mean 'nDCG'?" in rprs_error("evaluate", run, "--qrels", qrels, "-m", "nDGC@5")
    assert "none of the 1 judged queries" in rprs_error("evaluate", run, "--qrels", tmp_path / "other.txt")
    assert "no relevant document" in rprs_error("evaluate", run, "--qrels", tmp_path / "none.txt")
    assert "no such run file" in rprs_error("evaluate", tmp_path / "gone.trec", "--qrels", qrels)
    assert "Name a measure" in rprs_error("evaluate", run, "--qrels", qrels, "-m", " ")
    assert "--qrels" in rprs_error("evaluate", run)


# ---------------------------------------------------------------------------- compare


def words_of(folder: Path, *more: object) -> list[object]:
    runs = [folder / f"{name}.trec" for name in ("bm25", "rprs", "luck")]
    return ["compare", *runs, "--qrels", folder / "qrels.txt", "-m", "P@1 AP micro_F1@4", *more]


def test_significant_improvements_are_marked(folder: Path) -> None:
    lines = rprs_ok(*words_of(folder)).out.splitlines()
    assert lines[0].split() == ["system", "P@1", "AP", "micro_F1@4"]
    assert [line.count("†") for line in lines[1:4]] == [0, 3, 0]
    assert lines[4] == (
        "Significant improvement: † over bm25 (paired t-test, p < 0.05, Bonferroni over 2 comparisons of each measure)."
    )
    assert len(lines) == 5


def test_several_baselines_have_marks_of_their_own(folder: Path) -> None:
    more = ["--baseline", "luck", "--baseline", "bm25", "--test", "fisher", "--correction", "holm", "--alpha", "0.01"]
    rows = {
        line.split()[0]: line for line in rprs_ok(*words_of(folder, *more, "--permutations", 2000)).out.splitlines()
    }
    assert rows["rprs"].count("†*") == 3
    assert rows["bm25"].count("†") == 3
    assert rows["bm25"].count("*") == 0
    assert "(Fisher's randomisation test, p < 0.01, Holm over 3 comparisons" in rows["Significant"]


def test_details_are_a_second_table(folder: Path) -> None:
    systems, details = rprs_ok(*words_of(folder, "--details", "--format", "markdown")).out.split(
        "\n\n| system | baseline |"
    )
    assert systems in rprs_ok(*words_of(folder, "--format", "markdown")).out
    assert details.count("| bm25 |") == 6


def test_details_as_csv_are_the_only_table(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(rprs_ok(*words_of(folder, "--details", "--format", "csv")).out)))
    assert [(row["system"], row["measure"]) for row in rows] == [
        (name, measure) for name in ("rprs", "luck") for measure in ("P@1", "AP", "micro_F1@4")
    ]
    for row in rows:
        assert int(row["wins"]) + int(row["losses"]) + int(row["ties"]) == 30
        assert float(row["corrected p (t)"]) == pytest.approx(min(1, 2 * float(row["p (t)"])))
        assert float(row["difference"]) == pytest.approx(
            expected(folder, row["system"], row["measure"]) - expected(folder, "bm25", row["measure"])
        )
    assert {row["significant"] for row in rows if row["system"] == "luck"} == {"worse"}


def test_json_of_a_comparison(folder: Path) -> None:
    objects = rprs_ok(*words_of(folder, "--details", "--format", "jsonl")).objects
    assert [each["system"] for each in objects] == ["bm25", "rprs", "luck", *["rprs"] * 3, *["luck"] * 3]
    assert objects[3]["measure"] == "P@1"
    assert {"difference", "p_t", "p_fisher", "corrected_t", "wins", "significant"} < objects[3].keys()
    assert json.loads(json.dumps(objects[3])) == objects[3]
    assert len(rprs_ok(*words_of(folder, "--format", "jsonl")).objects) == 3
    assert json.loads(rprs_ok(*words_of(folder, "--details", "--format", "json")).out) == objects
    assert json.loads(rprs_ok(*words_of(folder, "--format", "json")).out) == objects[:3]


def test_details_have_intervals_and_effect_sizes(folder: Path) -> None:
    objects = rprs_ok(*words_of(folder, "--details", "--format", "jsonl")).objects
    for each in objects[3:]:
        assert each["low"] < each["difference"] < each["high"]
        assert each["d_z"] * each["difference"] > 0
    header = next(csv.reader(io.StringIO(rprs_ok(*words_of(folder, "--details", "--format", "csv")).out)))
    assert header[3:7] == ["difference", "95% low", "95% high", "d_z"]
    table = rprs_ok(*words_of(folder, "--details", "--alpha", 0.01, "--format", "latex")).out
    assert r"99\% low & 99\% high & d\_z" in table


def test_an_undefined_interval_is_null(tmp_path: Path) -> None:
    for name, ids in (("a", "xy"), ("b", "yx")):
        (tmp_path / f"{name}.trec").write_text("".join(f"q Q0 {id} 1 {9 - at} t\n" for at, id in enumerate(ids)))
    (tmp_path / "qrels.txt").write_text("q 0 x 1\n")
    words = ["compare", tmp_path / "a.trec", tmp_path / "b.trec", "--qrels", tmp_path / "qrels.txt", "-m", "RR"]
    difference = rprs_ok(*words, "--details", "--format", "jsonl").objects[-1]
    assert (difference["difference"], difference["low"], difference["high"], difference["d_z"]) == (-0.5,) + (None,) * 3


def test_only_the_pairs_named_are_compared(folder: Path) -> None:
    out = rprs_ok(*words_of(folder, "--pair", "luck, rprs", "--details", "--format", "jsonl")).objects
    assert {(each["system"], each["baseline"]) for each in out[3:]} == {("luck", "rprs")}
    assert all(each["corrected_t"] == each["p_t"] for each in out[3:])
    assert "takes two systems, as luck,bm25. Got 'luck'" in rprs_error(*words_of(folder, "--pair", "luck"))
    assert "there are bm25, rprs, luck" in rprs_error(*words_of(folder, "--pair", "luck,K"))


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_the_share_of_judged_documents(folder: Path, command: str) -> None:
    """Three of forty documents are judged for each query."""
    words = words_of(folder, "--judged")[1:]
    lines = [line.split() for line in rprs_ok(command, *words).out.splitlines()]
    assert lines[0] == ["system", "P@1", "AP", "micro_F1@4", "Judged@1", "Judged@4"]
    assert lines[2][5] == f"{expected(folder, 'rprs', 'Judged@4'):.4f}".removeprefix("0")
    whole = rprs_ok("evaluate", folder / "rprs.trec", "--qrels", folder / "qrels.txt", "-m", "AP Judged@40").out
    assert whole.split()[-1] == ".0750"


def test_the_same_seed_gives_the_same_table(folder: Path) -> None:
    words = words_of(folder, "--details", "--permutations", 500, "--seed", 3)
    assert rprs_ok(*words).out == rprs_ok(*words).out


def test_mistakes_in_a_comparison_are_one_line(folder: Path) -> None:
    assert "no system 'K' to be a baseline: there are bm25, rprs, luck" in rprs_error(
        *words_of(folder, "--baseline", "K")
    )
    assert "alpha must be a number in (0, 1)" in rprs_error(*words_of(folder, "--alpha", 2))
    alone = ["compare", folder / "bm25.trec", "--qrels", folder / "qrels.txt"]
    assert "at least two systems" in rprs_error(*alone)
    assert rprs(*alone).code == 2
