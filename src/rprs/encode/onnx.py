"""Transformers in ONNX Runtime, without torch: all-MiniLM-L6-v2 and any other exported or BERT-like model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rprs.compiled import compiled
from rprs.encode import models
from rprs.encode.folder import exported, fingerprint_of, obstacle, positions, tokenizer, tokenizer_hash
from rprs.encode.hub import Config, read_config
from rprs.encode.loading import plainly
from rprs.encode.remembered import RememberedVectors
from rprs.encode.runtime import BATCH, Sessions, batches, in_threads
from rprs.errors import ModelError
from rprs.files.hashes import sha256
from rprs.progress import Advance, Progress, no_op, silent
from rprs.spec import Component, Kind, require

__all__ = [
    "GRAPH_VERSION",
    "Onnx",
    "OnnxEncoder",
    "Pooling",
    "Precision",
    "deduplicate",
    "frame",
    "scale_to_unit",
    "unit",
]

GRAPH_VERSION = 2  # of the graphs that graph.py builds; increase it if the vectors change
CHUNK = 8192  # sentences tokenised at a time

Precision = Literal["int8", "fp32"]
Pooling = Literal["mean", "cls"]


@dataclass(frozen=True)
class Onnx(Component):
    """A sentence model by name or folder, run in ONNX Runtime.

    For a model of the BERT family, a graph is built once from model.safetensors; otherwise its model.onnx is used.
    """

    name: ClassVar[str] = "onnx"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)
    bare: ClassVar[str] = "model"  # the parameter that is meant if a text form is not the name of an encoder
    slow: ClassVar[bool] = True  # an index looks for sentences that were encoded before

    model: str = models.DEFAULT
    precision: Precision = "int8"

    def __post_init__(self) -> None:
        require(self, "model", bool(self.model), "a name or a folder")
        require(self, "precision", self.precision in ("int8", "fp32"), "'int8' or 'fp32'")

    def load(self, progress: Progress = silent) -> OnnxEncoder:
        """The model, downloaded and prepared on first use."""
        folder = models.find(self.model, progress, _weights, f"use sbert({self.model})")
        pooling, window = _settings(folder)
        source = _source(folder)
        build = source.name == "model.safetensors"
        parts = [sha256(file) for file in (source, folder / "config.json")]
        key = fingerprint_of(*parts, self.precision, pooling, f"graph {GRAPH_VERSION}")
        file = source
        if build or self.precision == "int8":
            make = _builder(folder, self.precision, pooling) if build else _quantiser(source)
            with progress(f"preparing {folder.name} in {self.precision}"):
                file = models.derive(f"{key}-{self.precision}.onnx", make)
        return OnnxEncoder(
            sessions=Sessions.of(file, optimise=not build),
            words=tokenizer(folder),
            window=window,
            pooling=pooling,
            batch=BATCH if build or self.precision == "fp32" else 1,
            fingerprint=fingerprint_of(key, tokenizer_hash(folder), str(window)),
            graph=file if build else None,
        )


@dataclass(frozen=True)
class OnnxEncoder:
    """A loaded model. The vector of a sentence depends only on its text, not on the other sentences of a call.

    The sentences of a batch have the same number of tokens, so nothing is padded; one thread per core runs batches.
    A sentence longer than the model's window is cut into equal pieces, whose vectors are averaged by number of tokens.
    """

    sessions: Sessions = field(repr=False)
    words: Any = field(repr=False)  # the tokenizer
    window: int  # maximum number of input tokens, including special tokens
    pooling: Pooling
    batch: int  # tokens in a batch
    fingerprint: str
    graph: Path | None = field(default=None, repr=False)  # the file, if graph.py built it
    remembered: RememberedVectors = field(default_factory=RememberedVectors, repr=False, compare=False)

    @property
    def dimension(self) -> int:
        """The number of entries of a vector."""
        with self.sessions.one() as session:
            size = session.get_outputs()[0].shape[-1]
        return size if isinstance(size, int) else int(self._run([[*chain(*frame(self.words))]]).shape[1])

    def encode(self, sentences: Sequence[str], advance: Advance = no_op) -> NDArray[np.float32]:
        """(m, dimension): one unit row per sentence, in the same order; identical sentences are encoded once.

        Sentences of earlier calls are remembered, as many as `RememberedVectors` has room for.
        """
        distinct, numbers = deduplicate(sentences)
        times = np.bincount(numbers, minlength=len(distinct))
        rows = np.zeros((len(distinct), self.dimension), dtype=np.float32)
        new = self.remembered.fill(distinct, rows)
        advance(int(times.sum() - times[new].sum()))
        for start in range(0, len(new), CHUNK):
            chunk = new[start : start + CHUNK]
            rows[chunk] = self._encode_distinct([distinct[number] for number in chunk], times[chunk], advance)
        self.remembered.add([distinct[number] for number in new], rows[new])
        return rows[numbers]

    def token_vectors(self, tokens: Sequence[int], advance: Advance = no_op) -> NDArray[np.float32]:
        """(tokens, dimension): the vector of each single token, by its number in the vocabulary."""
        before, after = frame(self.words)
        rows = np.zeros((len(tokens), self.dimension), dtype=np.float32)
        todo = batches([1 + len(before) + len(after)] * len(tokens), self.batch)
        for batch, vectors in in_threads(lambda batch: self._run([[*before, tokens[i], *after] for i in batch]), todo):
            rows[batch] = vectors
            advance(len(batch))
        return rows

    def in_context(self) -> Callable[[list[list[int]]], tuple[NDArray[np.float32], NDArray[np.float32]]] | None:
        """A function from token sequences of the same length to their unit vectors and those of their tokens.

        None if the graph pools the vectors of tokens and is not ours.
        """
        sessions = self.sessions
        if self.graph is not None:
            from rprs.encode.graph import token_graph

            sessions = Sessions.of(token_graph(self.graph), optimise=False)
        elif self._output(self.sessions, [[*chain(*frame(self.words))]]).ndim < 3:
            return None

        def run(pieces: list[list[int]]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            tokens = self._output(sessions, pieces)
            return unit(self._pool(tokens)), tokens

        return run

    def _encode_distinct(self, sentences: list[str], times: NDArray[np.int64], advance: Advance) -> NDArray[np.float32]:
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
        todo = batches([len(piece) for piece in pieces], self.batch)
        for batch, vectors in in_threads(lambda batch: self._run([pieces[i] for i in batch]), todo):
            for number, vector in zip(batch, vectors, strict=True):
                total[owner[number]] += vector * len(pieces[number])
                advance(int(waiting[owner[number]]))
                waiting[owner[number]] = 0
        advance(int(waiting.sum()))  # sentences without tokens
        return unit(total)

    def _run(self, pieces: list[list[int]]) -> NDArray[np.float32]:
        output = self._output(self.sessions, pieces)
        return unit(self._pool(output) if output.ndim == 3 else output)  # three for token vectors of an exported model

    def _output(self, sessions: Sessions, pieces: list[list[int]]) -> NDArray[np.float32]:
        ids = np.array(pieces, dtype=np.int64)
        return sessions.run(
            {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        )

    def _pool(self, tokens: NDArray[np.float32]) -> NDArray[np.float32]:
        pooled: NDArray[np.float32] = tokens[:, 0] if self.pooling == "cls" else tokens.mean(axis=1)
        return pooled


# ---------------------------------------------------------------------------- the folder of a model


def _weights(config: Config) -> Sequence[str]:
    """The files of a model that can be used: weights from which graph.py builds a graph, or an exported graph."""
    return (*(() if obstacle(config) else ("model.safetensors",)), "onnx/model.onnx")


def _source(folder: Path) -> Path:
    """The weights from which a graph is built, so that vectors do not depend on the batch; otherwise model.onnx."""
    weights, graph = folder / "model.safetensors", exported(folder)
    problem = obstacle(read_config(folder))
    if weights.is_file() and not problem:
        return weights
    if graph is not None:
        return graph
    if weights.is_file():
        raise ModelError(f"onnx cannot build {folder}: {problem}; export it to model.onnx, or use sbert({folder})")
    raise ModelError(f"{folder} has neither model.safetensors nor model.onnx: use sbert({folder})")


def _settings(folder: Path) -> tuple[Pooling, int]:
    """The pooling of token vectors, and the maximum number of input tokens."""
    sentence = _json(folder / "sentence_bert_config.json") or {}
    pool = _json(folder / "1_Pooling/config.json") or {}
    modules = _json(folder / "modules.json") or []
    kinds = {module["type"].rpartition(".")[2] for module in modules} - {"Transformer", "Pooling", "Normalize"}
    if kinds:
        raise ModelError(f"onnx cannot run {folder}, which has a module {min(kinds)}: use sbert({folder})")
    modes = {
        name.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for name, on in pool.items()
        if name.startswith("pooling_mode_") and on
    }
    modes |= {pool["pooling_mode"]} if "pooling_mode" in pool else set()  # the form of newer versions
    if not modes <= {"mean"} and modes != {"cls"}:
        raise ModelError(f"onnx cannot pool by {', '.join(sorted(modes))} as {folder} requires: use sbert({folder})")
    longest = positions(read_config(folder))
    return "cls" if modes == {"cls"} else "mean", min(int(sentence.get("max_seq_length") or longest), longest)


def _json(file: Path) -> Any:
    with plainly(f"{file} cannot be read as JSON"):
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def _builder(folder: Path, precision: Precision, pooling: Pooling) -> Callable[[Path], None]:
    def make(file: Path) -> None:
        from rprs.encode.graph import build

        file.write_bytes(build(folder, precision, pooling).SerializeToString())

    return make


def _quantiser(exported: Path) -> Callable[[Path], None]:
    """Dynamic int8 quantisation of an exported graph; its scales are per batch, hence batches of one sentence."""

    def make(file: Path) -> None:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic

        # Shape inference cannot determine the output types of fused operators, which are float throughout.
        options = {"DefaultTensorType": onnx.TensorProto.FLOAT}
        kind = QuantType.QInt8
        with plainly(f"{exported} cannot be quantised and may be damaged: use precision=fp32"):
            quantize_dynamic(
                exported, file, per_channel=True, reduce_range=True, weight_type=kind, extra_options=options
            )

    return make


# ---------------------------------------------------------------------------- pieces and batches


def frame(words: Any) -> tuple[list[int], list[int]]:
    """The special tokens before and after a sentence."""
    bare, framed = (words.encode("a", add_special_tokens=special).ids for special in (False, True))
    start = next(i for i in range(len(framed)) if framed[i : i + len(bare)] == bare)
    return framed[:start], framed[start + len(bare) :]


def _cut(ids: list[int], room: int) -> Iterator[list[int]]:
    """Equal parts of at most `room` tokens; none for a text without tokens."""
    parts = -(-len(ids) // room)
    for part in range(parts):
        yield ids[part * len(ids) // parts : (part + 1) * len(ids) // parts]


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to unit length; a zero row stays zero."""
    scaled = rows.copy()
    scale_to_unit(scaled)
    return scaled


def scale_to_unit(rows: NDArray[np.float32]) -> None:
    """Scale rows to unit length in their place; a zero row stays zero."""
    _divide(rows, np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))


@compiled
def _divide(rows: Any, norms: Any) -> None:
    for row in range(rows.shape[0]):
        norm = norms[row]
        if not norm > 0:
            rows[row] = 0
        else:
            for column in range(rows.shape[1]):
                rows[row, column] = np.float32(np.float64(rows[row, column]) / norm)


def deduplicate(sentences: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct sentences, and the position of each sentence among them."""
    numbers = {sentence: number for number, sentence in enumerate(dict.fromkeys(sentences))}
    return list(numbers), np.array([numbers[sentence] for sentence in sentences], dtype=np.int64)
