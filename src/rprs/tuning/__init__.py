"""Tuning: the parameters of a system that are best for a measure, on queries with judgements.

    tuned = rprs.tune("cases.rprs", "queries.jsonl", "qrels.txt", measure="AP@100", depth=50, folds=5)
    print(tuned.best, tuned.value, tuned.held_out.value)

Every point of a grid gets exactly the ranking of a search with its parameters. Of equally good points RPRS takes the
one with the smaller k1, then n, then b, then depth; BM25 the one with the smaller k1, then b, then kli (none is the
smallest); a cut-off the one with the smaller h, then l, then p; another re-ranker the one with the earlier values in
the order of its grid.
"""

from rprs.tuning.choose import Fold, HeldOut, Tuned, deal
from rprs.tuning.cutoffs import set_measure, tune_cutoff
from rprs.tuning.first import tune_bm25
from rprs.tuning.grids import DEPTHS, Axes, Bm25Grid, CutoffGrid, RprsGrid, integers, parse_axis
from rprs.tuning.pools import pools_at_depths
from rprs.tuning.rerankers import tune_reranker, tune_rprs
from rprs.tuning.tune import tune

__all__ = [
    "DEPTHS",
    "Axes",
    "Bm25Grid",
    "CutoffGrid",
    "Fold",
    "HeldOut",
    "RprsGrid",
    "Tuned",
    "deal",
    "integers",
    "parse_axis",
    "pools_at_depths",
    "set_measure",
    "tune",
    "tune_bm25",
    "tune_cutoff",
    "tune_reranker",
    "tune_rprs",
]
