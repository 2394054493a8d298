"""First stages: which documents of the collection are worth a closer look."""

from rprs.rank.bm25 import BM25, QueryTerms
from rprs.rank.ranker import Mask, Ranker
from rprs.rank.runfile import RunFile

__all__ = ["BM25", "Mask", "QueryTerms", "Ranker", "RunFile"]
