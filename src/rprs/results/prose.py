"""What hits and results say on one line."""

from __future__ import annotations

import math
import re

from rprs.results.hits import Hit
from rprs.results.serialize import About

__all__ = ["flat", "provenance", "standing"]

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def flat(text: str) -> str:
    """A text on one line, without characters that cannot be seen or written."""
    return " ".join(_UNSEEN.sub(" ", text).split())


def provenance(about: About) -> str:
    """All that a result depends on, as `name=value; name=value`; what was not asked for is left out."""
    found = about.object().items()
    return "; ".join(flat(f"{name}={_word(value)}") for name, value in found if value is not None)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def standing(hit: Hit) -> str:
    """Where a hit stands: its rank and score, the parts of the score, and its rank in the first stage."""
    parts = [f", {_symbol(name)} {value:.4g}" for name, value in hit.parts.items() if math.isfinite(value)]
    return f"rank {hit.rank}, score {hit.score:.6g}{''.join(parts)}; rank {hit.first_rank} in the first stage"


def _symbol(name: str) -> str:
    """QP and DP are symbols of the paper; other parts of a score have names."""
    return name.upper() if name in ("qp", "dp") else name.replace("_", " ")
