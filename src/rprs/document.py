"""The values that all parts of the package exchange: documents, sentences, neighbours, rankings, candidates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from html import escape
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.errors import UsageError

__all__ = [
    "EMPTY_RANKING",
    "NOT_ENCODED",
    "NO_SENTENCES",
    "SEPARATOR",
    "Candidates",
    "Document",
    "Metadata",
    "Neighbours",
    "Query",
    "Ranking",
    "Sentences",
    "Truncation",
    "Value",
    "combine",
    "document_id",
    "query_documents",
    "text_document",
]

Value = str | int | float | bool | None
Metadata = Mapping[str, Value]
NOT_ENCODED: NDArray[np.float16] = np.empty((0, 0), dtype=np.float16)
EXCERPT, LONG_EXCERPT = 60, 1000  # characters of a text in the two representations of a document
_PLAIN = frozenset({str, int, float, bool, type(None)})
_MISSING = frozenset({"NAType", "NaTType"})  # of pandas


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A text with an id, a title and metadata. A query is a document too.

    Integer ids become text, NumPy scalars Python values, and dates ISO text; anything else is a `UsageError`.
    """

    id: str
    text: str
    title: str = ""
    metadata: Metadata = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if type(self.id) is not str:
            object.__setattr__(self, "id", document_id(self.id))
        if type(self.text) is not str:
            object.__setattr__(self, "text", _require_text("text", self.text, self.id))
        if type(self.title) is not str:
            object.__setattr__(self, "title", _require_text("title", self.title, self.id))
        if not isinstance(self.metadata, Mapping):
            raise UsageError(
                f"The metadata of the document {self.id!r:.80} must be a dict. Got {self.metadata!r:.80} instead."
            )
        if any(type(value) not in _PLAIN or type(key) is not str for key, value in self.metadata.items()):
            object.__setattr__(self, "metadata", _plain_metadata(self.metadata, self.id))

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text alone, whatever the id, title and metadata."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def __repr__(self) -> str:
        shorter = f" ({len(self.text):,} characters)" if len(self.text) > EXCERPT else ""
        title = f", title={self.title!r:.80}" if self.title else ""
        metadata = f", metadata={', '.join(self.metadata)}" if self.metadata else ""
        return f"Document({self.id!r}, {_excerpt(self.text, EXCERPT)!r}{shorter}{title}{metadata})"

    def _repr_html_(self) -> str:
        """The document in a notebook: title, id, metadata and the beginning of the text."""
        fields = "".join(
            f"<tr><th>{escape(key)}</th><td>{escape(str(value))}</td></tr>" for key, value in self.metadata.items()
        )
        text = escape(_excerpt(self.text, LONG_EXCERPT))
        return (
            f"<div><strong>{escape(self.title or self.id)}</strong> <code>{escape(self.id)}</code>, "
            f"{len(self.text):,} characters{f'<table>{fields}</table>' if fields else ''}"
            f'<p style="white-space: pre-wrap">{text}</p></div>'
        )


Query = Document | str | Sequence[Document | str]  # several are combined into one query
SEPARATOR = "\n\n"  # between combined documents: the end of a paragraph


def document_id(value: Any) -> str:
    """The id of a document as text: a string, or an integer."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    raise UsageError(f"The id of a document must be a string or an integer. Got {value!r:.80} instead.")


def _require_text(name: str, value: Any, id: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"The {name} of the document {id!r:.80} must be a string. Got {value!r:.80} instead.")
    return str(value)


def _plain_metadata(metadata: Mapping[Any, Any], id: str) -> dict[str, Value]:
    for key in metadata:
        if not isinstance(key, str):
            raise UsageError(
                f"The metadata fields of the document {id!r:.80} must have names. Got {key!r:.80} instead."
            )
    return {str(key): _plain_value(key, value, id) for key, value in metadata.items()}


def _plain_value(name: str, value: Any, id: str) -> Value:
    """A metadata value as a Python string, number, truth value or None."""
    if type(value) in _PLAIN:
        plain: Value = value
        return plain
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.generic) and type(value.item()) in _PLAIN:
        scalar: Value = value.item()
        return scalar
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, date):  # a datetime is a date too
        return value.isoformat()
    for plain_type in (str, int, float):
        if isinstance(value, plain_type):  # a subclass, such as that of an enumeration
            return plain_type(value)
    raise UsageError(
        f"The metadata field {name!r:.80} of the document {id!r:.80} must be text, a number, true or false, a date or "
        f"None. Got {value!r:.80} instead."
    )


def _excerpt(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def query_documents(query: Query) -> list[Document]:
    """The documents of a query; a string is the text of one."""
    if isinstance(query, Document | str):
        return [text_document(query) if isinstance(query, str) else query]
    documents = [text_document(each) if isinstance(each, str) else each for each in query] if _is_list(query) else []
    if not _is_list(query) or not all(isinstance(document, Document) for document in documents):
        raise UsageError(
            f"A query is a text, a Document or a list of them; read a file with rprs.read_one(path). Got {query!r:.80}"
        )
    return documents


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, bytes | Mapping)


def text_document(text: str) -> Document:
    """A document from a text alone, with an id derived from the text."""
    document = Document("", text)
    return replace(document, id=f"text-{document.content_hash[:12]}")


def combine(documents: Sequence[Document]) -> Document:
    """Several documents as one, with a paragraph break between them; a single one is returned unchanged."""
    if len(documents) == 1:
        return documents[0]
    return Document(
        id="+".join(document.id for document in documents),
        text=SEPARATOR.join(document.text for document in documents),
        title=" + ".join(document.title or document.id for document in documents),
    )


@dataclass(frozen=True, slots=True)
class Sentences:
    """The m sentences of one document: their places in its text and, once encoded, their vectors."""

    spans: NDArray[np.int64]  # (m, 2): text[start:end] is the sentence
    paragraphs: NDArray[np.int32]  # (m,): number of the sentence's paragraph, from 0, in ascending order
    # (m, dimension): unit vectors on the grid of scoring.vectors, float16 or float32; empty until encoded
    vectors: NDArray[np.floating[Any]] = field(default_factory=lambda: NOT_ENCODED)

    def __len__(self) -> int:
        return len(self.spans)

    def texts(self, text: str) -> list[str]:
        """The sentences as strings, from the text of their document."""
        return [text[start:end] for start, end in self.spans.tolist()]


NO_SENTENCES = Sentences(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int32))


@dataclass(frozen=True, slots=True)
class Neighbours:
    """R_n: for each of m query sentences, its n most similar sentences of a pool of candidates, best first.

    The pool is the sentences of all candidates in first-stage order: those of candidate d are
    `offsets[d]:offsets[d + 1]`. Among equally similar sentences, the one with the smaller number comes first, unless
    the re-ranker decides ties differently.
    """

    similarity: NDArray[np.floating[Any]]  # (m, n), descending in each row; exact, in the wider type of the vectors
    sentence: NDArray[np.int64]  # (m, n): numbers of sentences in the pool
    offsets: NDArray[np.int64]  # (k + 1,)

    @property
    def document(self) -> NDArray[np.int64]:
        """(m, n): the candidate that each neighbour belongs to."""
        return np.searchsorted(self.offsets, self.sentence, side="right").astype(np.int64) - 1


@dataclass(frozen=True, slots=True)
class Truncation:
    """How many of its inputs a model had to truncate to its window."""

    cut: int = 0
    inputs: int = 0
    window: int = 0  # tokens

    def __add__(self, other: Truncation) -> Truncation:
        return Truncation(self.cut + other.cut, self.inputs + other.inputs, max(self.window, other.window))

    @property
    def notes(self) -> tuple[str, ...]:
        """One line, if any input was truncated."""
        line = f"{self.cut:,} of {self.inputs:,} inputs truncated to {self.window} tokens"
        return (line,) if self.cut else ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Documents, best first. `parts` are further values of each document, such as QP and DP, in the same order."""

    ids: tuple[str, ...]
    scores: NDArray[np.float64]
    parts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    neighbours: Neighbours | None = None  # the evidence, over the candidates in *first-stage* order
    notes: tuple[str, ...] = ()  # for the user, one line each
    truncation: Truncation = Truncation()  # added up where there are many rankings

    def __len__(self) -> int:
        return len(self.ids)

    def top(self, k: int) -> Ranking:
        """The best k documents, without the evidence."""
        return replace(
            self,
            ids=self.ids[:k],
            scores=self.scores[:k],
            parts={name: values[:k] for name, values in self.parts.items()},
            neighbours=None,
        )


FindNeighbours = Callable[[NDArray[np.floating[Any]], int, NDArray[np.int64] | None], Neighbours]
"""R_n of a query's vectors over all candidates, for n and the priority of `scoring.neighbours`."""

EMPTY_RANKING = Ranking((), np.empty(0, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The input of a re-ranker: the ranking of the first stage with the sentences of its documents.

    Re-rankers that read texts instead of vectors use `query` and `read`, which every search provides.
    """

    ranking: Ranking
    sentences: Sequence[Sentences]
    mean_sentences: float  # avgdl: sentences per document of the collection
    query: Document | None = None
    read: Callable[[str], Document] | None = None  # a document of the index by its id
    knows_language: bool = True  # whether the vectors' encoder knows the language of the query
    nearest: FindNeighbours | None = None  # finds neighbours where the vectors are on other machines
    counts: NDArray[np.int64] | None = None  # (k,): the numbers of sentences, if they are known

    @property
    def sentence_counts(self) -> NDArray[np.int64]:
        """(k,): the number of sentences of each candidate."""
        return np.array([len(each) for each in self.sentences], dtype=np.int64) if self.counts is None else self.counts

    def top(self, k: int) -> Candidates:
        """The first k of them."""
        counts = None if self.counts is None else self.counts[:k]
        return replace(self, ranking=self.ranking.top(k), sentences=self.sentences[:k], counts=counts)
