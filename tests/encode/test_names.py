"""Encoders of the paper by name: their files on a hub, their vectors, and one-line errors without a hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from safetensors.numpy import load_file, save_file

from rprs.encode import models
from rprs.encode.fitted import Fitted
from rprs.encode.folder import obstacle, positions, tokenizer
from rprs.encode.graph import build, build_cross
from rprs.encode.hub import repository
from rprs.encode.onnx import Onnx, OnnxEncoder
from rprs.encode.pairs import load_pairs
from rprs.encode.runtime import BATCH
from rprs.encode.sbert import SBert
from rprs.errors import ModelError, UsageError
from rprs.spec import parse, text
from tests.support.hub_server import serving
from tests.support.tiny_models import WORDS, load_encoder, make_bert, make_cross, make_mpnet

SENTENCES = [" ".join(WORDS[i : i + 7]) for i in range(8)]
MODULES = ("Transformer", "Pooling", "Normalize")
REPOSITORIES = {
    "all-mpnet-base-v2": "sentence-transformers/all-mpnet-base-v2",
    "multi-qa-mpnet-base-dot-v1": "sentence-transformers/multi-qa-mpnet-base-dot-v1",
    "all-distilroberta-v1": "sentence-transformers/all-distilroberta-v1",
    "all-MiniLM-L12-v2": "sentence-transformers/all-MiniLM-L12-v2",
    "legal-bert": "nlpaueb/legal-bert-base-uncased",
    "bert-for-patents": "anferico/bert-for-patents",
    "roberta-large": "FacebookAI/roberta-large",
}
EXPORTED = "somebody/exported"


# ---------------------------------------------------------------------------- small models of each shape


def change(folder: Path, file: str = "config.json", **values: object) -> Path:
    path = folder / file
    path.write_text(json.dumps({**(json.loads(path.read_text()) if path.exists() else {}), **values}))
    return folder


def with_modules(folder: Path, *kinds: str) -> Path:
    listed = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    return folder


def roberta(folder: Path, prefix: str = "") -> Path:
    """The small BERT as a RoBERTa: the same weights, preceded by two unused positions, and one type."""
    make_bert(folder, positions=24)
    weights = load_file(folder / "model.safetensors")
    table = weights["embeddings.position_embeddings.weight"]
    weights["embeddings.position_embeddings.weight"] = np.vstack([np.full((2, 32), 9, np.float32), table])
    weights["embeddings.token_type_embeddings.weight"] = weights["embeddings.token_type_embeddings.weight"][:1].copy()
    tensors = {f"{prefix}{name}": array for name, array in weights.items()}
    save_file({**tensors, "lm_head.bias": np.zeros(3, np.float32)} if prefix else tensors, folder / "model.safetensors")
    return change(folder, model_type="roberta", max_position_embeddings=26, pad_token_id=1, type_vocab_size=1)


def exported(folder: Path) -> Path:
    """A model that must be exported as a graph, from ids and mask to token vectors."""
    make_bert(folder, positions=24)
    graph = build(folder, "fp32", "mean")
    tokens = next(node.output[0] for node in reversed(graph.graph.node) if node.op_type == "Reshape")
    del graph.graph.output[:]
    graph.graph.output.append(helper.make_tensor_value_info(tokens, onnx.TensorProto.FLOAT, ["b", "l", "width"]))
    mask = helper.make_tensor_value_info("attention_mask", onnx.TensorProto.INT64, ["b", "l"])
    graph.graph.input.append(mask)
    (folder / "onnx").mkdir()
    onnx.save(graph, folder / "onnx/model.onnx")
    return with_modules(change(folder, model_type="distilbert"), *MODULES)


def words_only(folder: Path) -> Path:
    """A tokenizer of the oldest kind: a list of word pieces."""
    vocabulary = tokenizer(folder).get_vocab()
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)) + "\n")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    return folder


def plain_bert(folder: Path) -> Path:
    """BERT as first published: a minimal config, old names of weights, no files of sentence-transformers."""
    words_only(make_bert(folder))
    (folder / "1_Pooling/config.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    for name in ("layer_norm_eps", "position_embedding_type", "pad_token_id"):
        del config[name]
    (folder / "config.json").write_text(json.dumps(config))
    old = {".LayerNorm.weight": ".LayerNorm.gamma", ".LayerNorm.bias": ".LayerNorm.beta"}
    weights = {}
    for name, array in load_file(folder / "model.safetensors").items():
        end = next((end for end in old if name.endswith(end)), "")
        weights[f"bert.{name.removesuffix(end)}{old.get(end, '')}"] = array
    save_file(weights, folder / "model.safetensors")
    return folder


def legal(folder: Path) -> Path:
    words_only(make_bert(folder))
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    return folder


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small models with the architectures of the paper's models, under the names of their repositories."""
    root = tmp_path_factory.mktemp("hub")
    at = {name: root / place for name, place in REPOSITORIES.items()}
    with_modules(make_mpnet(at["all-mpnet-base-v2"]), *MODULES)
    with_modules(make_mpnet(at["multi-qa-mpnet-base-dot-v1"], pooling="cls"), *MODULES[:2])
    with_modules(roberta(at["all-distilroberta-v1"]), *MODULES)
    with_modules(make_bert(at["all-MiniLM-L12-v2"]), *MODULES)
    legal(at["legal-bert"])
    plain_bert(at["bert-for-patents"])
    roberta(at["roberta-large"], "roberta.")
    exported(root / EXPORTED)
    cross = make_cross(root / "somebody/cross")
    (cross / "onnx").mkdir()
    onnx.save(build_cross(cross), cross / "onnx/model.onnx")
    return root


# ---------------------------------------------------------------------------- the hub


@pytest.fixture(scope="module")
def hub(shelf: Path) -> Iterator[str]:
    with serving(shelf) as address:
        yield address


LOAD = """
import json, sys
import numpy as np
from rprs.encode import models
from rprs.encode.onnx import Onnx
from rprs.encode.pairs import load_pairs
from rprs.errors import ModelError
names, sentences = json.load(sys.stdin)
results, errors = {}, {}
for name in names:
    try:
        results[name] = Onnx(name, "fp32").load().encode(sentences)
    except ModelError as error:
        errors[name] = str(error)
results["cross"] = load_pairs("somebody/cross").score(sentences, sentences[::-1]).scores
np.savez(sys.argv[1], **results)
again = [str(models.find(name, weights=models.for_torch)) for name in ("legal-bert", "somebody/exported")]
print(json.dumps([errors, again]))
"""


def test_each_name_is_downloaded_and_run_as_its_folder_specifies(shelf: Path, hub: str, tmp_path: Path) -> None:
    cache, vectors = tmp_path / "cache", tmp_path / "vectors.npz"
    environment = {"RPRS_CACHE": str(cache), "HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "0", "NO_PROXY": "127.0.0.1"}
    process = subprocess.run(
        [sys.executable, "-c", LOAD, str(vectors)],
        env={**{name: value for name, value in os.environ.items() if name != "RPRS_MODELS"}, **environment},
        input=json.dumps([[*REPOSITORIES, EXPORTED], SENTENCES]),
        text=True,
        capture_output=True,
    )
    assert process.returncode == 0, process.stderr
    errors, again = json.loads(process.stdout)
    # A model that needs torch is reported before its weights are downloaded.
    assert errors == {
        "legal-bert": "Cannot download the model 'legal-bert' (the hub's nlpaueb/legal-bert-base-uncased has no "
        "model.safetensors or onnx/model.onnx): use sbert(legal-bert)"
    }
    with pytest.MonkeyPatch.context() as patch, np.load(vectors) as results:
        patch.setenv("RPRS_CACHE", str(tmp_path / "own"))
        assert set(results) == {*REPOSITORIES, EXPORTED, "cross"} - set(errors)
        here = load_pairs(str(shelf / "somebody/cross"))
        assert np.allclose(results["cross"], here.score(SENTENCES, SENTENCES[::-1]).scores, atol=1e-6)
        for name in set(results) - {"cross"}:
            rows = results[name]
            assert np.array_equal(rows, Onnx(str(shelf / repository(name)), "fp32").load().encode(SENTENCES)), name
            assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    folders = {folder.name: folder for folder in (cache / "models").iterdir() if folder.is_dir()}
    weights = {
        name: {
            str(file.relative_to(folder)) for file in folder.rglob("model*") if file.suffix in (".safetensors", ".onnx")
        }
        for name, folder in folders.items()
    }
    assert weights == {
        "all-mpnet-base-v2": {"model.safetensors"},
        "multi-qa-mpnet-base-dot-v1": {"model.safetensors"},
        "all-distilroberta-v1": {"model.safetensors"},
        "all-MiniLM-L12-v2": {"model.safetensors"},
        "nlpaueb--legal-bert-base-uncased": set(),
        "anferico--bert-for-patents": {"model.safetensors"},
        "FacebookAI--roberta-large": {"model.safetensors"},
        "somebody--cross": {"onnx/model.onnx"},
        "somebody--exported": {"onnx/model.onnx", "model.safetensors"},  # the second one later, for torch
    }
    assert again == [str(folders["nlpaueb--legal-bert-base-uncased"]), str(folders["somebody--exported"])]
    assert (folders["nlpaueb--legal-bert-base-uncased"] / "pytorch_model.bin").is_file()


def test_repositories_of_names_and_folders(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {name: repository(name) for name in REPOSITORIES} == REPOSITORIES
    assert repository("somebody/model") == "somebody/model"
    monkeypatch.setenv("RPRS_MODELS", str(shelf))
    assert models.find("legal-bert") == shelf / "nlpaueb/legal-bert-base-uncased"


@pytest.mark.parametrize("name", ["legal-bert", "all-mpnet-base-v2"])
def test_a_missing_hub_is_a_one_line_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError) as caught:
        Onnx(name).load()
    assert str(caught.value) == (
        f"Cannot download the model {name!r} (HF_HUB_OFFLINE is set): "
        "copy its folder to this machine and give the path of the folder"
    )


# ---------------------------------------------------------------------------- the configuration of a folder


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("config", "window"),
    [
        ({"model_type": "mpnet", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "bert", "max_position_embeddings": 512, "pad_token_id": 0}, 512),
        ({"model_type": "distilbert", "max_position_embeddings": 512, "pad_token_id": 0}, 512),
        ({}, 512),
    ],
)
def test_the_number_of_input_tokens_depends_on_the_first_position(config: dict[str, Any], window: int) -> None:
    assert positions(config) == window


def test_the_config_decides_whether_a_graph_can_be_built() -> None:
    assert obstacle({"model_type": "roberta"}) == ""
    assert obstacle({"model_type": "mpnet"}) == ""
    assert obstacle({"model_type": "distilbert"}) == "its model_type is 'distilbert'"
    assert obstacle({"hidden_act": "relu"}) == "its hidden_act is 'relu'"


def test_dot_product_models_have_unit_vectors_with_their_own_pooling(shelf: Path, own_cache: None) -> None:
    mean, cls = (
        Onnx(str(shelf / REPOSITORIES[name]), "fp32").load()
        for name in ("all-mpnet-base-v2", "multi-qa-mpnet-base-dot-v1")
    )
    assert (mean.window, mean.pooling, mean.dimension) == (24, "mean", 32)
    assert (cls.window, cls.pooling) == (24, "cls")
    rows = cls.encode(SENTENCES)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert np.einsum("ij,ij->i", rows, mean.encode(SENTENCES)).max() < 0.999


def test_positions_of_roberta_are_counted_from_two(shelf: Path, tmp_path: Path, own_cache: None) -> None:
    twin = Onnx(str(make_bert(tmp_path / "bert", positions=24)), "fp32").load()
    for name in ("all-distilroberta-v1", "roberta-large"):
        roberta = Onnx(str(shelf / REPOSITORIES[name]), "fp32").load()
        assert roberta.window == 24
        assert np.allclose(roberta.encode(SENTENCES), twin.encode(SENTENCES), atol=1e-6)


def test_a_bert_as_first_published_is_supported(shelf: Path, tmp_path: Path, own_cache: None) -> None:
    twin, folder = make_bert(tmp_path / "bert"), shelf / REPOSITORIES["bert-for-patents"]
    sentences = [*SENTENCES, "The Court, and the CAT's mat: cafe!", ""]
    assert [tokenizer(folder).encode(each).ids for each in sentences] == [
        tokenizer(twin).encode(each).ids for each in sentences
    ]
    assert np.array_equal(
        Onnx(str(folder), "fp32").load().encode(sentences), Onnx(str(twin), "fp32").load().encode(sentences)
    )
    change(words_only(twin), "tokenizer_config.json", do_lower_case=False)
    assert tokenizer(twin).encode("The").ids != tokenizer(folder).encode("The").ids


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_weights_take_precedence_over_a_graph(tmp_path: Path, own_cache: None, precision: str) -> None:
    weights, both = make_bert(tmp_path / "weights"), make_bert(tmp_path / "both")
    (both / "model.onnx").write_bytes(build(both, "fp32", "mean").SerializeToString())
    one, other = (load_encoder(f"onnx({folder},{precision})") for folder in (weights, both))
    assert isinstance(other, OnnxEncoder)
    assert other.batch == BATCH
    assert one.fingerprint == other.fingerprint
    assert np.array_equal(one.encode(SENTENCES), other.encode(SENTENCES))


# ---------------------------------------------------------------------------- teachers


def test_a_teacher_may_be_a_folder_or_the_name_of_a_model() -> None:
    assert parse("encoder", "fitted(teacher=my/own/folder)") == Fitted(Onnx("my/own/folder"))
    assert parse("encoder", 'fitted(teacher="my own folder", sample=500)') == Fitted(Onnx("my own folder"), 500)
    assert parse("encoder", "fitted(legal-bert)") == Fitted(Onnx("legal-bert"))
    assert parse("encoder", "fitted(teacher=2024)") == Fitted(Onnx("2024"))
    assert parse("encoder", "fitted(teacher=onnx)") == Fitted()
    assert parse("encoder", "fitted(teacher=sbert(x))") == Fitted(SBert("x"))
    description = text(parse("encoder", "fitted(teacher=folder)"))
    assert description == "fitted(teacher=onnx(model=folder))"
    assert parse("encoder", description) == Fitted(Onnx("folder"))
    with pytest.raises(UsageError, match="There is no encoder named 'onxx'"):
        parse("encoder", "fitted(teacher=onxx(folder))")


# ---------------------------------------------------------------------------- with torch


@pytest.mark.torch
@pytest.mark.parametrize("name", ["all-MiniLM-L12-v2", "bert-for-patents"])
def test_sbert_finds_models_by_name_in_rprs_models(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, own_cache: None, name: str
) -> None:
    monkeypatch.setenv("RPRS_MODELS", str(shelf))
    sbert, onnx_ = SBert(name).load(), Onnx(name, "fp32").load()
    assert np.einsum("ij,ij->i", sbert.encode(SENTENCES), onnx_.encode(SENTENCES)).min() > 0.9999


@pytest.mark.torch
def test_a_real_mpnet_counts_positions_from_two(tmp_path: Path) -> None:
    """As many tokens as the window allows can be run; one more exceeds the table of positions."""
    import torch
    import transformers

    config = transformers.MPNetConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=26,
    )
    config.save_pretrained(tmp_path)
    window = positions(json.loads((tmp_path / "config.json").read_text()))
    model = transformers.MPNetModel(config).eval()
    with torch.no_grad():
        assert model(torch.full((1, window), 5)).last_hidden_state.shape == (1, 24, 32)
        with pytest.raises(IndexError):
            model(torch.full((1, window + 1), 5))
