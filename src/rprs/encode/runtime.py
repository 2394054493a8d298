"""Running ONNX graphs: one session and one thread per core, and batches of sequences of the same length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rprs.encode.loading import plainly
from rprs.errors import ModelError
from rprs.forks import PerProcess
from rprs.scoring.threads import cores

__all__ = ["BATCH", "Sessions", "batches", "in_threads"]

Result = TypeVar("Result")

BATCH = 512  # tokens
MOST_SESSIONS = 8  # each holds its own copy of the weights


@dataclass(frozen=True)
class Sessions:
    """The sessions of one graph; each is used by one caller at a time, others wait.

    A forked process opens its own: a session that was in use at that moment would never become free.
    """

    queue: PerProcess[SimpleQueue[Any]] = field(repr=False)

    @classmethod
    def of(cls, file: Path | bytes, optimise: bool) -> Sessions:
        """One session per core, up to a maximum, beyond which cores share sessions and their weights.

        A graph is a file, or the content of one.
        """

        def load() -> SimpleQueue[Any]:
            sessions = [_session(file, optimise) for _ in range(min(cores(), MOST_SESSIONS))]
            free: SimpleQueue[Any] = SimpleQueue()
            for core in range(cores()):
                free.put(sessions[core % len(sessions)])
            return free

        queue = PerProcess(load)
        queue()  # a damaged file is an error now, not at the first sentence
        return cls(queue)

    @contextmanager
    def one(self) -> Iterator[Any]:
        """A session for the duration of the context."""
        free = self.queue()
        session = free.get()
        try:
            yield session
        finally:
            free.put(session)

    def run(self, inputs: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        """The first output of the graph, computed from those inputs that the graph has."""
        with self.one() as session:
            names = [need.name for need in session.get_inputs()]
            unknown = next((name for name in names if name not in inputs), None)
            if unknown is not None:
                raise ModelError(
                    f"The ONNX graph has an unknown input {unknown!r}: export it with no inputs but {', '.join(inputs)}"
                )
            with plainly("The model cannot be run: do its weights, tokenizer and config.json belong together?"):
                (output,) = session.run([session.get_outputs()[0].name], {name: inputs[name] for name in names})
        values: NDArray[np.float32] = output
        return values


def _session(file: Path | bytes, optimise: bool) -> Any:
    """A session with one thread: there are as many callers as cores.

    Our own graphs are already fused; the runtime's SkipLayerNormalization would be several times slower than its parts.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_ENABLE_BASIC
    graph = str(file) if isinstance(file, Path) else file
    with plainly(f"{file if isinstance(file, Path) else 'The graph of a model'} cannot be run and may be damaged"):
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def batches(lengths: Sequence[int], limit: int = BATCH) -> list[list[int]]:
    """Batches of piece numbers, longest first: pieces of the same length, together at most `limit` tokens."""
    groups: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        last = groups[-1] if groups else []
        if last and lengths[last[0]] == lengths[number] and (len(last) + 1) * lengths[number] <= limit:
            last.append(number)
        else:
            groups.append([number])
    return groups


def in_threads(
    run: Callable[[list[int]], Result], todo: Sequence[list[int]], threads: int = 0
) -> Iterator[tuple[list[int], Result]]:
    """Each batch with the result of `run`, in order, computed with one thread per core; an error cancels the rest."""
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
