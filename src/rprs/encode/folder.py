"""The folder of a model: its architecture, the length of its input, its tokenizer and its files."""

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
# Defaults for the oldest config.json files of BERT, which lack them.
BERT = {"model_type": "bert", "hidden_act": "gelu", "layer_norm_eps": 1e-12, "max_position_embeddings": 512}
BUILT = {
    "model_type": ("bert", "roberta", "xlm-roberta", "camembert", "mpnet"),
    "hidden_act": ("gelu",),
    "position_embedding_type": ("absolute", None),
}
# Models whose positions start after the id of the padding token.
OFFSET = ("camembert", "data2vec-text", "longformer", "mpnet", "roberta", "xlm-roberta", "xlm-roberta-xl", "xmod")


def config_of(folder: Path) -> dict[str, Any]:
    """config.json, with defaults for values that the oldest files lack."""
    return {**BERT, **read_config(folder)}


def obstacle(config: Config) -> str:
    """Why graph.py cannot build a model with this configuration; an empty text if it can."""
    values = {**BERT, **config}
    return next(
        (f"its {name} is {values.get(name)!r}" for name, good in BUILT.items() if values.get(name) not in good), ""
    )


def positions(config: Config) -> int:
    """The maximum number of input tokens, including special tokens."""
    return int({**BERT, **config}["max_position_embeddings"]) - first_position(config)


def first_position(config: Config) -> int:
    """The position of the first token: not 0 for models whose positions start after the id of the padding token."""
    values = {**BERT, **config}
    padding = values.get("pad_token_id")
    return (1 if padding is None else int(padding)) + 1 if values["model_type"] in OFFSET else 0


def exported(folder: Path) -> Path | None:
    """The ONNX file in a folder, if there is one."""
    return next((folder / name for name in EXPORTED if (folder / name).is_file()), None)


def tokenizer(folder: Path) -> Any:
    """The tokenizer of a model folder, without padding and truncation: tokenizer.json or, for BERT, vocab.txt."""
    from tokenizers import Tokenizer

    if (folder / "tokenizer.json").is_file():
        with plainly(f"{folder / 'tokenizer.json'} cannot be read"):
            words = Tokenizer.from_file(str(folder / "tokenizer.json"))
    elif (folder / "vocab.txt").is_file() and config_of(folder)["model_type"] == "bert":
        words = _of_vocabulary(folder / "vocab.txt", _lowers(folder))
    else:
        raise ModelError(f"{folder} has no tokenizer.json: save its tokenizer as a fast one, or use sbert({folder})")
    words.no_truncation()
    words.no_padding()
    return words


def tokenizer_hash(folder: Path) -> str:
    """A hash of the files that define the tokenizer."""
    if (folder / "tokenizer.json").is_file():
        return sha256(folder / "tokenizer.json")
    return fingerprint_of(sha256(folder / "vocab.txt"), str(_lowers(folder)))


def fingerprint_of(*parts: str) -> str:
    """Sixteen hexadecimal digits: a hash of the parts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _lowers(folder: Path) -> bool:
    file = folder / "tokenizer_config.json"
    settings = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return bool(settings.get("do_lower_case", True))


def _of_vocabulary(file: Path, lower: bool) -> Any:
    from tokenizers.models import WordPiece

    vocabulary = WordPiece.read_file(str(file))
    if not {"[CLS]", "[SEP]"} <= vocabulary.keys():
        raise ModelError(f"{file} has no [CLS] or [SEP]: save the tokenizer as tokenizer.json")
    return word_pieces(vocabulary, lower)


def word_pieces(vocabulary: Mapping[str, int], lower: bool = True) -> Any:
    """The tokenizer of BERT for a vocabulary, which must contain the special tokens."""
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
