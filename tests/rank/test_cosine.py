"""The cosine over terms and phrases against numbers worked by hand and a literal oracle."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.document import Document
from rprs.errors import IndexMismatch, UsageError
from rprs.index import Index, Writer, verify
from rprs.rank.cosine import Cosine
from rprs.search import Searcher
from tests.support.crash import HASHED, memory_folder
from tests.support.indexes import documents, index_of

PLAIN = "words(language=none)"


def grams(text: str, lengths: int) -> Counter[tuple[str, ...]]:
    words = text.split()
    return Counter(tuple(words[i : i + n]) for n in range(1, lengths + 1) for i in range(len(words) - n + 1))


def oracle(query: str, collection: dict[str, str], weights: tuple[float, ...]) -> dict[str, float]:
    """The formula of docs/method.md, with dictionaries."""
    counts = {id: grams(text, len(weights)) for id, text in collection.items()}
    df = Counter(gram for each in counts.values() for gram in each)

    def vector(counted: Counter[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
        return {
            gram: weights[len(gram) - 1] * (1 + math.log(count)) * math.log((len(collection) + 1) / (df[gram] + 1))
            for gram, count in counted.items()
        }

    def norm(values: dict[tuple[str, ...], float]) -> float:
        return math.sqrt(math.fsum(value**2 for value in values.values()))

    left = vector(grams(query, len(weights)))
    scores = {}
    for id, counted in counts.items():
        right = vector(counted)
        product = math.fsum(left.get(gram, 0.0) * value for gram, value in right.items())
        scores[id] = product / (norm(left) * norm(right)) if product else 0.0
    return scores


def scores(index: Index, ranker: Cosine, query: str) -> dict[str, float]:
    return dict(zip(index.ids, ranker.scores(Document("query", query), index).tolist(), strict=True))


class TestWorkedByHand:
    """Three documents; "red" is in two of them, all else in one: idf(red) = ln(4/3), idf(others) = ln(4/2)."""

    COLLECTION = documents(a="red red sand", b="red sea", c="blue sky")

    def test_single_terms(self) -> None:
        red, other = math.log(4 / 3), math.log(2)
        twice = (1 + math.log(2)) * red
        expected = {
            "a": (red * twice + other * other) / (math.hypot(red, other) * math.hypot(twice, other)),
            "b": red * red / (math.hypot(red, other) * math.hypot(red, other)),
            "c": 0.0,
        }
        with index_of(self.COLLECTION, analyzer=PLAIN) as index:
            assert scores(index, Cosine(ngrams=1), "red sand") == pytest.approx(expected, rel=1e-12)

    def test_with_phrases(self) -> None:
        """Document a has "red red", "red sand" and "red red sand"; the query shares "red sand" with it."""
        red, other = math.log(4 / 3), math.log(2)
        twice = (1 + math.log(2)) * red
        query = math.sqrt(red**2 + other**2 + other**2)
        norm = math.sqrt(twice**2 + other**2 + 3 * other**2)
        with index_of(self.COLLECTION, analyzer=PLAIN) as index:
            assert scores(index, Cosine(), "red sand")["a"] == pytest.approx(
                (red * twice + other**2 + other**2) / (query * norm), rel=1e-12
            )

    def test_a_document_is_most_similar_to_itself(self) -> None:
        with index_of(self.COLLECTION, analyzer=PLAIN) as index:
            assert scores(index, Cosine(), "red red sand")["a"] == pytest.approx(1.0, rel=1e-12)


words = st.sampled_from([f"w{number}" for number in range(5)])
texts = st.lists(words, max_size=12).map(" ".join)


@settings(max_examples=120)
@given(
    collection=st.lists(texts, min_size=1, max_size=8),
    query=texts,
    removed=st.sets(st.integers(0, 7), max_size=3),
    cut=st.integers(0, 8),
    weights=st.sampled_from([(1.0,), (1.0, 1.0), (1.0, 1.0, 1.0), (1.0, 2.0, 4.0), (1.0, 0.0, 0.5)]),
)
def test_every_score_equals_the_oracle(
    collection: list[str], query: str, removed: set[int], cut: int, weights: tuple[float, ...]
) -> None:
    named = [Document(f"d{number}", text) for number, text in enumerate(collection)]
    removed_ids = [document.id for number, document in enumerate(named) if number in removed]
    live = {document.id: document.text for document in named if document.id not in removed_ids}
    if not live:
        return
    ranker = Cosine(len(weights), *weights[1:])
    with index_of(named[:cut], named[cut:], removed=removed_ids, analyzer=PLAIN) as index:
        assert scores(index, ranker, query) == pytest.approx(oracle(query, live, weights), rel=1e-9, abs=1e-12)


def test_the_best_of_a_random_collection_equal_the_oracle() -> None:
    random = Random(5)
    collection = {
        f"d{n:02d}": " ".join(f"w{int(random.paretovariate(0.6)) % 300}" for _ in range(random.choice([0, 5, 80, 700])))
        for n in range(60)
    }
    with index_of([Document(id, text) for id, text in collection.items()], analyzer=PLAIN) as index:
        for id in ("d07", "d21", "d44"):
            query = Document("query", collection[id][:900])
            expected = oracle(query.text, collection, (1.0, 1.0, 1.0))
            ranking = Cosine().rank(query, index, 10, np.ones(len(index), dtype=bool))
            best = sorted((id for id in expected if expected[id] > 0), key=lambda id: (-expected[id], id))[:10]
            assert list(ranking.ids) == best
            assert ranking.scores == pytest.approx([expected[id] for id in best], rel=1e-9)


def test_equal_documents_tie_in_the_order_of_their_ids() -> None:
    with index_of(
        documents(b="one two three", c="one two three", a="one two three", d="four"), analyzer=PLAIN
    ) as index:
        ranking = Cosine().rank(Document("q", "one two three"), index, 2, np.ones(4, dtype=bool))
        assert ranking.ids == ("a", "b")
        assert ranking.scores[0] == ranking.scores[1]


def test_a_filter_and_the_depth_limit_the_ranking_but_not_the_weights() -> None:
    collection = documents(a="one two three", b="one two", c="two three", d="five six")
    with index_of(collection, analyzer=PLAIN) as index:
        full = scores(index, Cosine(), "one two three")
        ranking = Cosine().rank(Document("q", "one two three"), index, 5, np.array([False, True, True, True]))
        assert dict(zip(ranking.ids, ranking.scores.tolist(), strict=True)) == {id: full[id] for id in ("b", "c")}


def test_scripts_without_spaces_use_pairs_of_characters() -> None:
    collection = documents(a="被告人盗窃他人财物", b="被告人交通肇事致人死亡", c="盗窃罪的量刑标准")
    with index_of(collection) as index:
        ranking = Cosine().rank(Document("q", "盗窃他人财物的被告人"), index, 3, np.ones(3, dtype=bool))
        assert ranking.ids[0] == "a"
        assert ranking.scores[0] > 2 * ranking.scores[1]


@pytest.mark.parametrize("query", ["", "nothing shared here"])
def test_a_query_that_shares_nothing_ranks_nothing(query: str) -> None:
    with index_of(documents(a="one two", b="three four"), analyzer=PLAIN) as index:
        assert Cosine().rank(Document("q", query), index, 3, np.ones(2, dtype=bool)).ids == ()


def test_a_word_that_all_documents_have_counts_nothing() -> None:
    with index_of(documents(a="one two", b="one three"), analyzer=PLAIN) as index:
        assert scores(index, Cosine(), "one") == {"a": 0.0, "b": 0.0}


# ---------------------------------------------------------------------------- indexes without phrases


def test_an_index_without_phrases_says_how_to_add_them(tmp_path: Path) -> None:
    path = tmp_path / "plain.rprs"
    with Writer(path, create=True, encoder=HASHED, phrases=False) as writer:
        writer.add(documents(a="one two three", b="two three four"))
    with Index(path) as index:
        assert not index.has_phrases
        assert Cosine(ngrams=1).rank(Document("q", "one"), index, 2, np.ones(2, dtype=bool)).ids == ("a",)
        with pytest.raises(UsageError, match=r"cosine needs phrases, .*run `rprs upgrade .*plain.rprs`"):
            Searcher(index, first="cosine", rerank=None).search("one two")
    with pytest.raises(IndexMismatch, match="made without phrases: run `rprs upgrade"):
        Writer(path, phrases=True)


def test_an_upgraded_index_equals_one_built_with_phrases() -> None:
    collection = documents(a="one two three four", b="two three four", c="", d="one two", e="five five five five")
    query = Document("q", "one two three five five")
    with memory_folder() as folder:
        for name, phrases in (("new", True), ("old", False)):
            with Writer(folder / name, create=True, encoder=HASHED, phrases=phrases, batch=20) as writer:
                writer.add(collection)
                writer.remove(["d"])
        with Writer(folder / "old") as writer:
            assert writer.upgrade()
            assert not writer.upgrade()
        assert verify(folder / "old") == []
        with Index(folder / "old") as old, Index(folder / "new") as new:
            assert old.has_phrases
            assert old.fingerprint == new.fingerprint
            assert np.array_equal(old.squared_norms, new.squared_norms)
            assert np.array_equal(Cosine().scores(query, old), Cosine().scores(query, new))


@settings(max_examples=25)
@given(
    collection=st.lists(texts, min_size=2, max_size=8),
    query=st.lists(words, min_size=1, max_size=12).map(" ".join),
    removed=st.sets(st.integers(0, 7), max_size=3),
    compacted=st.booleans(),
)
def test_filters_after_removal_and_compaction_rank_as_in_a_fresh_index(
    collection: list[str], query: str, removed: set[int], compacted: bool
) -> None:
    named = [Document(f"d{number}", text, "", {"half": number % 2}) for number, text in enumerate(collection)]
    live = [document for number, document in enumerate(named) if number not in removed]
    with memory_folder() as folder:
        with Writer(folder / "old", create=True, encoder=HASHED, analyzer=PLAIN, batch=20) as writer:
            writer.add(named)
            writer.remove([document.id for document in named if document not in live])
            if compacted:
                writer.compact()
        with Writer(folder / "new", create=True, encoder=HASHED, analyzer=PLAIN) as writer:
            writer.add(live)
        assert verify(folder / "old") == []
        with Index(folder / "old") as old, Index(folder / "new") as new:
            assert np.array_equal(old.squared_norms, new.squared_norms)
            for first in ("cosine", "blend", "bm25(phrases=3)"):
                rankings = [
                    Searcher(index, first=first, rerank=None).rank(Document("q", query), where="half = 1")
                    for index in (old, new)
                ]
                assert rankings[0].ids == rankings[1].ids
                assert rankings[0].scores.tobytes() == rankings[1].scores.tobytes()


def test_stored_norms_are_those_that_are_computed() -> None:
    collection = documents(a="one two three four", b="two three four", c="one two", d="")
    with memory_folder() as folder:
        with Writer(folder / "a", create=True, encoder=HASHED) as writer:
            writer.add(collection)
        with Index(folder / "a") as before, Writer(folder / "a") as writer:
            writer.remove(["b"])
            with Index(folder / "a") as after:
                assert after.squared_norms.shape == (3, 3)
                assert before.squared_norms.shape == (4, 3)  # the snapshot keeps its own
                computed = vars(Index)["squared_norms"].func(after)
                assert np.array_equal(after.squared_norms, computed)
                assert not np.array_equal(before.squared_norms[[0, 2, 3]], computed)
            with writer.catalog.transaction():
                writer.catalog.forget_statistics()
            with Index(folder / "a") as without:
                assert np.array_equal(without.squared_norms, computed)


@pytest.mark.parametrize("text", ["cosine(ngrams=0)", "cosine(ngrams=4)", "cosine(w2=-1)", "cosine(w3=inf)"])
def test_wrong_parameters_are_refused(text: str, tmp_path: Path) -> None:
    with index_of(documents(a="one")) as index, pytest.raises(UsageError, match="must be"):
        Searcher(index, first=text)
