"""How many values a JSON text has, found without parsing it.

A parser in C or Rust holds Python's lock until it is done, so that ten million empty lists would stop the whole server.
Here the lock is free between small pieces, and nothing is made of the values.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_VALUES", "has_too_many_values"]

MOST_VALUES = 200_000  # of a body: a parser takes some hundredths of a second for them
PIECE = 2**16  # bytes
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_BEGINNINGS = b",[{"  # before a value; a colon is always between a name and its value


def has_too_many_values(data: bytes, most: int = MOST_VALUES) -> bool:
    """Whether a JSON text has more values; of what is not JSON, it says whether it would be as long to parse."""
    if len(data) <= most:
        return False
    pieces = range(0, len(data), PIECE)
    counts = accumulate(data.count(sign, start, start + PIECE) for start in pieces for sign in _BEGINNINGS)
    if all(count <= most for count in counts):
        return False  # even with those in texts
    total, inside, slashes = 0, 0, 0
    for start in pieces:
        piece = np.frombuffer(data, dtype=np.uint8, count=min(PIECE, len(data) - start), offset=start)
        outside, inside, slashes = _outside_texts(piece, inside, slashes)
        total += sum(int(np.count_nonzero(outside & (piece == sign))) for sign in _BEGINNINGS)
        if total > most:
            return True
    return False


def _outside_texts(piece: NDArray[np.uint8], inside: int, slashes: int) -> tuple[NDArray[np.bool_], int, int]:
    """Which bytes are outside of texts; for the next piece, whether it begins inside, after how many backslashes."""
    quotes = piece == _QUOTE
    others = np.flatnonzero(piece != _BACKSLASH)
    places = np.flatnonzero(quotes)
    if len(others) < len(piece) or slashes:
        before = np.searchsorted(others, places) - 1  # the last byte before a quote that is no backslash
        last = np.where(before >= 0, others[np.maximum(before, 0)] if len(others) else -1, -1 - slashes)
        escaped = (places - 1 - last) % 2 == 1
        quotes[places[escaped]] = False
    parity = (np.cumsum(quotes, dtype=np.int32) + inside) % 2
    end = len(piece) - 1 - int(others[-1]) if len(others) else len(piece) + slashes
    return parity == 0, int(parity[-1]), end
