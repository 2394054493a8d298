"""Any model of sentence-transformers, by name or folder (extra: torch)."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs.encode import models
from rprs.encode.hub import repository, unreachable
from rprs.encode.loading import plainly, quiet
from rprs.encode.onnx import deduplicate, frame, unit
from rprs.errors import MissingExtra, ModelError
from rprs.progress import Advance, Progress, no_op, silent
from rprs.spec import Component, Kind, require

__all__ = ["SBert", "SBertEncoder"]

BATCH = 32  # sentences, sentence-transformers' own default
CHUNK = 1024  # sentences between two reports of progress


@dataclass(frozen=True)
class SBert(Component):
    """A model of sentence-transformers, by name or folder."""

    name: ClassVar[str] = "sbert"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)
    slow: ClassVar[bool] = True  # an index looks for sentences that were encoded before

    model: str

    def __post_init__(self) -> None:
        require(self, "model", bool(self.model), "a name or a folder")

    def load(self, progress: Progress = silent) -> SBertEncoder:
        """The model; sentence-transformers downloads it if it is not on this machine."""
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra(f"The encoder {self}", "sentence-transformers", "torch") from error
        here = models.find_here(self.model, models.for_torch)
        problem = unreachable(self.model) if here is None else None
        failure = f"sentence-transformers cannot load {self.model!r}"
        with progress(f"loading {self.model}"), quiet(), plainly(failure):
            try:  # without a connection, the model may still be in the hub's own cache
                model = SentenceTransformer(str(here or repository(self.model)), local_files_only=bool(here or problem))
            except (OSError, ValueError) as error:
                if problem is None:
                    raise
                advice = "copy its folder to this machine and give the path of the folder"
                raise ModelError(f"{failure}: {problem}; {advice}") from error
        return SBertEncoder(model.eval(), _words(self.model, model), _fingerprint(model))


@dataclass(frozen=True)
class SBertEncoder:
    """A loaded model. Sentences longer than its window are halved until they fit; vectors are averaged by tokens.

    sentence-transformers pads its batches, so a vector can depend on the rest of its batch in the seventh digit.
    """

    model: Any = field(repr=False)
    words: Any = field(repr=False)  # the tokenizer
    fingerprint: str
    batch: ClassVar[int] = 512  # tokens of sequences of the same length

    @cached_property
    def dimension(self) -> int:
        """The number of entries of a vector."""
        before, after = frame(self.words)
        return int(self._run([[*before, *after]]).shape[1])

    @property
    def window(self) -> int:
        """The maximum number of input tokens, including special tokens."""
        return int(self.model.max_seq_length or sys.maxsize)

    def encode(self, sentences: Sequence[str], advance: Advance = no_op) -> NDArray[np.float32]:
        """(m, dimension): one unit row per sentence, in the same order; identical sentences are encoded once."""
        distinct, numbers = deduplicate(sentences)
        rows = np.zeros((len(distinct), self.dimension), dtype=np.float32)
        times = np.bincount(numbers, minlength=len(distinct))
        for start in range(0, len(distinct), CHUNK):
            chunk = distinct[start : start + CHUNK]
            pieces = [
                (number, *piece) for number, sentence in enumerate(chunk, start) for piece in self._pieces(sentence)
            ]
            texts = [piece for _, piece, _ in pieces]
            vectors = self.model.encode(texts, batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True)
            for (number, _, tokens), vector in zip(pieces, vectors, strict=True):
                rows[number] += vector * tokens
            advance(int(times[start : start + CHUNK].sum()))
        return unit(rows)[numbers]

    def token_vectors(self, tokens: Sequence[int], advance: Advance = no_op) -> NDArray[np.float32]:
        """(tokens, dimension): the vector of each single token, by its number in the vocabulary."""
        before, after = frame(self.words)
        rows = []
        for start in range(0, len(tokens), CHUNK):
            some = tokens[start : start + CHUNK]
            rows.append(self._run([[*before, token, *after] for token in some]))
            advance(len(some))
        return np.concatenate(rows)

    def in_context(self) -> Callable[[list[list[int]]], tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """A function from token sequences of the same length to their unit vectors and those of their tokens."""
        return self._both

    def _pieces(self, sentence: str) -> Iterator[tuple[str, int]]:
        """Parts of a sentence that fit into the window, with their numbers of tokens; none without tokens."""
        tokens = self.words.encode(sentence, add_special_tokens=False)
        room = (self.model.max_seq_length or len(tokens.ids) + 2) - sum(map(len, frame(self.words)))
        if 0 < len(tokens.ids) <= room:
            yield sentence, len(tokens.ids)
        elif tokens.ids:
            middle = tokens.offsets[len(tokens.ids) // 2][0] or len(sentence) // 2
            yield from self._pieces(sentence[:middle])
            yield from self._pieces(sentence[middle:])

    def _run(self, pieces: list[list[int]]) -> NDArray[np.float32]:
        """Unit vectors of token sequences of the same length."""
        return self._both(pieces)[0]

    def _both(self, pieces: list[list[int]]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        import torch

        ids = torch.tensor(pieces, device=self.model.device)
        with torch.no_grad():
            output = self.model({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        sentences, tokens = (output[name].float().cpu().numpy() for name in ("sentence_embedding", "token_embeddings"))
        return unit(sentences), tokens


def _words(name: str, model: Any) -> Any:
    """A copy of the model's tokenizer that neither pads nor truncates."""
    from tokenizers import Tokenizer

    fast = getattr(model.tokenizer, "backend_tokenizer", None)
    if fast is None:
        raise ModelError(f"The tokenizer of {name!r} has no fast form, which rprs needs: save it with tokenizer.json")
    words = Tokenizer.from_str(fast.to_str())
    words.no_truncation()
    words.no_padding()
    return words


def _fingerprint(model: Any) -> str:
    digest = hashlib.sha256(f"{model.max_seq_length} {model}".encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.float().cpu().contiguous().numpy().data)
    return digest.hexdigest()[:16]
