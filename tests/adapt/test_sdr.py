"""SDR's pre-training: its two losses against values worked by hand, and a small BERT trained with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rprs.encode.onnx import Onnx
from rprs.errors import ModelError, UsageError
from tests.adapt.test_training import stopping
from tests.support.small_domain import NEW, QUICK, paraphrases, write_domain
from tests.support.tiny_models import make_bert

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_domain(tmp_path_factory.mktemp("domain") / "days")


def columns(model: Path) -> dict[str, np.ndarray]:
    names = (model / "loss.csv").read_text().split("\n")[0].split(",")
    return dict(zip(names, np.loadtxt(model / "loss.csv", delimiter=",", skiprows=1).T, strict=True))


# ---------------------------------------------------------------------------- the losses


def test_the_contrast_by_hand() -> None:
    """Cosines 1, 0, .6 and -1: of one paragraph 1 − 1 and 1 − 0; of two documents .6 and nothing. Mean: 1.6 / 4."""
    import torch

    from rprs.adapt.sdr import contrastive

    left = torch.tensor([[2.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    right = torch.tensor([[1.0, 0.0], [0.0, 3.0], [3.0, 4.0], [-1.0, 0.0]])
    same = torch.tensor([True, True, False, False])
    assert float(contrastive(left, right, same)) == pytest.approx(0.4)
    assert float(contrastive(left, right, same, margin=0.5)) == pytest.approx((0 + 1 + 0.1 + 0) / 4)


def test_tokens_are_masked_as_in_bert() -> None:
    from rprs.adapt.sdr import masked

    ids = np.full((200, 500), 7)
    free = np.ones_like(ids, dtype=bool)
    free[:, 0] = False
    hidden, labels = masked(ids, free, 4, 1000, np.random.default_rng(0))
    is_masked = labels != -100
    assert is_masked.mean() == pytest.approx(0.15, abs=0.005)
    assert not is_masked[:, 0].any()
    assert (labels[is_masked] == 7).all()
    assert (hidden[~is_masked] == 7).all()
    shares = [(hidden[is_masked] == 4).mean(), (hidden[is_masked] == 7).mean()]
    assert shares == pytest.approx([0.8, 0.1], abs=0.01)
    short, short_labels = masked(ids[:, :3], free[:, :3], 4, 1000, np.random.default_rng(1))
    assert ((short_labels != -100).sum(axis=1) >= 1).all()
    assert short.shape == (200, 3)


def test_half_of_the_pairs_are_from_one_paragraph_and_half_from_two_documents(domain: Path, tmp_path: Path) -> None:
    from rprs.adapt.model import load_base
    from rprs.adapt.sdr import Pretraining
    from rprs.adapt.sources import sample

    corpus = sample(domain, 200, unit="paragraph")
    base = load_base(NEW, tmp_path / "base", corpus.sentences)
    task = Pretraining(base, corpus, 16, 1.0, 0.0, 64, 0)
    paragraphs = [set(group) for group in corpus.groups]
    for step in range(20):
        texts, same = task.pairs(np.random.default_rng((0, step)))
        assert same.tolist() == [True] * 4 + [False] * 4
        for left, right, together in zip(texts[:8], texts[8:], same, strict=True):
            assert left != right or not together
            shared = any({left, right} <= paragraph for paragraph in paragraphs)
            assert shared or not together
    first, again = (task.pairs(np.random.default_rng((0, 3))) for _ in range(2))
    assert first[0] == again[0]


def test_the_masked_lm_loss_equals_that_of_transformers(domain: Path, tmp_path: Path) -> None:
    import torch

    from rprs.adapt.model import load_base
    from rprs.adapt.sdr import Pretraining, masked
    from rprs.adapt.sources import sample
    from rprs.adapt.training import epoch_batch

    corpus = sample(domain, 16)
    task = Pretraining(load_base(NEW, tmp_path / "base", corpus.sentences), corpus, 16, 0.0, 0.0, 64, 0)
    task.module.eval()
    (losses,) = task.losses(0)
    texts = [corpus.sentences[number] for number in epoch_batch(0, 0, 16, 16)[1]]
    tokens = task.words(texts, padding=True, return_tensors="pt")
    free = ~np.isin(tokens["input_ids"].numpy(), task.words.all_special_ids)
    random = np.random.default_rng((0, 0))
    hidden, labels = masked(tokens["input_ids"].numpy(), free, task.words.mask_token_id, len(task.words), random)
    whole = {**tokens, "input_ids": torch.from_numpy(hidden), "labels": torch.from_numpy(labels)}
    assert float(losses["masked"].detach()) == pytest.approx(float(task.module(**whole).loss.detach()), rel=1e-5)


# ---------------------------------------------------------------------------- training


def test_both_losses_fall_and_paragraphs_come_together(domain: Path, tmp_path: Path) -> None:
    from rprs.adapt.sdr import sdr

    model = sdr(domain, NEW, tmp_path / "to", sentences=240, epochs=10, batch=16, rate=3e-3).folder
    losses = columns(model)
    quarter = len(losses["step"]) // 4
    for name in ("masked", "contrast"):
        assert losses[name][-quarter:].mean() < 0.9 * losses[name][:quarter].mean()
    encoder = Onnx(str(model), "fp32").load()
    one, other = paraphrases()
    cosines = encoder.encode(one) @ encoder.encode(other).T
    assert cosines.diagonal().mean() > cosines[~np.eye(len(one), dtype=bool)].mean() + 0.1
    about = json.loads((model / "adapted.json").read_text())
    assert (about["method"], about["contrast"], about["pairs"]) == ("sdr", 1.0, False)


def test_without_contrast_it_is_masked_lm_and_resumes_to_the_same_weights(domain: Path, tmp_path: Path) -> None:
    from rprs.adapt.sdr import sdr

    with pytest.raises(KeyboardInterrupt):
        sdr(domain, NEW, tmp_path / "broken", contrast=0, **QUICK, progress=stopping(7))
    assert (tmp_path / "broken.work/checkpoint.pt").is_file()
    broken = sdr(domain, NEW, tmp_path / "broken", contrast=0, **QUICK).folder
    whole = sdr(domain, NEW, tmp_path / "whole", contrast=0, **QUICK).folder
    assert (broken / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert (broken / "loss.csv").read_text() == (whole / "loss.csv").read_text()
    assert list(columns(whole)) == ["step", "masked"]
    other = sdr(domain, NEW, tmp_path / "other", contrast=0, **QUICK, seed=1).folder
    assert (other / "model.safetensors").read_bytes() != (whole / "model.safetensors").read_bytes()


def test_tsdae_continues_from_its_output(domain: Path, tmp_path: Path) -> None:
    """Masked-LM pre-training leaves the language-model head in the folder, and TSDAE's decoder starts from it."""
    from safetensors.numpy import load_file

    from rprs.adapt.sdr import sdr
    from rprs.adapt.tsdae import tsdae

    plain = sdr(domain, NEW, tmp_path / "plain", contrast=0, **QUICK).folder
    assert "cls.predictions.transform.dense.weight" in load_file(plain / "model.safetensors")
    notices: list[str] = []
    result = tsdae(domain, str(plain), tmp_path / "to", sentences=8, notify=notices.append)
    assert notices == []
    assert result.about["pairs"] is False


def test_another_family_is_exported_by_torch(domain: Path, tmp_path: Path) -> None:
    """DistilBERT's graph is not one that rprs builds itself."""
    import transformers

    from rprs.adapt.sdr import sdr
    from rprs.adapt.tsdae import tsdae
    from rprs.encode.sbert import SBert

    base = make_bert(tmp_path / "base", positions=64)
    size = json.loads((base / "config.json").read_text())["vocab_size"]
    for name in ("config.json", "model.safetensors"):
        (base / name).unlink()
    config = transformers.DistilBertConfig(
        vocab_size=size, dim=32, n_layers=1, n_heads=4, hidden_dim=64, max_position_embeddings=64
    )
    transformers.DistilBertModel(config).save_pretrained(base)
    with pytest.raises(ModelError, match=r"TSDAE has no decoder for .*: choose a base of the BERT family"):
        tsdae(domain, str(base), tmp_path / "none", sentences=8)
    model = str(sdr(domain, str(base), tmp_path / "to", contrast=0, sentences=8).folder)
    texts = [*paraphrases()[0], "A cat and a dog on a mat"]
    torch, onnx = SBert(model).load(), Onnx(model, "fp32").load()
    assert np.einsum("ij,ij->i", torch.encode(texts), onnx.encode(texts)).min() > 0.9999


def test_a_wrong_export_is_detected(tmp_path: Path) -> None:
    from rprs.adapt.export import check_graph

    vectors = np.eye(3, 8)
    check_graph(vectors + 1e-6, vectors)
    with pytest.raises(ModelError, match=r"differs from torch's by 1\.0e-02"):
        check_graph(vectors * 1.01, vectors)
    with pytest.raises(ModelError, match="differs from torch's by nan"):
        check_graph(vectors * np.nan, vectors)


def test_a_base_trained_on_pairs_causes_a_warning(domain: Path, tmp_path: Path) -> None:
    from rprs.adapt.sdr import sdr

    base = make_bert(tmp_path / "base", positions=64)
    (base / "modules.json").write_text("[]")
    notices: list[str] = []
    sdr(domain, str(base), tmp_path / "to", sentences=8, notify=notices.append)
    assert notices == [
        f"{base} was already trained on pairs of sentences: SDR helps plain models, and mostly harms such models"
    ]


def test_an_invalid_setting_is_one_line(domain: Path, tmp_path: Path) -> None:
    from rprs.adapt.sdr import sdr

    with pytest.raises(UsageError, match="a multiple of 4"):
        sdr(domain, NEW, tmp_path / "to", batch=6)
    with pytest.raises(UsageError, match="SDR needs contrast of 0 or more"):
        sdr(domain, NEW, tmp_path / "to", contrast=-1)
    (tmp_path / "one.txt").write_text("The boat is late. It rains at night.")
    with pytest.raises(UsageError, match="sentences of one document alone: pairs need two, or contrast=0"):
        sdr(tmp_path / "one.txt", NEW, tmp_path / "to")
