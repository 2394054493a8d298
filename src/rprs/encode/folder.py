"""What the folder of a model says: its kind, how many tokens it takes at once, its tokenizer, its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rprs.encode.hub import Config, read_config
from rprs.encode.loading import plainly
from rprs.errors import ModelError
from rprs.files.hashes import sha256

__all__ = [
    "config_of",
    "exported",
    "fingerprint_of",
    "first_position",
    "obstacle",
    "positions",
    "tokenizer",
    "tokenizer_hash",
    "word_pieces",
]

EXPORTED = ("model.onnx", "onnx/model.onnx")
# What the oldest config.json files of BERT leave out.
BERT = {"model_type": "bert", "hidden_act": "gelu", "layer_norm_eps": 1e-12, "max_position_embeddings": 512}
BUILT = {
    "model_type": ("bert", "roberta", "xlm-roberta", "camembert"),
    "hidden_act": ("gelu",),
    "position_embedding_type": ("absolute", None),
}
# Whose positions are counted from the one after the padding token's number.
OFFSET = ("camembert", "data2vec-text", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl", "xmod")


def config_of(folder: Path) -> dict[str, Any]:
    """config.json, with what the oldest ones leave out."""
    return {**BERT, **read_config(folder)}


def obstacle(config: Config) -> str:
    """Why graph.py cannot build such a model from its weights; nothing if it can."""
    whole = {**BERT, **config}
    return next(
        (f"its {name} is {whole.get(name)!r}" for name, good in BUILT.items() if whole.get(name) not in good), ""
    )


def positions(config: Config) -> int:
    """How many tokens such a model takes at once, the special ones among them."""
    return int({**BERT, **config}["max_position_embeddings"]) - first_position(config)


def first_position(config: Config) -> int:
    """The number of a first token's position: not 0 where positions are counted from the padding token's number on."""
    whole = {**BERT, **config}
    padding = whole.get("pad_token_id")
    return (1 if padding is None else int(padding)) + 1 if whole["model_type"] in OFFSET else 0


def exported(folder: Path) -> Path | None:
    """The ONNX file of a folder, if it has one."""
    return next((folder / name for name in EXPORTED if (folder / name).is_file()), None)


def tokenizer(folder: Path) -> Any:
    """The tokenizer of a model folder, which neither pads nor truncates: tokenizer.json or, of a BERT, vocab.txt."""
    from tokenizers import Tokenizer

    if (folder / "tokenizer.json").is_file():
        with plainly(f"{folder / 'tokenizer.json'} cannot be read"):
            found = Tokenizer.from_file(str(folder / "tokenizer.json"))
    elif (folder / "vocab.txt").is_file() and config_of(folder)["model_type"] == "bert":
        found = _of_vocabulary(folder / "vocab.txt", _lowers(folder))
    else:
        raise ModelError(f"{folder} has no tokenizer.json: save its tokenizer as a fast one, or use sbert({folder})")
    found.no_truncation()
    found.no_padding()
    return found


def tokenizer_hash(folder: Path) -> str:
    """The SHA-256 of what makes the tokenizer."""
    if (folder / "tokenizer.json").is_file():
        return sha256(folder / "tokenizer.json")
    return fingerprint_of(sha256(folder / "vocab.txt"), str(_lowers(folder)))


def fingerprint_of(*parts: str) -> str:
    """Sixteen hexadecimal digits that change with any of the parts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _lowers(folder: Path) -> bool:
    file = folder / "tokenizer_config.json"
    said = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return bool(said.get("do_lower_case", True))


def _of_vocabulary(file: Path, lower: bool) -> Any:
    from tokenizers.models import WordPiece

    vocabulary = WordPiece.read_file(str(file))
    if not {"[CLS]", "[SEP]"} <= vocabulary.keys():
        raise ModelError(f"{file} has no [CLS] or [SEP]: save the tokenizer as tokenizer.json")
    return word_pieces(vocabulary, lower)


def word_pieces(vocabulary: Mapping[str, int], lower: bool = True) -> Any:
    """BERT's own tokenizer with a vocabulary, which has its special tokens."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = Tokenizer(models.WordPiece(dict(vocabulary), unk_token="[UNK]"))
    special = [(token, words.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    words.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    words.normalizer = normalizers.BertNormalizer(lowercase=lower)
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    return words
