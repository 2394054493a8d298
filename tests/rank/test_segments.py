"""First stages score segments on all cores where there are many documents, with the same scores."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from rprs import Document, Index, Writer
from rprs.index import phrases
from rprs.rank import segments
from rprs.rank.blend import Blend
from rprs.rank.bm25 import BM25
from rprs.rank.cosine import Cosine
from rprs.scoring import threads
from rprs.scoring.threads import limit_cores, spread

STAGES = pytest.mark.parametrize(
    "stage", [BM25(), BM25(k1=0.0), BM25(phrases=3), BM25(kli=0.5), Cosine(), Blend()], ids=str
)
WORDS = "tenant landlord rent court appeal claim notice lease the a of to and".split()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Several segments, with removed documents and one that is empty."""
    random, path = Random(1), tmp_path_factory.mktemp("segments") / "x.rprs"
    texts = [" ".join(random.choices(WORDS, k=random.randint(0, 60))) for _ in range(120)]
    documents = [Document(f"d{number}", text) for number, text in enumerate(texts)]
    with Writer(path, create=True, encoder="hashed(dimension=4)", batch=900, compact_automatically=False) as writer:
        writer.add(documents)
        writer.remove([f"d{number}" for number in range(0, 120, 7)])
    opened = Index(path)
    assert len(opened.segments) > 4
    return opened


@STAGES
def test_scores_are_the_same_on_all_cores(
    index: Index, stage: BM25 | Cosine | Blend, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Document("q", "The tenant of the court did appeal the claim to rent, and the landlord of the lease.")
    with limit_cores(1):
        expected = stage.scores(query, index)
    submitted: list[Any] = []
    submit = threads._threads().submit

    def note(*work: Any) -> Any:
        submitted.append(work)
        return submit(*work)

    monkeypatch.setattr(threads, "cores", lambda: 4)
    monkeypatch.setattr(threads._threads(), "submit", note)
    monkeypatch.setattr(segments, "LEAST_DOCUMENTS", 0)
    monkeypatch.setattr(phrases, "LEAST_LOOKUPS", 0)
    for _ in range(5):
        assert np.array_equal(stage.scores(query, index), expected)
    assert submitted
    assert expected.any()


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
def test_results_are_in_the_order_of_the_items(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(threads, "cores", lambda: cores)
    for size in (0, 1, 2, 7, 20):
        assert spread(lambda item: item * item, range(size)) == [item * item for item in range(size)]
        assert spread(str, range(size), one_thread=True) == [str(item) for item in range(size)]


def test_an_error_of_any_item_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 2)
    for wrong in range(4):
        with pytest.raises(ZeroDivisionError):
            spread(lambda item, wrong=wrong: 1 // (item - wrong), range(4))  # type: ignore[misc]


@STAGES
def test_segments_in_the_order_of_ids_are_scored_in_place(tmp_path: Path, stage: BM25 | Cosine | Blend) -> None:
    random, path = Random(2), tmp_path / "x.rprs"
    texts = [" ".join(random.choices(WORDS, k=random.randint(0, 60))) for _ in range(60)]
    with Writer(path, create=True, encoder="hashed(dimension=4)", batch=900, compact_automatically=False) as writer:
        writer.add([Document(f"{number:03}", text) for number, text in enumerate(texts)])
        writer.remove(["000"])
    with Index(path) as index:
        query = Document("q", "The tenant of the court did appeal the claim to rent.")
        assert [isinstance(rows, slice) for rows in index.rows[:3]] == [False, True, True]
        expected = stage.scores(query, index)
        index.rows = [*index.numbers]
        assert np.array_equal(stage.scores(query, index), expected)
        assert expected.any()
