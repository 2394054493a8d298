"""A table of token vectors fitted to the collection: close to the transformer's vectors, at the speed of reading.

A transformer, the teacher, encodes a sample of the collection's sentences. Then one ridge regression
(`encode.regression`) finds the token vectors whose weighted mean over a sentence is closest to the teacher's vector of
the sentence. It starts from a prior, which a token that does not occur in the sample keeps: the mean of the teacher's
vectors of the token in the sentences of the sample (`encode.teaching`), or the teacher's vector of the single token,
mapped linearly onto the vectors of the sentences. The agreement with the teacher on held-out sentences is reported.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rprs.encode.onnx import Onnx, scale_to_unit
from rprs.encode.regression import HELD_OUT, Settings, add_rows, fit_rows
from rprs.encode.remembered import RememberedTokens, is_word_by_word, tokenize
from rprs.encode.sbert import SBert
from rprs.encode.teaching import InContext, Teacher, encode, encode_tokens, forget, teach
from rprs.errors import IndexCorrupt, UsageError
from rprs.progress import Advance, Progress, no_op, silent
from rprs.spec import Component, Kind, require, text

__all__ = ["Fitted", "Saved", "Table"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

CONTEXTS, TOKENS = Settings(0.03, (0.3, 0.1, 0.03)), Settings(1e-3, (0.3, 0.1, 0.03))  # by the prior
CHUNK = 8192  # sentences tokenised at a time

Prior = Literal["contexts", "tokens"]


@dataclass(frozen=True)
class Fitted(Component):
    """A token table fitted to the teacher's vectors of a sample of the collection's sentences.

    `prior` is where the fit starts: from the teacher's vectors of tokens in the contexts of the sample, of whose
    sentences the first 20 tokens teach, or from those of single tokens ("tokens"), which need whole sentences and a
    larger sample, such as 10,000. A teacher that gives no vectors of tokens in context (some exported graphs) always
    teaches in the second way.

    In the text form, the teacher may be just the name or folder of a model: `fitted(teacher=FOLDER)` uses onnx(FOLDER).
    """

    name: ClassVar[str] = "fitted"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)

    teacher: Onnx | SBert = field(default_factory=Onnx)
    sample: int = 4_500
    prior: Prior = "contexts"

    def __post_init__(self) -> None:
        require(self, "sample", self.sample >= 100, "an integer in [100, inf)")
        require(self, "prior", self.prior in ("contexts", "tokens"), "'contexts' or 'tokens'")

    def fit(self, sentences: Sequence[str], progress: Progress = silent) -> Table:
        """The table for these sentences; the same sentences give the same table."""
        start = time.perf_counter()
        teacher: Teacher = self.teacher.load(progress)
        _, offsets = tokenize(teacher.words, sentences)
        kept = np.flatnonzero(np.diff(offsets))  # a sentence without tokens is of no use
        if len(kept) < 2 * HELD_OUT:
            raise UsageError(
                f"fitted needs at least {2 * HELD_OUT} sentences to learn from. Got {len(kept)}; use onnx instead"
            )
        chosen = [sentences[number] for number in kept.tolist()]
        with progress("encoding single tokens with the teacher", teacher.words.get_vocab_size(), "tokens") as advance:
            alone = encode_tokens(teacher, advance)
        in_context = teacher.in_context() if self.prior == "contexts" else None
        if in_context is None:
            rows, results = _learn_from_tokens(teacher, chosen, alone, progress)
        else:
            rows, results = _learn_from_contexts(teacher, in_context, chosen, alone, progress)
        report = {"teacher": text(self.teacher), **results}
        report["seconds"] = round(time.perf_counter() - start, 1)
        return Table(rows.astype(np.float16), teacher.words.to_str(), report)

    def open(self, folder: Path) -> Table:
        """The table saved by `Table.save`."""
        return Table.open(folder)


@dataclass(frozen=True)
class Saved(Component):
    """A table fitted earlier, by its folder, such as `encoders/000001` of another index."""

    folder: str
    name: ClassVar[str] = "table"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)

    def load(self, progress: Progress = silent) -> Table:
        """The table saved by `Table.save`."""
        return Table.open(Path(self.folder))


@dataclass(frozen=True)
class Table:
    """A fitted encoder: the vector of a sentence is the sum of its tokens' rows, scaled to unit length.

    The vector depends only on the text of the sentence, to the last bit.
    """

    rows: NDArray[np.float16] = field(repr=False)  # (vocabulary, dimension), each multiplied by the weight of its token
    tokenizer: str = field(repr=False)  # as JSON
    report: Mapping[str, float | int | str]

    @property
    def dimension(self) -> int:
        """The number of entries of a vector."""
        return int(self.rows.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the rows and the tokenizer."""
        digest = hashlib.sha256(self.tokenizer.encode())
        digest.update(np.ascontiguousarray(self.rows).view(np.uint8).data)
        return digest.hexdigest()[:16]

    @cached_property
    def words(self) -> Any:
        """The tokenizer."""
        from tokenizers import Tokenizer

        return Tokenizer.from_str(self.tokenizer)

    @cached_property
    def _table(self) -> Floats:
        return self.rows.astype(np.float32)

    @cached_property
    def _tokens(self) -> Callable[[Sequence[str]], tuple[Ints, Ints]]:
        """The token ids of texts, concatenated, and the offset of each text."""
        return RememberedTokens(self.words) if is_word_by_word(self.tokenizer) else partial(tokenize, self.words)

    def encode(self, sentences: Sequence[str], advance: Advance = no_op) -> Floats:
        """(m, dimension): one unit row per sentence, in the same order; a text without tokens has a zero row."""
        vectors = np.empty((len(sentences), self.dimension), dtype=np.float32)
        for start in range(0, len(sentences), CHUNK):
            ids, offsets = self._tokens(sentences[start : start + CHUNK])
            part = vectors[start : start + CHUNK]
            add_rows(offsets, ids, np.ones(len(ids), dtype=np.float32), self._table, part)
            scale_to_unit(part)
            advance(len(part))
        return vectors

    def save(self, folder: Path) -> None:
        """Write rows.npy, tokenizer.json and report.json into an existing folder."""
        np.save(folder / "rows.npy", self.rows)
        (folder / "tokenizer.json").write_text(self.tokenizer, encoding="utf-8")
        (folder / "report.json").write_text(json.dumps(dict(self.report), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The table saved by `save`; its rows are memory-mapped."""
        try:
            rows = np.load(folder / "rows.npy", mmap_mode="r")
            tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise IndexCorrupt(f"The fitted encoder in {folder} cannot be read: {error}; fit it again") from error
        return cls(rows, tokenizer, report)


# ---------------------------------------------------------------------------- the two priors

Learnt = tuple[Floats, dict[str, float | int]]  # the rows of a table, and a report about them


def _learn_from_tokens(teacher: Teacher, sentences: Sequence[str], alone: Floats, progress: Progress) -> Learnt:
    ids, offsets = tokenize(teacher.words, sentences)
    with progress("encoding a sample with the teacher", len(sentences), "sentences") as advance:
        targets, files = encode(teacher, sentences, advance)
    with progress("fitting the table", len(TOKENS.lambdas) * TOKENS.steps, "steps") as advance:
        learnt = fit_rows(ids, offsets, targets, alone, TOKENS, advance)
    forget(files)
    return learnt


def _learn_from_contexts(
    teacher: Teacher, in_context: InContext, sentences: Sequence[str], alone: Floats, progress: Progress
) -> Learnt:
    with progress("encoding a sample with the teacher", len(sentences), "sentences") as advance:
        lessons, files = teach(teacher, in_context, sentences, alone, advance)
    with progress("fitting the table", len(CONTEXTS.lambdas) * CONTEXTS.steps, "steps") as advance:
        features = lessons.features(alone)
        learnt = fit_rows(lessons.ids, lessons.offsets, lessons.vectors, features, CONTEXTS, advance)
    forget(files)
    return learnt
