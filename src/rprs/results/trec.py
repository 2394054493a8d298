"""Hits as a TREC run whose tag records their provenance."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from rprs.read.runs import one_word
from rprs.results.hits import Hit, ranking_of
from rprs.results.run import Run
from rprs.results.serialize import About

__all__ = ["tag", "write"]


def write(hits: Sequence[Hit], about: About) -> str:
    """`query Q0 document rank score tag`; a `UsageError` names an id that contains white space."""
    return Run({about.query: ranking_of(hits)}, tag(about)).text


def tag(about: About) -> str:
    """The provenance in one word: `first→rerank|index=…|rprs=…|depth=…` and the other options, percent-encoded."""
    stages = f"{about.first}→{about.rerank}" if about.rerank else about.first
    facts = {"index": about.fingerprint, "rprs": about.version, "depth": about.depth, "k": about.k}
    options = {
        "cutoff": about.cutoff,
        "where": about.where,
        "keep_self": "true" if about.keep_self else None,
        "exclude": about.exclude,
        "before": about.before,
        "undated": about.undated,
        "like": about.like,
        "unlike": about.unlike,
        "key": about.key,
        "ignore": about.ignore,
    }
    words = [f"{name}={_encoded(value)}" for name, value in (facts | options).items() if value is not None]
    return "|".join([one_word(stages), *words, f"query={about.query_hash}"])


def _encoded(value: object) -> str:
    return quote(str(value), safe="()=,<>!~'\"")
