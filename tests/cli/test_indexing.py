"""The verbs that create, change and describe an index."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from rprs import Index, Writer, spec
from rprs.encode.hashed import Hashed
from rprs.index.unread import LIST
from rprs.progress import Progress, silent
from rprs.spec import Component, Kind
from tests.support.cli import ENCODER, RECORDS, TEXTS, collection, rprs, rprs_error, rprs_ok, sample_index
from tests.support.read_samples import PROSE, Picture, scanned_pages

COUNT = len(TEXTS) + len(RECORDS)


@pytest.fixture
def index_path(tmp_path: Path) -> Path:
    return sample_index(tmp_path)


def stored(path: Path) -> dict[str, str]:
    """The texts of an index by their ids."""
    with Index(path) as index:
        return {id: index.document(id).text for id in index.ids}


def facts(path: Path) -> dict[str, Any]:
    (record,) = rprs_ok("info", path, "--format", "jsonl").objects
    assert isinstance(record, dict)
    return record


# ---------------------------------------------------------------------------- index and add


def test_index_creates_an_index_and_prints_a_summary(tmp_path: Path) -> None:
    sources = collection(tmp_path)
    (sources / "empty.txt").touch()
    outcome = rprs_ok("index", sources, "--to", tmp_path / "x.rprs", "--encoder", ENCODER)
    summary, skipped, full_list, encoder = outcome.err.splitlines()
    assert outcome.out == ""
    assert summary.startswith("12 documents added, 0 changed, 0 unchanged, 1 skipped: ")
    assert skipped == "skipped           1  an empty file [empty.txt]"
    assert full_list == f"Full list: {tmp_path / 'x.rprs' / LIST}"
    assert encoder == f"encoder: {ENCODER}"
    assert set(stored(tmp_path / "x.rprs")) == {*TEXTS, *(record["id"] for record in RECORDS)}


def test_index_again_skips_unchanged_documents_and_replaces_changed_ones(tmp_path: Path, index_path: Path) -> None:
    assert (
        "0 documents added, 0 changed, 12 unchanged" in rprs_ok("index", tmp_path / "sources", "--to", index_path).err
    )
    (tmp_path / "sources/loan.txt").write_text("The bank lends nothing any more.")
    (tmp_path / "sources/new.txt").write_text("A new text about boats.")
    assert "1 document added, 1 changed, 11 unchanged" in rprs_ok("index", tmp_path / "sources", "--to", index_path).err
    assert stored(index_path)["loan.txt"] == "The bank lends nothing any more."


def test_add_adds_new_documents(tmp_path: Path, index_path: Path) -> None:
    more = tmp_path / "more.txt"
    more.write_text("The ferry to the island leaves at noon.")
    assert "1 document added" in rprs_ok("add", index_path, more, tmp_path / "sources").err
    assert len(stored(index_path)) == COUNT + 1


def test_files_that_are_not_read_are_grouped_by_reason_and_listed_in_a_file(tmp_path: Path) -> None:
    sources = collection(tmp_path)
    for number in range(25):
        (sources / f"empty-{number:02}.txt").touch()
    (sources / "half.pdf").write_bytes(scanned_pages([PROSE, None, None]))
    (sources / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    (sources / "cut.pdf").write_bytes(b"%PDF-1.7 nothing more")
    index = tmp_path / "x.rprs"
    few = rprs_ok("index", sources, "--to", index, "--encoder", ENCODER).err.splitlines()
    assert "27 skipped" in few[0]
    assert few[1:6] == [
        "partly read       1  pages without readable text: 2 of 3 (2–3); run OCR [half.pdf]",
        "skipped          25  an empty file [empty-00.txt, empty-01.txt, empty-02.txt, …]",
        "                  1  can't be opened; it may be damaged [cut.pdf]",
        "                  1  an unsupported file type [photo.jpg]",
        f"Full list: {index / LIST}",
    ]
    listed = (index / LIST).read_text().splitlines()
    assert len(listed) == 28
    assert f"skipped\t{sources / 'photo.jpg'}\tan unsupported file type" in listed
    every = rprs_ok("index", sources, "--to", index, "--verbose").err
    assert every.count(": an empty file") == 25
    assert f"partly read {sources / 'half.pdf'}: pages without" in every
    for path in (*sources.glob("empty-*"), *sources.glob("*.pdf"), sources / "photo.jpg"):
        path.unlink()
    assert "Full list" not in rprs_ok("add", index, sources).err
    assert not (index / LIST).exists()
    with Index(index) as stored_index:
        assert stored_index.document("half.pdf").metadata["pages_without_text"] == 2


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="needs Tesseract")
def test_scans_are_recognised_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "scan.pdf").write_bytes(scanned_pages([Picture(PROSE)], dpi=200))
    command = ["index", tmp_path / "scan.pdf", "--encoder", ENCODER, "--to"]
    assert "OCR               1  pages of 1 file, mean confidence 9" in rprs_ok(*command, tmp_path / "x.rprs").err
    assert "No readable text" in rprs_ok(*command, tmp_path / "y.rprs", "--ocr", "never").err


def test_strict_makes_a_skipped_file_an_error(tmp_path: Path) -> None:
    sources = collection(tmp_path)
    (sources / "broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    line = rprs_error("index", sources, "--to", tmp_path / "x.rprs", "--encoder", ENCODER, "--strict")
    assert line.startswith(f"{sources / 'broken.pdf'}: ")


def test_an_error_of_sources_or_settings_is_one_line(tmp_path: Path, index_path: Path) -> None:
    missing, sources = tmp_path / "missing", tmp_path / "sources"
    new = tmp_path / "new.rprs"
    assert rprs_error("add", index_path, missing) == f"{missing}: no such file or folder"
    assert "did you mean 'hashed'?" in rprs_error("index", sources, "--to", new, "--encoder", "hashd")
    assert "must be an integer" in rprs_error("index", sources, "--to", new, "--encoder", "hashed(dimension=big)")
    line = rprs_error("index", sources, "--to", index_path, "--encoder", "hashed(dimension=32)")
    assert "was made with the encoder hashed(dimension=64), not hashed(dimension=32)" in line
    assert "is not an index and holds other files" in rprs_error("index", sources, "--to", sources)


def test_a_locked_index_is_one_line(tmp_path: Path, index_path: Path) -> None:
    with Writer(index_path):
        assert "is being written to by another process" in rprs_error("add", index_path, tmp_path / "sources")
        assert rprs_ok("search", index_path, tmp_path / "query.txt").out  # reading is possible


def test_an_interruption_keeps_committed_work(tmp_path: Path, index_path: Path) -> None:
    """The process gets Ctrl-C while it waits for input from a pipe that stays open."""
    pipe = tmp_path / "more.jsonl"
    os.mkfifo(pipe)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it would be ignored
    process = subprocess.Popen(
        [sys.executable, "-m", "rprs", "add", index_path, pipe], stderr=subprocess.PIPE, text=True
    )
    signal.signal(signal.SIGINT, handler)
    with pipe.open("w") as source:  # opens when the reader does
        source.write(json.dumps({"id": "late", "text": "Too late."}) + "\n")
        source.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert process.stderr is not None
    with process.stderr as messages:
        assert messages.read() == "rprs: interrupted; committed work is kept\n"
    assert "OK, no problems found" in rprs_ok("verify", index_path).err
    assert facts(index_path)["documents"] == COUNT


# ---------------------------------------------------------------------------- remove, compact, verify


def test_remove_by_id(index_path: Path) -> None:
    assert "1 document removed" in rprs_ok("remove", index_path, "loan.txt").err
    assert "loan.txt" not in stored(index_path)
    assert facts(index_path)["removed"] == 1


def test_remove_where(index_path: Path) -> None:
    assert "2 documents removed" in rprs_ok("remove", index_path, "--where", "court = hill").err
    assert {"pike-v-vole", "heron-v-otter"}.isdisjoint(stored(index_path))


def test_remove_removes_all_or_nothing(index_path: Path) -> None:
    line = rprs_error("remove", index_path, "loan.txt", "nobody.txt")
    assert line == f"There is no document 'nobody.txt' in {index_path}: nothing was removed"
    assert len(stored(index_path)) == COUNT


def test_remove_suggests_similar_ids_for_an_unknown_one(index_path: Path) -> None:
    line = rprs_error("remove", index_path, "lease.txt", "loan.pdf")
    hint = "Did you mean 'loan.txt'?"
    assert line == f"There is no document 'loan.pdf' in {index_path}: nothing was removed. {hint}"
    assert rprs_error("show", index_path, "loan.pdf").endswith(f". {hint}")
    assert len(stored(index_path)) == COUNT


def test_remove_needs_ids_or_a_filter(index_path: Path) -> None:
    for words in ([], ["loan.txt", "--where", "court = hill"]):
        assert "by their ids or by --where" in rprs_error("remove", index_path, *words)
    assert "The filter 'court =' is wrong" in rprs_error("remove", index_path, "--where", "court =")


def test_compact_rewrites_the_index_without_removed_documents(tmp_path: Path, index_path: Path) -> None:
    query = tmp_path / "query.txt"
    rprs_ok("add", index_path, query)
    rprs_ok("remove", index_path, "query.txt")
    before = rprs_ok("search", index_path, query, "--format", "jsonl").out
    assert (facts(index_path)["segments"], facts(index_path)["removed"]) == (2, 1)
    assert "MB now" in rprs_ok("compact", index_path).err
    assert (facts(index_path)["segments"], facts(index_path)["removed"]) == (1, 0)
    assert rprs_ok("search", index_path, query, "--format", "jsonl").out == before


def test_verify_reports_damaged_files(index_path: Path) -> None:
    assert "OK, no problems found" in rprs_ok("verify", index_path).err
    (vectors,) = index_path.glob("segments/*/vectors.*")
    data = bytearray(vectors.read_bytes())
    data[-1] ^= 1
    vectors.write_bytes(data)
    outcome = rprs("verify", index_path)
    assert outcome.code == 1
    assert outcome.out == f"{vectors.relative_to(index_path)} has changed: its checksum differs\n"


# ---------------------------------------------------------------------------- info and refit


def test_info_has_the_facts_about_the_index(index_path: Path) -> None:
    record = facts(index_path)
    with Index(index_path) as index:
        assert (record["sentences"], record["terms"]) == (index.sentence_counts.sum(), index.lengths.sum())
        assert record["fingerprint"] == index.fingerprint
    assert (record["documents"], record["pending"], record["removed"], record["segments"]) == (COUNT, 0, 0, 1)
    assert record["bytes"] == sum(file.stat().st_size for file in index_path.rglob("*") if file.is_file())
    assert record["encoder"]["spec"] == record["encoder"]["asked"] == ENCODER
    assert record["encoder"]["dimension"] == 64
    assert record["splitter"].startswith("sentences(")
    assert record["analyzer"].startswith("words(")


def test_info_as_json(index_path: Path) -> None:
    assert json.loads(rprs_ok("info", index_path, "--format", "json").out) == facts(index_path)


def test_info_as_a_table(index_path: Path) -> None:
    lines = dict(line.split(maxsplit=1) for line in rprs_ok("info", index_path, width=200).out.splitlines())
    assert lines["documents"].strip() == "12"
    assert lines["encoder"].strip() == f"{ENCODER}; 64 dimensions, fingerprint {Hashed(64).fingerprint}"


def test_info_describes_an_index_that_is_not_finished(tmp_path: Path) -> None:
    with Writer(tmp_path / "new.rprs", create=True, encoder="fitted"):
        pass
    record = facts(tmp_path / "new.rprs")
    assert (record["documents"], record["encoder"], record["fingerprint"]) == (0, None, None)
    assert "none yet" in rprs_ok("info", tmp_path / "new.rprs").out


def test_refit_needs_an_encoder_that_is_fitted(index_path: Path) -> None:
    assert rprs_error("refit", index_path) == f"{index_path} uses {ENCODER}, which is not fitted to a collection"


@dataclass(frozen=True)
class Centred(Component):
    """The smallest encoder that learns from the collection: hashed words, less their mean over a sample."""

    sample: int = 10
    teacher: Hashed = field(default_factory=lambda: Hashed(16))
    name: ClassVar[str] = "centred"
    kind: ClassVar[Kind] = "encoder"

    def fit(self, sentences: Sequence[str], progress: Progress = silent) -> CentredModel:
        mean = self.teacher.encode(sentences).mean(axis=0)
        return CentredModel(mean, {"agreement": 0.87654, "sample": len(sentences), "held_out": 3})

    def open(self, folder: Path) -> CentredModel:
        return CentredModel(np.load(folder / "mean.npy"), {})


@dataclass(frozen=True)
class CentredModel:
    mean: NDArray[np.float32]
    report: Mapping[str, float]
    dimension: int = 16

    @property
    def fingerprint(self) -> str:
        return f"{abs(float(self.mean.sum())):.6f}"

    def encode(self, sentences: Sequence[str], advance: object = None) -> NDArray[np.float32]:
        rows = Hashed(16).encode(sentences) - self.mean
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    def save(self, folder: Path) -> None:
        np.save(folder / "mean.npy", self.mean)


@pytest.fixture
def centred(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(spec.BUILT_IN["encoder"], "centred", f"{__name__}:Centred")
    spec._targets.cache_clear()
    yield
    monkeypatch.undo()
    spec._targets.cache_clear()


@pytest.mark.usefixtures("centred")
def test_the_agreement_of_a_fitted_encoder_is_printed_and_refit_fits_it_again(tmp_path: Path) -> None:
    path = tmp_path / "x.rprs"
    messages = rprs_ok("index", collection(tmp_path), "--to", path, "--encoder", "centred").err
    assert "agreement with its teacher 0.877 (mean cosine on 3 of 10 sentences, held out)" in messages
    before = facts(path)
    rprs_ok("remove", path, "lease.txt", "sublease.txt")
    messages = rprs_ok("refit", path).err
    assert "was fitted and encoded again" in messages
    assert "agreement with its teacher" in messages
    assert facts(path)["encoder"]["fingerprint"] != before["encoder"]["fingerprint"]
    assert "OK, no problems found" in rprs_ok("verify", path).err


@pytest.mark.usefixtures("centred")
def test_a_small_collection_uses_the_teacher_itself(tmp_path: Path) -> None:
    messages = rprs_ok(
        "index", collection(tmp_path), "--to", tmp_path / "x.rprs", "--encoder", "centred(sample=1000)"
    ).err
    assert (
        "encoder: hashed(dimension=16), the teacher itself: the collection is too small to gain from a fit" in messages
    )


@pytest.mark.usefixtures("centred")
def test_an_index_says_when_it_has_grown_enough_for_a_fit(tmp_path: Path) -> None:
    path, sources = tmp_path / "x.rprs", collection(tmp_path)
    rprs_ok("index", sources / "loan.txt", "--to", path, "--encoder", "centred")  # fewer than 10 sentences
    assert facts(path)["encoder"]["grown_enough"] is False
    advice = f"The collection is now large enough for a fitted encoder: run `rprs refit {path}`"
    assert advice in rprs_ok("add", path, sources).err
    assert advice in rprs_ok("sync", sources, path).err
    assert facts(path)["encoder"]["grown_enough"] is True
    assert "the collection is now large enough for a fit" in rprs_ok("info", path, width=250).out
    rprs_ok("refit", path)
    assert advice not in rprs_ok("add", path, sources).err
    assert facts(path)["encoder"]["grown_enough"] is False


# ---------------------------------------------------------------------------- phrases


def test_an_index_without_phrases_says_so_once_and_upgrade_adds_them(tmp_path: Path, index_path: Path) -> None:
    path = tmp_path / "plain.rprs"
    rprs_ok("index", tmp_path / "sources", "--to", path, "--encoder", ENCODER, "--no-phrases")
    assert facts(path)["phrases"] is False
    query = (tmp_path / "query.txt",)
    outcome = rprs_ok("search", path, *query)
    assert outcome.err.count("this index has no phrases") == 1
    assert f"run `rprs upgrade {path}`" in " ".join(outcome.err.split())
    assert "made without phrases: run `rprs upgrade" in rprs_error(
        "index", tmp_path / "sources", "--to", path, "--phrases"
    )
    assert "was brought up to date" in rprs_ok("upgrade", path).err
    assert f"{path} is up to date" in " ".join(rprs_ok("upgrade", path).err.split())
    assert facts(path)["phrases"] is True
    upgraded = rprs_ok("search", path, *query, "--format", "jsonl")
    assert "phrases" not in upgraded.err
    built = rprs_ok("search", index_path, *query, "--format", "jsonl")
    ranked = [[(hit["id"], hit["score"]) for hit in each.objects if "id" in hit] for each in (upgraded, built)]
    assert ranked[0] == ranked[1]
    assert ranked[0]
