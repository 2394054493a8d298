"""MTFT-BERT (Abolghasemi et al. 2022): one BERT learns to score pairs and, at the same time, to represent documents.

A query (q), a document relevant to it (d⁺) and another one from the first stage (d⁻) give two losses. The ranking loss
uses the cross-encoder, which reads query and document together, truncated to a window: −log softmax(s⁺, s⁻). The
triplet loss uses the same BERT on each text alone: max(0, ‖q − d⁺‖ − ‖q − d⁻‖ + 1), of the last layer's first token.
With triplet weight 0 this is the plain fine-tuning of a cross-encoder (Nogueira & Cho 2019).

From the paper: the losses, AdamW at 3e-5, batches of 32, and early stopping by P@5 with a patience of 10. Our own
choices: negatives are drawn uniformly from the top of the first stage; each epoch has every relevant document once; the
triplet loss uses Euclidean norms; which queries are held out; and how often they are evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from tokenizers import Tokenizer

from rprs.adapt.export import Adapted, write_cross
from rprs.adapt.model import Base, New, load, load_base, tokenizer
from rprs.adapt.sequences import Sequences
from rprs.adapt.sources import Notify, no_notice, sample
from rprs.adapt.training import Losses, Training, Validation, device, train, work_folder
from rprs.adapt.triples import Excluded, Qrels, TrainingSet, Triple, judged, training_set
from rprs.document import Document, Ranking
from rprs.encode.folder import config_of, positions
from rprs.errors import MissingExtra, UsageError
from rprs.evaluation.evaluate import evaluate
from rprs.evaluation.measures import parse_measure
from rprs.index import Index
from rprs.progress import Progress, silent
from rprs.rank import Ranker, System
from rprs.rank.batch import first_stage

try:
    import torch
    from torch.nn.functional import relu, softplus
except ImportError as error:
    raise MissingExtra("Training a model", "torch", "torch") from error

__all__ = ["CrossTask", "mtft", "ranking_loss", "triplet_loss"]

MARGIN = 1.0
MEASURE = "P@5"
VOCABULARY = 10_000  # sentences of the index from which the vocabulary of a new model is built
QUERY, DOCUMENT = "query", "document"

Item = TypeVar("Item")


def mtft(
    index: Index,
    queries: Sequence[Document],
    qrels: Qrels,
    base: str,
    to: str | Path,
    *,
    first: Ranker | str = "bm25",
    depth: int = 50,
    excluded: Excluded | None = None,
    triplet: float = 1.0,
    batch: int = 32,
    part: int = 8,
    rate: float = 3e-5,
    window: int = 512,
    steps: int = 5_000,
    every: int = 100,
    patience: int = 10,
    valid: float = 0.2,
    seed: int = 0,
    checkpoint: int = 25,
    progress: Progress = silent,
    notify: Notify = no_notice,
) -> Adapted:
    """Fine-tune a model on judged queries, and write it to the folder `to`, for the re-ranker `cross(folder)`.

    `base` is the name or the folder of a model, or `new(...)`; negatives come from the best `depth` documents of the
    first stage. A share `valid` of the queries is held out: every `every` steps their candidates are re-ranked, and the
    weights with the best P@5 are kept. A batch is processed in parts of `part` sequences, which bounds memory. To
    resume an interrupted training from its last checkpoint, repeat the call. `notify` receives notices, one line each.
    """
    _check(depth=depth, batch=batch, part=part, every=every, patience=patience, triplet=triplet, valid=valid)
    with work_folder(Path(to)) as work:
        used = judged(queries, qrels)
        run = first_stage(index, used, System(first).first, depth, exclude=excluded, progress=progress)
        data = training_set(index, used, qrels, run, excluded or {}, valid, seed)
        for note in data.notes:
            notify(note)
        text = sample(index.path, VOCABULARY, seed=seed, progress=progress).sentences if New.parse(base) else []
        start = load_base(base, work / "base", text, seed=seed, progress=progress)
        model = load(start.folder, "AutoModelForSequenceClassification", seed=seed, num_labels=1).float().to(device())
        sequences = _sequences(start, min(window, positions(config_of(start.folder))), index, data)
        task = CrossTask(model, sequences, data, triplet, batch, part, seed)
        validation = Validation(MEASURE, partial(_precision, task, progress), every, patience) if data.valid else None
        training = Training(steps, seed=seed, rate=rate, checkpoint=checkpoint)
        about = {"method": "mtft", "base": start.text, "weights": start.fingerprint, "data": data.fingerprint}
        settings = {"index": index.fingerprint, "first": str(first), "depth": depth, "valid": valid, **task.settings}
        curve = train(task, training, work, {**about, **settings}, validation=validation, progress=progress)
        if sequences.cut:
            notify(f"{sequences.cut:,} of {sequences.total:,} inputs truncated to {sequences.window} tokens")
        facts = {"seed": seed, "rate": rate, "training_pairs": len(data.pairs), MEASURE: dict(curve.values)}
        with progress("writing the model"):
            return write_cross(Path(to), model, start, curve, {**about, **settings, **facts})


def _sequences(base: Base, window: int, index: Index, data: TrainingSet) -> Sequences:
    """Queries and documents by their ids, tokenised for the base model."""
    fast = tokenizer(base.folder)
    words = Tokenizer.from_str(fast.backend_tokenizer.to_str())
    words.no_truncation()
    words.no_padding()

    def read(key: tuple[str, str]) -> str:
        kind, id = key
        return data.queries[id].text if kind == QUERY else index.document(id).text

    return Sequences(words, window, read, fast.pad_token_id or 0)


def _check(**settings: float) -> None:
    bounds = {"triplet": (0, math.inf), "valid": (0, 1), "part": (3, math.inf)}
    for name, value in settings.items():
        low, high = bounds.get(name, (1, math.inf))
        if not low <= value < high:
            raise UsageError(f"The {name!r} of MTFT must be in [{low}, {high}). Got {value} instead.")


def _precision(task: CrossTask, progress: Progress) -> float:
    """P@5 of the queries held out, with their candidates re-ranked by the current model."""
    measure, run = parse_measure(MEASURE), {}
    with progress("validating", len(task.data.valid), "queries") as advance:
        for query, candidates in task.data.valid.items():
            run[query] = task.ranking(query, candidates)
            advance(1)
    return evaluate(run, {query: task.data.qrels[query] for query in run}, [measure]).total(measure)


# ---------------------------------------------------------------------------- losses


def ranking_loss(positive: Any, negative: Any) -> Any:
    """(b,): −log softmax(s⁺, s⁻) of the scores (b,) of relevant documents and of others."""
    return softplus(negative - positive)


def triplet_loss(query: Any, positive: Any, negative: Any) -> Any:
    """(b,): max(0, ‖q − d⁺‖ − ‖q − d⁻‖ + 1) of vectors (b, width)."""
    near, far = (torch.linalg.vector_norm(query - document, dim=1) for document in (positive, negative))
    return relu(near - far + MARGIN)


@dataclass(frozen=True)
class CrossTask:
    """A cross-encoder with its training data: the task of the training loop, and the ranker for validation."""

    module: Any  # a sequence classifier with one label
    sequences: Sequences
    data: TrainingSet
    triplet: float = 1.0
    batch: int = 32
    part: int = 8  # sequences that are back-propagated together: at least 3, one triple
    seed: int = 0

    @property
    def settings(self) -> dict[str, float]:
        """The settings that, besides the data, determine a step."""
        return {"window": self.sequences.window, "triplet": self.triplet, "batch": self.batch, "part": self.part}

    def losses(self, step: int) -> Iterator[Losses]:
        """Both losses of a batch of triples, in parts; each is the part's share of the mean over the batch."""
        triples = self.data.draw(self.batch, self.seed, step)
        for some in _chunks(triples, self.part // 2):  # two pairs per triple
            yield {"ranking": ranking_loss(*self._scored(some)).sum() / self.batch}
        for some in _chunks(triples, self.part // 3) if self.triplet else ():  # three texts per triple
            yield {"triplet": self.triplet * triplet_loss(*self._vectors(some)).sum() / self.batch}

    def scores(self, queries: Sequence[str], documents: Sequence[str]) -> Any:
        """(b,): the relevance scores of b pairs of a query and a document, both by id."""
        tokens = self.sequences.pairs([(QUERY, id) for id in queries], [(DOCUMENT, id) for id in documents])
        return self.module(**_tensors(self.module, tokens)).logits[:, 0]

    def ranking(self, query: str, candidates: Ranking) -> Ranking:
        """The candidates of a query by their scores; equal scores in first-stage order."""
        parts = (self.scores([query] * len(some), some).tolist() for some in _chunks(candidates.ids, self.part))
        scores = np.array([*chain.from_iterable(parts)], dtype=np.float64)
        order = np.argsort(-scores, kind="stable")
        return Ranking(tuple(candidates.ids[place] for place in order), scores[order])

    def _scored(self, triples: Sequence[Triple]) -> Any:
        """s⁺ and s⁻, (b,) each, in one forward pass."""
        queries, relevant, negative = zip(*triples, strict=True)
        return self.scores(queries * 2, relevant + negative).chunk(2)

    def _vectors(self, triples: Sequence[Triple]) -> Any:
        """The vectors q, d⁺ and d⁻, (b, width) each, of the single texts, in one forward pass."""
        queries, relevant, negative = zip(*triples, strict=True)
        tokens = self.sequences.singles(
            [*((QUERY, id) for id in queries), *((DOCUMENT, id) for id in relevant + negative)]
        )
        model = self.module.base_model
        return model(**_tensors(model, tokens)).last_hidden_state[:, 0].chunk(3)


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _tensors(model: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays that the model accepts, as tensors: not every family has token types."""
    parameters = signature(model.forward).parameters
    return {name: torch.from_numpy(array).to(device()) for name, array in arrays.items() if name in parameters}
