"""Sentences per second of our encoders, compared with sentence-transformers with the same model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.collection import sentences
from benchmarks.table import Goal, Row, seconds
from benchmarks.timing import Options, Times, compared, interleaved, peer_module
from rprs import spec
from rprs.encode import models
from rprs.encode.fitted import Fitted, Table
from rprs.encode.regression import add_rows
from rprs.encode.remembered import RememberedTokens, RememberedVectors, tokenize

__all__ = ["run"]

PEER = "sentence-transformers, batch 32"
GOALS = {
    "onnx(precision=int8)": Goal(2.5, at_least=True),
    "onnx(precision=fp32)": Goal(1.7, at_least=True),
    "fitted": Goal(80, at_least=True),
}
BY_THE_CLOCK = ("fitted",)  # the other goals are of processor time, on one thread
ROUNDS = 5
CHECKED = 100  # sentences whose vectors are compared
SHORTEST, LONGEST = 18, 45  # words

Encode = Callable[[Sequence[str]], NDArray[np.float32]]


def run(options: Options) -> Iterator[Row]:
    """All encode the same sentences of Python's documentation, with their default settings, on all cores."""
    chosen, sample = _sentences(300 if options.quick else 1000, 1000 if options.quick else Fitted().sample)
    specs: dict[str, Any] = {name: spec.parse("encoder", name) for name in GOALS}
    encoders: dict[str, Any] = {
        name: replace(each.load(), remembered=RememberedVectors(0)) for name, each in specs.items() if name != "fitted"
    }
    started = perf_counter()
    encoders["fitted"] = Fitted(sample=len(sample)).fit(sample)
    fitting = perf_counter() - started
    encode: dict[str, Encode] = {name: encoder.encode for name, encoder in encoders.items()}
    peer = _peer()
    if peer is not None:
        encode[PEER] = peer
    yield from _rows(encode, chosen, options.rounds(ROUNDS))
    if peer is not None:
        yield from _rows({**encode, PEER: _on_one_thread(peer)}, chosen, 2, process_time)
    report = encoders["fitted"].report
    agreement = ", ".join(f"{key} {value}" for key, value in report.items() if key != "seconds")
    yield Row("encoders", f"fitted: fitting it, with its teacher ({agreement})", seconds(fitting))
    yield from _whole_texts(encoders["fitted"], sentences()[:: 10 if options.quick else 1], options.rounds(ROUNDS))


def _whole_texts(table: Table, texts: Sequence[str], rounds: int) -> Iterator[Row]:
    """The fitted encoder over running text: its tokens with and without remembering words, and all of it."""
    ids, offsets = tokenize(table.words, texts)
    ones, rows = np.ones(len(ids), dtype=np.float32), table.rows.astype(np.float32)
    ours, peer, all_of_it, limit = (
        "remembered",
        "its tokenizer asked for every text",
        "encode",
        "the bare sum of the rows",
    )
    tasks: dict[str, Callable[[], object]] = {
        ours: lambda: RememberedTokens(table.words)(texts),
        peer: lambda: tokenize(table.words, texts),
        all_of_it: lambda: table.encode(texts),
        limit: lambda: add_rows(offsets, ids, ones, rows),
    }
    times = interleaved(tasks, rounds)
    words = sum(len(text.split()) for text in texts)
    what = f"fitted: {len(texts):,} sentences, {words:,} words"
    yield compared("encoders", f"{what}; tokens, from an empty memory", times, peer, ours=ours)
    rate = words / times[all_of_it].min()
    yield compared("encoders", f"{what}; vectors, {rate:,.0f} words per second", times, limit, ours=all_of_it)


def _rows(
    encode: dict[str, Encode], chosen: list[str], rounds: int, clock: Callable[[], float] = perf_counter
) -> Iterator[Row]:
    times = interleaved({name: partial(function, chosen) for name, function in encode.items()}, rounds, clock)
    words = np.mean([len(sentence.split()) for sentence in chosen])
    by_default = clock is perf_counter
    unit = "second" if by_default else "processor-second"
    near = _cosines(encode, chosen[:CHECKED])
    for name, goal in GOALS.items():
        what = f"{name}: {len(chosen):,} sentences of {words:.0f} words, sentences per {unit}"
        if name in near:
            what += f" (mean cosine {near[name]:.3f})"
        yield _row(what, name, len(chosen), times, goal if by_default == (name in BY_THE_CLOCK) else None)


def _sentences(count: int, sample: int) -> tuple[list[str], list[str]]:
    """Sentences of medium length from all over the documentation, and others of any length for fitting."""
    every = sentences()
    middling = [text for text in every if SHORTEST <= len(text.split()) <= LONGEST and _is_prose(text)]
    chosen = middling[:: len(middling) // count][:count]
    held = set(chosen)
    rest = [sentence for sentence in every if sentence not in held]
    return chosen, rest[:: max(1, len(rest) // sample)][:sample]


def _is_prose(text: str) -> bool:
    """Whether a text is neither a table nor code, whose many tokens would slow down a peer that pads its batches."""
    return sum(map(str.isalpha, text)) + text.count(" ") >= 0.92 * len(text) and len(text) < 8 * len(text.split())


def _on_one_thread(encode: Encode) -> Encode:
    """Limit torch to one thread, since idle ones use processor time; at each call, since other libraries reset it."""
    torch = import_module("torch")

    def encode_on_one_thread(texts: Sequence[str]) -> NDArray[np.float32]:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return encode(texts)
        finally:
            torch.set_num_threads(before)

    return encode_on_one_thread


def _peer() -> Encode | None:
    module = peer_module("sentence_transformers")
    if module is None:
        return None
    model = module.SentenceTransformer(str(models.find(models.DEFAULT)), device="cpu")

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(model.encode(list(texts), batch_size=32, show_progress_bar=False), dtype=np.float32)

    return encode


def _row(what: str, name: str, count: int, times: Times, goal: Goal | None) -> Row:
    mine = times[name]
    rate = f"{count / mine.min():,.0f}"
    if PEER not in times:
        return Row("encoders", what, rate, PEER, missing="pip install 'rprs[torch]'", goal=goal)
    theirs = times[PEER]
    ratio, typical = float(theirs.min() / mine.min()), float(np.median(theirs / mine))
    return Row("encoders", what, rate, PEER, f"{count / theirs.min():,.0f}", ratio, typical, goal)


def _cosines(encode: dict[str, Encode], chosen: list[str]) -> dict[str, float]:
    """The mean cosine of each encoder's vectors and the peer's; empty without the peer."""
    if PEER not in encode:
        return {}
    vectors = {name: function(chosen) for name, function in encode.items()}
    unit = {name: rows / np.linalg.norm(rows, axis=1, keepdims=True) for name, rows in vectors.items()}
    return {name: float(np.mean(np.sum(unit[name] * unit[PEER], axis=1))) for name in GOALS}
