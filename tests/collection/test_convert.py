"""Collections as BEIR folders: complete or absent, with missing parts reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rprs.collection import Written, open_collection, write_beir
from rprs.collection.beir import Beir
from rprs.collection.source import Report
from rprs.document import Document
from rprs.errors import ReadError, UsageError
from rprs.read import ignore
from tests.support.cli import rprs
from tests.support.paths import DATA

SAMPLES = DATA / "collections"


def test_the_files_of_a_converted_collection(tmp_path: Path) -> None:
    summary = write_beir(open_collection("caselaw(caselaw)", SAMPLES), tmp_path / "out")
    assert summary == Written(
        documents=3, queries=2, judgements=5, excluded=2, missing=1, missing_relevant=1, unasked=0
    )
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == [
        "corpus.jsonl",
        "exclude.tsv",
        "qrels",
        "queries.jsonl",
        "test.tsv",
    ]
    assert (tmp_path / "out/qrels/test.tsv").read_text() == (
        "query-id\tcorpus-id\tscore\n1\t9001\t3\n1\t9002\t0\n1\t9999\t1\n2\t9002\t3\n2\t9001\t1\n"
    )
    assert (tmp_path / "out/exclude.tsv").read_text() == "query-id\tcorpus-id\n1\t9003\n2\t9003\n"
    first, *_ = open_collection(str(tmp_path / "out")).documents()
    assert first.metadata["date"] == "1931-05-04"


def test_the_split_is_that_of_the_collection(tmp_path: Path) -> None:
    write_beir(open_collection("coliee(coliee, split=train)", SAMPLES), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out/qrels").iterdir()] == ["train.tsv"]
    write_beir(open_collection("beir", SAMPLES), tmp_path / "again", split="mine")
    assert [path.name for path in (tmp_path / "again/qrels").iterdir()] == ["mine.tsv"]


class Failing(Beir):
    """A collection whose second document is never read."""

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        yield next(super().documents(skipped))
        raise ReadError("the disk is gone")


def test_a_failed_conversion_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="the disk is gone"):
        write_beir(Failing(str(SAMPLES / "beir")), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_existing_folders_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    collection = open_collection("beir", SAMPLES)
    with pytest.raises(UsageError, match="out already exists: remove it, or write to another folder"):
        write_beir(collection, tmp_path / "out")
    with pytest.raises(UsageError, match=r"There is no folder .*none to write out to"):
        write_beir(collection, tmp_path / "none/out")


def test_the_command_reports_missing_documents(tmp_path: Path) -> None:
    outcome = rprs("convert", f"clefip({SAMPLES / 'clefip'})", "--to", tmp_path / "out")
    assert outcome.code == 0
    assert outcome.err.splitlines()[:3] == [
        f"skipped {SAMPLES / 'clefip'}/EP/000000/00/00/04/EP-0000004-A1.xml: not readable XML: it declares the "
        "entity 'a' itself",
        "2 documents, 1 query, 3 judgements, 1 excluded pair",
        "1 judgement, 1 of them relevant, of documents that are not in the collection",
    ]
    assert outcome.err.splitlines()[3].startswith(f"1 skipped; written to {tmp_path / 'out'} in ")
    again = rprs("convert", tmp_path / "out", "--to", tmp_path / "again")
    assert again.code == 0
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "exclude.tsv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_the_command_counts_missing_queries(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("q1 0 d1 1\nq7 0 d1 1\n")
    spec = f"beir({SAMPLES / 'beir'}, judgements={tmp_path / 'mine.txt'})"
    outcome = rprs("convert", spec, "--to", tmp_path / "out", "--split", "mine")
    assert "1 query with judgements but not in the collection" in outcome.err
    assert (tmp_path / "out/qrels/mine.tsv").is_file()


def test_the_command_fails_with_a_one_line_error(tmp_path: Path) -> None:
    outcome = rprs("convert", f"coliee({tmp_path})", "--to", tmp_path / "out")
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"rprs: {tmp_path} lacks the file task1_test_labels_2021.json of COLIEE task 1: ")
    assert not (tmp_path / "out").exists()
