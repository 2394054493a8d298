"""TSDAE: a small BERT trained on a small domain, and the resulting model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rprs.encode.onnx import Onnx
from rprs.errors import ModelError, UsageError
from tests.support.small_domain import NEW, QUICK, paraphrases, write_domain
from tests.support.tiny_models import make_bert

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_domain(tmp_path_factory.mktemp("domain") / "days")


@pytest.fixture(scope="module")
def adapted(domain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained for 300 steps."""
    from rprs.adapt.tsdae import tsdae

    to = tmp_path_factory.mktemp("models") / "adapted"
    return tsdae(domain, NEW, to, sentences=240, epochs=50, batch=16, rate=5e-3).folder


def similarities(model: Path) -> NDArray[np.float32]:
    """(n, n): the cosines of held-out sentences and paraphrases; those of pairs are on the diagonal."""
    encoder = Onnx(str(model), "fp32").load()
    one, other = paraphrases()
    return encoder.encode(one) @ encoder.encode(other).T


def gap(cosines: NDArray[np.float32]) -> tuple[float, float]:
    """How much more similar paraphrases are than other pairs, and how often a paraphrase is the more similar of two."""
    pairs, others = cosines.diagonal(), cosines[~np.eye(len(cosines), dtype=bool)]
    return float(pairs.mean() - others.mean()), float((pairs[:, None] > others[None, :]).mean())


def losses(model: Path) -> NDArray[np.float64]:
    return np.loadtxt(model / "loss.csv", delimiter=",", skiprows=1)[:, 1]


# ---------------------------------------------------------------------------- learning


def test_the_loss_falls(adapted: Path) -> None:
    curve = losses(adapted)
    assert len(curve) == 300
    assert curve[-75:].mean() < 0.5 * curve[:75].mean()


def test_paraphrases_are_more_similar_than_in_the_untrained_model(adapted: Path, domain: Path, tmp_path: Path) -> None:
    from rprs.adapt.tsdae import tsdae

    untrained = tsdae(domain, NEW, tmp_path / "untrained", sentences=240, batch=96, rate=1e-12).folder
    (margin_before, often_before), (margin, often) = gap(similarities(untrained)), gap(similarities(adapted))
    assert margin > margin_before + 0.1
    assert often_before < 0.7
    assert often > 0.9


def test_words_are_deleted_and_one_is_kept() -> None:
    from rprs.adapt.tsdae import deleted

    sentence = " ".join(f"w{number}" for number in range(10_000))
    left = deleted(sentence, 0.6, (0, 0, 0)).split()
    assert 3_900 < len(left) < 4_100
    assert left == sorted(left, key=lambda word: int(word[1:]))
    assert deleted(sentence, 0.6, (0, 0, 0)).split() == left
    assert deleted(sentence, 0.6, (0, 1, 0)).split() != left
    assert {len(deleted("a b c", 0.99, (0, 0, number)).split()) for number in range(50)} == {1}
    assert deleted("a  b", 0.0, (0,)) == "a b"


def test_encoder_and_decoder_share_weights_and_gradients(domain: Path, tmp_path: Path) -> None:
    """The gradient of a shared tensor is the sum of those through the sentence vector and through the tokens."""
    from rprs.adapt.model import load_base
    from rprs.adapt.sources import sample
    from rprs.adapt.tsdae import Denoising

    sentences = sample(domain, 8).sentences
    task = Denoising(load_base(NEW, tmp_path / "base", sentences), sentences, 8, 0.6, 64, 0)
    task.module.eval()
    decoder = task.module.decoder.bert
    shared = {id(weight) for weight in task.encoder.parameters()}
    own = {name for name, weight in decoder.named_parameters() if id(weight) not in shared}
    assert own == {name for name, _ in decoder.named_parameters() if "crossattention" in name} != set()
    weight = decoder.encoder.layer[0].intermediate.dense.weight

    def gradient() -> Any:
        task.module.zero_grad()
        next(iter(task.losses(0)))["reconstruction"].backward()
        return weight.grad.clone()

    both = gradient()
    task.module.encoder.register_forward_hook(
        lambda _module, _given, out: {**out, "sentence_embedding": out["sentence_embedding"].detach()}
    )
    words = gradient()  # the gradient through the decoder alone
    assert words.abs().max() > 0
    assert (both - words).abs().max() > 0


# ---------------------------------------------------------------------------- the model


def test_the_folder_is_complete_and_describes_the_model(adapted: Path) -> None:
    about = json.loads((adapted / "adapted.json").read_text())
    assert about["method"] == "tsdae"
    assert about["base"] == NEW.replace("layers=2,", "").replace("heads=2,", "")
    assert (about["seed"], about["noise"], about["steps"], about["pairs"]) == (0, 0.6, 300, False)
    assert about["losses"]["last"]["reconstruction"] < about["losses"]["first"]["reconstruction"]
    assert json.loads((adapted / "1_Pooling/config.json").read_text())["pooling_mode_cls_token"] is True
    assert b"<svg" in (adapted / "loss.svg").read_bytes()
    assert [path.name for path in adapted.parent.iterdir()] == ["adapted"]


def test_onnx_and_torch_agree(adapted: Path) -> None:
    from rprs.encode.sbert import SBert

    texts = [*paraphrases()[0], "A sentence of other words, and of a different kind altogether: what of it?"]
    torch, onnx = SBert(str(adapted)).load(), Onnx(str(adapted), "fp32").load()
    assert np.einsum("ij,ij->i", torch.encode(texts), onnx.encode(texts)).min() > 0.9999


def test_an_index_and_a_table_can_use_it(adapted: Path, domain: Path, tmp_path: Path) -> None:
    from rprs.index import Index, Writer
    from rprs.read import read

    for number, encoder in enumerate([f"onnx({adapted})", f"fitted(teacher=onnx({adapted}),sample=200)"]):
        with Writer(tmp_path / f"{number}.rprs", create=True, encoder=encoder) as writer:
            writer.add(read([domain]))
        with Index(tmp_path / f"{number}.rprs") as index:
            assert index.encoder.dimension == 32
            assert index.sentences(index.ids[0]).vectors.shape[1] == 32


# ---------------------------------------------------------------------------- resuming and errors

KILLED = """
import os, signal, sys
from contextlib import contextmanager
import torch
from rprs.adapt.tsdae import tsdae
torch.set_num_threads(1)

@contextmanager
def deadly(what, total=None, unit=""):
    steps = 0
    def advance(amount):
        nonlocal steps
        steps += amount
        if what == "training" and steps == 8:
            os.kill(os.getpid(), signal.SIGKILL)
    yield advance

tsdae(sys.argv[1], sys.argv[2], sys.argv[3], **eval(sys.argv[4]), progress=deadly)
"""


def test_a_killed_training_resumes_to_the_same_weights(domain: Path, tmp_path: Path) -> None:
    from rprs.adapt.tsdae import tsdae

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, "-c", KILLED, str(domain), NEW, str(killed), repr(QUICK)]
    ended = subprocess.run(command, env=os.environ, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert not killed.exists()
    assert (tmp_path / "killed.work/checkpoint.pt").is_file()
    with pytest.raises(UsageError, match=r"its rate is 0\.001, not 0\.002; remove that folder"):
        tsdae(domain, NEW, killed, **{**QUICK, "rate": 0.002})
    tsdae(domain, NEW, killed, **QUICK)
    tsdae(domain, NEW, whole, **QUICK)
    for name in ("model.safetensors", "model.onnx", "tokenizer.json", "loss.csv", "loss.svg"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["killed", "whole"]


def test_a_base_trained_on_pairs_causes_a_warning(domain: Path, tmp_path: Path) -> None:
    from rprs.adapt.tsdae import tsdae

    base = make_bert(tmp_path / "base", positions=64)
    (base / "modules.json").write_text("[]")
    notices: list[str] = []
    others = [tmp_path / ".to-notes", tmp_path / ".to-two-0123abcd"]  # of another training
    for place in (*others, tmp_path / ".to-0123abcd"):
        place.mkdir()
    result = tsdae(domain, str(base), tmp_path / "to", sentences=8, notify=notices.append)
    assert {*tmp_path.glob(".to-*")} == {*others}
    assert len(notices) == 1
    assert "was already trained on pairs of sentences" in notices[0]
    assert result.about["pairs"] is True
    notices.clear()
    (base / "modules.json").unlink()
    tsdae(domain, str(base), tmp_path / "plain", sentences=8, length=8, notify=notices.append)
    assert notices == ["8 of 8 sentences are truncated to 8 tokens"]


def test_an_invalid_setting_is_one_line_before_any_work(domain: Path, tmp_path: Path) -> None:
    from rprs.adapt.tsdae import tsdae

    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="there is there already"):
        tsdae(domain, NEW, tmp_path / "there")
    with pytest.raises(UsageError, match=r"'noise' is the share .* Got 1 instead"):
        tsdae(domain, NEW, tmp_path / "to", noise=1)
    with pytest.raises(UsageError, match="new cannot read 'size=3': it has the numbers layers, width"):
        tsdae(domain, "new(size=3)", tmp_path / "to")
    bare = make_bert(tmp_path / "bare")
    (bare / "model.safetensors").rename(bare / "model.onnx")
    with pytest.raises(ModelError, match=r"has no weights that can be trained \(ONNX cannot\)"):
        tsdae(domain, str(bare), tmp_path / "to")
