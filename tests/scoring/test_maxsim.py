"""MaxSim, mean pooling and the best sentences against numbers worked by hand and a literal transcription."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from math import sqrt
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.document import Sentences
from rprs.errors import UsageError
from rprs.rank.maxsim import MaxSim, MeanPool
from rprs.scoring.maxsim import Direction, best_sentences, maxsim, meanpool
from rprs.scoring.vectors import VECTOR_TYPES, VectorType
from rprs.spec import parse
from rprs.testing.rankers import SAMPLE, check_ranker, check_reranker
from tests.support import oracle_systems as oracle
from tests.support.indexes import MEMORY
from tests.support.oracle_systems import A, B, G, H
from tests.support.vectors import plane_vectors

FEW = tuple(each for each in SAMPLE if each.id in ("lamp", "copy", "Zulu", "one", "dots", "long"))


@pytest.fixture(autouse=True)
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", MEMORY)


def document(rows: Any, vector_type: VectorType = "float16") -> Sentences:
    """Vectors as the sentences of a document, each in its own paragraph, which must not matter."""
    vectors = np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else 0).astype(vector_type)
    return Sentences(np.zeros((len(rows), 2), dtype=np.int64), np.arange(len(rows), dtype=np.int32), vectors)


class TestByHand:
    """A·B = H·G = 0 and A·H = A·G = B·H = B·G = 1/2 (A and B are axes; H and G have four halves)."""

    query = document([A, B, H])
    documents = (document([A, G, B]), document([H, (-1, 0, 0, 0)]), document([]))

    def test_query(self) -> None:
        """A, B and H find A, B and A (or B) in the first document; H three times in the second."""
        scores = maxsim(self.query.vectors, self.documents, "query")
        assert scores.tolist() == pytest.approx([(1 + 1 + 1 / 2) / 3, (1 / 2 + 1 / 2 + 1) / 3, -1])

    def test_document(self) -> None:
        """A, G and B find A, A (or B) and B in the query; H finds H, and −A nothing better than B."""
        scores = maxsim(self.query.vectors, self.documents, "document")
        assert scores.tolist() == pytest.approx([(1 + 1 / 2 + 1) / 3, (1 + 0) / 2, -1])

    def test_both(self) -> None:
        scores = maxsim(self.query.vectors, self.documents, "both")
        assert scores.tolist() == pytest.approx([5 / 6, (2 / 3 + 1 / 2) / 2, -1])

    def test_best_sentences(self) -> None:
        scores = best_sentences(self.query.vectors, self.documents, 3)
        assert scores.tolist() == [[1, 1, 1 / 2], [1, 0, 0], [0, 0, 0]]
        opposite = document([(-1, 0, 0, 0)])
        assert best_sentences(document([A]).vectors, [opposite], 2).tolist() == [[-1, 0]]

    def test_meanpool(self) -> None:
        """The sums are (1½, 1½, ½, ½), (1½, 1½, −½, −½) and (−½, ½, ½, ½), of squares 5, 5 and 1."""
        scores = meanpool(self.query.vectors, self.documents)
        assert scores.tolist() == pytest.approx([(9 / 4 + 9 / 4 - 1 / 4 - 1 / 4) / 5, (1 / 4 + 1 / 4) / sqrt(5), -1])

    def test_sentences_that_cancel_out(self) -> None:
        opposed = document([A, (-1, 0, 0, 0)])
        assert meanpool(self.query.vectors, [opposed]).tolist() == [0]
        assert meanpool(opposed.vectors, self.documents).tolist() == [0, 0, -1]

    def test_a_document_is_like_itself_and_its_repetition(self) -> None:
        """Cosines of 1 are 1, not a little less or more."""
        thrice = document([A, G, B] * 3)
        assert meanpool(self.documents[0].vectors, [self.documents[0], thrice]).tolist() == [1, 1]
        assert maxsim(self.documents[0].vectors, [self.documents[0], thrice], "both").tolist() == [1, 1]


@pytest.mark.parametrize("vectors", VECTOR_TYPES)
@settings(max_examples=80)
@given(data=st.data(), top=st.integers(1, 3))
def test_equals_the_oracle(vectors: VectorType, data: st.DataObject, top: int) -> None:
    query: Any = data.draw(st.lists(plane_vectors(vectors), min_size=1, max_size=6))
    pool: Any = data.draw(st.lists(st.lists(plane_vectors(vectors), max_size=6), max_size=5))
    query_vectors, documents = document(query, vectors).vectors, [document(rows, vectors) for rows in pool]
    query, *pool = ([tuple(map(Fraction, row)) for row in rows] for rows in (query, *pool))
    for direction in get_args(Direction):
        expected = [oracle.maxsim(query, rows, direction) for rows in pool]
        assert maxsim(query_vectors, documents, direction).tolist() == pytest.approx(expected, rel=1e-15, abs=1e-15)
    expected = [oracle.meanpool(query, rows) for rows in pool]
    assert meanpool(query_vectors, documents).tolist() == pytest.approx(expected, rel=1e-14, abs=1e-15)
    best = [oracle.best_sentences(query, rows, top) for rows in pool]
    assert best_sentences(query_vectors, documents, top).tolist() == best


@pytest.mark.parametrize("direction", get_args(Direction))
def test_maxsim_fulfils_the_contracts(direction: Direction) -> None:
    check_reranker(MaxSim(direction))
    check_ranker(MaxSim(direction), FEW)


def test_meanpool_fulfils_the_contracts() -> None:
    check_reranker(MeanPool())
    check_ranker(MeanPool(), FEW)


@pytest.mark.parametrize("kind", ["ranker", "reranker"])
def test_parameters(kind: Any) -> None:
    assert str(parse(kind, "maxsim(both)")) == "maxsim(direction=both)"
    assert str(parse(kind, "meanpool")) == "meanpool"
    with pytest.raises(UsageError, match="The 'direction' parameter of maxsim must be 'query' or 'document' or 'both'"):
        type(parse(kind, "maxsim"))("up")
