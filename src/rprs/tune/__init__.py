"""Tuning: the parameters that are best for a measure on queries whose answers are known.

    pools = pools_at_depths(index, queries, first_stage(index, queries, "bm25(k1=2.8,b=1)", 50), [50])
    tuned = tune_rprs(pools, qrels, "AP@100", folds=5)
    print(tuned.best.rerank, tuned.value, tuned.held_out.value)

Every point of a grid gets what a search with its parameters would. Of equally good points RPRS takes that with the
smaller k1, then n, then b, then depth; BM25 with the smaller k1, then b, then kli (none is the smallest); a cut-off
with the smaller h, then l, then p; another re-ranker with the earlier values in the order of its grid.
"""

from rprs.tune.choose import Fold, HeldOut, Tuned, deal
from rprs.tune.cutoffs import set_measure, tune_cutoff
from rprs.tune.first import tune_bm25
from rprs.tune.grids import DEPTHS, Axes, Bm25Grid, CutoffGrid, RprsGrid, integers, parse_axis
from rprs.tune.rerankers import rerank_run, tune_reranker, tune_rprs
from rprs.tune.work import Remembered, Work, pools_at_depths

__all__ = [
    "DEPTHS",
    "Axes",
    "Bm25Grid",
    "CutoffGrid",
    "Fold",
    "HeldOut",
    "Remembered",
    "RprsGrid",
    "Tuned",
    "Work",
    "deal",
    "integers",
    "parse_axis",
    "pools_at_depths",
    "rerank_run",
    "set_measure",
    "tune_bm25",
    "tune_cutoff",
    "tune_reranker",
    "tune_rprs",
]
