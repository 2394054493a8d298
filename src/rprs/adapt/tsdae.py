"""TSDAE: reconstruct a sentence from the vector of its remaining words (Wang, Reimers and Gurevych 2021).

Most words of a sentence are deleted, the rest is encoded as one vector, that of the [CLS] token, and a decoder with the
encoder's own weights, plus attention to this vector, reconstructs the original sentence. The loss and the tied decoder
are those of sentence-transformers.

Our own choices, where the paper leaves them open: words are separated by white space; each is deleted independently
with the given probability, by a generator seeded with (seed, epoch, sentence), and at least one remains; each epoch
goes through the sample in an order drawn from (seed, epoch); weights are not decayed, as in the authors' code.
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
from rprs.adapt.sources import Notify, no_notice, sample
from rprs.adapt.training import Losses, Training, device, epoch_batch, train, work_folder
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
    notify: Notify = no_notice,
) -> Adapted:
    """Adapt a model to the sentences of an index, of files or of a collection, and write it to the folder `to`.

    `base` is the name or the folder of a model, or `new(...)`; `length` is in tokens. To resume an interrupted training
    from its last checkpoint, which is in the folder `to` with `.work` appended, repeat the call. `notify` receives
    notices, one line each.
    """
    if not 0 <= noise < 1:
        raise UsageError(f"'noise' is the share of words to delete, at least 0 and below 1. Got {noise} instead.")
    if epochs < 1 or batch < 1 or length < 8:
        raise UsageError(f"TSDAE needs epochs and batch of 1 and length of 8 or more. Got {epochs}, {batch}, {length}.")
    with work_folder(Path(to)) as work:
        text = sample(source, sentences, seed=seed, progress=progress, notify=notify)
        start = load_base(base, work / "base", text.sentences, seed=seed, progress=progress)
        if start.pairs:
            notify(PAIRS.format(base=base, method="TSDAE"))
        task = Denoising(start, text.sentences, batch, noise, min(length, start.window), seed)
        if task.cut:
            notify(f"{task.cut:,} of {len(text.sentences):,} sentences are truncated to {task.length} tokens")
        training = Training(
            epochs * math.ceil(len(text.sentences) / batch), seed=seed, rate=rate, decay=0.0, checkpoint=checkpoint
        )
        settings = {"batch": batch, "noise": noise, "length": task.length, "epochs": epochs}
        about = {"method": "tsdae", "base": start.text, "weights": start.fingerprint, "data": text.fingerprint}
        curve = train(task, training, work, {**about, **settings}, progress=progress)
        facts = {"source": str(source), "sentences": len(text.sentences), "rate": rate, **settings}
        with progress("writing the model"):
            return write_model(Path(to), task.encoder, start, curve, {**about, "seed": seed, **facts}, pooling="cls")


def deleted(sentence: str, noise: float, seed: Sequence[int]) -> str:
    """The sentence without the words that are deleted, each with the probability `noise`; at least one word remains."""
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
    """The training task: delete words from sentences, and reconstruct the sentences."""

    base: Base
    sentences: list[str]
    batch: int
    noise: float
    length: int
    seed: int

    def __post_init__(self) -> None:
        failure = f"sentence-transformers cannot load {self.base.folder}"
        with quiet(), plainly(failure), torch.random.fork_rng():
            torch.manual_seed(self.seed)  # for the decoder's cross-attention, which no base model has
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
        """The loss of reconstructing the sentences of a batch."""
        epoch, numbers = epoch_batch(self.seed, step, len(self.sentences), self.batch)
        original = [self.sentences[number] for number in numbers]
        shortened = [deleted(self.sentences[number], self.noise, (self.seed, epoch, number)) for number in numbers]
        yield {"reconstruction": self.module([self._tokens(shortened), self._tokens(original)], None)}

    def _tokens(self, texts: list[str]) -> dict[str, Any]:
        tokens = self.words(texts, padding=True, truncation=True, max_length=self.length, return_tensors="pt")
        return {name: tensor.to(device()) for name, tensor in tokens.items()}

    def _check_tied(self) -> None:
        """Require that the decoder shares the encoder's weights, which depends on two libraries and on the model."""
        shared = {id(parameter) for parameter in self.encoder.parameters()}
        decoder = getattr(self.module.decoder, self.module.decoder.base_model_prefix)
        untied = [
            name
            for name, parameter in decoder.named_parameters()
            if id(parameter) not in shared and "crossattention" not in name
        ]
        if untied:
            raise ModelError(
                f"TSDAE cannot share {untied[0]} of {self.base.text} with a decoder: choose a BERT or RoBERTa"
            )
