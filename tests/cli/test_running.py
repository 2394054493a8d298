"""The verbs that run a set of queries and write TREC runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rprs import Document, Index, Searcher, read_run
from tests.support.cli import QUERY, done, made_index, queries, refused

RECORDS = [
    {"id": "q1", "text": QUERY},
    {"id": "q2", "text": "The engine of the boat failed. The bank wants the loan back."},
    {"id": "q3", "text": "Somebody removed the notice of copyright from a copy of the program."},
]
UNWRITABLE = {"id": "my q4", "text": "The rent."}  # a run file cannot hold an id with a space


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_index(tmp_path_factory.mktemp("cli"))


def test_a_run_has_the_rankings_of_the_library(made: Path, tmp_path: Path) -> None:
    outcome = done("run", made, queries(tmp_path, RECORDS), "-o", tmp_path / "run.trec", "--depth", "5")
    assert outcome.out == ""
    assert outcome.err.startswith("3 queries answered, 0 failed, in ")
    run = read_run(tmp_path / "run.trec")
    assert list(run) == ["q1", "q2", "q3"]
    with Index(made) as index:
        searcher = Searcher(index, depth=5)
        for record in RECORDS:
            expected = searcher.rank(Document(record["id"], record["text"]))
            assert run[record["id"]].ids == expected.ids
            assert run[record["id"]].scores.tolist() == expected.scores.tolist()


def test_a_run_goes_to_standard_output_without_a_file(made: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, RECORDS)
    done("run", made, path, "-o", tmp_path / "run.trec", "--tag", "mine", "-k", "2")
    printed = done("run", made, path, "--tag", "mine", "-k", "2").out
    assert printed == (tmp_path / "run.trec").read_text()
    assert len(printed.splitlines()) == 6
    assert {line.split()[5] for line in printed.splitlines()} == {"mine"}


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_run_may_be_compressed(made: Path, tmp_path: Path, suffix: str) -> None:
    path = queries(tmp_path, RECORDS)
    done("run", made, path, "-o", tmp_path / f"run.trec{suffix}")
    done("run", made, path, "-o", tmp_path / "run.trec")
    packed, plain = read_run(tmp_path / f"run.trec{suffix}"), read_run(tmp_path / "run.trec")
    assert {query: ranking.ids for query, ranking in packed.items()} == {q: r.ids for q, r in plain.items()}
    assert (tmp_path / f"run.trec{suffix}").stat().st_mode == (tmp_path / "queries.jsonl").stat().st_mode


def test_queries_that_fail_are_reported_and_the_others_are_run(made: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, [RECORDS[0], UNWRITABLE, {"id": "q5", "text": ""}, RECORDS[1]])
    outcome = done("run", made, path, "-o", tmp_path / "run.trec")
    assert "2 queries answered, 2 failed" in outcome.err
    assert "failed my q4: The query 'my q4' cannot stand in a run file" in outcome.err
    assert "skipped" in outcome.err
    assert list(read_run(tmp_path / "run.trec")) == ["q1", "q2"]


def test_strict_stops_at_a_failure_and_leaves_no_run_file(made: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, [RECORDS[0], UNWRITABLE, RECORDS[1]])
    assert "cannot stand in a run" in refused("run", made, path, "-o", tmp_path / "run.trec", "--strict")
    assert {file.name for file in tmp_path.iterdir()} == {"queries.jsonl", "run.trec.work"}  # to resume


def test_if_all_queries_fail_the_old_file_stays(made: Path, tmp_path: Path) -> None:
    (tmp_path / "run.trec").write_text("old")
    path = queries(tmp_path, [UNWRITABLE])
    line = refused("run", made, path, "-o", tmp_path / "run.trec")
    assert line.startswith(f"None of the 1 queries of {path} could be answered: The query 'my q4' cannot stand in a run")
    assert (tmp_path / "run.trec").read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["queries.jsonl", "run.trec"]


def test_where_and_keep_self_apply_to_runs(made: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, [{"id": "lease.txt", "text": QUERY}])
    only = done("run", made, path, "--where", "court = hill").out
    assert {line.split()[2] for line in only.splitlines()} <= {"pike-v-vole", "heron-v-otter"}
    assert " lease.txt " not in done("run", made, path).out
    assert " lease.txt " in done("run", made, path, "--keep-self").out
    assert "The filter" in refused("run", made, path, "--where", "court ==")


def test_queries_can_be_a_folder_of_files_or_a_beir_folder(made: Path, tmp_path: Path) -> None:
    plain, beir = tmp_path / "plain", tmp_path / "beir"
    plain.mkdir()
    beir.mkdir()
    (plain / "a.txt").write_text(RECORDS[0]["text"])
    (plain / "b.txt").write_text(RECORDS[1]["text"])
    (beir / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": QUERY}) + "\n")
    (beir / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "text": "Never read."}) + "\n")
    assert {line.split()[0] for line in done("run", made, plain).out.splitlines()} == {"a.txt", "b.txt"}
    assert {line.split()[0] for line in done("run", made, beir).out.splitlines()} == {"q1"}


def test_rerank_reads_the_candidates_from_a_run(made: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, RECORDS)
    first = tmp_path / "first.trec.xz"
    done("run", made, path, "-o", first, "--rerank", "none")
    done("rerank", made, path, "--run", first, "-o", tmp_path / "again.trec")
    done("run", made, path, "-o", tmp_path / "straight.trec")
    assert (tmp_path / "again.trec").read_text() == (tmp_path / "straight.trec").read_text()
    shallow = done("rerank", made, path, "--run", first, "--depth", "2").out
    assert len(shallow.splitlines()) == 6


def test_rerank_reports_queries_that_the_run_lacks(made: Path, tmp_path: Path) -> None:
    (tmp_path / "first.trec").write_text("q1 Q0 lease.txt 1 2.0 x\nq1 Q0 loan.txt 2 1.0 x\n")
    outcome = done("rerank", made, queries(tmp_path, RECORDS), "--run", tmp_path / "first.trec")
    assert "1 query answered, 2 failed" in outcome.err
    assert "has no ranking for the query 'q2'" in outcome.err
    assert {line.split()[2] for line in outcome.out.splitlines()} == {"lease.txt", "loan.txt"}


def test_an_error_of_a_run_is_one_line(made: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, RECORDS)
    missing = tmp_path / "missing.trec"
    assert refused("rerank", made, path, "--run", missing) == f"{missing}: no such run file"
    missing.write_text("q1 Q0 lease.txt\n")
    assert "a run has six" in refused("rerank", made, path, "--run", missing)
    assert refused("run", made, tmp_path / "none.jsonl") == f"{tmp_path / 'none.jsonl'}: no such file or folder"
    nowhere = tmp_path / "nowhere/run.trec"
    assert refused("run", made, path, "-o", nowhere) == f"There is no folder {nowhere.parent} to write run.trec to"


def test_a_closed_pipe_is_no_error(made: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, [{"id": f"q{number}", "text": QUERY} for number in range(200)])
    command = [sys.executable, "-m", "rprs", "--quiet", "run", str(made), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith("q0 Q0 ")
    process.stdout.close()
    with process.stderr as messages:
        assert messages.read() == ""
    assert process.wait(60) == 1
