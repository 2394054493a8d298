"""SDR's pre-training: masked tokens, and pairs of sentences from the same paragraph (Ginzburg et al. 2021).

A step takes pairs of sentences, half of them from the same paragraph and half from two documents. The model learns to
predict masked tokens in all of them, and to give similar vectors (means over tokens, without masks) to pairs from the
same paragraph, with the loss 1 − cos, and dissimilar ones to the others, with the loss max(0, cos − margin), margin 0.
Without the contrastive loss this is plain masked-LM pre-training, which needs no paragraphs.

Our own choices, where the paper leaves them open: the loss of pairs is the mean over the pairs of a batch; a paragraph
is drawn uniformly, then two different sentences of it; at least one token per sentence is masked; the rate is constant.
As in BERT, 15% of the tokens are selected, of which 80% become [MASK], 10% a random token, and 10% remain unchanged.
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
from rprs.adapt.sources import Notify, Sample, Unit, no_notice, sample
from rprs.adapt.training import Losses, Training, device, epoch_batch, train, work_folder
from rprs.errors import MissingExtra, ModelError, UsageError
from rprs.progress import Progress, silent

try:
    import torch
except ImportError as error:
    raise MissingExtra("Training a model", "torch", "torch") from error

__all__ = ["Pretraining", "contrastive", "masked", "sdr"]

MASKED = 0.15
IGNORED = -100  # the label of a token that is not predicted


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
    notify: Notify = no_notice,
) -> Adapted:
    """Pre-train a model on the sentences of an index, of files or of a collection, and write it to the folder `to`.

    `contrast` is the weight of the loss of pairs relative to that of masked tokens; 0 omits it. `batch` counts
    sentences, and an epoch has as many batches as the sample fills. For `base`, `length`, `notify` and how to resume
    see `tsdae`.
    """
    if contrast < 0 or not -1 <= margin <= 1:
        raise UsageError(f"SDR needs contrast of 0 or more and margin within -1 and 1. Got {contrast} and {margin}.")
    if epochs < 1 or batch < 1 or length < 8 or (contrast and batch % 4):
        raise UsageError(
            f"SDR needs epochs of 1, batch of 1 (a multiple of 4 where pairs are contrasted) and length of 8 or more. "
            f"Got {epochs}, {batch}, {length}."
        )
    with work_folder(Path(to)) as work:
        unit: Unit = "paragraph" if contrast else "sentence"
        text = sample(source, sentences, unit=unit, seed=seed, progress=progress, notify=notify)
        if contrast and len(set(text.documents)) < 2:
            raise UsageError(f"{source} has sentences of one document alone: pairs need two, or contrast=0")
        start = load_base(base, work / "base", text.sentences, seed=seed, progress=progress)
        if start.pairs:
            notify(PAIRS.format(base=base, method="SDR"))
        task = Pretraining(start, text, batch, contrast, margin, min(length, start.window), seed)
        if task.cut:
            notify(f"{task.cut:,} of {len(text.sentences):,} sentences are truncated to {task.length} tokens")
        steps = epochs * math.ceil(len(text.sentences) / batch)
        training = Training(steps, seed=seed, rate=rate, checkpoint=checkpoint)
        settings = {"batch": batch, "contrast": contrast, "margin": margin, "length": task.length, "epochs": epochs}
        about = {"method": "sdr", "base": start.text, "weights": start.fingerprint, "data": text.fingerprint}
        curve = train(task, training, work, {**about, **settings}, progress=progress)
        facts = {"source": str(source), "sentences": len(text.sentences), "rate": rate, **settings}
        with progress("writing the model"):
            return write_model(Path(to), task.module, start, curve, {**about, "seed": seed, **facts}, pooling="mean")


def contrastive(left: Any, right: Any, same: Any, margin: float = 0.0) -> Any:
    """The mean loss of pairs of vectors (n, d): 1 − cos where `same` (n,) is true, max(0, cos − margin) where not."""
    cosine = torch.nn.functional.cosine_similarity(left, right)
    return torch.where(same, 1 - cosine, torch.clamp(cosine - margin, min=0)).mean()


def masked(
    ids: NDArray[np.int64], free: NDArray[np.bool_], mask: int, vocabulary: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n, l) token ids, 15% of the free ones masked as in BERT, and (n, l) labels: the ids to predict, or IGNORED."""
    draw = np.where(free, random.random(ids.shape), 2.0)
    chosen = free & ((draw < MASKED) | (draw == draw.min(axis=1, keepdims=True)))
    choice, substitutes = random.random(ids.shape), random.integers(0, vocabulary, ids.shape)
    hidden = np.where(chosen & (choice < 0.8), mask, ids)
    hidden = np.where(chosen & (choice >= 0.9), substitutes, hidden)
    return hidden, np.where(chosen, ids, IGNORED)


@dataclass
class Pretraining:
    """The training task: pairs or sentences of each step, their masks, and the losses."""

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
            raise ModelError(f"The tokenizer of {self.base.text} has no mask token: choose a base of the BERT family")
        tokens = [len(ids) for ids in self.words(self.sample.sentences, verbose=False)["input_ids"]]
        self.cut = sum(count > self.length for count in tokens)

    def losses(self, step: int) -> Iterator[Losses]:
        """The loss of predicting masked tokens and, if it has a weight, the contrastive loss of pairs."""
        random = np.random.default_rng((self.seed, step))
        texts, same = self.pairs(random) if self.contrast else (self._sentences(step), np.empty(0, dtype=bool))
        tokens = self.words(
            texts,
            padding=True,
            truncation=True,
            max_length=self.length,
            return_special_tokens_mask=True,
            return_tensors="np",
        )
        free = tokens.pop("special_tokens_mask") == 0
        hidden, labels = masked(tokens["input_ids"], free, self.words.mask_token_id, len(self.words), random)
        tensors = {name: _tensor(np.asarray(array)) for name, array in tokens.items()}
        losses: Losses = {"masked": self._prediction_loss({**tensors, "input_ids": _tensor(hidden)}, _tensor(labels))}
        if self.contrast:
            vectors = self._means(tensors)
            half = len(texts) // 2
            pairs = contrastive(vectors[:half], vectors[half:], _tensor(same), self.margin)
            losses["contrast"] = self.contrast * pairs
        yield losses

    def _sentences(self, step: int) -> list[str]:
        _, numbers = epoch_batch(self.seed, step, len(self.sample.sentences), self.batch)
        return [self.sample.sentences[number] for number in numbers]

    def pairs(self, random: np.random.Generator) -> tuple[list[str], NDArray[np.bool_]]:
        """The left sentences of all pairs, then the right ones; and which pairs are from the same paragraph."""
        groups, documents = self.sample.groups, np.array(self.sample.documents)
        same = np.arange(self.batch // 2) < self.batch // 4
        pairs: list[tuple[str, str]] = []
        for same_paragraph in same:
            first = int(random.integers(len(groups)))
            if same_paragraph:
                one, other = random.choice(len(groups[first]), 2, replace=False)
                pairs.append((groups[first][one], groups[first][other]))
            else:
                second = int(random.choice(np.flatnonzero(documents != documents[first])))
                one, other = random.integers(len(groups[first])), random.integers(len(groups[second]))
                pairs.append((groups[first][one], groups[second][other]))
        return [left for left, _ in pairs] + [right for _, right in pairs], same

    def _prediction_loss(self, tensors: dict[str, Any], labels: Any) -> Any:
        """The cross-entropy of masked tokens; logits over the vocabulary are computed for these tokens only."""
        chosen = labels != IGNORED
        head = self.module.get_output_embeddings()
        hook = head.register_forward_pre_hook(lambda _module, inputs: (inputs[0][chosen],))
        try:
            return torch.nn.functional.cross_entropy(self.module(**tensors).logits, labels[chosen])
        finally:
            hook.remove()

    def _means(self, tensors: dict[str, Any]) -> Any:
        tokens = self.module.base_model(**tensors)[0]
        mask = tensors["attention_mask"].unsqueeze(-1).to(tokens.dtype)
        return (tokens * mask).sum(1) / mask.sum(1)


def _tensor(array: NDArray[Any]) -> Any:
    return torch.from_numpy(array).to(device())
