"""`rprs study` as a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import rprs_error, rprs_ok
from tests.support.study_sample import SMALL, write_collection


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the collection in `data` and a study beside it."""
    monkeypatch.delenv("RPRS_DATA", raising=False)
    write_collection(tmp_path / "data")
    (tmp_path / "small.toml").write_text(SMALL + "[analyses]\nlengths = true\n")
    return tmp_path


def test_a_study_prints_the_path_of_its_report_and_its_steps(home: Path) -> None:
    words = ("study", home / "small.toml", "--to", home / "out", "--data", home / "data")
    first = rprs_ok(*words, "--verbose")
    assert first.out == f"{home}/out/small/report.html\n"
    assert "computed index: beir(sample): sentences, hashed(dimension=64)" in first.err.splitlines()
    assert "small: 5 steps computed, 0 reused" in first.err
    again = rprs_ok(*words, "--verbose", "--only", "lengths")
    assert again.err.splitlines()[:-1] == ["reused documents: beir(sample)"]
    assert (home / "out" / "small" / "tables" / "lengths.md").exists()
    assert not (home / "out" / "small" / "tables" / "systems.md").exists()


def test_the_folder_of_the_collections_is_in_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = rprs_error("study", home / "small.toml", "--to", home / "out")
    assert "lacks corpus.jsonl" in line
    monkeypatch.setenv("RPRS_DATA", str(home / "data"))
    rprs_ok("study", home / "small.toml", "--to", home / "out", "--cache", home / "cache", "--only", "lengths")
    assert (home / "cache" / "documents").is_dir()
    assert not (home / "out" / ".cache").exists()


def test_a_study_is_listed_without_its_data(home: Path) -> None:
    out = rprs_ok("study", home / "small.toml", "--list").out
    assert "BM25: bm25 → no re-ranker, depth 8" in out
    assert "analyses: lengths" in out


def test_two_studies_with_one_name_are_an_error(home: Path) -> None:
    (home / "other").mkdir()
    (home / "other" / "small.toml").write_text(SMALL)
    assert "Two studies have the same name" in rprs_error("study", home / "small.toml", home / "other" / "small.toml")
    assert "has no part 'units'" in rprs_error(
        "study", home / "small.toml", "--data", home / "data", "--to", home / "out", "--only", "units"
    )


def test_excluded_documents_are_not_ranked(home: Path) -> None:
    words = ("study", home / "small.toml", "--to", home / "out", "--data", home / "data", "--only", "systems")
    rprs_ok(*words)
    run = home / "out" / "small" / "runs" / "rprs.trec"
    query, _, best, *_ = run.read_text().splitlines()[0].split()
    table = home / "mine.tsv"
    table.write_text(f"query-id\tcorpus-id\n{query}\t{best}\n")
    rprs_ok(*words, "--exclude", table)
    pairs = [tuple(line.split()[0:3:2]) for line in run.read_text().splitlines()]
    assert (query, best) not in pairs
    assert any(document == best for _, document in pairs)  # for other queries
