"""A sample of the text that a model is adapted to: from an index, files and folders, or a collection.

A sample depends only on the texts and the seed, not on their order or source: each sentence, or each paragraph, has a
pseudo-random key computed from its words, and those with the smallest keys are chosen. Repeated ones are chosen once.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Literal

from rprs import spec
from rprs.document import Sentences
from rprs.errors import UsageError
from rprs.progress import Progress, silent

__all__ = ["Notify", "Sample", "Unit", "no_notice", "sample"]

Notify = Callable[[str], None]
Unit = Literal["sentence", "paragraph"]


def no_notice(_line: str) -> None:
    """Ignore a notice: the default of the library."""


@dataclass(frozen=True)
class Sample:
    """Sentences in groups: one sentence each, or one paragraph each."""

    groups: tuple[tuple[str, ...], ...]
    documents: tuple[int, ...]  # the number of the document of each group

    @cached_property
    def sentences(self) -> list[str]:
        """All sentences, in the order of the groups."""
        return [sentence for group in self.groups for sentence in group]

    @property
    def fingerprint(self) -> str:
        """Changes whenever a sentence, a paragraph or a document does."""
        names = {number: place for place, number in enumerate(dict.fromkeys(self.documents))}
        rows = repr([(names[document], group) for document, group in zip(self.documents, self.groups, strict=True)])
        return hashlib.sha256(rows.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sample(
    source: str | Path,
    size: int,
    *,
    unit: Unit = "sentence",
    seed: int = 0,
    progress: Progress = silent,
    notify: Notify = no_notice,
) -> Sample:
    """About `size` sentences of a source, singly or by paragraph; a paragraph has at least two different sentences.

    A source is the folder of an index, a file or a folder of documents, or a collection such as `beir(folder)`. The
    sentences of an index are its own; other texts are split by the default splitter. `notify` receives a line on
    files that could not be read.
    """
    if size < 1:
        raise UsageError(f"A sample has at least one sentence. Got {size} instead.")
    chosen: list[tuple[int, int, tuple[str, ...]]] = []  # a heap with the largest key on top: -key, document, group
    keys: set[int] = set()
    total = 0
    with progress("sampling sentences", unit="documents") as advance:
        for number, (text, sentences) in enumerate(_documents(source, notify)):
            for group in _groups(text, sentences, unit):
                key = _key(seed, group)
                if key in keys or (total >= size and key > -chosen[0][0]):
                    continue
                heapq.heappush(chosen, (-key, number, group))
                keys.add(key)
                total += len(group)
                while total - len(chosen[0][2]) >= size:
                    last, _, dropped = heapq.heappop(chosen)
                    keys.discard(-last)
                    total -= len(dropped)
            advance(1)
    if not chosen:
        missing = "sentences" if unit == "sentence" else "paragraphs of two sentences"
        raise UsageError(f"{source} has no {missing} to learn from: name an index, a file or a folder that has")
    ordered = sorted(chosen, reverse=True)
    return Sample(tuple(group for *_, group in ordered), tuple(number for _, number, _ in ordered))


def _groups(text: str, sentences: Sentences, unit: Unit) -> Iterator[tuple[str, ...]]:
    texts = [" ".join(sentence.split()) for sentence in sentences.texts(text)]
    if unit == "sentence":
        yield from ((sentence,) for sentence in texts if sentence)
        return
    paired = zip(sentences.paragraphs.tolist(), texts, strict=True)
    for _, members in groupby(paired, key=lambda pair: pair[0]):
        group = tuple(dict.fromkeys(sentence for _, sentence in members if sentence))
        if len(group) > 1:
            yield group


def _key(seed: int, group: tuple[str, ...]) -> int:
    content = f"{seed}\n".encode() + "\n".join(group).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")


# ---------------------------------------------------------------------------- documents


def _documents(source: str | Path, notify: Notify) -> Iterator[tuple[str, Sentences]]:
    """The text and the sentences of every document."""
    path = Path(source).expanduser()
    if (path / "catalog.sqlite").is_file():
        yield from _of_index(path)
        return
    splitter = spec.parse("splitter", spec.DEFAULT["splitter"])
    for text in _texts(source, path, notify):
        yield text, splitter.split(text)


def _of_index(path: Path) -> Iterator[tuple[str, Sentences]]:
    from rprs.index import Index

    with Index(path) as index:
        for id in index.ids:
            yield index.document(id).text, index.sentences(id)


def _texts(source: str | Path, path: Path, notify: Notify) -> Iterable[str]:
    from rprs.collection import open_collection
    from rprs.read import Skipped, read

    skipped: list[Skipped] = []
    if path.exists():
        documents = read([path], skipped=skipped.append)
    elif "(" in str(source):
        documents = open_collection(str(source)).documents(skipped=skipped.append)
    else:
        raise UsageError(f"There is no {source}: name an index, a file or a folder, or a collection as in beir(folder)")
    yield from (document.text for document in documents)
    if skipped:
        notify(f"{len(skipped):,} could not be read and were left out, the first: {skipped[0]}")
