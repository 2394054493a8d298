"""SDR's pre-training: masked words, and sentences that belong together (Ginzburg and others, 2021).

A step takes pairs of sentences: half of them from one paragraph, the others from two documents. The model learns to
guess masked tokens of all of them, and to make the vectors (means over tokens, without masks) of a pair from one
paragraph alike, 1 − cos, and of the others not, max(0, cos − margin), with the margin 0. Without the contrast it is
plain masked-LM pre-training, which needs no paragraphs.

Ours to choose, where the paper is silent: the loss of pairs is the mean over a batch's pairs; a paragraph is drawn
evenly, then two different sentences of it; at least one token of a sentence is masked; the rate is constant. As in
BERT, of 15 % of the tokens 80 % become [MASK], 10 % a token at random, and 10 % stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.adapt.export import Adapted, write_model
from rprs.adapt.model import PAIRS, Base, load, load_base, tokenizer
from rprs.adapt.sources import Sample, Say, Unit, sample, unsaid
from rprs.adapt.training import Losses, Training, device, epoch_batch, train, workplace
from rprs.errors import MissingExtra, ModelError, UsageError
from rprs.progress import Progress, silent

try:
    import torch
except ImportError as error:
    raise MissingExtra("Training a model", "torch", "torch") from error

__all__ = ["Pretraining", "contrastive", "masked", "sdr"]

MASKED = 0.15
IGNORED = -100  # the label of a token that is not to be guessed


def sdr(
    source: str | Path,
    base: str,
    to: str | Path,
    *,
    contrast: float = 1.0,
    sentences: int = 10_000,
    epochs: int = 1,
    batch: int = 16,
    rate: float = 3e-5,
    margin: float = 0.0,
    length: int = 128,
    seed: int = 0,
    checkpoint: int = 100,
    progress: Progress = silent,
    say: Say = unsaid,
) -> Adapted:
    """Pre-train a model on the sentences of an index, of files or of a collection, and write it to the folder `to`.

    `contrast` weighs the loss of pairs against that of masked tokens; 0 leaves it out. A batch is so many sentences,
    and an epoch as many batches as the sample would fill. `base`, `length` and going on are as in `tsdae`.
    """
    if contrast < 0 or not -1 <= margin <= 1:
        raise UsageError(f"SDR needs contrast of 0 or more and margin within -1 and 1. Got {contrast} and {margin}.")
    if epochs < 1 or batch < 1 or length < 8 or (contrast and batch % 4):
        raise UsageError(
            f"SDR needs epochs of 1, batch of 1 (a multiple of 4 where pairs are contrasted) and length of 8 or more. "
            f"Got {epochs}, {batch}, {length}."
        )
    with workplace(Path(to)) as work:
        unit: Unit = "paragraph" if contrast else "sentence"
        found = sample(source, sentences, unit=unit, seed=seed, progress=progress, say=say)
        if contrast and len(set(found.documents)) < 2:
            raise UsageError(f"{source} has sentences of one document alone: pairs need two, or contrast=0")
        start = load_base(base, work / "base", found.sentences, seed=seed, progress=progress)
        if start.pairs:
            say(PAIRS.format(base=base, method="SDR"))
        task = Pretraining(start, found, batch, contrast, margin, min(length, start.window), seed)
        if task.cut:
            say(f"{task.cut:,} of {len(found.sentences):,} sentences are cut to {task.length} tokens")
        steps = epochs * math.ceil(len(found.sentences) / batch)
        training = Training(steps, seed=seed, rate=rate, checkpoint=checkpoint)
        settings = {"batch": batch, "contrast": contrast, "margin": margin, "length": task.length, "epochs": epochs}
        about = {"method": "sdr", "base": start.text, "weights": start.fingerprint, "data": found.fingerprint}
        curve = train(task, training, work, {**about, **settings}, progress=progress)
        facts = {"source": str(source), "sentences": len(found.sentences), "rate": rate, **settings}
        with progress("writing the model"):
            return write_model(Path(to), task.module, start, curve, {**about, "seed": seed, **facts}, pooling="mean")


def contrastive(left: Any, right: Any, same: Any, margin: float = 0.0) -> Any:
    """The mean loss of pairs of vectors (n, d): 1 − cos where `same` (n,) is true, max(0, cos − margin) where not."""
    cosine = torch.nn.functional.cosine_similarity(left, right)
    return torch.where(same, 1 - cosine, torch.clamp(cosine - margin, min=0)).mean()


def masked(
    ids: NDArray[np.int64], free: NDArray[np.bool_], mask: int, vocabulary: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n, l) token ids with 15 % of the free ones hidden as BERT does, and what is to be guessed in their places."""
    draw = np.where(free, random.random(ids.shape), 2.0)
    chosen = free & ((draw < MASKED) | (draw == draw.min(axis=1, keepdims=True)))
    how, instead = random.random(ids.shape), random.integers(0, vocabulary, ids.shape)
    hidden = np.where(chosen & (how < 0.8), mask, ids)
    hidden = np.where(chosen & (how >= 0.9), instead, hidden)
    return hidden, np.where(chosen, ids, IGNORED)


@dataclass
class Pretraining:
    """The task of a training: pairs or sentences a step, their masks, and the losses."""

    base: Base
    sample: Sample
    batch: int
    contrast: float
    margin: float
    length: int
    seed: int

    def __post_init__(self) -> None:
        self.module = load(self.base.folder, "AutoModelForMaskedLM", seed=self.seed).float().to(device())
        self.words = tokenizer(self.base.folder)
        if self.words.mask_token_id is None:
            raise ModelError(
                f"The tokenizer of {self.base.text} has no token to mask with: choose a base of the BERT family"
            )
        tokens = [len(ids) for ids in self.words(self.sample.sentences, verbose=False)["input_ids"]]
        self.cut = sum(count > self.length for count in tokens)

    def losses(self, step: int) -> Iterator[Losses]:
        """How badly masked tokens are guessed and, where that counts, how far pairs are from where they belong."""
        random = np.random.default_rng((self.seed, step))
        texts, same = self.pairs(random) if self.contrast else (self._sentences(step), np.empty(0, dtype=bool))
        given = self.words(
            texts,
            padding=True,
            truncation=True,
            max_length=self.length,
            return_special_tokens_mask=True,
            return_tensors="np",
        )
        free = given.pop("special_tokens_mask") == 0
        hidden, labels = masked(given["input_ids"], free, self.words.mask_token_id, len(self.words), random)
        tensors = {name: _tensor(np.asarray(array)) for name, array in given.items()}
        found: Losses = {"masked": self._guess({**tensors, "input_ids": _tensor(hidden)}, _tensor(labels))}
        if self.contrast:
            vectors = self._means(tensors)
            half = len(texts) // 2
            pairs = contrastive(vectors[:half], vectors[half:], _tensor(same), self.margin)
            found["contrast"] = self.contrast * pairs
        yield found

    def _sentences(self, step: int) -> list[str]:
        _, numbers = epoch_batch(self.seed, step, len(self.sample.sentences), self.batch)
        return [self.sample.sentences[number] for number in numbers]

    def pairs(self, random: np.random.Generator) -> tuple[list[str], NDArray[np.bool_]]:
        """The left sentences of all pairs, then the right ones; and which pairs are from one paragraph."""
        groups, documents = self.sample.groups, np.array(self.sample.documents)
        same = np.arange(self.batch // 2) < self.batch // 4
        pairs: list[tuple[str, str]] = []
        for together in same:
            first = int(random.integers(len(groups)))
            if together:
                one, other = random.choice(len(groups[first]), 2, replace=False)
                pairs.append((groups[first][one], groups[first][other]))
            else:
                second = int(random.choice(np.flatnonzero(documents != documents[first])))
                one, other = random.integers(len(groups[first])), random.integers(len(groups[second]))
                pairs.append((groups[first][one], groups[second][other]))
        return [left for left, _ in pairs] + [right for _, right in pairs], same

    def _guess(self, tensors: dict[str, Any], labels: Any) -> Any:
        """The loss of the guesses; the vocabulary is weighed where there is something to guess, and nowhere else."""
        chosen = labels != IGNORED
        head = self.module.get_output_embeddings()
        hook = head.register_forward_pre_hook(lambda _module, given: (given[0][chosen],))
        try:
            return torch.nn.functional.cross_entropy(self.module(**tensors).logits, labels[chosen])
        finally:
            hook.remove()

    def _means(self, tensors: dict[str, Any]) -> Any:
        tokens = self.module.base_model(**tensors)[0]
        real = tensors["attention_mask"].unsqueeze(-1).to(tokens.dtype)
        return (tokens * real).sum(1) / real.sum(1)


def _tensor(array: NDArray[Any]) -> Any:
    return torch.from_numpy(array).to(device())
