"""All coverages of short texts."""

from __future__ import annotations

from collections.abc import Iterator

from rprs.alignment.values import Coverage

__all__ = ["every_coverage"]


def every_coverage(most: int) -> Iterator[Coverage]:
    """The coverages of texts of up to `most` words."""
    for words in range(most + 1):
        for identical in range(words + 1):
            for reworded in range(words + 1 - identical):
                for same_idea in range(words + 1 - identical - reworded):
                    yield Coverage(words, identical, reworded, same_idea)
