"""The model that runs is the one that was checked: derived files and fitted encoders are hashed on load."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from rprs.encode.models import derive
from rprs.encode.onnx import Onnx
from rprs.errors import IndexCorrupt
from rprs.index import Index, Writer
from tests.support.crash import COLLECTION, plug_in
from tests.support.tiny_models import make_bert


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_a_changed_graph_is_made_anew(tmp_path: Path, cache: Path, precision: str) -> None:
    folder = make_bert(tmp_path / "model")
    sentences = ["A pilot waits.", "The mill stands still."]
    before = Onnx(str(folder), precision=precision).load().encode(sentences)  # type: ignore[arg-type]
    (graph,) = cache.rglob("*.onnx")
    content = bytearray(graph.read_bytes())
    for position in range(len(content) // 2, len(content) // 2 + 400):
        content[position] ^= 0x10
    graph.write_bytes(content)
    after = Onnx(str(folder), precision=precision).load().encode(sentences)  # type: ignore[arg-type]
    assert np.array_equal(before, after)
    assert graph.read_bytes() != content


def test_a_file_without_its_digest_or_the_file_itself_is_made_anew() -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_text("graph")

    file = derive("abc.bin", make)
    assert derive("abc.bin", make) == file
    assert len(made) == 1
    (file.parent / "sha256").unlink()
    derive("abc.bin", make)
    file.unlink()
    assert derive("abc.bin", make).read_text() == "graph"
    assert len(made) == 3


def test_a_changed_fitted_encoder_is_refused_even_if_it_opens(tmp_path: Path) -> None:
    """A file that the fingerprint of the weights does not cover."""
    plug_in()
    path = tmp_path / "cases.rprs"
    with Writer(path, create=True, encoder="learned") as writer:
        writer.add(COLLECTION)
    file = path / "encoders/000001/counts.json"
    file.write_text(json.dumps(json.loads(file.read_text())) + "\n")
    message = re.escape(f"{file} has changed: run `rprs repair {path}`")
    with Index(path) as index, pytest.raises(IndexCorrupt, match=message):
        index.encode(COLLECTION[0])
    with Writer(path) as writer:
        writer.repair()
    with Index(path) as index:
        assert len(index.encode(COLLECTION[0]))
