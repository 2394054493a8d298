"""ONNX Runtime at work: a session a core, batches of sequences of one length, and a thread a core to work them off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.encode.loading import plainly
from rprs.errors import ModelError
from rprs.scoring.threads import cores

__all__ = ["BATCH", "Sessions", "batches", "in_threads"]

BATCH = 512  # tokens
MOST_SESSIONS = 8  # each holds its own copy of the weights


@dataclass(frozen=True)
class Sessions:
    """The sessions of one graph; a caller has one for itself, and the next waits for it."""

    free: SimpleQueue[Any] = field(repr=False)

    @classmethod
    def of(cls, file: Path, optimise: bool) -> Sessions:
        """A session a core; on a machine of many cores several callers share one, and its weights."""
        made = [_session(file, optimise) for _ in range(min(cores(), MOST_SESSIONS))]
        free: SimpleQueue[Any] = SimpleQueue()
        for core in range(cores()):
            free.put(made[core % len(made)])
        return cls(free)

    @contextmanager
    def one(self) -> Iterator[Any]:
        """A session, given back at the end."""
        session = self.free.get()
        try:
            yield session
        finally:
            self.free.put(session)

    def run(self, inputs: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        """The first output of the graph; it is given those of the inputs that it has."""
        with self.one() as session:
            names = [need.name for need in session.get_inputs()]
            strange = next((name for name in names if name not in inputs), None)
            if strange is not None:
                raise ModelError(
                    f"An ONNX graph asks for {strange!r}: export it with no inputs but {', '.join(inputs)}"
                )
            with plainly("The model cannot be run: do its weights, tokenizer and config.json belong together?"):
                (output,) = session.run([session.get_outputs()[0].name], {name: inputs[name] for name in names})
        found: NDArray[np.float32] = output
        return found


def _session(file: Path, optimise: bool) -> Any:
    """One thread inside: the cores are kept busy by as many callers.

    Our own graphs are fused by hand; the runtime's SkipLayerNormalization would be several times slower than its parts.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_ENABLE_BASIC
    with plainly(f"{file} cannot be run, if it is whole at all"):
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def batches(lengths: Sequence[int], limit: int = BATCH) -> list[list[int]]:
    """Numbers of pieces, longest first; those of a batch have one length and together at most `limit` tokens."""
    found: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        last = found[-1] if found else []
        if last and lengths[last[0]] == lengths[number] and (len(last) + 1) * lengths[number] <= limit:
            last.append(number)
        else:
            found.append([number])
    return found


def in_threads(
    run: Callable[[list[int]], NDArray[np.float32]], todo: Sequence[list[int]], threads: int = 0
) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
    """Each batch with what `run` makes of it, in order, computed by a thread a core; an error cancels the rest."""
    threads = threads or cores()
    pool = ThreadPoolExecutor(threads)
    try:
        waiting = iter(todo)
        running = [(batch, pool.submit(run, batch)) for batch in islice(waiting, 4 * threads)]
        while running:
            batch, future = running.pop(0)
            running += [(new, pool.submit(run, new)) for new in islice(waiting, 1)]
            yield batch, future.result()
    finally:
        pool.shutdown(cancel_futures=True)
