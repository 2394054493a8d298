"""The verb that aligns two files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rprs
from rprs.results.serialize import alignment_object
from tests.support.cli import QUERY, TEXTS, rprs_error, rprs_ok, sample_index


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("align"))


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    path = tmp_path / "new-lease.txt"
    path.write_text(TEXTS["lease.txt"].replace("three months", "six months"))
    return path


def test_two_files_are_aligned_with_an_index(index_path: Path, lease: Path) -> None:
    old = index_path.parent / "sources/lease.txt"
    words = ("align", lease, old, "--index", index_path)
    expected = rprs.align(rprs.read_one(lease), rprs.read_one(old), index=index_path)
    record = json.loads(rprs_ok(*words, "--format", "json").out)
    assert record == json.loads(json.dumps(alignment_object(expected)))
    assert record["relation"] == "near duplicate"
    assert rprs_ok(*words, "--format", "jsonl").objects == [record]
    text = rprs_ok(*words, width=160).out
    assert text.startswith("new-lease.txt  ⇄  lease.txt\nNear duplicate.\n")
    assert "with [-six-] months" in text
    assert "with {+three+} months" in text
    assert "Technical details" not in text


def test_the_second_document_may_be_one_of_the_index(index_path: Path, lease: Path) -> None:
    words = ("align", lease, "lease.txt", "--index", index_path, "--format", "jsonl")
    (record,) = rprs_ok(*words).objects
    assert (record["query"], record["id"]) == ("new-lease.txt", "lease.txt")
    (reworded,) = rprs_ok(*words, "--kind", "reworded").objects
    assert reworded["pairs"] == [pair for pair in record["pairs"] if pair["kind"] == "reworded"]
    assert reworded["query_coverage"] == record["query_coverage"]
    (stdin,) = rprs_ok("align", "-", *words[2:], stdin=QUERY.encode()).objects
    assert stdin["query"] == "stdin"


def test_the_report_is_named_after_both(index_path: Path, lease: Path) -> None:
    html = rprs_ok("align", lease, "lease.txt", "--index", index_path, "--format", "html").out
    assert "<title>new-lease compared with lease</title>" in html
    assert ">made.rprs</dd>" in html


def test_an_error_is_one_line(index_path: Path, lease: Path, tmp_path: Path) -> None:
    assert rprs_error("align", lease, tmp_path / "none.txt") == f"{tmp_path / 'none.txt'}: no such file or folder"
    assert rprs_error("align", tmp_path / "none.txt", lease) == f"{tmp_path / 'none.txt'}: no such file or folder"
    unknown = rprs_error("align", lease, "leese.txt", "--index", index_path)
    assert unknown.startswith(f"There is no document 'leese.txt' in {index_path}")
