"""Sentences per second of our encoders beside sentence-transformers with the same model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.collection import sentences
from benchmarks.table import Goal, Row, seconds
from benchmarks.timing import Options, Times, interleaved, peer_module
from rprs import spec
from rprs.encode import models

__all__ = ["run"]

PEER = "sentence-transformers, batch 32"
GOALS = {
    "onnx(precision=int8)": Goal(2.5, at_least=True),
    "onnx(precision=fp32)": Goal(1.7, at_least=True),
    "fitted": Goal(80, at_least=True),
}
ROUNDS = 8


def run(options: Options) -> Iterator[Row]:
    """All encode the same sentences of Python's documentation, each in its default way, on all cores."""
    chosen, sample = _sentences(100 if options.quick else 1000, 1000 if options.quick else 10_000)
    words = np.mean([len(sentence.split()) for sentence in chosen])
    encoders: dict[str, Any] = {name: spec.parse("encoder", name).load() for name in GOALS if name != "fitted"}
    started = perf_counter()
    encoders["fitted"] = spec.parse("encoder", f"fitted(sample={max(100, len(sample))})").fit(sample)
    fitting = perf_counter() - started
    peer = _peer()
    tasks: dict[str, Callable[[], object]] = {
        name: partial(encoder.encode, chosen) for name, encoder in encoders.items()
    }
    if peer is not None:
        tasks[PEER] = partial(peer, chosen)
    times = interleaved(tasks, options.rounds(ROUNDS))
    for name, goal in GOALS.items():
        what = f"{name}: {len(chosen):,} sentences of {words:.0f} words, rate"
        if peer is not None:
            what += f" (mean cosine to the peer {_cosine(encoders[name].encode(chosen), peer(chosen)):.3f})"
        yield _row(what, name, len(chosen), times, goal)
    report = encoders["fitted"].report
    agreement = ", ".join(f"{key} {value}" for key, value in report.items() if key != "seconds")
    yield Row("encoders", f"fitted: fitting it, with its teacher ({agreement})", seconds(fitting))


def _sentences(count: int, sample: int) -> tuple[list[str], list[str]]:
    """Some sentences spread over the documentation, and others to fit on."""
    every = sentences()
    chosen = every[:: len(every) // count][:count]
    held = set(chosen)
    rest = [sentence for sentence in every if sentence not in held]
    return list(chosen), rest[:: max(1, len(rest) // sample)][:sample]


def _peer() -> Callable[[Sequence[str]], NDArray[np.float32]] | None:
    module = peer_module("sentence_transformers")
    if module is None:
        return None
    model = module.SentenceTransformer(str(models.find(models.DEFAULT)), device="cpu")

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(model.encode(list(texts), batch_size=32, show_progress_bar=False), dtype=np.float32)

    return encode


def _row(what: str, name: str, count: int, times: Times, goal: Goal) -> Row:
    mine = times[name]
    rate = f"{count / mine.min():,.0f} /s"
    if PEER not in times:
        return Row("encoders", what, rate, PEER, missing="pip install 'rprs[torch]'", goal=goal)
    theirs = times[PEER]
    ratio, typical = float(theirs.min() / mine.min()), float(np.median(theirs / mine))
    return Row("encoders", what, rate, PEER, f"{count / theirs.min():,.0f} /s", ratio, typical, goal)


def _cosine(ours: NDArray[np.float32], theirs: NDArray[np.float32]) -> float:
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return float(np.mean(np.einsum("ij,ij->i", ours, theirs) / norms))
