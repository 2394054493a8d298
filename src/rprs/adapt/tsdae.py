"""TSDAE: a sentence is rebuilt from the vector of its remains (Wang, Reimers and Gurevych, 2021).

Most words of a sentence are deleted, what is left is encoded to one vector, the [CLS] token's, and a decoder with the
encoder's own weights, plus attention to that vector, writes the whole sentence again. The loss and the tied decoder
are those of sentence-transformers.

Ours to choose, where the paper is silent: a word is what white space bounds; each is deleted on its own with the
given probability, by a generator seeded by (seed, epoch, sentence), and where all would go, one stays; epochs go
through the sample in an order drawn from (seed, epoch); weights are not decayed, as in the authors' code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rprs.adapt.export import Adapted, write_model
from rprs.adapt.model import PAIRS, Base, load_base
from rprs.adapt.sources import Say, sample, unsaid
from rprs.adapt.training import Losses, Training, device, epoch_batch, train, workplace
from rprs.encode.loading import plainly, quiet
from rprs.errors import MissingExtra, ModelError, UsageError
from rprs.progress import Progress, silent

try:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
except ImportError as error:
    raise MissingExtra("Training a model", "sentence-transformers", "torch") from error

__all__ = ["Denoising", "deleted", "tsdae"]


def tsdae(
    source: str | Path,
    base: str,
    to: str | Path,
    *,
    sentences: int = 10_000,
    epochs: int = 1,
    batch: int = 8,
    rate: float = 3e-5,
    noise: float = 0.6,
    length: int = 128,
    seed: int = 0,
    checkpoint: int = 100,
    progress: Progress = silent,
    say: Say = unsaid,
) -> Adapted:
    """Adapt a model to the sentences of an index, of files or of a collection, and write it to the folder `to`.

    `base` is the name or the folder of a model, or `new(...)`; `length` is in tokens. A call that was interrupted goes
    on from its last checkpoint, in the folder `to` with `.work` at its end, when it is made again.
    """
    if not 0 <= noise < 1:
        raise UsageError(f"'noise' is the share of words to delete, at least 0 and below 1. Got {noise} instead.")
    if epochs < 1 or batch < 1 or length < 8:
        raise UsageError(f"TSDAE needs epochs and batch of 1 and length of 8 or more. Got {epochs}, {batch}, {length}.")
    with workplace(Path(to)) as work:
        found = sample(source, sentences, seed=seed, progress=progress, say=say)
        start = load_base(base, work / "base", found.sentences, seed=seed, progress=progress)
        if start.pairs:
            say(PAIRS.format(base=base, method="TSDAE"))
        task = Denoising(start, found.sentences, batch, noise, min(length, start.window), seed)
        if task.cut:
            say(f"{task.cut:,} of {len(found.sentences):,} sentences are cut to {task.length} tokens")
        training = Training(
            epochs * math.ceil(len(found.sentences) / batch), seed=seed, rate=rate, decay=0.0, checkpoint=checkpoint
        )
        settings = {"batch": batch, "noise": noise, "length": task.length, "epochs": epochs}
        about = {"method": "tsdae", "base": start.text, "weights": start.fingerprint, "data": found.fingerprint}
        curve = train(task, training, work, {**about, **settings}, progress=progress)
        facts = {"source": str(source), "sentences": len(found.sentences), "rate": rate, **settings}
        with progress("writing the model"):
            return write_model(Path(to), task.encoder, start, curve, {**about, "seed": seed, **facts}, pooling="cls")


def deleted(sentence: str, noise: float, seed: Sequence[int]) -> str:
    """What is left of a sentence when each word is deleted with the probability `noise`, and one at least is kept."""
    words = sentence.split()
    if not words:
        return ""
    random = np.random.default_rng(seed)
    kept = random.random(len(words)) >= noise
    if not kept.any():
        kept[random.integers(len(words))] = True
    return " ".join(word for word, keep in zip(words, kept, strict=True) if keep)


@dataclass
class Denoising:
    """The task of a training: what is deleted from sentences, and how far they are from being rebuilt."""

    base: Base
    sentences: list[str]
    batch: int
    noise: float
    length: int
    seed: int

    def __post_init__(self) -> None:
        refusal = f"sentence-transformers cannot load {self.base.folder}"
        with quiet(), plainly(refusal), torch.random.fork_rng():
            torch.manual_seed(self.seed)  # for the decoder's attention to the vector, which no base has
            transformer = Transformer(str(self.base.folder), max_seq_length=self.length)
            width = transformer.auto_model.config.hidden_size
            model = SentenceTransformer(modules=[transformer, Pooling(width, pooling_mode="cls")], device="cpu")
            try:
                self.module = DenoisingAutoEncoderLoss(model, tie_encoder_decoder=True).float().to(device())
            except (AssertionError, ValueError) as problem:
                raise ModelError(
                    f"TSDAE has no decoder for {self.base.text}: choose a base of the BERT family"
                ) from problem
        self.encoder: Any = transformer.auto_model
        self._check_tied()
        self.words = model.tokenizer
        lengths = [len(ids) for ids in self.words(self.sentences, verbose=False)["input_ids"]]
        self.cut = sum(tokens > self.length for tokens in lengths)

    def losses(self, step: int) -> Iterator[Losses]:
        """How far the sentences of a batch are from being rebuilt."""
        epoch, numbers = epoch_batch(self.seed, step, len(self.sentences), self.batch)
        whole = [self.sentences[number] for number in numbers]
        left = [deleted(self.sentences[number], self.noise, (self.seed, epoch, number)) for number in numbers]
        yield {"reconstruction": self.module([self._tokens(left), self._tokens(whole)], None)}

    def _tokens(self, texts: list[str]) -> dict[str, Any]:
        found = self.words(texts, padding=True, truncation=True, max_length=self.length, return_tensors="pt")
        return {name: tensor.to(device()) for name, tensor in found.items()}

    def _check_tied(self) -> None:
        """That the decoder has the encoder's weights: what is tied is up to two libraries, and decides the method."""
        shared = {id(parameter) for parameter in self.encoder.parameters()}
        decoder = getattr(self.module.decoder, self.module.decoder.base_model_prefix)
        loose = [
            name
            for name, parameter in decoder.named_parameters()
            if id(parameter) not in shared and "crossattention" not in name
        ]
        if loose:
            raise ModelError(
                f"TSDAE cannot share {loose[0]} of {self.base.text} with a decoder: choose a BERT or RoBERTa"
            )
