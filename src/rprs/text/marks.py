"""Classes of characters that splitting and analysis share, as contents of a regex class."""

from __future__ import annotations

import unicodedata

__all__ = ["CJK", "COMBINING", "UNSPACED", "WHITE_SPACE"]

_CHARACTERS = "".join(c if unicodedata.category(c) in ("Mn", "Mc") else " " for c in map(chr, range(0x300, 0x3100)))
COMBINING = "".join(f"{run[0]}-{run[-1]}" for run in _CHARACTERS.split())  # marks that belong to the character before

CJK = r"⺀-⿟\u3001-ヿ㄀-ㄯㇰ-ㇿ㐀-䶿一-鿿\uf900-\ufaff\uff01-\uff9f\U00020000-\U0003ffff"
UNSPACED = CJK + r"\u0e00-\u109f\u1780-\u17ff"  # scripts without spaces

WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))  # all of it: U+3000 is the last
