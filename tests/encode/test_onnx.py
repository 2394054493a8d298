"""Transformers in ONNX Runtime: deterministic, without truncation, equal to torch; BERT, MPNet and exported models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rprs.encode import models
from rprs.encode.graph import build
from rprs.encode.onnx import Onnx, OnnxEncoder
from rprs.errors import ModelError, UsageError
from rprs.spec import parse
from rprs.testing.encoders import SENTENCES, check_encoder
from tests.support.tiny_models import WORDS, load_encoder, make_bert, make_mpnet


@pytest.fixture(autouse=True)
def own_cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files derived from the small models are deleted after the test; MiniLM is downloaded once and kept."""
    if "minilm" not in request.fixturenames:
        monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def minilm() -> dict[str, OnnxEncoder]:
    return {"int8": Onnx().load(), "fp32": Onnx(precision="fp32").load()}


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    values: NDArray[np.float32] = np.einsum("ij,ij->i", left, right)
    return values


def long(words: int) -> str:
    return " ".join(WORDS[i * i % len(WORDS)] for i in range(words))


# ---------------------------------------------------------------------------- MiniLM


def test_minilm_fulfils_the_contract_to_the_last_bit(minilm: dict[str, OnnxEncoder]) -> None:
    check_encoder(minilm["int8"])


def test_a_vector_in_fp32_depends_only_on_its_text(minilm: dict[str, OnnxEncoder]) -> None:
    together = minilm["fp32"].encode([*SENTENCES, *(f"{sentence} Again." for sentence in SENTENCES)])
    alone = np.concatenate([minilm["fp32"].encode([sentence]) for sentence in SENTENCES])
    assert np.array_equal(together[: len(SENTENCES)], alone)


def test_minilm_recognises_similar_sentences(minilm: dict[str, OnnxEncoder]) -> None:
    rent, due, weld = minilm["int8"].encode(SENTENCES[:3])
    assert rent @ due > 0.7 > 0.3 > rent @ weld


def test_int8_is_close_to_fp32(minilm: dict[str, OnnxEncoder]) -> None:
    texts = [sentence for sentence in SENTENCES if sentence.isascii()]
    assert cosines(minilm["int8"].encode(texts), minilm["fp32"].encode(texts)).min() > 0.98


def test_precisions_have_their_own_fingerprints(minilm: dict[str, OnnxEncoder]) -> None:
    assert minilm["int8"].fingerprint != minilm["fp32"].fingerprint
    assert Onnx().load().fingerprint == minilm["int8"].fingerprint


@pytest.mark.torch
def test_parity_with_sentence_transformers(minilm: dict[str, OnnxEncoder]) -> None:
    import sentence_transformers

    model = sentence_transformers.SentenceTransformer(str(models.find(models.DEFAULT)), device="cpu")
    texts = [f"{a} {b}" for a in SENTENCES for b in SENTENCES if len(a) + len(b) < 400]
    reference = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    assert cosines(minilm["fp32"].encode(texts), reference).min() > 0.9999
    assert cosines(minilm["int8"].encode(texts), reference).min() > 0.98


# ---------------------------------------------------------------------------- a BERT in a folder


@pytest.mark.parametrize("precision", ["int8", "fp32"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_folder_with_a_bert_fulfils_the_contract(tmp_path: Path, precision: str, pooling: str) -> None:
    folder = make_bert(tmp_path / "tiny", pooling=pooling)
    check_encoder(load_encoder(f"onnx({folder},{precision})"))


def test_pooling_is_defined_by_the_folder(tmp_path: Path) -> None:
    mean, cls = (Onnx(str(make_bert(tmp_path / mode, pooling=mode)), "fp32").load() for mode in ("mean", "cls"))
    assert cosines(mean.encode([long(5)]), cls.encode([long(5)]))[0] < 0.999
    assert mean.fingerprint != cls.fingerprint


def test_the_window_is_defined_by_the_folder(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "tiny", positions=24)
    assert Onnx(str(folder)).load().window == 24
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 10}')
    assert Onnx(str(folder)).load().window == 10


def test_windows_are_averaged_by_their_tokens(tmp_path: Path) -> None:
    """Fifty tokens in windows of 22 (24 without [CLS] and [SEP]): three parts of 16, 17 and 17 tokens."""
    encoder = Onnx(str(make_bert(tmp_path / "tiny", positions=24)), "fp32").load()
    words = long(50).split()
    parts = [" ".join(words[:16]), " ".join(words[16:33]), " ".join(words[33:])]
    total = np.array([18, 19, 19], dtype=np.float32) @ encoder.encode(parts)
    assert np.allclose(encoder.encode([" ".join(words)])[0], total / np.linalg.norm(total), atol=1e-6)


def test_the_fingerprint_depends_on_the_weights(tmp_path: Path) -> None:
    one, other = (make_bert(tmp_path / name, layers=layers) for name, layers in (("one", 1), ("two", 2)))
    assert Onnx(str(one)).load().fingerprint != Onnx(str(other)).load().fingerprint


# ---------------------------------------------------------------------------- an MPNet in a folder


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_a_folder_with_an_mpnet_fulfils_the_contract(tmp_path: Path, precision: str) -> None:
    check_encoder(load_encoder(f"onnx({make_mpnet(tmp_path / 'tiny')},{precision})"))


def test_an_mpnet_is_a_bert_that_also_weighs_distances(tmp_path: Path) -> None:
    bert, equal, weighed = (
        Onnx(str(folder), "fp32").load().encode([long(n) for n in range(1, 20)])
        for folder in (
            make_bert(tmp_path / "bert"),
            make_mpnet(tmp_path / "equal", distances=0),
            make_mpnet(tmp_path / "weighed"),
        )
    )
    assert np.allclose(equal, bert, atol=1e-6)
    assert cosines(weighed, bert).max() < 0.9999


@pytest.mark.torch
def test_an_mpnet_has_the_vectors_of_torch(tmp_path: Path) -> None:
    """Also for tokens so far apart that MPNet does not distinguish their distances."""
    import torch
    import transformers

    folder = make_mpnet(tmp_path / "tiny", positions=300)
    encoder = Onnx(str(folder), "fp32").load()
    model = transformers.MPNetModel.from_pretrained(folder).eval()
    for length in (1, 7, 30, 290):
        ids = torch.tensor([encoder.words.encode(long(length)).ids])
        with torch.no_grad():
            reference = model(ids).last_hidden_state.mean(1).numpy()
        reference /= np.linalg.norm(reference)
        assert np.allclose(encoder.encode([long(length)]), reference, atol=1e-5)


# ---------------------------------------------------------------------------- an exported model.onnx


def exported(tmp_path: Path, pooled: bool) -> Path:
    """The small BERT as an exported graph, from ids and mask to token vectors or a sentence vector."""
    import onnx
    from onnx import helper

    folder = make_bert(tmp_path / "exported")
    graph = build(folder, "fp32", "mean")
    if not pooled:
        tokens = next(node.output[0] for node in reversed(graph.graph.node) if node.op_type == "Reshape")
        del graph.graph.output[:]
        graph.graph.output.append(helper.make_tensor_value_info(tokens, onnx.TensorProto.FLOAT, ["b", "l", 32]))
    (folder / "onnx").mkdir()
    onnx.save(graph, folder / "onnx/model.onnx")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_an_exported_model_is_used_unchanged(tmp_path: Path, pooled: bool, precision: str) -> None:
    reference = Onnx(str(make_bert(tmp_path / "built")), "fp32").load()
    encoder = load_encoder(f"onnx({exported(tmp_path, pooled)},{precision})")
    check_encoder(encoder, tolerance=1e-6)
    texts = [long(n) for n in range(1, 40)]
    assert cosines(encoder.encode(texts), reference.encode(texts)).min() > (0.98 if precision == "int8" else 0.99999)


# ---------------------------------------------------------------------------- mistakes


def change(folder: Path, file: str, **values: object) -> Path:
    path = folder / file
    path.write_text(json.dumps({**(json.loads(path.read_text()) if path.exists() else {}), **values}))
    return folder


def test_a_model_that_is_not_a_bert_is_an_error_with_advice(tmp_path: Path) -> None:
    folder = change(make_bert(tmp_path / "tiny"), "config.json", model_type="deberta-v2")
    with pytest.raises(ModelError, match=r"model_type is 'deberta-v2'.*use sbert"):
        Onnx(str(folder)).load()


def test_an_unknown_pooling_is_an_error(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "tiny", pooling="max")
    with pytest.raises(ModelError, match="cannot pool by max"):
        Onnx(str(folder)).load()


def test_an_unknown_module_is_an_error(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "tiny")
    (folder / "modules.json").write_text(
        json.dumps([{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])
    )
    with pytest.raises(ModelError, match="has a module Dense"):
        Onnx(str(folder)).load()


@pytest.mark.parametrize("missing", ["tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path, missing: str) -> None:
    folder = make_bert(tmp_path / "tiny")
    (folder / missing).unlink()
    with pytest.raises(ModelError, match=f"{missing}|weights"):
        Onnx(str(folder)).load()
    shutil.rmtree(folder)


@pytest.mark.parametrize("text", ["onnx(precision=int4)", "onnx(model='')"])
def test_invalid_parameters_are_errors(text: str) -> None:
    with pytest.raises(UsageError, match="parameter of onnx must be"):
        parse("encoder", text)
