"""The memory of a query is bounded: its sentences are encoded and compared in blocks, with identical results."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs import Document, Index, Searcher
from rprs.errors import UsageError
from rprs.index import reader
from rprs.scoring import neighbours as module
from rprs.scoring.neighbours import neighbours
from rprs.scoring.vectors import to_grid
from tests.support.paths import ROOT

GROWTH = 170  # MB: 70 of vectors, and the lists of neighbours; all at once, it took 390

PROGRAM = """
import resource
from rprs import Document, Index, Searcher
index = Index.in_memory([Document(f"d{i}", f"So be it, {i}. A pilot waits.") for i in range(50)],
                        encoder="hashed(dimension=384)")
searcher = Searcher(index)
searcher.search("A pilot. So be it.", 3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
results = searcher.search("A. Be. So. " * 30_000, 3)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) // 1024)
"""


def test_many_short_sentences_take_little_memory() -> None:
    outcome = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(outcome.stdout) < GROWTH


@given(
    rows=st.integers(1, 40), block=st.integers(1, 12), n=st.integers(1, 6), seed=st.integers(0, 99), both=st.booleans()
)
def test_blocks_of_query_sentences_change_no_bit(rows: int, block: int, n: int, seed: int, both: bool) -> None:
    random = np.random.default_rng(seed)
    vectors = to_grid(random.integers(-2, 3, (rows + 30, 4)).astype(np.float32) / 8, "float16")
    query, pool = vectors[:rows], [vectors[rows : rows + 11], vectors[rows + 11 :]]
    priority = np.array([1, 0]) if both else None
    advanced: list[int] = []
    whole = neighbours(query, pool, n, priority=priority)
    before = module.QUERY_BLOCK
    module.QUERY_BLOCK = block
    try:
        parts = neighbours(query, pool, n, priority=priority, threads=2, block=7, advance=advanced.append)
    finally:
        module.QUERY_BLOCK = before
    assert parts.similarity.tobytes() == whole.similarity.tobytes()
    assert parts.sentence.tobytes() == whole.sentence.tobytes()
    assert sum(advanced) == 30


def test_a_query_encoded_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "A pilot waits. The ferry left. Fog lay over the strait. " * 5
    with Index.in_memory(["The ferry waits for its pilot."], encoder="hashed(dimension=16)") as index:
        whole = index.encode(Document("q", text))
        monkeypatch.setattr(reader, "ENCODE_ROWS", 4)
        parts = index.encode(Document("q", text))
    assert len(whole) == 15
    assert parts.vectors.tobytes() == whole.vectors.tobytes()


def test_more_sentences_than_the_limit_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_SENTENCES", 3)
    with Index.in_memory(["The ferry waits for its pilot."], encoder="hashed(dimension=16)") as index:
        assert len(Searcher(index).search("The pilot waits. A ferry left. Fog lay there.", 1)) == 1
        message = r"has 4 sentences; at most 3 are compared: divide it into several"
        with pytest.raises(UsageError, match=message):
            Searcher(index).search("The pilot waits. A ferry left. Fog lay there. The bell rang.", 1)
