"""From text to sentences (split.py) and to index terms (analyze.py)."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rprs.document import Sentences

__all__ = ["Analyzer", "Splitter"]


@runtime_checkable
class Splitter(Protocol):
    """Divides a text into the units that are compared: sentences, as a rule."""

    def split(self, text: str) -> Sentences:
        """The units in the order of the text, without vectors; none for an empty text or white space."""
        ...


@runtime_checkable
class Analyzer(Protocol):
    """Divides a text into the terms of the first stage."""

    @property
    def ngrams(self) -> int:
        """Up to which length sequences of terms are indexed; 1: single terms."""
        ...

    def terms(self, text: str) -> list[str]:
        """The terms in the order of the text, each as often as it occurs; always single terms."""
        ...
