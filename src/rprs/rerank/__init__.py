"""Re-rankers: the candidates of a first stage in a better order. Listwise by nature: they see all of them at once."""

from rprs.rerank.reranker import Reranker, Staged, gather
from rprs.rerank.rprs import RPRS

__all__ = ["RPRS", "Reranker", "Staged", "gather"]
