"""Texts on one line: sentences without line breaks, the rank and scores of a hit, the provenance of a result."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from rprs.results.hits import Hit
from rprs.results.serialize import About

__all__ = ["INVISIBLE", "describe_details", "describe_rank", "one_line", "part_name", "provenance"]

INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def one_line(text: str) -> str:
    """A text on one line, without control characters and characters that cannot be encoded."""
    return " ".join(INVISIBLE.sub(" ", text).split())


def provenance(about: About) -> str:
    """Everything needed to reproduce a result, as `name=value; name=value`; options that were not used are omitted."""
    return describe_details(about.object())


def describe_details(details: Mapping[str, object]) -> str:
    """Settings as `name=value; name=value`, without those that are None."""
    return "; ".join(one_line(f"{name}={_word(value)}") for name, value in details.items() if value is not None)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def describe_rank(hit: Hit) -> str:
    """The rank and score of a hit, the parts of the score, and its rank in the first stage, by words and phrases."""
    parts = [f", {part_name(name)} {value:.4g}" for name, value in hit.parts.items() if math.isfinite(value)]
    return f"rank {hit.rank}, score {hit.score:.6g}{''.join(parts)}; keyword rank {hit.first_rank}"


def part_name(name: str) -> str:
    """QP and DP are symbols of the paper; other parts of a score have names."""
    return name.upper() if name in ("qp", "dp") else name.replace("_", " ")
