"""The verbs that create, change and describe an index."""

from __future__ import annotations

import json
import os
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
from rprs.progress import Progress, silent
from rprs.spec import Component, Kind
from tests.support.cli import ENCODER, RECORDS, TEXTS, collection, done, made_index, refused, rprs

COUNT = len(TEXTS) + len(RECORDS)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return made_index(tmp_path)


def stored(path: Path) -> dict[str, str]:
    """The texts of an index by their ids."""
    with Index(path) as index:
        return {id: index.document(id).text for id in index.ids}


def facts(path: Path) -> dict[str, Any]:
    (found,) = done("info", path, "--format", "jsonl").objects
    assert isinstance(found, dict)
    return found


# ---------------------------------------------------------------------------- index and add


def test_index_makes_an_index_and_sums_up(tmp_path: Path) -> None:
    sources = collection(tmp_path)
    (sources / "empty.txt").touch()
    outcome = done("index", sources, "--to", tmp_path / "x.rprs", "--encoder", ENCODER)
    skipped, summary, encoder = outcome.err.splitlines()
    assert outcome.out == ""
    assert skipped == f"skipped {sources / 'empty.txt'}: an empty file"
    assert summary.startswith("12 documents added, 0 changed, 0 unchanged, 1 skipped: ")
    assert encoder == f"encoder: {ENCODER}"
    assert set(stored(tmp_path / "x.rprs")) == {*TEXTS, *(record["id"] for record in RECORDS)}


def test_index_again_leaves_what_is_there_alone_and_takes_what_changed(tmp_path: Path, made: Path) -> None:
    assert "0 documents added, 0 changed, 12 unchanged" in done("index", tmp_path / "sources", "--to", made).err
    (tmp_path / "sources/loan.txt").write_text("The bank lends nothing any more.")
    (tmp_path / "sources/new.txt").write_text("A new text about boats.")
    assert "1 document added, 1 changed, 11 unchanged" in done("index", tmp_path / "sources", "--to", made).err
    assert stored(made)["loan.txt"] == "The bank lends nothing any more."


def test_add_takes_what_is_new(tmp_path: Path, made: Path) -> None:
    more = tmp_path / "more.txt"
    more.write_text("The ferry to the island leaves at noon.")
    assert "1 document added" in done("add", made, more, tmp_path / "sources").err
    assert len(stored(made)) == COUNT + 1


def test_many_skipped_files_are_named_up_to_twenty_unless_verbose(tmp_path: Path) -> None:
    sources = collection(tmp_path)
    for number in range(25):
        (sources / f"empty-{number:02}.txt").touch()
    few = done("index", sources, "--to", tmp_path / "few.rprs", "--encoder", ENCODER).err
    all_ = done("index", sources, "--to", tmp_path / "all.rprs", "--encoder", ENCODER, "--verbose").err
    assert (few.count("an empty file"), all_.count("an empty file")) == (20, 25)
    assert "and 5 more (see --verbose)" in few
    assert "more (see" not in all_
    assert "25 skipped" in few


def test_strict_makes_a_skipped_file_an_error(tmp_path: Path) -> None:
    sources = collection(tmp_path)
    (sources / "broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    line = refused("index", sources, "--to", tmp_path / "x.rprs", "--encoder", ENCODER, "--strict")
    assert line.startswith(f"{sources / 'broken.pdf'}: ")


def test_wrong_sources_and_settings_are_one_line(tmp_path: Path, made: Path) -> None:
    missing, sources = tmp_path / "missing", tmp_path / "sources"
    new = tmp_path / "new.rprs"
    assert refused("add", made, missing) == f"{missing}: no such file or folder"
    assert "did you mean 'hashed'?" in refused("index", sources, "--to", new, "--encoder", "hashd")
    assert "must be an integer" in refused("index", sources, "--to", new, "--encoder", "hashed(dimension=big)")
    line = refused("index", sources, "--to", made, "--encoder", "hashed(dimension=32)")
    assert "was made with the encoder hashed(dimension=64), not hashed(dimension=32)" in line
    assert "is not an index and holds other files" in refused("index", sources, "--to", sources)


def test_a_locked_index_is_one_line(tmp_path: Path, made: Path) -> None:
    with Writer(made):
        assert "is being written to by another process" in refused("add", made, tmp_path / "sources")
        assert done("search", made, tmp_path / "query.txt").out  # readers are not in its way


def test_an_interruption_keeps_what_was_committed(tmp_path: Path, made: Path) -> None:
    """The reader waits at a pipe that somebody holds open, and gets Ctrl-C there."""
    pipe = tmp_path / "more.jsonl"
    os.mkfifo(pipe)
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it would be ignored
    process = subprocess.Popen([sys.executable, "-m", "rprs", "add", made, pipe], stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, heard)
    with pipe.open("w") as source:  # opens when the reader does
        source.write(json.dumps({"id": "late", "text": "Too late."}) + "\n")
        source.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert process.stderr is not None
    with process.stderr as said:
        assert said.read() == "rprs: interrupted; committed work is kept\n"
    assert "OK, no problems found" in done("verify", made).err
    assert facts(made)["documents"] == COUNT


# ---------------------------------------------------------------------------- remove, compact, verify


def test_remove_by_id(made: Path) -> None:
    assert "1 document removed" in done("remove", made, "loan.txt").err
    assert "loan.txt" not in stored(made)
    assert facts(made)["removed"] == 1


def test_remove_where(made: Path) -> None:
    assert "2 documents removed" in done("remove", made, "--where", "court = hill").err
    assert {"pike-v-vole", "heron-v-otter"}.isdisjoint(stored(made))


def test_remove_does_all_or_nothing(made: Path) -> None:
    line = refused("remove", made, "loan.txt", "nobody.txt")
    assert line == f"There is no document 'nobody.txt' in {made}: nothing was removed"
    assert len(stored(made)) == COUNT


def test_remove_wants_ids_or_a_filter(made: Path) -> None:
    for words in ([], ["loan.txt", "--where", "court = hill"]):
        assert "by their ids or by --where" in refused("remove", made, *words)
    assert "The filter 'court =' is wrong" in refused("remove", made, "--where", "court =")


def test_compact_rewrites_without_what_was_removed(tmp_path: Path, made: Path) -> None:
    query = tmp_path / "query.txt"
    done("add", made, query)
    done("remove", made, "query.txt")
    before = done("search", made, query, "--format", "jsonl").out
    assert (facts(made)["segments"], facts(made)["removed"]) == (2, 1)
    assert "MB now" in done("compact", made).err
    assert (facts(made)["segments"], facts(made)["removed"]) == (1, 0)
    assert done("search", made, query, "--format", "jsonl").out == before


def test_verify_names_what_is_damaged(made: Path) -> None:
    assert "OK, no problems found" in done("verify", made).err
    (vectors,) = made.glob("segments/*/vectors.*")
    data = bytearray(vectors.read_bytes())
    data[-1] ^= 1
    vectors.write_bytes(data)
    outcome = rprs("verify", made)
    assert outcome.code == 1
    assert outcome.out == f"{vectors.relative_to(made)} has changed: its checksum differs\n"


# ---------------------------------------------------------------------------- info and refit


def test_info_says_what_the_index_holds(made: Path) -> None:
    found = facts(made)
    with Index(made) as index:
        assert (found["sentences"], found["terms"]) == (index.sentence_counts.sum(), index.lengths.sum())
        assert found["fingerprint"] == index.fingerprint
    assert (found["documents"], found["pending"], found["removed"], found["segments"]) == (COUNT, 0, 0, 1)
    assert found["bytes"] == sum(file.stat().st_size for file in made.rglob("*") if file.is_file())
    assert found["encoder"]["spec"] == found["encoder"]["asked"] == ENCODER
    assert found["encoder"]["dimension"] == 64
    assert found["splitter"].startswith("sentences(")
    assert found["analyzer"].startswith("words(")


def test_info_as_json(made: Path) -> None:
    assert json.loads(done("info", made, "--format", "json").out) == facts(made)


def test_info_as_a_table(made: Path) -> None:
    lines = dict(line.split(maxsplit=1) for line in done("info", made, width=200).out.splitlines())
    assert lines["documents"].strip() == "12"
    assert lines["encoder"].strip() == f"{ENCODER}; 64 dimensions, fingerprint {Hashed(64).fingerprint}"


def test_info_describes_an_index_that_is_not_finished(tmp_path: Path) -> None:
    with Writer(tmp_path / "new.rprs", create=True, encoder="fitted"):
        pass
    found = facts(tmp_path / "new.rprs")
    assert (found["documents"], found["encoder"], found["fingerprint"]) == (0, None, None)
    assert "none yet" in done("info", tmp_path / "new.rprs").out


def test_refit_needs_an_encoder_that_is_fitted(made: Path) -> None:
    assert refused("refit", made) == f"{made} uses {ENCODER}, which is not fitted to a collection"


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
def test_a_fitted_encoder_tells_how_well_it_agrees_with_its_teacher_and_is_refitted(tmp_path: Path) -> None:
    path = tmp_path / "x.rprs"
    said = done("index", collection(tmp_path), "--to", path, "--encoder", "centred").err
    assert "agreement with its teacher 0.877 (mean cosine on 3 of 10 sentences, held out)" in said
    before = facts(path)
    done("remove", path, "lease.txt", "sublease.txt")
    said = done("refit", path).err
    assert "was fitted and encoded again" in said
    assert "agreement with its teacher" in said
    assert facts(path)["encoder"]["fingerprint"] != before["encoder"]["fingerprint"]
    assert "OK, no problems found" in done("verify", path).err


@pytest.mark.usefixtures("centred")
def test_a_small_collection_is_said_to_have_the_teacher_itself(tmp_path: Path) -> None:
    said = done("index", collection(tmp_path), "--to", tmp_path / "x.rprs", "--encoder", "centred(sample=1000)").err
    assert "encoder: hashed(dimension=16), the teacher itself: the collection is too small to gain from a fit" in said
