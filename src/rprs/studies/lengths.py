"""Lengths of documents: their distribution, and whether systems favour long or short ones.

Length is the number of words, separated by white space.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rprs.evaluation.table import Cell, Figure, Table
from rprs.studies.figures import boxes, correlation, probability
from rprs.studies.finding import Finding
from rprs.studies.options import LengthBias, Lengths, Pearson
from rprs.studies.systems import Study

__all__ = ["length_bias", "lengths", "pearson"]

BINS = 10
FULL = 20  # documents per bin, if there are enough
Floats = NDArray[np.float64]


# ---------------------------------------------------------------------------- distribution


def lengths(study: Study, _options: Lengths) -> Finding:
    """The distribution of lengths: of documents, queries and relevant documents."""
    experiment = study.experiment
    words = experiment.documents.words_of
    samples = {
        "documents": experiment.documents.words,
        "queries": np.array([len(query.text.split()) for query in experiment.queries], dtype=np.int64),
        "relevant": np.array([words[id] for _, id in study.relevant if id in words], dtype=np.int64),
    }
    samples = {name: sample for name, sample in samples.items() if len(sample)}
    facts = {name: _facts(sample) for name, sample in samples.items()}
    header = tuple(next(iter(facts.values())))
    rows: list[tuple[Cell, ...]] = [(name, *map(round, fact.values())) for name, fact in facts.items()]
    table = Table("Words of documents", ("of", *header), tuple(rows))
    return Finding(
        title="Lengths",
        text=(
            "Words are separated by white space. “Relevant” has one document for each pair of a query and a document "
            "relevant to it. Boxes hold the middle half, whiskers extend to 1.5 times the interquartile range, "
            "outliers are left out.",
        ),
        data=facts,
        tables={"lengths": table},
        pictures=(boxes("lengths", f"Words of documents: {study.plan.title}", dict(samples)),),
    )


def _facts(sample: NDArray[np.int64]) -> dict[str, float]:
    low, middle, high = np.percentile(sample, [25, 50, 75]).tolist()
    return {
        "count": len(sample),
        "mean": float(sample.mean()),
        "std": float(sample.std()),
        "min": int(sample.min()),
        "25%": low,
        "median": middle,
        "75%": high,
        "max": int(sample.max()),
    }


# ---------------------------------------------------------------------------- P(relevant | length)


def length_bias(study: Study, options: LengthBias) -> Finding:
    """Whether long documents are retrieved as often as they are relevant."""
    words = study.experiment.documents.words
    edges = _edges(words, options.edges)
    pairs = len(study.experiment.queries) * np.histogram(words, edges)[0]
    present = {query.id for query in study.experiment.queries}
    relevant = {
        (query, id) for query, id in study.relevant if query in present and id in study.experiment.documents.words_of
    }
    counted = {"relevant": _binned(study, (id for _, id in relevant), edges)}
    relevant_hits: dict[str, NDArray[np.int64]] = {}
    for name in options.systems or study.compared:
        top = [(query, id) for query, ranking in study.rankings(name).items() for id in ranking.ids[: options.k]]
        counted[name] = _binned(study, (id for _, id in top), edges)
        relevant_hits[name] = _binned(study, (id for pair in top if pair in relevant for id in pair[1:]), edges)
    shares = {name: _share(count, pairs) for name, count in counted.items()}
    hits = {"relevant": shares["relevant"], **{name: _share(count, pairs) for name, count in relevant_hits.items()}}
    title = f"Relevant and retrieved (top {options.k}) by length"
    hits_title = f"Relevant, and retrieved of these (top {options.k}), by length"
    return Finding(
        title="Length bias",
        text=(
            "The share of all pairs of a query and a document of a given length that are relevant, and the share that "
            f"are among the query’s best {options.k}: P(relevant | length) and P(retrieved | length). A system "
            "without bias follows the curve of relevance, up to a factor. The second table counts pairs that are both: "
            "the closer to the curve of relevance, the more relevant documents of that length were retrieved.",
        ),
        data={
            "edges": [_edge(edge) for edge in edges],
            "k": options.k,
            "retrieved": _lists(shares),
            "hits": _lists(hits),
        },
        tables={
            "length-bias": _bias_table(title, edges, words, shares),
            "length-bias-hits": _bias_table(hits_title, edges, words, hits),
        },
        pictures=(
            probability("length-bias", title, edges, shares),
            probability("length-bias-hits", hits_title, edges, hits, what="P(relevant and retrieved | length)"),
        ),
    )


def _edges(words: NDArray[np.int64], chosen: tuple[int, ...]) -> list[float]:
    """The bounds of the bins: the chosen ones and infinity, or tenths of the documents."""
    if chosen:
        return [*map(float, sorted(set(chosen))), math.inf]
    bins = min(max(len(words) // FULL, 2), BINS)
    cuts = np.unique(np.percentile(words, np.linspace(0, 100, bins + 1)[1:-1]).round())
    return [0.0, *(float(cut) for cut in cuts if cut > 0), math.inf]


def _binned(study: Study, ids: Iterable[str], edges: list[float]) -> NDArray[np.int64]:
    words = study.experiment.documents.words_of
    return np.histogram([words[id] for id in ids], edges)[0]


def _share(part: NDArray[np.int64], total: NDArray[np.int64]) -> Floats:
    """NaN where there is no document of that length."""
    return np.asarray(np.divide(part, total, out=np.full(len(part), math.nan), where=total > 0))


def _edge(edge: float) -> float | None:
    return None if math.isinf(edge) else edge


def _lists(shares: dict[str, Floats]) -> dict[str, list[float | None]]:
    return {name: [None if math.isnan(p) else p for p in values.tolist()] for name, values in shares.items()}


def _bias_table(title: str, edges: list[float], words: NDArray[np.int64], shares: dict[str, Floats]) -> Table:
    """One row per bin."""
    documents = np.histogram(words, edges)[0].tolist()
    rows: list[tuple[Cell, ...]] = []
    for place, (low, high) in enumerate(pairwise(edges)):
        span = f"{low:,.0f} and more" if math.isinf(high) else f"{low:,.0f} to {high - 1:,.0f}"
        rows.append((span, documents[place], *(Figure(float(column[place]), 5) for column in shares.values())))
    return Table(title, ("words", "documents", *shares), tuple(rows))


# ---------------------------------------------------------------------------- score and length


def pearson(study: Study, options: Pearson) -> Finding:
    """Pearson’s correlation of a candidate’s score with its length (the paper’s Table 8)."""
    names = options.systems or study.compared
    facts, rows, pictures = {}, list[tuple[Cell, ...]](), []
    for name in names:
        pairs = _lengths_and_scores(study, name)
        each = np.array([r for r in (_r(*pair) for pair in pairs) if not math.isnan(r)])
        length, score = (np.concatenate(column) for column in zip(*pairs, strict=True))
        pooled, mean = _r(length, score), float(each.mean()) if len(each) else math.nan
        facts[name] = {"mean": _number(mean), "queries": len(each), "pooled": _number(pooled), "pairs": len(length)}
        rows.append((name, Figure(mean, 4), len(each), Figure(pooled, 4), len(length)))
        if name == study.plan.subject:
            pictures.append(correlation("pearson", f"Score and length: {name}", length, score, pooled))
    table = Table("Correlation of score and length", ("system", "mean r", "queries", "pooled r", "pairs"), tuple(rows))
    return Finding(
        title="Score and length",
        text=(
            "Pearson’s r between the score of a candidate and its number of words. “Mean r” is the mean over queries "
            "of the r of a query’s candidates, which does not depend on how scores compare between queries; “pooled "
            "r” is computed over all pairs of a query and a candidate. A query whose candidates have equal scores has "
            "no r.",
        ),
        data=facts,
        tables={"pearson": table},
        pictures=tuple(pictures),
    )


def _lengths_and_scores(study: Study, name: str) -> list[tuple[Floats, Floats]]:
    words = study.experiment.documents.words_of
    return [
        (np.array([words[id] for id in ranking.ids], dtype=np.float64), ranking.scores)
        for ranking in study.rankings(name).values()
    ]


def _r(x: Floats, y: Floats) -> float:
    """Pearson’s r; NaN where one of the two does not vary."""
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
