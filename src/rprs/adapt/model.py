"""The model that a training starts from: by name or folder, or a new BERT with a vocabulary built from the text."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from rprs.encode import models
from rprs.encode.folder import config_of, positions, word_pieces
from rprs.encode.loading import plainly, quiet
from rprs.errors import MissingExtra, ModelError, UsageError
from rprs.files.hashes import sha256
from rprs.progress import Progress, silent
from rprs.spec import require
from rprs.spec import text as spec_text

try:
    import torch
    import transformers
except ImportError as error:
    raise MissingExtra("Training a model", "torch", "torch") from error

__all__ = ["PAIRS", "Base", "New", "load", "load_base", "tokenizer", "trained_on_pairs"]

PAIRS = "{base} was already trained on pairs of sentences: {method} helps plain models, and mostly harms such models"
WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json", "pytorch_model.bin.index.json")
ALPHABET = 1000  # different letters in a new vocabulary
SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


@dataclass(frozen=True)
class Base:
    """A model on disk that transformers can load."""

    text: str  # the user's name for it
    folder: Path
    window: int  # greatest number of input tokens, including special tokens
    pairs: bool  # already trained on pairs of sentences
    fingerprint: str  # of weights, settings and tokenizer


@dataclass(frozen=True)
class New:
    """A new BERT: random weights from the seed, and a WordPiece vocabulary built from the text."""

    name: ClassVar[str] = "new"

    layers: int = 2
    width: int = 128
    heads: int = 2
    vocabulary: int = 8000
    positions: int = 128

    def __post_init__(self) -> None:
        for field in ("layers", "heads"):
            require(self, field, getattr(self, field) > 0, "at least 1")
        require(self, "width", self.width > 0 and self.width % self.heads == 0, f"a multiple of heads={self.heads}")
        require(self, "vocabulary", self.vocabulary >= 100, "at least 100")
        require(self, "positions", self.positions >= 8, "at least 8")

    def __str__(self) -> str:
        return spec_text(self)

    @classmethod
    def parse(cls, text: str) -> New | None:
        """The value of a text such as `new(layers=4,width=256)`; None if the text does not begin with `new`."""
        match = re.fullmatch(r"\s*new\s*(?:\((.*)\))?\s*", text)
        if not match:
            return None
        names = [field.name for field in fields(cls)]
        numbers: dict[str, int] = {}
        for argument in (match[1] or "").split(","):
            name, _, value = (part.strip() for part in argument.partition("="))
            if name in names and name not in numbers and re.fullmatch(r"\d+", value):
                numbers[name] = int(value)
            elif argument.strip():
                raise UsageError(f"new cannot read {argument.strip()!r}: it has the numbers {', '.join(names)}")
        return cls(**numbers)


def load_base(text: str, place: Path, sentences: Sequence[str], *, seed: int = 0, progress: Progress = silent) -> Base:
    """The model that a text names: `new(...)`, or the name or folder of a model, as for encoders.

    A new model is written to the folder `place`; its vocabulary is built from the sentences.
    """
    new = New.parse(text)
    if new is not None:
        with progress("making a new model"):
            _write_new(new, place, sentences, seed)
        folder = place
    else:
        folder = models.find(text, progress, models.for_torch)
    if not any((folder / name).is_file() for name in WEIGHTS):
        raise ModelError(f"{folder} has no weights that can be trained (ONNX cannot): it needs model.safetensors")
    return Base(str(new or text), folder, _window(folder), trained_on_pairs(folder), _fingerprint(folder))


def load(folder: Path, kind: str = "AutoModel", *, seed: int = 0, **options: Any) -> Any:
    """Load a transformers model by its class name; layers that the folder lacks are initialised from the seed."""
    with quiet(), plainly(f"transformers cannot load {folder} as {kind}"), torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            return getattr(transformers, kind).from_pretrained(folder, **options)
        except RuntimeError as problem:  # its text refers to a report that is not shown
            raise ModelError(
                f"Weights of {folder} have other sizes than {kind} has here: choose another base"
            ) from problem


def tokenizer(folder: Path) -> Any:
    """The transformers tokenizer of a model folder; a fast one, so that it can be saved as tokenizer.json."""
    with quiet(), plainly(f"transformers cannot load the tokenizer of {folder}"):
        loaded = transformers.AutoTokenizer.from_pretrained(folder)
    if not loaded.is_fast:
        raise ModelError(f"The tokenizer of {folder} has no fast form, which rprs needs: save it with tokenizer.json")
    return loaded


def trained_on_pairs(folder: Path) -> bool:
    """Whether a model was trained on pairs of sentences: one of sentence-transformers that was not adapted by rprs
    from a plain model."""
    adapted = folder / "adapted.json"
    if adapted.is_file():
        return bool(json.loads(adapted.read_text(encoding="utf-8")).get("pairs"))
    return (folder / "modules.json").is_file()


# ---------------------------------------------------------------------------- new models


def _write_new(new: New, place: Path, sentences: Sequence[str], seed: int) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    words = _wordpiece(sentences, new.vocabulary)
    config = transformers.BertConfig(
        vocab_size=words.get_vocab_size(),
        hidden_size=new.width,
        num_hidden_layers=new.layers,
        num_attention_heads=new.heads,
        intermediate_size=4 * new.width,
        max_position_embeddings=new.positions,
        pad_token_id=words.token_to_id(SPECIAL["pad"]),
    )
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.BertModel(config).save_pretrained(place)
        tokens = {f"{name}_token": token for name, token in SPECIAL.items()}
        transformers.BertTokenizerFast(
            tokenizer_object=words, model_max_length=new.positions, **tokens
        ).save_pretrained(place)


def _wordpiece(sentences: Sequence[str], size: int) -> Any:
    """A tokenizer like BERT's, lower-cased, with the most frequent word pieces of the sentences.

    The trainer breaks ties by token number, and numbers the letters within words (##a) in an order that changes from
    run to run; so all letters are passed to it beforehand, as tokens with fixed numbers.
    """
    from tokenizers import trainers

    special = [*SPECIAL.values()]
    learner = word_pieces({token: number for number, token in enumerate(special)})
    counts = Counter("".join(map(learner.normalizer.normalize_str, sentences)))
    letters = sorted(sorted(char for char in counts if not char.isspace()), key=lambda char: -counts[char])[:ALPHABET]
    if not letters:
        raise UsageError("There is no text to make a vocabulary from: the source has no sentences")
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*special, *(f"##{letter}" for letter in letters)],
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        show_progress=False,
    )
    learner.train_from_iterator(sentences, trainer)
    return word_pieces(learner.get_vocab())


# ---------------------------------------------------------------------------- folders


def _window(folder: Path) -> int:
    file, limit = folder / "sentence_bert_config.json", positions(config_of(folder))
    configured = json.loads(file.read_text(encoding="utf-8")).get("max_seq_length") if file.is_file() else None
    return min(int(configured or limit), limit)


def _fingerprint(folder: Path) -> str:
    names = ("config.json", "tokenizer.json", "vocab.txt", *WEIGHTS)
    parts = [f"{name} {sha256(folder / name)}" for name in names if (folder / name).is_file()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
