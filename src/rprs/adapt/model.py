"""What a training starts from: a model by name or folder, or a fresh BERT with a vocabulary made from the text."""

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

PAIRS = "{base} has learnt from pairs of sentences already: {method} helps a plain model, and mostly harms such a one"
WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json", "pytorch_model.bin.index.json")
ALPHABET = 1000  # different letters in a new vocabulary
SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


@dataclass(frozen=True)
class Base:
    """A model on disk that transformers can load."""

    text: str  # as the user named it
    folder: Path
    window: int  # tokens that go in at once, the special ones among them
    pairs: bool  # it was trained on pairs of sentences already
    fingerprint: str  # of weights, settings and tokenizer


@dataclass(frozen=True)
class New:
    """A fresh BERT: random weights from the seed, and a WordPiece vocabulary made from the text."""

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
        """What `new(layers=4,width=256)` means; None if it is no text of this kind."""
        found = re.fullmatch(r"\s*new\s*(?:\((.*)\))?\s*", text)
        if not found:
            return None
        known = [field.name for field in fields(cls)]
        given: dict[str, int] = {}
        for argument in (found[1] or "").split(","):
            name, _, value = (part.strip() for part in argument.partition("="))
            if name in known and name not in given and re.fullmatch(r"\d+", value):
                given[name] = int(value)
            elif argument.strip():
                raise UsageError(f"new cannot read {argument.strip()!r}: it has the numbers {', '.join(known)}")
        return cls(**given)


def load_base(text: str, place: Path, sentences: Sequence[str], *, seed: int = 0, progress: Progress = silent) -> Base:
    """The model that a text names: `new(...)`, or a name or a folder as encoders have them.

    A new one is written to the folder `place`; the sentences give it its vocabulary.
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
    """A model of transformers by the name of its class; layers that the folder does not have come from the seed."""
    with quiet(), plainly(f"transformers cannot load {folder} as {kind}"), torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            return getattr(transformers, kind).from_pretrained(folder, **options)
        except RuntimeError as problem:  # its text points to a report that nobody sees
            raise ModelError(
                f"Weights of {folder} have other sizes than {kind} has here: choose another base"
            ) from problem


def tokenizer(folder: Path) -> Any:
    """The tokenizer of transformers in a model folder; a fast one, so that it can be saved as tokenizer.json."""
    with quiet(), plainly(f"transformers cannot load the tokenizer of {folder}"):
        found = transformers.AutoTokenizer.from_pretrained(folder)
    if not found.is_fast:
        raise ModelError(f"The tokenizer of {folder} has no fast form, which rprs needs: save it with tokenizer.json")
    return found


def trained_on_pairs(folder: Path) -> bool:
    """Whether a model has learnt from pairs of sentences: it is sentence-transformers', and not adapted from a plain
    one by us."""
    adapted = folder / "adapted.json"
    if adapted.is_file():
        return bool(json.loads(adapted.read_text(encoding="utf-8")).get("pairs"))
    return (folder / "modules.json").is_file()


# ---------------------------------------------------------------------------- a fresh one


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
    """A tokenizer as BERT's, in lower case, with the commonest pieces of words of the sentences.

    The trainer breaks ties by the numbers of tokens, and numbers the letters within words (##a) in an order that
    changes from run to run; so it is given all letters beforehand, as tokens with numbers of their own.
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
    file, most = folder / "sentence_bert_config.json", positions(config_of(folder))
    own = json.loads(file.read_text(encoding="utf-8")).get("max_seq_length") if file.is_file() else None
    return min(int(own or most), most)


def _fingerprint(folder: Path) -> str:
    names = ("config.json", "tokenizer.json", "vocab.txt", *WEIGHTS)
    parts = [f"{name} {sha256(folder / name)}" for name in names if (folder / name).is_file()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
