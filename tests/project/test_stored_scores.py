"""Scores of every system, bit for bit as they were stored, on any processor: refactoring must not move a ranking.

`python -m tests.project.test_stored_scores` writes the file again, after a change that is meant to change scores.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rprs
from tests.support.paths import DATA, SAMPLE

STORED = DATA / "stored-scores.json"
SYSTEMS = [  # first stage, re-ranker, depth
    ("bm25(k1=1.2,b=0.75)", None, 100),
    ("bm25(k1=2.8,b=1.0)", None, 100),
    ("bm25(k1=1.2,b=0.75,kli=0.1)", None, 20),
    ("bm25(k1=0,b=0.3,lengths=lucene)", None, 20),
    ("sdr", None, 20),
    ("sdr(normalise=zscore)", None, 20),
    ("maxsim", None, 20),
    ("maxsim(direction=both)", None, 20),
    ("meanpool", None, 20),
    ("fuse(bm25(k1=1.2,b=0.75),sdr,weight=0.3)", None, 20),
    ("fuse(bm25(k1=1.2,b=0.75),maxsim,method=minmax)", None, 20),
    ("bm25(k1=2.8,b=1.0)", "rprs", 100),
    ("bm25(k1=2.8,b=1.0)", "rprs(n=4,k1=0)", 50),
    ("bm25(k1=1.2,b=0.75)", "rprs(n=10,k1=2.8,b=1,avgdl=candidates)", 10),
    ("bm25(k1=1.2,b=0.75)", "rprs(form=no_qp)", 10),
    ("bm25(k1=1.2,b=0.75)", "rprs(form=no_dp)", 10),
    ("bm25(k1=1.2,b=0.75)", "rprs(form=no_min)", 10),
    ("bm25(k1=1.2,b=0.75)", "rprs(form=no_b_k1)", 10),
    ("bm25(k1=1.2,b=0.75)", "sdr", 10),
    ("bm25(k1=1.2,b=0.75)", "sdr(normalise=zscore)", 10),
    ("bm25(k1=1.2,b=0.75)", "maxsim", 10),
    ("bm25(k1=1.2,b=0.75)", "maxsim(direction=document)", 10),
    ("bm25(k1=1.2,b=0.75)", "meanpool", 10),
    ("bm25(k1=1.2,b=0.75)", "birch", 10),
    ("bm25(k1=1.2,b=0.75)", "birch(a=0.2,w2=0.9,w3=0,top=2)", 10),
    ("bm25(k1=1.2,b=0.75)", "first", 10),
    ("bm25(k1=1.2,b=0.75)", "fuse(first,rprs,weight=0.3)", 10),
    ("bm25(k1=1.2,b=0.75)", "fuse(sdr,rprs(n=4,k1=0),method=minmax)", 10),
]


def scores() -> dict[str, Any]:
    """system → query → [id, score] pairs, on two collections."""
    rankings: dict[str, Any] = {}
    for name, documents, queries in (("sample", *_sample()), ("invented", *_invented())):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "stored.rprs"
            rprs.build(path, documents, encoder="hashed(dimension=64)")
            with rprs.Index(path) as index:
                for first, rerank, depth in SYSTEMS:
                    searcher = rprs.Searcher(index, first=first, rerank=rerank, depth=depth)
                    rankings[f"{name}: {first} → {rerank}, {depth}"] = {
                        query.id: _pairs(searcher.rank(query)) for query in queries
                    }
    return rankings


def _pairs(ranking: Any) -> list[Any]:
    return [list(pair) for pair in zip(ranking.ids, ranking.scores.tolist(), strict=True)]


def _sample() -> tuple[list[rprs.Document], list[rprs.Document]]:
    return list(rprs.read_all([SAMPLE / "files"])), list(rprs.read_queries(SAMPLE / "queries.jsonl"))


def _invented() -> tuple[list[rprs.Document], list[rprs.Document]]:
    """Sixty documents of words drawn from a Zipf-like vocabulary; repeated and empty ones are among them."""
    chance = random.Random(7)
    words = [f"w{number}" for number in range(400)]
    weights = [1 / (number + 1) for number in range(400)]

    def text() -> str:
        paragraphs = (
            " ".join(" ".join(chance.choices(words, weights, k=chance.randint(1, 12))) + "." for _ in range(4))
            for _ in range(chance.randint(1, 5))
        )
        return "\n\n".join(paragraphs)

    documents = [rprs.Document(f"d{number:02}", text()) for number in range(57)]
    documents += [rprs.Document("twin", documents[3].text), rprs.Document("empty", ""), rprs.Document("one", "w1.")]
    return documents, [documents[0], documents[3], rprs.Document("new", text())]


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    values: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return values


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    return scores()


def _cases() -> Iterator[str]:
    for name in ("sample", "invented"):
        yield from (f"{name}: {first} → {rerank}, {depth}" for first, rerank, depth in SYSTEMS)


@pytest.mark.parametrize("case", list(_cases()))
def test_scores_are_those_that_were_stored(case: str, stored: dict[str, Any], computed: dict[str, Any]) -> None:
    assert computed[case] == stored[case]


if __name__ == "__main__":
    STORED.write_text(json.dumps(scores(), indent=0) + "\n", encoding="utf-8")
