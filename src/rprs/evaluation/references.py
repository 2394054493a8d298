"""What any re-ranking of given candidates can reach: the expected value of a random order, and the best order.

A measure of a re-ranked list says little without them: where most candidates are relevant, as in lists reduced to
judged documents, a random order has a high value, too.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rprs.document import EMPTY_RANKING, Ranking
from rprs.evaluation.evaluate import Evaluation, judged_queries
from rprs.evaluation.measures import Measure, Ranked, judge

__all__ = ["best_order", "random_order"]

ORDERS = 1000  # at least, for each query
Qrels = Mapping[str, Mapping[str, int]]


def best_order(run: Mapping[str, Ranking], qrels: Qrels) -> dict[str, Ranking]:
    """Each ranking with its documents by falling grade, equal grades in the order of the ranking.

    No order of the same documents has a greater value of the usual measures. The scores stay at their ranks.
    """
    return {query: _by_grade(ranking, qrels.get(query, {})) for query, ranking in run.items()}


def _by_grade(ranking: Ranking, grades: Mapping[str, int]) -> Ranking:
    return Ranking(tuple(sorted(ranking.ids, key=lambda id: -max(grades.get(id, 0), 0))), ranking.scores)


def random_order(
    run: Mapping[str, Ranking], qrels: Qrels, measures: Sequence[Measure], *, name: str = "", seed: int = 0
) -> Evaluation:
    """The mean over random orders of the documents of each ranking; the scores stay at their ranks.

    The orders are shuffles with a fixed seed, at least 1,000 for each query, each used in all its rotations. Every
    document is thus at every rank equally often, and P@k, R@k and nDCG@k are the exact expected values. A measure whose
    total is not a mean over queries is computed from the means of its parts, such as the expected counts of micro_F1.
    """
    queries = judged_queries(run, qrels, name)
    parts: dict[Measure, list[NDArray[np.float64]]] = {measure: [] for measure in measures}
    for query in queries:
        ranking = run.get(query, EMPTY_RANKING)
        shuffled = _reorder(judge(ranking.ids, ranking.scores, qrels[query]), [seed, zlib.crc32(query.encode())])
        for measure in measures:
            parts[measure].append(measure.parts(shuffled).mean(axis=0))
    return Evaluation(name, queries, {measure: np.stack(rows) for measure, rows in parts.items()})


def _reorder(ranked: Ranked, seed: list[int]) -> Ranked:
    """A query with its documents in random orders: `Ranked` with p ≥ 1,000."""
    depth = ranked.gains.shape[1]
    if not depth:
        return ranked
    shuffles = np.tile(np.arange(depth), (-(-ORDERS // depth), 1))
    shuffles = np.random.default_rng(seed).permuted(shuffles, axis=1)
    ranks = (np.arange(depth) + np.arange(depth)[:, None]) % depth  # (rotations, depth)
    orders = shuffles[:, ranks].reshape(-1, depth)
    judged = None if ranked.judged is None else ranked.judged[0, orders]
    scores = np.broadcast_to(ranked.scores, orders.shape)
    return Ranked(ranked.gains[0, orders], scores, ranked.grades, judged, ranked.irrelevant)
