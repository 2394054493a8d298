"""Documents that are hard to divide among shards, and searches of them that a wrong division would change."""

from __future__ import annotations

from typing import Any

from rprs.document import Document, Ranking
from tests.index.test_union import DOCUMENTS as PROSE
from tests.support.cli import QUERY, TEXTS

__all__ = ["MIXED", "QUERIES", "REMOVED", "RESTRICTED", "SHARDS", "found", "ranked"]

REMOVED = "removed"
SCRIPTS = ("a", "B", "é", "a\u0308", "日本", "🦊", "z z", "10", "2", "\uffff", "𐀀", "ß")
TIED = (TEXTS["loan.txt"], "The tenant keeps the boat. The bank ends the lease.")
MIXED = [
    *PROSE,  # with fields, dates, a copy, and the document that is removed
    *(Document(id, TIED[place % 2], metadata={"date": f"20{place:02d}-01-01"}) for place, id in enumerate(SCRIPTS)),
]
SHARDS = 16  # of which some are empty
QUERIES = (
    Document("query", QUERY, metadata={"date": "2012-05-01"}),
    Document("lease.txt", TEXTS["lease.txt"], metadata={"date": "2004-06-07"}),
)
RESTRICTED: tuple[dict[str, Any], ...] = (
    {"where": "court = harbour"},
    {"where": "date < 2005-01-01"},
    {"before": "date"},
    {"before": "2005-01-01", "undated": "drop"},
    {"exclude": ["sublease.txt", "日本"]},
    {"like": ["loan.txt"]},
    {"like": ["𐀀"], "unlike": ["sublease.txt"], "keep_self": True},
    {"where": "date < 2015-01-01", "before": "date", "undated": "drop", "like": ["a"]},
    {"key": [(0, 40)], "ignore": [(100, 120)]},
)


def ranked(ranking: Ranking) -> Any:
    """A ranking, to the last bit."""
    parts = {name: values.tobytes() for name, values in ranking.parts.items()}
    return ranking.ids, ranking.scores.tobytes(), parts, ranking.notes


def found(searcher: Any, **options: Any) -> list[Any]:
    """What a searcher says about all queries, to the last bit, with evidence of the best ten documents."""
    results = []
    for query in QUERIES:
        hits = searcher.search(query, 10, **options)
        results.append((hits.hits, hits.notes, ranked(searcher.rank(query, **options))))
    return results
