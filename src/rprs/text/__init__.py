"""Text → sentences (split.py) and text → index terms (analyze.py).

Plug-ins check their components with `rprs.testing.text`.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rprs.document import Sentences

__all__ = ["Analyzer", "Splitter"]


@runtime_checkable
class Splitter(Protocol):
    """Divides a text into the units that are compared, usually sentences."""

    def split(self, text: str) -> Sentences:
        """The units in text order, without vectors; none for an empty text or white space."""
        ...


@runtime_checkable
class Analyzer(Protocol):
    """Divides a text into the index terms of the first stage."""

    @property
    def ngrams(self) -> int:
        """The maximum length of indexed term sequences; 1 for single terms only."""
        ...

    def terms(self, text: str) -> list[str]:
        """The terms in text order, repeated as often as they occur; always single terms."""
        ...
