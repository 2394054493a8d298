"""Combining marks, which belong to the character before them: a table shared by splitting and analysis."""

from __future__ import annotations

import unicodedata

__all__ = ["COMBINING"]

_CHARACTERS = "".join(c if unicodedata.category(c) in ("Mn", "Mc") else " " for c in map(chr, range(0x300, 0x3100)))
COMBINING = "".join(f"{run[0]}-{run[-1]}" for run in _CHARACTERS.split())  # ranges, for a regex character class
