"""What cards show first, on court opinions: hardly ever boilerplate, by a literal count that shares no code with it."""

from __future__ import annotations

import json
import lzma
import os
import random
import re
from pathlib import Path

import pytest

from rprs import Index, Searcher
from rprs.document import Document

DOCUMENTS, QUERIES, HITS = 600, 20, 10
MANY = DOCUMENTS // 50


def plain(text: str) -> str:
    """The words of a text in small letters, with one space around each."""
    return f" {' '.join(re.findall(r'[a-z0-9]+', text.lower()))} "


def is_boilerplate(passage: str, texts: list[str]) -> bool:
    """Whether a passage is very short, or 2% of the documents have it word for word."""
    words = plain(passage)
    return len(words.split()) < 4 or sum(words in text for text in texts) >= MANY


@pytest.mark.effectiveness
def test_first_pairs_are_hardly_ever_boilerplate() -> None:
    corpus = Path(os.environ["RPRS_DATA"]) / "scotus_cite" / "corpus.jsonl.xz"
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line, _ in zip(lines, range(DOCUMENTS), strict=False)]
    documents = [Document(record["_id"], record["text"]) for record in records]
    texts = [plain(document.text) for document in documents]
    searcher = Searcher(Index.in_memory(documents))
    cards = [
        hit
        for query in random.Random(0).sample(documents, QUERIES)
        for hit in searcher.search(query, k=HITS)
        if hit.pairs
    ]
    shown = [hit.pairs[0] for hit in cards]
    formal = [pair for pair in shown if is_boilerplate(pair.query, texts) or is_boilerplate(pair.document, texts)]
    assert len(cards) >= 0.95 * QUERIES * HITS  # nearly every card has evidence
    assert len(formal) < 0.05 * len(cards), [pair.query for pair in formal]
