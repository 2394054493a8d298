"""The transformer in ONNX Runtime, without torch: all-MiniLM-L6-v2 and any other exported or BERT-like model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rprs.encode import models, nothing
from rprs.errors import ModelError
from rprs.progress import Advance, Progress, silent
from rprs.scoring.threads import cores
from rprs.spec import Component, Kind, require

__all__ = [
    "GRAPH_VERSION",
    "Onnx",
    "OnnxEncoder",
    "Pooling",
    "Precision",
    "cores",
    "frame",
    "once",
    "tokenizer",
    "unit",
]

GRAPH_VERSION = 2  # of the graphs that graph.py makes: a change in the vectors needs a new number
BATCH = 512  # tokens
CHUNK = 8192  # sentences tokenised at a time
MOST_SESSIONS = 8  # each holds its own copy of the weights

Precision = Literal["int8", "fp32"]
Pooling = Literal["mean", "cls"]


@dataclass(frozen=True)
class Onnx(Component):
    """A sentence model by name or folder, run in ONNX Runtime.

    A folder with model.safetensors of the BERT family is turned into a graph once; a model.onnx is used as it is.
    """

    name: ClassVar[str] = "onnx"
    kind: ClassVar[Kind] = "encoder"

    model: str = models.DEFAULT
    precision: Precision = "int8"

    def __post_init__(self) -> None:
        require(self, "model", bool(self.model), "a name or a folder")
        require(self, "precision", self.precision in ("int8", "fp32"), "'int8' or 'fp32'")

    def load(self, progress: Progress = silent) -> OnnxEncoder:
        """The model, got and prepared where that has not happened yet."""
        folder = models.find(self.model, progress)
        pooling, window = _settings(folder)
        exported = next(
            (folder / name for name in ("model.onnx", "onnx/model.onnx") if (folder / name).is_file()), None
        )
        source = exported or folder / "model.safetensors"
        if not source.is_file():
            raise ModelError(f"{folder} has neither model.safetensors nor model.onnx: use sbert({folder})")
        parts = [models.sha256(file) for file in (source, folder / "config.json")]
        key = _hash(*parts, self.precision, pooling, f"graph {GRAPH_VERSION}")
        if exported is not None and self.precision == "fp32":
            file = exported
        else:
            make = _quantiser(exported) if exported else _builder(folder, self.precision, pooling)
            with progress(f"preparing {folder.name} in {self.precision}"):
                file = models.derive(f"{key}-{self.precision}.onnx", make)
        words = tokenizer(folder)
        return OnnxEncoder(
            sessions=_sessions(file, optimise=exported is not None),
            words=words,
            window=window,
            pooling=pooling,
            batch=1 if exported is not None and self.precision == "int8" else BATCH,
            fingerprint=_hash(key, models.sha256(folder / "tokenizer.json"), str(window)),
        )


@dataclass(frozen=True)
class OnnxEncoder:
    """A loaded model. A sentence's vector depends on its text alone, not on the sentences given with it.

    Batches hold sentences of one length in tokens, so nothing is padded, and a thread a core works them off.
    A sentence beyond the model's window is cut into equal windows whose vectors are averaged by their tokens.
    """

    sessions: SimpleQueue[Any] = field(repr=False)  # those that are free
    words: Any = field(repr=False)  # the tokenizer
    window: int  # tokens that go into the model at once, the special ones among them
    pooling: Pooling
    batch: int  # tokens in a batch
    fingerprint: str

    @property
    def dimension(self) -> int:
        """How long a vector is."""
        with self._session() as session:
            return int(session.get_outputs()[0].shape[-1])

    def encode(self, sentences: Sequence[str], advance: Advance = nothing) -> NDArray[np.float32]:
        """(m, dimension): a unit row a sentence, in the given order; identical sentences are encoded once."""
        distinct, where = once(sentences)
        times = np.bincount(where, minlength=len(distinct))
        found = np.zeros((len(distinct), self.dimension), dtype=np.float32)
        for start in range(0, len(distinct), CHUNK):
            chunk = slice(start, start + CHUNK)
            found[chunk] = self._distinct(distinct[chunk], times[chunk], advance)
        return found[where]

    def token_vectors(self, advance: Advance = nothing) -> NDArray[np.float32]:
        """(vocabulary, dimension): each token passed through the model alone."""
        before, after = frame(self.words)
        size = self.words.get_vocab_size()
        found = np.zeros((size, self.dimension), dtype=np.float32)
        batches = _batches([1 + len(before) + len(after)] * size, self.batch)
        for batch, vectors in _in_threads(lambda batch: self._run([[*before, i, *after] for i in batch]), batches):
            found[batch] = vectors
            advance(len(batch))
        return found

    def _distinct(self, sentences: list[str], times: NDArray[np.int64], advance: Advance) -> NDArray[np.float32]:
        before, after = frame(self.words)
        room = self.window - len(before) - len(after)
        pieces: list[list[int]] = []
        owner: list[int] = []
        for number, encoding in enumerate(self.words.encode_batch_fast(sentences, add_special_tokens=False)):
            for piece in _cut(encoding.ids, room):
                pieces.append([*before, *piece, *after])
                owner.append(number)
        total = np.zeros((len(sentences), self.dimension), dtype=np.float32)
        waiting = times.copy()
        batches = _batches([len(piece) for piece in pieces], self.batch)
        for batch, vectors in _in_threads(lambda batch: self._run([pieces[i] for i in batch]), batches):
            for number, vector in zip(batch, vectors, strict=True):
                total[owner[number]] += vector * len(pieces[number])
                advance(int(waiting[owner[number]]))
                waiting[owner[number]] = 0
        advance(int(waiting.sum()))  # those without tokens
        return unit(total)

    @contextmanager
    def _session(self) -> Iterator[Any]:
        session = self.sessions.get()
        try:
            yield session
        finally:
            self.sessions.put(session)

    def _run(self, pieces: list[list[int]]) -> NDArray[np.float32]:
        ids = np.array(pieces, dtype=np.int64)
        fixed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        with self._session() as session:
            given = {need.name: fixed[need.name] for need in session.get_inputs()}
            (output,) = session.run([session.get_outputs()[0].name], given)
        if output.ndim == 3:  # token vectors of an exported model
            output = output[:, 0] if self.pooling == "cls" else output.mean(axis=1)
        return unit(output)


def tokenizer(folder: Path) -> Any:
    """The tokenizer of a model folder, which neither pads nor truncates."""
    from tokenizers import Tokenizer

    file = folder / "tokenizer.json"
    if not file.is_file():
        raise ModelError(f"{folder} has no tokenizer.json: save its tokenizer as a fast one, or use sbert({folder})")
    found = Tokenizer.from_file(str(file))
    found.no_truncation()
    found.no_padding()
    return found


# ---------------------------------------------------------------------------- the folder of a model


def _settings(folder: Path) -> tuple[Pooling, int]:
    """How token vectors become one, and how many tokens go in at once."""
    config, sentence, pool = (
        json.loads((folder / name).read_text()) if (folder / name).is_file() else {}
        for name in ("config.json", "sentence_bert_config.json", "1_Pooling/config.json")
    )
    modules = json.loads((folder / "modules.json").read_text()) if (folder / "modules.json").is_file() else []
    kinds = {module["type"].rpartition(".")[2] for module in modules} - {"Transformer", "Pooling", "Normalize"}
    if kinds:
        raise ModelError(f"onnx cannot run {folder}, which has a module {min(kinds)}: use sbert({folder})")
    modes = {
        name.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for name, on in pool.items()
        if name.startswith("pooling_mode_") and on
    }
    modes |= {pool["pooling_mode"]} if "pooling_mode" in pool else set()  # how newer versions write it
    if not modes <= {"mean"} and modes != {"cls"}:
        raise ModelError(f"onnx cannot pool by {', '.join(sorted(modes))} as {folder} asks: use sbert({folder})")
    offset = 0 if config.get("model_type") == "bert" else 2  # RoBERTa's positions start at 2
    positions = int(config.get("max_position_embeddings", 512)) - offset
    window = min(int(sentence.get("max_seq_length") or positions), positions)
    return "cls" if modes == {"cls"} else "mean", window


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _builder(folder: Path, precision: Precision, pooling: Pooling) -> Callable[[Path], None]:
    def make(file: Path) -> None:
        from rprs.encode.graph import build

        file.write_bytes(build(folder, precision, pooling).SerializeToString())

    return make


def _quantiser(exported: Path) -> Callable[[Path], None]:
    """Dynamic int8 of somebody else's graph; its scales are per batch, hence batches of one sentence."""

    def make(file: Path) -> None:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic

        # Fused operators hide the types of what they give from the shape inference; it is float throughout.
        options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
        kind = QuantType.QInt8
        quantize_dynamic(exported, file, per_channel=True, reduce_range=True, weight_type=kind, extra_options=options)

    return make


def _sessions(file: Path, optimise: bool) -> SimpleQueue[Any]:
    """A session a core; on a machine of many cores several callers share one, and its weights."""
    made = [_session(file, optimise) for _ in range(min(cores(), MOST_SESSIONS))]
    free: SimpleQueue[Any] = SimpleQueue()
    for core in range(cores()):
        free.put(made[core % len(made)])
    return free


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
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


# ---------------------------------------------------------------------------- pieces and batches


def frame(words: Any) -> tuple[list[int], list[int]]:
    """The special tokens that go before and after a sentence."""
    bare, framed = (words.encode("a", add_special_tokens=special).ids for special in (False, True))
    start = next(i for i in range(len(framed)) if framed[i : i + len(bare)] == bare)
    return framed[:start], framed[start + len(bare) :]


def _cut(ids: list[int], room: int) -> Iterator[list[int]]:
    """Equal parts of at most `room` tokens; none for a text without tokens."""
    parts = -(-len(ids) // room)
    for part in range(parts):
        yield ids[part * len(ids) // parts : (part + 1) * len(ids) // parts]


def _batches(lengths: list[int], limit: int) -> list[list[int]]:
    """Numbers of pieces, longest first; those of a batch have one length and together at most `limit` tokens."""
    batches: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        last = batches[-1] if batches else []
        if last and lengths[last[0]] == lengths[number] and (len(last) + 1) * lengths[number] <= limit:
            last.append(number)
        else:
            batches.append([number])
    return batches


def _in_threads(
    run: Callable[[list[int]], NDArray[np.float32]], batches: list[list[int]]
) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
    """Each batch with its vectors, in order, computed by a thread a core; an error cancels the rest."""
    pool = ThreadPoolExecutor(cores())
    try:
        todo = iter(batches)
        running = [(batch, pool.submit(run, batch)) for batch in islice(todo, 4 * cores())]
        while running:
            batch, future = running.pop(0)
            running += [(new, pool.submit(run, new)) for new in islice(todo, 1)]
            yield batch, future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to length one; a zero row stays zero."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))[:, None]
    scaled: NDArray[np.float32] = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0, casting="unsafe")
    return scaled


def once(sentences: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct sentences, and for each given one the number of its like among them."""
    numbers = {sentence: number for number, sentence in enumerate(dict.fromkeys(sentences))}
    return list(numbers), np.array([numbers[sentence] for sentence in sentences], dtype=np.int64)
