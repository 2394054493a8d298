"""The values that the rest of the package passes around: plain, frozen, without behaviour of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    "query_documents",
    "text_document",
]

Value = str | int | float | bool | None
Metadata = Mapping[str, Value]
NOT_ENCODED: NDArray[np.float16] = np.empty((0, 0), dtype=np.float16)


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an identity. A query is a document too."""

    id: str
    text: str
    title: str = ""
    metadata: Metadata = field(default_factory=dict, hash=False)

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text: the same words have the same hash, whatever the id, title and metadata."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


Query = Document | str | Sequence[Document | str]  # several are combined into one query
SEPARATOR = "\n\n"  # between combined documents: the end of a paragraph


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
    """A document from a text alone; its id is made from the text, so that it is nobody else's."""
    document = Document("", text)
    return replace(document, id=f"text-{document.content_hash[:12]}")


def combine(documents: Sequence[Document]) -> Document:
    """Several documents as one, with a paragraph break between them; a single one is returned as it is."""
    if len(documents) == 1:
        return documents[0]
    return Document(
        id="+".join(document.id for document in documents),
        text=SEPARATOR.join(document.text for document in documents),
        title=" + ".join(document.title or document.id for document in documents),
    )


@dataclass(frozen=True, slots=True)
class Sentences:
    """Where the m sentences of one document are and, once encoded, what they mean."""

    spans: NDArray[np.int64]  # (m, 2): text[start:end] is the sentence
    paragraphs: NDArray[np.int32]  # (m,): number of the paragraph a sentence belongs to, from 0, never falling
    # (m, dimension): unit rows on the grid of scoring.vectors; none until encoded
    vectors: NDArray[np.float16] = field(default_factory=lambda: NOT_ENCODED)

    def __len__(self) -> int:
        return len(self.spans)

    def texts(self, text: str) -> list[str]:
        """The sentences as strings, cut out of the text they were found in."""
        return [text[start:end] for start, end in self.spans.tolist()]


NO_SENTENCES = Sentences(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int32))


@dataclass(frozen=True, slots=True)
class Neighbours:
    """R_n: for each of m query sentences, its n most similar sentences of a pool of candidates, best first.

    The pool is the candidates' sentences laid end to end in first-stage order, so that the sentences of
    candidate d are `offsets[d]:offsets[d + 1]`, and a smaller number is the tie's winner.
    """

    similarity: NDArray[np.float32]  # (m, n), falling along a row
    sentence: NDArray[np.int64]  # (m, n): numbers of sentences in the pool
    offsets: NDArray[np.int64]  # (k + 1,)

    @property
    def document(self) -> NDArray[np.int64]:
        """(m, n): the candidate that each neighbour belongs to."""
        return np.searchsorted(self.offsets, self.sentence, side="right").astype(np.int64) - 1


@dataclass(frozen=True, slots=True)
class Truncation:
    """How much of its inputs a model did not see: so many inputs, and those of them that were cut to a window."""

    cut: int = 0
    inputs: int = 0
    window: int = 0  # tokens

    def __add__(self, other: Truncation) -> Truncation:
        return Truncation(self.cut + other.cut, self.inputs + other.inputs, max(self.window, other.window))

    @property
    def notes(self) -> tuple[str, ...]:
        """One line, if there is anything to tell."""
        line = f"{self.cut:,} of {self.inputs:,} inputs truncated to {self.window} tokens"
        return (line,) if self.cut else ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Documents, best first. `parts` are further numbers a document, in the same order, such as QP and DP."""

    ids: tuple[str, ...]
    scores: NDArray[np.float64]
    parts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    neighbours: Neighbours | None = None  # the evidence, over the candidates in *first-stage* order
    notes: tuple[str, ...] = ()  # what a user should be told, a line each
    truncation: Truncation = Truncation()  # and this, once in total where there are many rankings

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


EMPTY_RANKING = Ranking((), np.empty(0, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a re-ranker gets: the first stage's ranking with the sentences of every document in it.

    What reads words and not vectors needs the last two, which are there in every search.
    """

    ranking: Ranking
    sentences: Sequence[Sentences]
    mean_sentences: float  # avgdl: sentences per document, over the whole indexed collection
    query: Document | None = None
    read: Callable[[str], Document] | None = None  # a document of the index by its id
