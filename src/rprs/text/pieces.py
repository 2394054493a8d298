"""Texts in pieces: a call into C keeps all other threads of a program waiting until it is done.

A server must say that it is alive while it searches for a text of 20 million characters. So what reads a whole text in
one call does it in pieces, between which Python lets other threads go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["PIECE", "LongList", "at_spaces", "codes_of"]

PIECE = 2**16  # characters or words: at most a few milliseconds
_SPACE = re.compile(r"\s")


def at_spaces(text: str) -> Iterator[str]:
    """The text in pieces of about `PIECE` characters, cut at white space: `split` finds the same words in them."""
    start = 0
    while len(text) - start > PIECE:
        space = _SPACE.search(text, start + PIECE)
        if space is None:
            break
        yield text[start : space.start()]
        start = space.start()
    yield text[start:]


def codes_of(text: str) -> NDArray[np.uint32]:
    """The characters of a text as numbers."""
    if len(text) <= PIECE:
        return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    codes = np.empty(len(text), dtype=np.uint32)
    for start in range(0, len(text), PIECE):
        codes[start : start + PIECE] = codes_of(text[start : start + PIECE])
    codes.flags.writeable = False  # as those of a short text: compiled functions distinguish the two
    return codes


class LongList(list[str]):
    """Strings that are let go in pieces: Python frees millions of them in one call."""

    def __del__(self) -> None:
        while self:
            del self[-PIECE:]
