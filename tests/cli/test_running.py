"""The verbs that run a set of queries and write TREC runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rprs import Document, Index, Searcher, read_run
from tests.support.cli import QUERY, queries, rprs_error, rprs_ok, sample_index

RECORDS = [
    {"id": "q1", "text": QUERY},
    {"id": "q2", "text": "The engine of the boat failed. The bank wants the loan back."},
    {"id": "q3", "text": "Somebody removed the notice of copyright from a copy of the program."},
]
UNWRITABLE = {"id": "my q4", "text": "The rent."}  # a run file cannot hold an id with a space


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("cli"))


def test_a_run_has_the_rankings_of_the_library(index_path: Path, tmp_path: Path) -> None:
    outcome = rprs_ok("run", index_path, queries(tmp_path, RECORDS), "-o", tmp_path / "run.trec", "--depth", "5")
    assert outcome.out == ""
    assert outcome.err.startswith("3 queries answered, 0 failed, in ")
    run = read_run(tmp_path / "run.trec")
    assert list(run) == ["q1", "q2", "q3"]
    with Index(index_path) as index:
        searcher = Searcher(index, depth=5)
        for record in RECORDS:
            expected = searcher.rank(Document(record["id"], record["text"]))
            assert run[record["id"]].ids == expected.ids
            assert run[record["id"]].scores.tolist() == expected.scores.tolist()


def test_a_run_goes_to_standard_output_without_a_file(index_path: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, RECORDS)
    rprs_ok("run", index_path, path, "-o", tmp_path / "run.trec", "--tag", "mine", "-k", "2")
    printed = rprs_ok("run", index_path, path, "--tag", "mine", "-k", "2").out
    assert printed == (tmp_path / "run.trec").read_text()
    assert len(printed.splitlines()) == 6
    assert {line.split()[5] for line in printed.splitlines()} == {"mine"}


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_run_may_be_compressed(index_path: Path, tmp_path: Path, suffix: str) -> None:
    path = queries(tmp_path, RECORDS)
    rprs_ok("run", index_path, path, "-o", tmp_path / f"run.trec{suffix}")
    rprs_ok("run", index_path, path, "-o", tmp_path / "run.trec")
    packed, plain = read_run(tmp_path / f"run.trec{suffix}"), read_run(tmp_path / "run.trec")
    assert {query: ranking.ids for query, ranking in packed.items()} == {q: r.ids for q, r in plain.items()}
    assert (tmp_path / f"run.trec{suffix}").stat().st_mode == (tmp_path / "queries.jsonl").stat().st_mode


def test_queries_that_fail_are_reported_and_the_others_are_run(index_path: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, [RECORDS[0], UNWRITABLE, {"id": "q5", "text": ""}, RECORDS[1]])
    outcome = rprs_ok("run", index_path, path, "-o", tmp_path / "run.trec")
    assert "2 queries answered, 2 failed" in outcome.err
    assert "failed my q4: The query 'my q4' cannot be written to a run file" in outcome.err
    assert "skipped" in outcome.err
    assert list(read_run(tmp_path / "run.trec")) == ["q1", "q2"]


def test_strict_stops_at_a_failure_and_leaves_no_run_file(index_path: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, [RECORDS[0], UNWRITABLE, RECORDS[1]])
    assert "cannot be written to a run" in rprs_error("run", index_path, path, "-o", tmp_path / "run.trec", "--strict")
    assert [file.name for file in tmp_path.iterdir()] == ["queries.jsonl"]


def test_if_all_queries_fail_the_old_file_stays(index_path: Path, tmp_path: Path) -> None:
    (tmp_path / "run.trec").write_text("old")
    path = queries(tmp_path, [UNWRITABLE])
    line = rprs_error("run", index_path, path, "-o", tmp_path / "run.trec")
    assert line.startswith(
        f"None of the 1 queries of {path} could be answered: The query 'my q4' cannot be written to a run"
    )
    assert (tmp_path / "run.trec").read_text() == "old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["queries.jsonl", "run.trec"]


def test_where_and_keep_self_apply_to_runs(index_path: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, [{"id": "lease.txt", "text": QUERY}])
    only = rprs_ok("run", index_path, path, "--where", "court = hill").out
    assert {line.split()[2] for line in only.splitlines()} <= {"pike-v-vole", "heron-v-otter"}
    assert " lease.txt " not in rprs_ok("run", index_path, path).out
    assert " lease.txt " in rprs_ok("run", index_path, path, "--keep-self").out
    assert "The filter" in rprs_error("run", index_path, path, "--where", "court ==")


def test_date_limits_apply_to_each_query_of_a_run(index_path: Path, tmp_path: Path) -> None:
    dates = {"q1": "2001", "q2": "2011-09-14", "q3": ""}
    path = queries(tmp_path, [{**record, "date": dates[record["id"]]} for record in RECORDS])
    outcome = rprs_ok("run", index_path, path, "-o", tmp_path / "run.trec", "--before", "date", "--rerank", "none")
    assert "2 queries answered, 1 failed" in outcome.err
    assert "failed q3: The date limit needs a date of the query: 'q3' has no 'date'" in outcome.err
    assert outcome.err.count("Date limit: 4 documents without a date kept") == 1  # for all queries together
    run = read_run(tmp_path / "run.trec")
    with Index(index_path) as index:
        for query, limit in (("q1", "2001-12-31"), ("q2", "2011-09-14")):
            assert {str(index.document(id).metadata.get("date", "")) <= limit for id in run[query].ids} == {True}
    again = ("rerank", index_path, path, "--run", tmp_path / "run.trec", "--before", "2000", "--undated", "drop")
    assert {line.split()[2] for line in rprs_ok(*again).out.splitlines()} == {"moss-v-reed"}


def test_queries_can_be_a_folder_of_files_or_a_beir_folder(index_path: Path, tmp_path: Path) -> None:
    plain, beir = tmp_path / "plain", tmp_path / "beir"
    plain.mkdir()
    beir.mkdir()
    (plain / "a.txt").write_text(RECORDS[0]["text"])
    (plain / "b.txt").write_text(RECORDS[1]["text"])
    (beir / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": QUERY}) + "\n")
    (beir / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "text": "Never read."}) + "\n")
    assert {line.split()[0] for line in rprs_ok("run", index_path, plain).out.splitlines()} == {"a.txt", "b.txt"}
    assert {line.split()[0] for line in rprs_ok("run", index_path, beir).out.splitlines()} == {"q1"}


def test_rerank_reads_the_candidates_from_a_run(index_path: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, RECORDS)
    first = tmp_path / "first.trec.xz"
    rprs_ok("run", index_path, path, "-o", first, "--rerank", "none")
    rprs_ok("rerank", index_path, path, "--run", first, "-o", tmp_path / "again.trec", "--tag", "both")
    rprs_ok("run", index_path, path, "-o", tmp_path / "straight.trec", "--tag", "both")
    assert (tmp_path / "again.trec").read_text() == (tmp_path / "straight.trec").read_text()
    shallow = rprs_ok("rerank", index_path, path, "--run", first, "--depth", "2").out
    assert len(shallow.splitlines()) == 6


def test_rerank_reports_queries_that_the_run_lacks(index_path: Path, tmp_path: Path) -> None:
    (tmp_path / "first.trec").write_text("q1 Q0 lease.txt 1 2.0 x\nq1 Q0 loan.txt 2 1.0 x\n")
    outcome = rprs_ok("rerank", index_path, queries(tmp_path, RECORDS), "--run", tmp_path / "first.trec")
    assert "1 query answered, 2 failed" in outcome.err
    assert "has no ranking for the query 'q2'" in outcome.err
    assert {line.split()[2] for line in outcome.out.splitlines()} == {"lease.txt", "loan.txt"}


def test_an_error_of_a_run_is_one_line(index_path: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, RECORDS)
    missing = tmp_path / "missing.trec"
    assert rprs_error("rerank", index_path, path, "--run", missing) == f"{missing}: no such run file"
    missing.write_text("q1 Q0 lease.txt\n")
    assert "a run has six" in rprs_error("rerank", index_path, path, "--run", missing)
    assert (
        rprs_error("run", index_path, tmp_path / "none.jsonl") == f"{tmp_path / 'none.jsonl'}: no such file or folder"
    )
    nowhere = tmp_path / "nowhere/run.trec"
    assert (
        rprs_error("run", index_path, path, "-o", nowhere)
        == f"There is no folder {nowhere.parent} to write run.trec to"
    )


def test_a_closed_pipe_is_no_error(index_path: Path, tmp_path: Path) -> None:
    path = queries(tmp_path, [{"id": f"q{number}", "text": QUERY} for number in range(200)])
    command = [sys.executable, "-m", "rprs", "--quiet", "run", str(index_path), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith("q0 Q0 ")
    process.stdout.close()
    with process.stderr as messages:
        assert messages.read() == ""
    assert process.wait(60) == 1


# ---------------------------------------------------------------------------- excluded documents


def excluded_table(folder: Path) -> Path:
    table = folder / "exclude.tsv"
    table.write_text("query-id\tcorpus-id\nq1\tlease.txt\nq2\tloan.txt\n")
    return table


def ranked(lines: str) -> set[tuple[str, str]]:
    """The pairs of query and document in a run."""
    return {(line.split()[0], line.split()[2]) for line in lines.splitlines()}


def test_an_excluded_document_is_not_ranked(index_path: Path, tmp_path: Path) -> None:
    path, table = queries(tmp_path, RECORDS), excluded_table(tmp_path)
    everything, without = rprs_ok("run", index_path, path).out, rprs_ok("run", index_path, path, "--exclude", table).out
    assert {("q1", "lease.txt"), ("q2", "loan.txt")} <= ranked(everything)
    assert ranked(everything) - ranked(without) == {("q1", "lease.txt"), ("q2", "loan.txt")}
    (tmp_path / "first.trec").write_text(everything)
    again = rprs_ok("rerank", index_path, path, "--run", tmp_path / "first.trec", "--exclude", table).out
    assert ranked(again) == ranked(without)


def test_the_exclusions_of_a_beir_folder_apply_by_default(index_path: Path, tmp_path: Path) -> None:
    excluded_table(tmp_path)
    path = queries(tmp_path, RECORDS)
    assert ("q1", "lease.txt") in ranked(rprs_ok("run", index_path, path).out)  # not a BEIR folder yet
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "text": "Never read."}) + "\n")
    for source in (path, tmp_path):
        run = ranked(rprs_ok("run", index_path, source).out)
        assert {("q1", "lease.txt"), ("q2", "loan.txt")}.isdisjoint(run)
        assert ("q1", "loan.txt") in run
    (tmp_path / "other.tsv").write_text("query-id\tcorpus-id\nq3\tlicence.txt\n")
    assert ("q1", "lease.txt") in ranked(rprs_ok("run", index_path, path, "--exclude", tmp_path / "other.tsv").out)


def test_a_wrong_table_of_exclusions_is_one_line(index_path: Path, tmp_path: Path) -> None:
    path, table = queries(tmp_path, RECORDS), tmp_path / "wrong.tsv"
    assert str(table) in rprs_error("run", index_path, path, "--exclude", table)
    table.write_text("q1 lease.txt 1\n")
    assert "the table needs two" in rprs_error("run", index_path, path, "--exclude", table)


# ---------------------------------------------------------------------------- unreadable queries, and resuming


def test_unreadable_queries_are_reported(index_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    folder.mkdir()
    (folder / "good.txt").write_text(QUERY)
    (folder / "empty.txt").touch()
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    outcome = rprs_ok("run", index_path, folder, "-o", tmp_path / "run.trec")
    assert f"failed {folder / 'empty.txt'}: an empty file" in outcome.err
    assert f"failed {folder / 'broken.pdf'}: " in outcome.err
    assert "1 query answered, 2 failed and skipped" in outcome.err
    assert list(read_run(tmp_path / "run.trec")) == ["good.txt"]
    assert "broken.pdf" in rprs_error("run", index_path, folder, "--strict")


# Kills itself at the given fsync, and prints the id of every query that it computes.
OBSERVED = """
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
from rprs.rank import two_stages as search
rerank_parts = search.rerank_parts
def observed(reranker, parts, *rest):
    os.write(1, f"{parts[0].document.id}\\n".encode())
    return rerank_parts(reranker, parts, *rest)
search.rerank_parts = observed
app(sys.argv[2:])
"""


def test_a_killed_run_resumes_and_writes_the_same_file(index_path: Path, tmp_path: Path) -> None:
    records = [{"id": f"q{number}", "text": f"{QUERY} Number {number} of the boat."} for number in range(6)]
    path, output, work = queries(tmp_path, records), tmp_path / "run.trec", tmp_path / "run.trec.work"
    rprs_ok("run", index_path, path, "-o", tmp_path / "expected.trec")
    words = ["run", str(index_path), str(path), "-o", str(output)]

    def start(moment: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", OBSERVED, str(moment), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    killed = start(4)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    finished = list(work.rglob("[!.]*.npz"))
    assert 0 < len(finished) < len(records)
    assert not output.exists()
    resumed = start(0)
    assert resumed.returncode == 0, resumed.stderr
    computed = resumed.stdout.split()
    assert killed.stdout.split()[: len(finished)] == [f"q{number}" for number in range(len(finished))]
    assert computed == [f"q{number}" for number in range(len(finished), len(records))]
    assert output.read_bytes() == (tmp_path / "expected.trec").read_bytes()
    assert not work.exists()


@pytest.mark.slow
def test_other_settings_do_not_resume_from_the_rankings_of_a_killed_run(index_path: Path, tmp_path: Path) -> None:
    path, output = queries(tmp_path, RECORDS), tmp_path / "run.trec"
    words = ["run", str(index_path), str(path), "-o", str(output)]
    command = [sys.executable, "-c", OBSERVED, "3", *words]
    assert subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGKILL
    rprs_ok(*words, "--rerank", "rprs(n=2)", "--depth", 3)
    expected = rprs_ok("run", index_path, path, "--rerank", "rprs(n=2)", "--depth", 3).out
    assert output.read_text() == expected
