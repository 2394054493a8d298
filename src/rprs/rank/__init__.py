"""First stages, which rank a whole index, and re-rankers, which reorder candidates; many components are both."""

from rprs.rank.bm25 import BM25, QueryTerms
from rprs.rank.rprs import RPRS
from rprs.rank.runfile import RunFile
from rprs.rank.stages import Mask, Ranker, Reranker, TwoStepRanker, TwoStepReranker, load_candidates
from rprs.rank.system import System

__all__ = [
    "BM25",
    "RPRS",
    "Mask",
    "QueryTerms",
    "Ranker",
    "Reranker",
    "RunFile",
    "System",
    "TwoStepRanker",
    "TwoStepReranker",
    "load_candidates",
]
