"""Models whose files are damaged or do not match: one-line errors that name the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rprs.encode.graph import build_cross
from rprs.encode.onnx import Onnx
from rprs.encode.pairs import load_pairs
from rprs.errors import ModelError
from tests.support.small_domain import write_domain
from tests.support.tiny_models import make_bert, make_cross

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 437998572\n"  # as in a clone without Git LFS


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))


def change(folder: Path, **values: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **values}))


def half_a_graph(folder: Path) -> None:
    graph = build_cross(folder).SerializeToString()
    (folder / "model.onnx").write_bytes(graph[: len(graph) // 2])
    (folder / "model.safetensors").unlink()


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (half_a_graph, r"model\.onnx cannot be (run|quantised) and may be damaged"),
        (
            lambda folder: (folder / "model.safetensors").write_bytes(POINTER),
            r"model\.safetensors is damaged, or does not",
        ),
        (lambda folder: change(folder, num_hidden_layers=3), r"does not match config\.json: 'encoder\.layer\.2\."),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), r"tokenizer\.json cannot be read: Model missing"),
        (lambda folder: (folder / "config.json").write_text("[]"), r"config\.json cannot be read as JSON: it is not"),
    ],
)
def test_a_damaged_file_is_a_one_line_error(tmp_path: Path, spoil: Callable[[Path], None], problem: str) -> None:
    spoil(folder := make_cross(tmp_path / "model"))
    for load in (lambda: load_pairs(str(folder)), lambda: Onnx(str(folder)).load()):
        with pytest.raises(ModelError, match=problem) as refusal:
            load()
        assert "\n" not in str(refusal.value)


def test_damaged_pooling_settings_are_a_one_line_error(tmp_path: Path) -> None:
    (make_bert(tmp_path / "model") / "modules.json").write_text("{")
    with pytest.raises(ModelError, match=r"modules\.json cannot be read as JSON"):
        Onnx(str(tmp_path / "model")).load()


def test_more_positions_than_weights_are_a_one_line_error(tmp_path: Path) -> None:
    change(folder := make_bert(tmp_path / "model", positions=24), max_position_embeddings=64)
    encoder = Onnx(str(folder)).load()
    with pytest.raises(ModelError, match="The model cannot be run: do its weights, tokenizer and config"):
        encoder.encode(["the court " * 20])


@pytest.mark.torch
@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda folder: (folder / "model.safetensors").write_bytes(POINTER), "cannot load .* header too large"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "cannot load "),
        (lambda folder: change(folder, hidden_size=64), "cannot load |have other sizes than "),
    ],
)
def test_damaged_files_are_a_one_line_error_with_torch(
    tmp_path: Path, spoil: Callable[[Path], None], problem: str
) -> None:
    from rprs.adapt.sdr import sdr
    from rprs.adapt.tsdae import tsdae
    from rprs.encode.sbert import SBert

    days, base = write_domain(tmp_path / "days"), make_bert(tmp_path / "base", positions=64)
    spoil(base)
    uses: list[Callable[[], Any]] = [
        lambda: tsdae(days, str(base), tmp_path / "to", sentences=8),
        lambda: sdr(days, str(base), tmp_path / "to", sentences=8),
        lambda: SBert(str(base)).load(),
    ]
    for use in uses:
        with pytest.raises(ModelError, match=problem) as refusal:
            use()
        assert "\n" not in str(refusal.value)
    assert not (tmp_path / "to.work").exists()


@pytest.mark.torch
def test_sbert_loads_without_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from rprs.encode.sbert import SBert

    SBert(str(make_bert(tmp_path / "model"))).load()
    assert capfd.readouterr() == ("", "")
