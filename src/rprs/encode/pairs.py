"""Cross-encoders: models that read two texts together and score how relevant one is to the other.

Any sequence-classification model can be used. Both texts are truncated to its window together, the longer one first, as
with `truncation="longest_first"` of Hugging Face; truncated pairs are reported. A model with model.onnx, or of the BERT
family with model.safetensors, runs in ONNX Runtime; any other model needs transformers, with the extra `torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.encode import models
from rprs.encode.folder import exported, fingerprint_of, obstacle, positions, tokenizer, tokenizer_hash
from rprs.encode.hub import Config, read_config
from rprs.encode.loading import plainly, quiet
from rprs.encode.onnx import deduplicate
from rprs.encode.runtime import Sessions, batches, in_threads
from rprs.errors import MissingExtra, ModelError, UsageError
from rprs.files.hashes import sha256
from rprs.progress import Advance, Progress, no_op, silent

__all__ = ["WINDOW", "PairScorer", "Pairs", "framed", "load_pairs", "longest_first", "template_of"]

WINDOW = 512  # tokens of both texts, as in the paper
CHARACTERS = 1_000_000  # tokenised at a time
GRAPH_VERSION = 1  # of the graphs that build_cross builds

Ints = NDArray[np.int64]
Logits = Callable[[Mapping[str, Ints]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The scores of n pairs."""

    scores: NDArray[np.float64]  # (n,): the logit, or the logit of the second label minus that of the first
    truncated: NDArray[np.bool_]  # (n,): whether the texts were truncated


@dataclass(frozen=True)
class PairScorer:
    """A loaded cross-encoder. The pairs of a batch have the same number of tokens, so nothing is padded."""

    logits: Logits = field(repr=False)
    words: Any = field(repr=False)  # the tokenizer
    window: int  # maximum number of input tokens, including special tokens
    threads: int  # that run batches; 0 means one per core
    fingerprint: str

    def score(self, left: Sequence[str], right: Sequence[str], advance: Advance = no_op) -> Pairs:
        """The scores of the pairs (left[i], right[i]); a repeated text is tokenised once."""
        if len(left) != len(right):
            raise UsageError(f"Pairs need as many texts on the left as on the right. Got {len(left)} and {len(right)}.")
        texts, numbers = deduplicate([*left, *right])
        template = template_of(self.words)
        room = self.window - sum(which < 0 for which, _, _ in template)
        tokens, counts = self._tokens(texts, room)
        places = numbers.reshape(2, len(left))
        kept = longest_first(counts[places[0]], counts[places[1]], room)
        lengths = kept.sum(axis=0)

        def run(batch: list[int]) -> NDArray[np.float32]:
            size = int(lengths[batch[0]]) + self.window - room
            inputs = {name: np.ones((len(batch), size), dtype=np.int64) for name in _INPUTS}
            for row, pair in enumerate(batch):
                cut = [tokens[places[side, pair]][: kept[side, pair]] for side in (0, 1)]
                inputs["input_ids"][row], inputs["token_type_ids"][row] = framed(template, cut)
            return self.logits(inputs)

        scores = np.zeros(len(left), dtype=np.float64)
        for batch, logits in in_threads(run, batches(lengths.tolist()), self.threads):
            scores[batch] = logits[:, -1].astype(np.float64) - (logits[:, 0] if logits.shape[1] == 2 else 0)
            advance(len(batch))
        return Pairs(scores, counts[places].sum(axis=0) > room)

    def _tokens(self, texts: list[str], room: int) -> tuple[list[Ints], Ints]:
        """The first `room` tokens of each text, and its total number of tokens."""
        tokens: list[Ints] = []
        counts: list[int] = []
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64) // CHARACTERS
        for chunk in np.split(np.arange(len(texts)), np.flatnonzero(np.diff(ends)) + 1):
            some = [texts[number] for number in chunk]
            for encoding in self.words.encode_batch_fast(some, add_special_tokens=False):
                ids = encoding.ids
                tokens.append(np.array(ids[:room], dtype=np.int64))
                counts.append(len(ids))
        return tokens, np.array(counts, dtype=np.int64)


def longest_first(left: Ints, right: Ints, room: int) -> Ints:
    """(2, n): how many tokens are kept of texts with `left` and `right` tokens, together at most `room`.

    The longer text is cut to the length of the shorter one, then both equally; an odd token goes to the longer text, or
    to the right one if both have the same length.
    """
    shorter = np.minimum(left, right)
    small = np.where(2 * shorter <= room, shorter, room // 2)
    cut = np.where(left > right, room - small, small)
    return np.where(left + right > room, np.stack([cut, room - cut]), np.stack([left, right]))


# ---------------------------------------------------------------------------- two texts as one sequence

_INPUTS = ("input_ids", "token_type_ids", "attention_mask")

Template = list[tuple[int, int, int]]  # the text (0 or 1) or a special token (-1), its type, the special token


def template_of(words: Any) -> Template:
    """How a tokenizer combines two texts: `[CLS] 0 [SEP] 1 [SEP]` for BERT."""
    example = words.encode("a", "a")
    template: Template = []
    for text, kind, token in zip(example.sequence_ids, example.type_ids, example.ids, strict=True):
        which = -1 if text is None else text
        if which < 0 or not template or template[-1][0] != which:
            template.append((which, kind, token))
    return template


def framed(template: Template, texts: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The tokens of two texts with special tokens, and the type of each token."""
    parts = [texts[which] if which >= 0 else np.array([token]) for which, _, token in template]
    types = [np.full(len(part), kind) for part, (_, kind, _) in zip(parts, template, strict=True)]
    return np.concatenate(parts), np.concatenate(types)


# ---------------------------------------------------------------------------- loading


def load_pairs(model: str, window: int = WINDOW, progress: Progress = silent) -> PairScorer:
    """A cross-encoder by name or folder, downloaded on first use; the most recent ones are kept in memory.

    The window is no wider than the model's own.
    """
    folder = models.find(model, progress, _wanted)
    source = _source(folder)
    with progress(f"preparing {folder.name}"):
        return _loaded(folder, source, window, source.stat().st_mtime_ns)


def _source(folder: Path) -> Path:
    """The file of a cross-encoder: an ONNX graph, or else weights."""
    file = exported(folder) or next((folder / name for name in _WEIGHTS if (folder / name).is_file()), None)
    if file is None:
        raise ModelError(f"{folder} has no weights: it needs model.onnx, model.safetensors or pytorch_model.bin")
    return file


_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def _wanted(_config: Config) -> Sequence[str]:
    return ("onnx/model.onnx", *_WEIGHTS)


@lru_cache(maxsize=2)
def _loaded(folder: Path, source: Path, window: int, _changed: int) -> PairScorer:
    config = read_config(folder)
    threads = 0
    if source.suffix == ".onnx":
        logits: Logits = Sessions.of(source, optimise=True).run
        words = tokenizer(folder)
    elif source.name == "model.safetensors" and not obstacle(config):
        logits, words = _built(folder, source), tokenizer(folder)
    else:
        logits, words = _with_torch(folder)
        threads = 1  # torch uses threads of its own
    window = min(window, positions(config))
    scorer = PairScorer(logits, words, window, threads, _fingerprint(folder, source, words, window))
    _check(folder, scorer)
    return scorer


def _built(folder: Path, source: Path) -> Logits:
    """The graph of a BERT-like model, built from its weights on first use."""

    def make(file: Path) -> None:
        from rprs.encode.graph import build_cross

        file.write_bytes(build_cross(folder).SerializeToString())

    parts = [sha256(file) for file in (source, folder / "config.json")]
    file = models.derive(f"{fingerprint_of(*parts, f'cross {GRAPH_VERSION}')}-cross.onnx", make)
    return Sessions.of(file, optimise=False).run


def _fingerprint(folder: Path, source: Path, words: Any, window: int) -> str:
    has_files = any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt"))
    parts = [sha256(file) for file in (source, folder / "config.json")]
    return fingerprint_of(*parts, tokenizer_hash(folder) if has_files else words.to_str(), str(window))


def _check(folder: Path, scorer: PairScorer) -> None:
    """Run one pair of empty texts to check that the model is a cross-encoder."""
    template = template_of(scorer.words)
    if not {0, 1} <= {which for which, _, _ in template}:
        raise ModelError(f"The tokenizer of {folder} does not combine two texts: cross cannot use it")
    if scorer.window < len(template):
        raise ModelError(f"{folder} reads at most {scorer.window} tokens, which leaves no room for two texts")
    ids, types = framed(template, [np.zeros(0, dtype=np.int64)] * 2)
    inputs = dict(zip(_INPUTS, (ids[None], types[None], np.ones_like(ids)[None]), strict=True))
    with plainly(f"{folder} cannot be run"):
        shape = scorer.logits(inputs).shape
    if len(shape) != 2:
        raise ModelError(f"{folder} is not a sequence-classification model: its output is token vectors, not a score")
    if shape[1] > 2:
        raise ModelError(f"{folder} has {shape[1]} labels: cross needs one, or two of which the second means relevant")


def _with_torch(folder: Path) -> tuple[Logits, Any]:
    """Any other model, run by transformers, and its tokenizer."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra(f"The cross-encoder {folder}, which has no model.onnx,", "transformers", "torch") from error
    with quiet(), plainly(f"transformers cannot load {folder} as a sequence classifier"):
        model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, output_loading_info=True, local_files_only=True
        )
        words = _fast_words(folder, transformers.AutoTokenizer)
    if loading["missing_keys"]:
        raise ModelError(f"{folder} is not a sequence-classification model: its weights have no classifier")
    model.eval()
    inputs_of_model = [name for name in _INPUTS if name in signature(model.forward).parameters]

    def logits(inputs: Mapping[str, Ints]) -> NDArray[np.float32]:
        with torch.no_grad():
            output = model(**{name: torch.from_numpy(inputs[name]) for name in inputs_of_model})
        values: NDArray[np.float32] = output.logits.float().numpy()
        return values

    return logits, words


def _fast_words(folder: Path, loader: Any) -> Any:
    """The tokenizer of a folder; transformers converts older files to a fast tokenizer."""
    if (folder / "tokenizer.json").is_file():
        return tokenizer(folder)
    words = getattr(loader.from_pretrained(folder, local_files_only=True), "backend_tokenizer", None)
    if words is None:
        raise ModelError(f"The tokenizer of {folder} has no fast form, which rprs needs: save it with tokenizer.json")
    words.no_truncation()
    words.no_padding()
    return words
