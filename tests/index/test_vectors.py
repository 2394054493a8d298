"""Vectors stored as float16 or float32: what the choice changes, and that an index keeps to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import rprs
from rprs import spec
from rprs.document import Document
from rprs.encode.hashed import Hashed
from rprs.errors import IndexCorrupt, IndexMismatch, UsageError
from rprs.index import Index, Writer, verify
from rprs.progress import Advance, Progress, no_op, silent
from rprs.rank.batch import first_stage
from rprs.scoring.vectors import PRECISIONS, VECTOR_TYPES, VectorType, to_grid
from rprs.search import Searcher
from rprs.spec import Component, Kind
from rprs.tuning.pools import load_pools, pools_at_depths, save_pools
from tests.support.cli import rprs_error, rprs_ok
from tests.support.crash import COLLECTION, HASHED, QUERIES, memory_folder, plug_in, rankings


@dataclass(frozen=True)
class Crowded(Component):
    """All sentences point nearly in one direction: all cosines are above 1 − 2 · 10⁻⁷."""

    name: ClassVar[str] = "crowded"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)
    dimension: ClassVar[int] = 17
    fingerprint: ClassVar[str] = "c0"

    def load(self, progress: Progress = silent) -> Crowded:
        return self

    def encode(self, sentences: Sequence[str], advance: Advance = no_op) -> NDArray[np.float32]:
        words = Hashed(16).encode(sentences, advance) / 4000
        rows = np.hstack([np.sqrt(1 - np.square(words).sum(axis=1, keepdims=True)), words])
        return np.asarray(rows, dtype=np.float32)


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
def test_vectors_are_rounded_as_by_the_plain_formula(vectors: VectorType) -> None:
    chance = np.random.default_rng(3)
    rows = chance.normal(size=(200, 24)).astype(np.float32) * chance.integers(1, 9, (200, 1)).astype(np.float32)
    rows[[0, 70]] = 0
    wide, grid = rows.astype(np.float64), PRECISIONS[vectors].grid
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    plain = np.rint(np.divide(wide, norms, out=np.zeros_like(wide), where=norms > 0) / grid) * grid
    assert to_grid(rows, vectors).tobytes() == plain.astype(PRECISIONS[vectors].stored).tobytes()
    assert to_grid(rows[:0], vectors).shape == (0, 24)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setitem(spec.BUILT_IN["encoder"], "crowded", f"{__name__}:Crowded")
    spec._targets.cache_clear()
    plug_in()
    with memory_folder() as opened:
        yield opened
    monkeypatch.undo()
    spec._targets.cache_clear()


def build(path: Path, vectors: VectorType | None = "float32", **options: Any) -> Path:
    with Writer(path, create=True, vectors=vectors, **{"encoder": HASHED, "batch": 200, **options}) as writer:
        writer.add(COLLECTION)
    return path


# ---------------------------------------------------------------------------- what it changes

CROWD = [
    Document("a", "Ships pay harbour dues."),
    Document("b", "The tenant must pay the rent."),
    Document("c", "Lamps burn at night."),
]
QUERY = Document("query", "The tenant shall pay the rent.")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("first", ["maxsim", "meanpool", "sdr", "rprs(n=1)"])
def test_float32_tells_documents_apart_that_tie_with_float16(first: str) -> None:
    """Ties are in the order of the ids, so only float32 can put b first."""
    best = {}
    for vectors in VECTOR_TYPES:
        with Index.in_memory(CROWD, encoder="crowded", vectors=vectors) as index:
            best[vectors] = Searcher(index, first=first, rerank=None).rank(QUERY)
    assert best["float16"].ids[0] == "a"
    assert best["float32"].ids[0] == "b"
    assert best["float32"].scores[0] > best["float32"].scores[1:].max(initial=0)
    if first != "rprs(n=1)":  # a document without a neighbour is not ranked
        assert len(set(best["float16"].scores.tolist())) == 1
        assert len(set(best["float32"].scores.tolist())) == 3


@pytest.mark.usefixtures("folder")
def test_rerank_without_an_index() -> None:
    texts = {document.id: document.text for document in CROWD}
    options: dict[str, Any] = {"encoder": "crowded", "rerank": "maxsim"}
    assert rprs.rerank(QUERY, {"a": texts["a"], "c": texts["c"]}, **options)[0].score == 1
    hits = rprs.rerank(QUERY, texts, vectors="float32", **options)
    assert hits[0].id == "b"
    assert len({hit.score for hit in hits}) == 3


def test_queries_and_documents_have_the_type_of_the_index(folder: Path) -> None:
    for vectors in VECTOR_TYPES:
        with Index(build(folder / f"{vectors}.rprs", vectors)) as index:
            stored, grid = index.sentences("d01").vectors, PRECISIONS[vectors].grid
            assert index.vector_type == stored.dtype == index.encode(QUERIES[0]).vectors.dtype == vectors
            texts = index.sentences("d01").texts(index["d01"].text)
            assert np.array_equal(stored, to_grid(index.encoder.encode(texts), vectors))
            assert np.array_equal(stored / grid, np.rint(stored / grid))


def test_pools_in_files_keep_every_bit(folder: Path) -> None:
    with Index(build(folder / "a.rprs")) as index:
        run = first_stage(index, QUERIES, "bm25", 9)
        pools = pools_at_depths(index, QUERIES, run, [9])[9]
        save_pools(folder / "pools", pools)
        for one, other in zip(pools, load_pools(folder / "pools"), strict=True):
            assert one.neighbours.similarity.dtype == other.neighbours.similarity.dtype == np.float64
            assert np.array_equal(one.neighbours.similarity, other.neighbours.similarity)


# ---------------------------------------------------------------------------- a setting of the index


def test_float16_is_the_default_and_leaves_no_trace(folder: Path) -> None:
    choices: tuple[VectorType | None, ...] = (None, "float16", "float32")
    default, explicit, other = (Index(build(folder / f"{vectors}.rprs", vectors)) for vectors in choices)
    with default, explicit, other:
        assert default.fingerprint == explicit.fingerprint != other.fingerprint
        assert default.catalog.setting("vectors") is explicit.catalog.setting("vectors") is None
        assert other.catalog.setting("vectors") == "float32"
        assert default.vector_type == "float16"


def test_later_additions_use_the_type_of_the_index_and_another_is_refused(folder: Path) -> None:
    path = build(folder / "a.rprs")
    rprs.build(path, [Document("new", "A new text.")])
    rprs.build(path, [Document("newer", "A newer text.")], vectors="float32")
    assert verify(path) == []
    with Index(path) as index:
        assert index.sentences("new").vectors.dtype == index.sentences("newer").vectors.dtype == np.float32
    with pytest.raises(IndexMismatch, match=r"stores its vectors as float32, not float16: leave the option out, or"):
        rprs.build(path, [], vectors="float16")
    with pytest.raises(IndexMismatch, match=r"stores its vectors as float16, not float32: leave the option out, or"):
        Writer(build(folder / "b.rprs", None), vectors="float32")


@pytest.mark.parametrize("value", ["float64", "", 32, np.float32, True])
def test_an_unknown_type_is_one_line(tmp_path: Path, value: Any) -> None:
    for call in (
        lambda: rprs.build(tmp_path / "a.rprs", [], vectors=value),
        lambda: Index.in_memory([], vectors=value),
    ):
        with pytest.raises(UsageError, match=r"vectors must be float16 or float32\. Got .* instead\."):
            call()
    assert not (tmp_path / "a.rprs").exists()


def test_refit_upgrade_and_compact_keep_the_type(folder: Path) -> None:
    path = build(folder / "a.rprs", encoder="learned", phrases=False)
    with Writer(path) as writer:
        writer.refit()
        writer.upgrade()
        writer.remove(["d01"])
        writer.compact()
    assert verify(path) == []
    fresh = folder / "fresh.rprs"
    with Writer(fresh, create=True, encoder="learned", vectors="float32") as writer:
        writer.add(COLLECTION)
        writer.remove(["d01"])
    with Index(path) as one, Index(fresh) as other:
        assert one.vector_type == "float32"
        assert one.sentences("d02").vectors.dtype == np.float32
        assert one.fingerprint == other.fingerprint
    assert rankings(path) == rankings(fresh)


def test_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The tenant must pay the rent.")
    path, options = tmp_path / "x.rprs", ("--to", tmp_path / "x.rprs", "--encoder", HASHED)
    rprs_ok("index", tmp_path / "a.txt", *options, "--vectors", "float32")
    lines = dict(line.split(maxsplit=1) for line in rprs_ok("info", path, width=200).out.splitlines())
    assert lines["vectors"].strip() == "float32"
    rprs_ok("index", tmp_path / "a.txt", *options)
    assert rprs_error("index", tmp_path / "a.txt", *options, "--vectors", "float16") == (
        f"{path} stores its vectors as float32, not float16: leave the option out, or make a new index"
    )


# ---------------------------------------------------------------------------- damage


def test_vectors_of_another_type_are_damage(folder: Path) -> None:
    """A file of the right shape, and with a checksum of its own, as if it came from another index."""
    wide, narrow = (build(folder / f"{vectors}.rprs", vectors) for vectors in ("float32", "float16"))
    name = "segments/000001/vectors.000001.npy"
    contents = [(path / name).read_bytes() for path in (narrow, wide)]
    for path, content in zip((wide, narrow), contents, strict=True):
        (path / name).write_bytes(content)
        with pytest.raises(IndexCorrupt, match=r"vectors.000001.npy is damaged .*: run `rprs verify"):
            Index(path)
        assert any(line.startswith("segment 1 cannot be opened: vectors of") for line in verify(path))
        assert any(line.startswith(name) for line in verify(path))


def test_verify_reports_a_changed_bit(folder: Path) -> None:
    path = build(folder / "a.rprs")
    file = path / "segments/000001/vectors.000001.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert verify(path) == ["segments/000001/vectors.000001.npy has changed: its checksum differs"]
