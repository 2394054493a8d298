"""Indexes of invented documents, for benchmarks that need many documents and no meaning."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from rprs.document import Document
from rprs.index import Writer

__all__ = ["given_or_invented", "invented_document"]

WORDS = 30_000  # different ones
LENGTH = 14  # words of a sentence


@contextmanager
def given_or_invented(path: Path | None, documents: int, sentences: int, dimension: int) -> Iterator[Path]:
    """The index at a path; without one, a new one of that many documents, each with that many sentences."""
    if path is not None:
        yield path
        return
    random = Random(1)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "invented.rprs"
        with Writer(made, create=True, encoder=f"hashed(dimension={dimension})") as writer:
            writer.add(invented_document(random, number, sentences) for number in range(documents))
        yield made


def invented_document(random: Random, number: int, sentences: int) -> Document:
    """A document of words that occur as often as in real ones, without meaning."""
    words = [f"w{int(random.paretovariate(0.7)) % WORDS:x}" for _ in range(LENGTH * sentences)]
    lines = (" ".join(words[start : start + LENGTH]).capitalize() + "." for start in range(0, len(words), LENGTH))
    return Document(f"d{number}", " ".join(lines), f"Title {number}", {"year": number % 300, "note": f"n{number}"})
