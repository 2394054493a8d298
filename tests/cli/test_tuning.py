"""`rprs tune`, and the settings file that the other verbs read."""

from __future__ import annotations

import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rprs import __version__
from rprs.evaluation.evaluate import evaluate
from rprs.evaluation.measures import parse_measure
from rprs.rank import System
from rprs.read import read_qrels, read_run
from rprs.tuning.settings import read_settings
from tests.support.cli import QUERY, RECORDS, queries, rprs, rprs_error, rprs_ok, sample_index

RELEVANT = {
    "rent": (QUERY, ["lease.txt", "moss-v-reed", "sublease.txt"]),
    "boat": (RECORDS[1]["text"], ["loan.txt", "patent-boat"]),
    "copy": ("The licensee may copy the program. " + RECORDS[2]["text"], ["licence.txt", "patent-copy"]),
    "pets": ("Pets need the consent of the landlord. The court held so.", ["heron-v-otter", "lease.txt"]),
    "roof": ("A roof tile with a drain keeps a house dry. The rain runs into the drain.", ["patent-roof"]),
}
PAPER = ("--system", "paper")
SMALL = (*PAPER, "--grid", "n=1..3", "--grid", "k1=0,2", "--grid", "b=0,1")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index, queries and judgements."""
    folder = tmp_path_factory.mktemp("tune")
    sample_index(folder)
    queries(folder, [{"id": id, "text": text} for id, (text, _) in RELEVANT.items()])
    lines = [f"{query} 0 {document} 1\n" for query, (_, relevant) in RELEVANT.items() for document in relevant]
    (folder / "qrels.txt").write_text("".join(lines))
    return folder


def command(place: Path, output: Path, *more: object) -> tuple[object, ...]:
    return ("tune", place / "made.rprs", place / "queries.jsonl", "--qrels", place / "qrels.txt", "-o", output, *more)


def files(work: Path) -> list[Path]:
    """The finished pieces of work, without drafts."""
    return [path for path in work.rglob("[!.]*") if path.is_file()]


def about(path: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(path.read_text())["about"]
    return table


def measured(run: Path, place: Path, measure: str) -> float:
    judged = read_qrels(place / "qrels.txt")
    return evaluate(read_run(run), judged, [parse_measure(measure)]).total(parse_measure(measure))


def test_the_settings_reach_the_reported_value(place: Path, tmp_path: Path) -> None:
    output, run = tmp_path / "tuned.toml", tmp_path / "run.trec"
    outcome = rprs_ok(*command(place, output, *SMALL, "--depth", 6, "-m", "nDCG@5", "--folds", 3))
    facts = about(output)
    assert {path.name for path in tmp_path.iterdir()} == {
        "tuned.toml",
        "tuned.sensitivity.md",
        "tuned.sensitivity.csv",
        "tuned.points.csv",
        "tuned.held-out.trec",
    }
    rprs_ok("run", place / "made.rprs", place / "queries.jsonl", "-o", run, "--settings", output)
    assert measured(run, place, "nDCG@5") == pytest.approx(facts["value"])
    assert measured(tmp_path / "tuned.held-out.trec", place, "nDCG@5") == pytest.approx(
        facts["cross_validation"]["held_out"]
    )
    rprs_ok(
        "run", place / "made.rprs", place / "queries.jsonl", "-o", run, *PAPER, "--rerank", "rprs(n=2)", "--depth", 6
    )
    untuned = measured(run, place, "nDCG@5")
    other = tmp_path / "other.toml"
    rprs_ok(*command(place, other, *SMALL, "--depth", 6, "-m", "nDCG@5", "--rerank", "rprs(n=2)"))
    assert about(other)["before"] == pytest.approx(untuned)
    assert (facts["rprs"], facts["queries"], facts["documents"]) == (__version__, 5, 12)
    assert facts["grid"] == {"depth": "6", "n": "1,2,3", "k1": "0.0,2.0", "b": "0.0,1.0"}
    assert len(facts["cross_validation"]["best"]) == len(facts["cross_validation"]["values"]) == 3
    assert "Sensitivity of nDCG@5 to each parameter" in outcome.out
    assert "Cross-validation, nDCG@5" in outcome.out
    assert f"nDCG@5 {facts['value']:.4f}" in outcome.err
    assert "the best of 12 points" in outcome.err


def test_the_paper_grid_is_that_of_rprs(place: Path, tmp_path: Path) -> None:
    outcome = rprs_ok(*command(place, tmp_path / "tuned.toml", *PAPER, "--depth", 5))
    assert "the best of 1,760 points" in outcome.err
    assert len((tmp_path / "tuned.points.csv").read_text().splitlines()) == 1761
    assert about(tmp_path / "tuned.toml")["measure"] == "AP@100"


def test_the_default_is_tuned_by_its_weights(place: Path, tmp_path: Path) -> None:
    """Without options, the automatic weight of the fusion and eleven others; then the weights of the first stage."""
    fused, both, run = tmp_path / "fused.toml", tmp_path / "both.toml", tmp_path / "run.trec"
    outcome = rprs_ok(*command(place, fused))
    assert "the best of 12 points" in outcome.err
    assert about(fused)["grid"] == {"depth": "100", "weight": "none,0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0"}
    rprs_ok("run", place / "made.rprs", place / "queries.jsonl", "-o", run)
    assert about(fused)["before"] == pytest.approx(measured(run, place, "AP@100"))
    outcome = rprs_ok(*command(place, both, "--what", "first", "--settings", fused))
    assert "the best of 300 points" in outcome.err
    assert list(about(both)["grid"]) == ["weight", "w2", "w3"]
    assert read_settings(both).rerank == read_settings(fused).rerank
    for options, tuned in (((), fused), (("--rerank", "none"), both)):
        rprs_ok("run", place / "made.rprs", place / "queries.jsonl", "-o", run, "--settings", tuned, *options)
        assert measured(run, place, "AP@100") == pytest.approx(about(tuned)["value"])


def test_other_rerankers_have_grids_of_their_own(place: Path, tmp_path: Path) -> None:
    birch, fused, run = tmp_path / "birch.toml", tmp_path / "fused.toml", tmp_path / "run.trec"
    outcome = rprs_ok(*command(place, birch, "--rerank", "birch", "--depth", 6, "-m", "nDCG@5", "--folds", 3))
    assert "the best of 1,000 points" in outcome.err
    rprs_ok(*command(place, fused, "--rerank", "fuse(first, rprs(k1=0))", "--depth", 6, "-m", "nDCG@5"))
    assert about(fused)["grid"] == {"depth": "6", "weight": "0.0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0"}
    for tuned in (birch, fused):
        rprs_ok("run", place / "made.rprs", place / "queries.jsonl", "-o", run, "--settings", tuned)
        assert measured(run, place, "nDCG@5") == pytest.approx(about(tuned)["value"])
    rprs_ok(*command(place, tmp_path / "depth.toml", "--settings", birch, "--what", "depth", "--grid", "depth=2..6/2"))
    assert read_settings(tmp_path / "depth.toml").rerank == read_settings(birch).rerank
    assert list(tmp_path.glob("*.work")) == []


def test_tune_the_first_stage_then_the_depth_then_the_cutoff(place: Path, tmp_path: Path) -> None:
    first, depth, end = (tmp_path / f"{name}.toml" for name in ("first", "depth", "end"))
    grid = ("--grid", "k1=0..4/2", "--grid", "kli=none,0.5")
    rprs_ok(*command(place, first, *PAPER, "--what", "first", *grid, "-m", "RR"))
    settings = read_settings(first)
    assert str(settings.first).startswith("bm25")
    assert (str(settings.rerank), settings.depth) == ("rprs", 100)
    run = tmp_path / "run.trec"
    rprs_ok("run", place / "made.rprs", place / "queries.jsonl", "-o", run, "--settings", first, "--rerank", "none")
    assert measured(run, place, "RR") == pytest.approx(about(first)["value"])

    rprs_ok(*command(place, depth, "--what", "depth", "--settings", first, "--grid", "depth=2..6/2", "-m", "AP"))
    assert read_settings(depth) == System(settings.first, "rprs", int(about(depth)["best"].split("depth=")[1][0]))
    rprs_ok("run", place / "made.rprs", place / "queries.jsonl", "-o", run, "--settings", depth)
    assert measured(run, place, "AP") == pytest.approx(about(depth)["value"])

    rprs_ok(*command(place, end, "--what", "cutoff", "--settings", depth, "-m", "micro_F1", "--grid", "h=1..4"))
    cutoff = read_settings(end).cutoff
    rprs_ok("run", place / "made.rprs", place / "queries.jsonl", "-o", run, "--settings", end)
    lengths = [len(ranking) for ranking in read_run(run).values()]
    assert max(lengths) <= 4
    assert measured(run, place, "micro_F1@100") == pytest.approx(about(end)["value"])
    (place / "rent.txt").write_text(QUERY)
    hits = rprs_ok("search", place / "made.rprs", place / "rent.txt", "--settings", end, "--format", "jsonl").objects
    assert len(hits) == len(read_run(run)["rent"])
    assert cutoff is not None
    assert str(cutoff).startswith("ratio(p=")


def test_the_usual_depths(place: Path, tmp_path: Path) -> None:
    rprs_ok(*command(place, tmp_path / "tuned.toml", "--what", "depth"))
    assert about(tmp_path / "tuned.toml")["grid"]["depth"] == ",".join(map(str, range(15, 101, 5)))


def test_options_override_the_settings_file(place: Path, tmp_path: Path) -> None:
    path, run = tmp_path / "tuned.toml", tmp_path / "run.trec"
    path.write_text('first = "bm25(k1=0.5)"\nrerank = "rprs(n=2)"\ndepth = 3\n')
    words = ("run", place / "made.rprs", place / "queries.jsonl", "-o", run, "--settings", path)
    rprs_ok(*words)
    assert {len(ranking) for ranking in read_run(run).values()} == {3}
    assert run.read_text().splitlines()[0].endswith(" rprs(n=2)")
    rprs_ok(*words, "--depth", 4, "--rerank", "rprs")  # the default, but explicit
    assert {len(ranking) for ranking in read_run(run).values()} == {4}
    assert run.read_text().splitlines()[0].endswith(" rprs")
    rprs_ok(*words, "--rerank", "none")
    assert run.read_text().splitlines()[0].endswith(" bm25(k1=0.5)")
    again = tmp_path / "again.trec"
    rprs_ok("rerank", place / "made.rprs", place / "queries.jsonl", "--run", run, "-o", again, "--settings", path)
    assert again.read_text().splitlines()[0].endswith(" rprs(n=2)")
    messages = rprs_ok("explain", place / "made.rprs", place / "query.txt", "lease.txt", "--settings", path).err
    assert "bm25(k1=0.5) → rprs(n=2)" in messages


def test_an_old_held_out_run_is_removed(place: Path, tmp_path: Path) -> None:
    output = tmp_path / "tuned.toml"
    rprs_ok(*command(place, output, *SMALL, "--folds", 2))
    assert (tmp_path / "tuned.held-out.trec").exists()
    rprs_ok(*command(place, output, *SMALL))
    assert not (tmp_path / "tuned.held-out.trec").exists()


def test_only_some_queries_and_without_some_documents(place: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("rent\nboat\n")
    (tmp_path / "exclude.tsv").write_text("query-id\tcorpus-id\nrent\tlease.txt\n")
    output = tmp_path / "tuned.toml"
    more = ("--queries-list", tmp_path / "train.txt", "--exclude", tmp_path / "exclude.tsv", "--folds", 2)
    outcome = rprs_ok(*command(place, output, *SMALL, *more))
    assert about(output)["queries"] == 2
    assert "3 of 5 judged queries are not used for tuning" in outcome.err
    held_out = read_run(tmp_path / "tuned.held-out.trec")
    assert set(held_out) == {"rent", "boat"}
    assert "lease.txt" not in held_out["rent"].ids
    assert "sublease.txt" in held_out["rent"].ids


def test_a_date_limit_is_recorded(place: Path, tmp_path: Path) -> None:
    output, limit = tmp_path / "tuned.toml", ("--before", "2012", "--undated", "drop")
    outcome = rprs_ok(*command(place, output, *SMALL, "--rerank", "rprs", *limit, "--folds", 2))
    assert (about(output)["date_limit"], about(output)["undated"]) == ("date=2012", "drop")
    assert "Date limit: 4 documents without a date left out" in outcome.err
    assert not {"pike-v-vole", "heron-v-otter"} & {
        id for ranking in read_run(tmp_path / "tuned.held-out.trec").values() for id in ranking.ids
    }
    assert "has no 'date'" in rprs_error(*command(place, output, *SMALL, "--rerank", "rprs", "--before", "date"))


def test_the_exclusions_of_a_beir_folder_apply_by_default(place: Path, tmp_path: Path) -> None:
    beir = tmp_path / "beir"
    beir.mkdir()
    (beir / "queries.jsonl").write_text((place / "queries.jsonl").read_text())
    (beir / "exclude.tsv").write_text("query-id\tcorpus-id\nrent\tlease.txt\n")
    (beir / "corpus.jsonl").write_text('{"_id": "d1", "text": "Never read."}\n')
    words = ("tune", place / "made.rprs", beir, "--qrels", place / "qrels.txt", *SMALL, "--folds", 2)
    rprs_ok(*words, "-o", tmp_path / "tuned.toml")
    assert "lease.txt" not in read_run(tmp_path / "tuned.held-out.trec")["rent"].ids
    (tmp_path / "none.tsv").write_text("query-id\tcorpus-id\n")
    rprs_ok(*words, "-o", tmp_path / "tuned.toml", "--exclude", tmp_path / "none.tsv")
    assert "lease.txt" in read_run(tmp_path / "tuned.held-out.trec")["rent"].ids


def test_an_unreadable_query_is_reported(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text((place / "queries.jsonl").read_text() + '{"id": "blank", "text": ""}\n')
    words = ("tune", place / "made.rprs", path, "--qrels", place / "qrels.txt", *SMALL, "-o", tmp_path / "tuned.toml")
    assert f"skipped {path}:6: " in rprs_ok(*words).err


def test_a_run_file_as_the_first_stage(place: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    rprs_ok("run", place / "made.rprs", place / "queries.jsonl", "-o", run, "--rerank", "none", "-k", 5)
    kept = [line for line in run.read_text().splitlines() if not line.startswith("roof")]
    run.write_text("\n".join([*kept, "rent Q0 nowhere 9 -1.0 x", ""]))
    outcome = rprs_ok(*command(place, tmp_path / "tuned.toml", *SMALL, "--first", f"runfile({run})"))
    assert "roof: The run" in outcome.err
    assert "rent: 1 of 6 documents of the run are not in the index" in outcome.err
    assert about(tmp_path / "tuned.toml")["queries"] == 5


def test_the_work_folder_is_kept_if_it_is_named(place: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    rprs_ok(*command(place, tmp_path / "a.toml", *SMALL, "--work", work))
    pieces = {path: path.stat().st_mtime_ns for path in files(work)}
    assert len(pieces) == 2 * len(RELEVANT)
    rprs_ok(*command(place, tmp_path / "b.toml", *SMALL, "--work", work, "-m", "P@1", "--grid", "n=1..2"))
    assert {path: path.stat().st_mtime_ns for path in files(work)}.items() >= pieces.items()


def test_a_damaged_intermediate_file_is_reported(place: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    rprs_ok(*command(place, tmp_path / "a.toml", *SMALL, "--work", work))
    for piece in files(work):
        piece.write_bytes(piece.read_bytes()[:100])
    assert "delete it, and it is computed again" in rprs_error(
        *command(place, tmp_path / "a.toml", *SMALL, "--work", work)
    )


KILLED = """
import os, signal, sys
count, sync = 0, os.fsync
def fsync(handle):
    global count
    count += 1
    if count == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    sync(handle)
os.fsync = fsync
from rprs.cli import app
app(sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "what", [("--folds", "2", *SMALL), (*PAPER, "--what", "first", "--grid", "k1=0,2", "--grid", "b=0,1")]
)
def test_a_tuning_killed_at_any_moment_resumes_and_writes_the_same_bytes(
    what: tuple[str, ...], place: Path, tmp_path: Path
) -> None:
    (tmp_path / "expected").mkdir()
    (tmp_path / "killed").mkdir()
    rprs_ok(*command(place, tmp_path / "expected" / "tuned.toml", *what))
    words = [str(word) for word in command(place, tmp_path / "killed" / "tuned.toml", *what)]
    pieces = 0
    for moment in ("3", "4", "2"):  # each continues the work of the one before
        ended = subprocess.run([sys.executable, "-c", KILLED, moment, *words], capture_output=True, check=False)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        finished = len(files(tmp_path / "killed" / "tuned.toml.work"))
        assert finished >= pieces
        pieces = finished
    assert not (tmp_path / "killed" / "tuned.toml").exists()
    assert pieces > 0
    rprs_ok(*command(place, tmp_path / "killed" / "tuned.toml", *what))
    expected = {path.name: path.read_bytes() for path in (tmp_path / "expected").iterdir()}
    assert not (tmp_path / "killed" / "tuned.toml.work").exists()
    killed = {
        path.name: path.read_bytes() for path in (tmp_path / "killed").glob("[!.]*")
    }  # a draft may lie beside them
    assert killed == expected


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((*PAPER, "--grid", "z=1"), "rprs has no parameter 'z' to tune: it has n, k1, b, avgdl, form, ties and depth"),
        ((*PAPER, "--grid", "n=0..2"), "The grid of n must be integers in [1, inf). Got 0 instead."),
        (("--grid", "n"), "Cannot read the grid 'n': write a parameter and its values, as k1=0..3/0.2 or b=0,0.5,1"),
        (
            ("--what", "depth", "--grid", "n=1"),
            "The depth is tuned without 'n': tune both with what='rerank'",
        ),
        (
            (*PAPER, "--what", "first", "--grid", "n=1"),
            "The first stage has no parameter 'n' to tune: it has k1, b, kli",
        ),
        (("--what", "first", "--grid", "n=1"), "blend has no parameter 'n' to tune: it has weight, w2, w3"),
        (
            ("--grid", "n=1..3"),
            "fuse has no parameter 'n' to tune: it has method, weight, k and depth; 'n' is a parameter of rprs, "
            "which is tuned as a re-ranker of its own",
        ),
        (("--what", "cutoff", "-m", "F1", "--grid", "n=1"), "A cut-off has no parameter 'n': it has p, l, h"),
        (("--what", "cutoff"), "A cut-off is tuned for F1, macro_ and micro_ P, R and F1. Got 'AP@100' instead."),
        (
            ("--what", "first", "--first", "runfile(x)"),
            "The first stage runfile(path=x) has no grid: blend, bm25, cosine and rprs(form=full) have",
        ),
        (("--rerank", "none"), "There is no re-ranker to tune: name one, such as rprs, or tune the first stage"),
        (("--folds", "9"), "The number of folds must be in [2, 5], the number of different queries. Got 9."),
        (("-m", "AP@"), "Cannot read 'AP@' as a measure: write NAME, NAME@5 or NAME(parameter=value)@5"),
        ((*PAPER, "--grid", "k1=-1,2"), "The 'k1' parameter of rprs must be a number in [0, inf). Got -1 instead."),
        ((*PAPER, "--grid", "b=0,nan"), "The 'b' parameter of rprs must be a number in [0, 1]. Got nan instead."),
        (
            ("--what", "cutoff", "-m", "F1", "--grid", "p=0.5,2"),
            "The 'p' parameter of ratio must be a number in [0, 1]. Got 2 instead.",
        ),
        (("--depth", "0"), "The depth of re-ranking must be an integer in [1, inf). Got 0 instead."),
    ],
)
def test_an_error_is_one_line(more: tuple[str, ...], message: str, place: Path, tmp_path: Path) -> None:
    assert rprs_error(*command(place, tmp_path / "tuned.toml", *more)) == message
    assert not (tmp_path / "tuned.toml").exists()
    assert not files(tmp_path)  # it was detected before anything was computed


def test_missing_files_are_one_line(place: Path, tmp_path: Path) -> None:
    output = tmp_path / "no" / "tuned.toml"
    assert rprs_error(*command(place, output)) == f"There is no folder {output.parent} to write tuned.toml to"
    assert rprs_error(*command(place, tmp_path)).startswith(f"{tmp_path} is a folder: name a file to write to")
    missing = tmp_path / "missing"
    assert str(missing) in rprs_error(*command(place, tmp_path / "x.toml", "--queries-list", missing))
    (tmp_path / "list").write_text("rent\n\nnobody \n")
    assert "names 'nobody', which is none of the 5 queries" in rprs_error(
        *command(place, tmp_path / "x.toml", "--queries-list", tmp_path / "list")
    )
    assert rprs_error(*command(place, tmp_path / "x.toml", "--settings", missing)).endswith("no such settings file")


def test_the_help_has_five_examples() -> None:
    text = " ".join(rprs("tune", "--help").out.split())
    assert text.count("Example: rprs tune cases.rprs queries.jsonl --qrels qrels.txt -o") == 5
