"""BM25 with phrases, and its mixture with the cosine, against numbers worked by hand and a literal oracle."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.document import Document
from rprs.errors import UsageError
from rprs.index import Index, Writer
from rprs.rank.blend import Blend
from rprs.rank.bm25 import BM25
from rprs.scoring import blend
from rprs.search import Searcher
from tests.rank.test_cosine import oracle as cosine_oracle
from tests.support.crash import HASHED
from tests.support.indexes import documents, index_of

PLAIN = "words(language=none)"


def bm25_oracle(query: str, collection: dict[str, str], k1: float, b: float, longest: int = 3) -> dict[str, float]:
    """Words and phrases as docs/method.md describes them, with dictionaries."""
    texts = {id: text.split() for id, text in collection.items()}
    mean = sum(map(len, texts.values())) / len(texts)

    def occurrences(words: list[str], n: int) -> list[tuple[str, ...]]:
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    def rsj(gram: tuple[str, ...]) -> float:
        df = sum(gram in occurrences(words, len(gram)) for words in texts.values())
        return math.log1p((len(texts) - df + 0.5) / (df + 0.5))

    scores = {}
    for id, words in texts.items():
        k = k1 * ((1 - b) + b * (len(words) / mean if mean else 0))
        total = 0.0
        for n in range(1, longest + 1):
            for gram, times in Counter(occurrences(query.split(), n)).items():
                weight = rsj(gram) if n == 1 else 0.75 * max(rsj(gram) - max(rsj(gram[1:]), rsj(gram[:-1])), 0)
                tf = occurrences(words, n).count(gram)
                total += times * weight * tf / (tf + k) if tf else 0.0
        scores[id] = total
    return scores


def scores_by_id(index: Index, ranker: BM25 | Blend, query: str) -> dict[str, float]:
    return dict(zip(index.ids, ranker.scores(Document("query", query), index).tolist(), strict=True))


class TestPhrasesOfBM25:
    """Four documents; "red" and "sand" are each in two of them, "red sand" in one."""

    COLLECTION = documents(a="red sand", b="red sea", c="wet sand", d="blue sky")

    def test_a_phrase_adds_three_quarters_of_what_it_tells_beyond_its_parts(self) -> None:
        word, phrase = math.log1p(2.5 / 2.5), math.log1p(3.5 / 1.5)
        with index_of(self.COLLECTION, analyzer=PLAIN) as index:
            scores = scores_by_id(index, BM25(k1=1.0, b=0.0, phrases=2), "red sand")
        assert scores["a"] == pytest.approx(2 * word / 2 + 0.75 * (phrase - word) / 2, rel=1e-12)
        assert scores["b"] == scores["c"] == pytest.approx(word / 2, rel=1e-12)
        assert scores["d"] == 0.0

    def test_a_phrase_as_frequent_as_its_parts_adds_nothing(self) -> None:
        with index_of(documents(a="red sand", b="red sand", c="blue sky"), analyzer=PLAIN) as index:
            with_phrases = scores_by_id(index, BM25(phrases=3), "red sand")
            assert with_phrases == scores_by_id(index, BM25(), "red sand")

    def test_an_index_without_phrases_says_how_to_add_them(self, tmp_path: Path) -> None:
        path = tmp_path / "plain.rprs"
        with Writer(path, create=True, encoder=HASHED, phrases=False) as writer:
            writer.add(self.COLLECTION)
        with pytest.raises(UsageError, match=r"needs phrases, .*run `rprs upgrade .*plain.rprs`"):
            Searcher(path, first="bm25(phrases=3)", rerank=None).search("red sand")


words = st.sampled_from([f"w{number}" for number in range(4)])
texts = st.lists(words, max_size=12).map(" ".join)
collections = st.lists(texts, min_size=1, max_size=7)


@settings(max_examples=60)
@given(
    collection=collections,
    query=texts,
    removed=st.sets(st.integers(0, 6), max_size=3),
    cut=st.integers(0, 7),
    k1=st.sampled_from([0.0, 1.2, 2.8]),
    longest=st.integers(1, 3),
)
def test_bm25_with_phrases_equals_the_oracle(
    collection: list[str], query: str, removed: set[int], cut: int, k1: float, longest: int
) -> None:
    named = [Document(f"d{number}", text) for number, text in enumerate(collection)]
    removed_ids = [document.id for number, document in enumerate(named) if number in removed]
    live = {document.id: document.text for document in named if document.id not in removed_ids}
    if not live:
        return
    with index_of(named[:cut], named[cut:], removed=removed_ids, analyzer=PLAIN) as index:
        scores = scores_by_id(index, BM25(k1, 1.0, phrases=longest), query)
    assert scores == pytest.approx(bm25_oracle(query, live, k1, 1.0, longest), rel=1e-9, abs=1e-12)


class TestTheMixture:
    def test_the_weight_follows_from_the_length_of_the_query(self) -> None:
        """A third of the mean length is enough for the cosine alone; a tenth leaves it 9%."""
        assert [blend.weight_of_length(ratio) for ratio in (0.0, 1 / 3, 0.5, 2.0)] == [0.0, 1.0, 1.0, 1.0]
        assert blend.weight_of_length(0.1) == pytest.approx(0.09)

    def test_worked_by_hand(self) -> None:
        """The third document has no second score and counts with the smallest one, 2; the last has neither."""
        first, second = np.array([4.0, 1.0, 9.0, 0.0]), np.array([2.0, 8.0, 0.0, 0.0])
        assert blend.geometric(first, second, 0.5) == pytest.approx([8**0.5, 8**0.5, 18**0.5, 0.0])

    @pytest.mark.parametrize("weight", [0.0, 1.0])
    def test_a_whole_weight_is_one_score_unchanged(self, weight: float) -> None:
        """It leaves out no document that the other score found: that one counts with the smallest score."""
        first, second = np.array([0.3, 0.0, 0.1, 0.0]), np.array([0.0, 2.0, 1.0, 0.0])
        expected = [0.3, 0.1, 0.1, 0.0] if weight else [1.0, 2.0, 1.0, 0.0]
        assert blend.geometric(first, second, weight).tolist() == expected

    @pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
    def test_a_score_that_is_0_everywhere_decides_nothing(self, weight: float) -> None:
        nothing, second = np.zeros(3), np.array([0.0, 2.0, 1.0])
        assert np.array_equal(blend.geometric(nothing, second, weight), second)
        assert np.array_equal(blend.geometric(second, nothing, weight), second)

    def test_words_that_all_documents_have_find_them(self) -> None:
        """The idf of the cosine is 0 for such words, but not that of BM25."""
        with index_of(documents(a="red sand sand", b="red sea"), analyzer=PLAIN) as index:
            assert Searcher(index).rank("red red wine").ids == ("b", "a")
            assert Searcher(index).rank("red sand").ids == ("a", "b")

    def test_scores_of_another_scale_give_the_same_order(self) -> None:
        generator = np.random.default_rng(3)
        first, second = generator.random(50), generator.random(50)
        order = np.argsort(blend.geometric(first, second, 0.3))
        assert np.array_equal(np.argsort(blend.geometric(1000 * first, second / 7, 0.3)), order)


@settings(max_examples=50)
@given(collection=collections, query=texts, weight=st.sampled_from([None, 0.0, 0.4, 1.0]))
def test_the_blend_equals_the_oracle(collection: list[str], query: str, weight: float | None) -> None:
    named = {f"d{number}": text for number, text in enumerate(collection)}
    cosine = cosine_oracle(query, named, (1.0, 1.0, 1.0))
    bm25 = bm25_oracle(query, named, 2.8, 1.0)
    mean = sum(len(text.split()) for text in collection) / len(collection)
    share = min(1.0, (3 * len(query.split()) / mean) ** 2 if mean else 1.0) if weight is None else weight
    least = [min((value for value in values.values() if value > 1e-12), default=1.0) for values in (cosine, bm25)]

    def mixed(id: str) -> float:
        if cosine[id] <= 1e-12 and bm25[id] <= 1e-12:
            return 0.0
        if not any(value > 1e-12 for value in cosine.values()):
            return bm25[id]
        return float(max(cosine[id], least[0]) ** share * max(bm25[id], least[1]) ** (1 - share))

    with index_of([Document(id, text) for id, text in named.items()], analyzer=PLAIN) as index:
        scores = scores_by_id(index, Blend(weight), query)
    assert scores == pytest.approx({id: mixed(id) for id in named}, rel=1e-9, abs=1e-12)


def test_an_index_without_phrases_ranks_by_words_and_says_so_once(tmp_path: Path) -> None:
    path = tmp_path / "plain.rprs"
    with Writer(path, create=True, encoder=HASHED, phrases=False) as writer:
        writer.add(documents(a="red sand and sea", b="blue sky and sea"))
    results = Searcher(path, "fast").search("red sand in the sea")
    assert results[0].id == "a"
    assert sum("has no phrases" in note and "rprs upgrade" in note for note in results.notes) == 1


@pytest.mark.parametrize(
    "text", ["blend(weight=1.5)", "blend(weight=-1)", "blend(w2=-1)", "blend(k1=-1)", "blend(b=2)"]
)
def test_wrong_parameters_are_refused(text: str) -> None:
    with index_of(documents(a="one")) as index, pytest.raises(UsageError, match="must be"):
        Searcher(index, first=text)
