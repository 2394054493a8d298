"""Documents, queries and judgements for tuning, and brute force to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from rprs.document import Document, Ranking
from rprs.evaluation.evaluate import evaluate
from rprs.evaluation.measures import parse_measure
from rprs.index import Index
from rprs.rank import System
from rprs.search import Searcher
from rprs.tuning.choose import Tuned
from rprs.tuning.grids import RprsGrid

WORDS = "reef kelp buoy sail tide mast keel wave gull sand rope foam crab surf dock".split()
SMALL = RprsGrid(n=(1, 3, 4), k1=(0, 0.6, 2.8, 9), b=(0, 0.5, 1))


def texts(seed: int, count: int, longest: int = 9) -> list[str]:
    """Sentences of a few words, the first ones of the list more often."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(2, len(WORDS) + 2)
    return [
        " ".join(
            f"The {' '.join(rng.choice(WORDS, 5, p=share / share.sum()))} came."
            for _ in range(rng.integers(1, longest))
        )
        for _ in range(count)
    ]


DOCUMENTS = [Document(f"d{number:02d}", text) for number, text in enumerate(texts(1, 40))]
QUERIES = [Document(f"q{number}", text) for number, text in enumerate(texts(2, 9))]
QUERIES += [Document("twin", QUERIES[0].text), Document("mute", " "), DOCUMENTS[7], Document("unjudged", "A reef.")]
RNG = np.random.default_rng(5)
QRELS = {
    query.id: {str(id): int(RNG.integers(0, 3)) for id in RNG.choice([document.id for document in DOCUMENTS], 8)}
    for query in QUERIES[:-1]
}
JUDGED = [query for query in QUERIES if any(grade > 0 for grade in QRELS.get(query.id, {}).values())]
EXCLUDED = {"q1": frozenset({"d00", "d11"})}
PAPER = System.named("paper")
MEASURES = ["AP@100", "nDCG@5", "P@3", "micro_F1@4", "macro_F1@ratio(p=0.5,l=1,h=6)", "RR", "Bpref", "MPR"]


def value(run: Mapping[str, Ranking], measure: str, qrels: Mapping[str, Mapping[str, int]] = QRELS) -> float:
    """The value of `rprs evaluate` for a run, over the judged queries."""
    judgements = {query.id: qrels[query.id] for query in JUDGED if query.id in qrels}
    return evaluate(run, judgements, [parse_measure(measure)]).total(parse_measure(measure))


def searched(index: Index, query: Document, component: Any, depth: int, first: str = "bm25") -> Ranking:
    if not query.text.strip():
        return Ranking((), np.empty(0))
    return Searcher(index, first=first, rerank=component, depth=depth).rank(query)


def same_totals(tuned: Tuned, expected: Mapping[tuple[Any, ...], float]) -> None:
    """Every point has the value of brute force, and the best is the preferred one among the best."""
    totals = {
        tuple(point.values()): total
        for point, total in zip(tuned.axes.points(), tuned.totals.ravel().tolist(), strict=True)
    }
    assert totals == pytest.approx(dict(expected), abs=1e-12)
    assert tuned.value == pytest.approx(max(expected.values()))
    assert totals[tuple(tuned.point.values())] == tuned.value


def same_run(left: Mapping[str, Ranking], right: Mapping[str, Ranking]) -> None:
    assert {query: one.ids for query, one in left.items()} == {query: one.ids for query, one in right.items()}
    assert all(left[query].scores.tobytes() == right[query].scores.tobytes() for query in left)
