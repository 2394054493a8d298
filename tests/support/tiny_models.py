"""Small BERT and MPNet models with random weights and a vocabulary of a few words, written as model folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from rprs.encode import Encoder, Loadable
from rprs.spec import parse

__all__ = ["WORDS", "load_encoder", "make_bert", "make_cross", "make_mpnet"]

WORDS = "the a court tenant pays rent of steel laser welds and dismissed appeal month first cat dog mat".split()


def load_encoder(text: str) -> Encoder:
    """The loaded encoder that a text describes."""
    encoder = parse("encoder", text)
    assert isinstance(encoder, Loadable)
    return encoder.load()


def make_bert(folder: Path, *, width: int = 32, layers: int = 2, positions: int = 24, pooling: str = "mean") -> Path:
    """Write config, weights, tokenizer and pooling of a model with a window of `positions` tokens."""
    (folder / "1_Pooling").mkdir(parents=True)
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *WORDS,
        *"abcdefghijklmnopqrstuvwxyz",
        *(f"##{c}" for c in "abcdefgxyz"),
    ]
    vocabulary = list(dict.fromkeys(vocabulary))
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_act": "gelu",
        "hidden_size": width,
        "intermediate_size": 2 * width,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": positions,
        "num_attention_heads": 4,
        "num_hidden_layers": layers,
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
        "type_vocab_size": 2,
        "vocab_size": len(vocabulary),
    }
    (folder / "config.json").write_text(json.dumps(config))
    modes = {f"pooling_mode_{mode}": mode.startswith(pooling) for mode in ("cls_token", "mean_tokens", "max_tokens")}
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": width, **modes}))
    save_file(_weights(width, layers, positions, len(vocabulary)), folder / "model.safetensors")
    _tokenizer(vocabulary).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "pad_token": "[PAD]"})
    )
    return folder


def make_cross(folder: Path, *, width: int = 32, layers: int = 2, positions: int = 24, labels: int = 1) -> Path:
    """A model with a pooler and a classifier, as transformers saves a BertForSequenceClassification."""
    make_bert(folder, width=width, layers=layers, positions=positions)
    random = np.random.default_rng(labels)
    head = {"bert.pooler.dense": (width, width), "classifier": (labels, width)}
    weights = {f"bert.{name}": array for name, array in load_file(folder / "model.safetensors").items()}
    for name, shape in head.items():
        weights[f"{name}.weight"] = random.normal(0, 0.3, shape).astype(np.float32)
        weights[f"{name}.bias"] = random.normal(0, 0.1, shape[:1]).astype(np.float32)
    save_file(weights, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["BertForSequenceClassification"]
    config["id2label"] = {str(number): f"LABEL_{number}" for number in range(labels)}
    config["label2id"] = {f"LABEL_{number}": number for number in range(labels)}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def make_mpnet(folder: Path, *, positions: int = 24, pooling: str = "mean", distances: float = 1.0) -> Path:
    """The small BERT as an MPNet: two unused positions, no types, and weights of this size for distances of tokens."""
    make_bert(folder, positions=positions, pooling=pooling)
    weights = load_file(folder / "model.safetensors")
    type_row = weights.pop("embeddings.token_type_embeddings.weight")[0]
    table = weights["embeddings.position_embeddings.weight"] + type_row
    weights["embeddings.position_embeddings.weight"] = np.vstack([np.full_like(table[:2], 9), table])
    weights = {_mpnet_name(name): array for name, array in weights.items()}
    bias = np.random.default_rng(3).normal(0, 1, (32, 4)) * distances
    weights["encoder.relative_attention_bias.weight"] = bias.astype(np.float32)
    save_file(weights, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    for name in ("type_vocab_size", "position_embedding_type"):
        del config[name]
    config |= {"model_type": "mpnet", "architectures": ["MPNetModel"], "relative_attention_num_buckets": 32}
    config |= {"max_position_embeddings": positions + 2, "pad_token_id": 1}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def _mpnet_name(name: str) -> str:
    for part, own in (("self.query", "attn.q"), ("self.key", "attn.k"), ("self.value", "attn.v")):
        name = name.replace(f"attention.{part}", f"attention.{own}")
    return name.replace("attention.output.dense", "attention.attn.o").replace("attention.output.", "attention.")


def _weights(width: int, layers: int, positions: int, vocabulary: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    shapes = {
        "embeddings.word_embeddings": (vocabulary, width),
        "embeddings.position_embeddings": (positions, width),
        "embeddings.token_type_embeddings": (2, width),
        "embeddings.LayerNorm": (width,),
    }
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        shapes |= {f"{layer}.attention.self.{part}": (width, width) for part in ("query", "key", "value")}
        shapes |= {f"{layer}.attention.output.dense": (width, width), f"{layer}.attention.output.LayerNorm": (width,)}
        shapes |= {f"{layer}.intermediate.dense": (2 * width, width), f"{layer}.output.dense": (width, 2 * width)}
        shapes |= {f"{layer}.output.LayerNorm": (width,)}
    weights: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        norm = name.endswith("LayerNorm")
        weights[f"{name}.weight"] = (norm + random.normal(0, 0.3, shape)).astype(np.float32)
        if not name.endswith("_embeddings"):
            weights[f"{name}.bias"] = random.normal(0, 0.1, shape[:1]).astype(np.float32)
    return weights


def _tokenizer(vocabulary: list[str]) -> Tokenizer:
    numbers = {word: number for number, word in enumerate(vocabulary)}
    words = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    words.normalizer = normalizers.BertNormalizer()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])],
    )
    return words
