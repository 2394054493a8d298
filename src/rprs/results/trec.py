"""Hits as a TREC run whose tag says what they depend on."""

from __future__ import annotations

import io
from collections.abc import Sequence
from urllib.parse import quote

import numpy as np

from rprs.document import Ranking
from rprs.read import write_run
from rprs.results.hits import Hit
from rprs.results.serialize import About

__all__ = ["tag", "write"]


def write(hits: Sequence[Hit], about: About) -> str:
    """`query Q0 document rank score tag`; an id with a blank in it is a `UsageError` that names it."""
    stream = io.StringIO()
    scores = np.array([hit.score for hit in hits], dtype=np.float64)
    write_run(stream, about.query, Ranking(tuple(hit.id for hit in hits), scores), tag(about))
    return stream.getvalue()


def tag(about: About) -> str:
    """The settings in one word: `first→rerank|index=…|rprs=…|depth=…` and what else was asked, percent-encoded."""
    stages = f"{about.first}→{about.rerank}" if about.rerank else about.first
    known = {"index": about.fingerprint, "rprs": about.version, "depth": about.depth, "k": about.k}
    asked = {"cutoff": about.cutoff, "where": about.where, "keep_self": "true" if about.keep_self else None}
    words = [f"{name}={_word(value)}" for name, value in (known | asked).items() if value is not None]
    return "|".join(["_".join(stages.split()), *words, f"query={about.query_hash}"])


def _word(value: object) -> str:
    return quote(str(value), safe="()=,<>!~'\"")
