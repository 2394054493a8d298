"""Texts in pieces: a call into C keeps all other threads of a program waiting until it is done.

A server must say that it is alive while it searches for a text of 20 million characters. So what reads a whole text in
one call does it in pieces, between which Python lets other threads go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["PIECE", "at_spaces"]

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
