"""BM25 and KLI against numbers worked by hand, bm25s, a literal oracle, and Lucene's own arithmetic."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import bm25s
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs.document import Document
from rprs.errors import UsageError
from rprs.index import Index
from rprs.rank import BM25
from rprs.scoring.bm25 import kli, lucene_lengths, top
from tests.support.indexes import documents, index_of


def scores(index: Index, ranker: BM25, query: str) -> dict[str, float]:
    return dict(zip(index.ids, ranker.scores(Document("query", query), index).tolist(), strict=True))


class TestWorkedByHand:
    """Three documents of 4, 2 and 3 words (avg = 3); "red" and "blue" are in two of the three.

    rsj(red) = rsj(blue) = ln(1 + (3 − 2 + ½)/(2 + ½)) = ln 1.6 = 0.470004;  rsj(green) = ln(1 + 2.5/1.5) = 0.980829
    k1 = 1.2, b = .75:  K_a = 1.2(.25 + .75·4/3) = 1.5;  K_b = 1.2(.25 + .75·2/3) = 0.9;  K_c = 1.2
    """

    COLLECTION = documents(a="red red blue sand", b="red sea", c="blue sea green")

    @pytest.mark.parametrize(
        ("ranker", "query", "expected"),
        [
            # 0.470004 · (2/3.5 + 1/2.5), 0.470004 · 1/1.9, 0.470004 · 1/2.2
            (BM25(k1=1.2, b=0.75), "red blue", {"a": 0.456575, "b": 0.247370, "c": 0.213638}),
            (BM25(k1=1.2, b=0.75), "red red blue", {"a": 0.725149, "b": 0.494741, "c": 0.213638}),  # twice counts twice
            (BM25(k1=1.2, b=0.75), "green", {"a": 0, "b": 0, "c": 0.445831}),  # 0.980829 / 2.2
            (BM25(k1=1.2, b=0.75), "red mauve", {"a": 0.268574, "b": 0.247370, "c": 0}),  # mauve is in no document
            (BM25(k1=0, b=0.75), "red blue", {"a": 0.940007, "b": 0.470004, "c": 0.470004}),  # presence alone
            (BM25(k1=1.2, b=0), "red", {"a": 0.293752, "b": 0.213638, "c": 0}),  # 2/3.2, 1/2.2: no length
            (BM25(k1=1.2, b=1), "red", {"a": 0.261113, "b": 0.261113, "c": 0}),  # 2/3.6 and 1/1.8: all of it
            (BM25(), "mauve", {"a": 0, "b": 0, "c": 0}),
        ],
    )
    def test_scores(self, ranker: BM25, query: str, expected: dict[str, float]) -> None:
        with index_of(self.COLLECTION) as index:
            assert scores(index, ranker, query) == pytest.approx(expected, abs=1e-6)

    def test_a_removed_document_counts_nowhere(self) -> None:
        with index_of(self.COLLECTION, removed=["c"]) as index:  # avg = 3 still; blue is in one of two: ln(1 + 1.5/1.5)
            expected = {"a": math.log(2) / (1 + 1.5), "b": 0}
            assert scores(index, BM25(k1=1.2, b=0.75), "blue green") == pytest.approx(expected, abs=1e-12)

    def test_k1_and_b_change_without_indexing_again(self) -> None:
        with index_of(self.COLLECTION) as index:
            values = [scores(index, BM25(k1=k1, b=b), "red blue")["a"] for k1, b in [(0, 0), (1.2, 0.75), (0, 0)]]
        assert values == pytest.approx([0.940007, 0.456575, 0.940007], abs=1e-6)


# ---------------------------------------------------------------------------- peers and oracles


def zipfian(chance: random.Random, words: int) -> str:
    """Random words, a few of them frequent."""
    return " ".join(f"w{int(chance.paretovariate(0.3)) % 5000}" for _ in range(words))


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (2.8, 1.0), (0.0, 0.5), (0.4, 0.0), (3.0, 0.3)])
def test_every_score_agrees_with_bm25s(k1: float, b: float) -> None:
    chance = random.Random(k1 + b)
    collection = [Document(f"{n:03d}", zipfian(chance, chance.choice([0, 1, 20, 300, 900]))) for n in range(120)]
    queries = [zipfian(chance, words) for words in (1, 7, 400, 9_000)] + [collection[-1].text + " unheard of"]
    with index_of(collection[:50], collection[50:], analyzer="words") as index:
        tokens = [index.analyzer.terms(document.text) for document in collection]
        peer = bm25s.BM25(method="lucene", k1=k1, b=b, dtype="float64")  # no factor k1 + 1 in its formula either
        peer.index(tokens, show_progress=False)
        for query in queries:
            expected = peer.get_scores(index.analyzer.terms(query))
            values = BM25(k1=k1, b=b).scores(Document("query", query), index)
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-5)
    assert len(set(index.analyzer.terms(queries[3]))) > 1000


def grams(words: Sequence[str], largest: int) -> list[str]:
    """All sequences of one to so many neighbouring words, formed by hand."""
    return [" ".join(words[at : at + n]) for n in range(1, largest + 1) for at in range(len(words) - n + 1)]


def oracle(query: str, texts: dict[str, str], k1: float, b: float, largest: int = 1) -> dict[str, float]:
    """Equation 8 of the paper, literally."""
    bags = {id: Counter(grams(text.split(), largest)) for id, text in texts.items()}
    lengths = {id: sum(bag.values()) for id, bag in bags.items()}
    total = dict.fromkeys(texts, 0.0)
    for term in grams(query.split(), largest):
        df = sum(term in bag for bag in bags.values())
        rsj = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
        for id, bag in bags.items():
            if bag[term]:
                avg = sum(lengths.values()) / len(lengths)
                total[id] += rsj * bag[term] / (bag[term] + k1 * ((1 - b) + b * lengths[id] / avg))
    return total


texts = st.lists(st.sampled_from("kelp reef buoy tide moor".split()), max_size=8).map(" ".join)
collections = st.dictionaries(st.text("abcXYZ", min_size=1, max_size=3), texts, min_size=1, max_size=10)


@given(
    collection=collections, cut=st.integers(0, 10), dead=st.sets(st.integers(0, 9), max_size=3),
    query=texts, k1=st.sampled_from([0.0, 1.2, 2.8]), b=st.sampled_from([0.0, 0.75, 1.0]), largest=st.integers(1, 3),
)  # fmt: skip
@settings(max_examples=60)
def test_every_score_agrees_with_the_oracle(
    collection: dict[str, str], cut: int, dead: set[int], query: str, k1: float, b: float, largest: int
) -> None:
    everything = [Document(id, text) for id, text in collection.items()]
    removed = [document.id for place, document in enumerate(everything) if place in dead]
    live = {id: text for id, text in collection.items() if id not in removed}
    analyzer = "words(language=none,ngrams=3)"
    with index_of(everything[:cut], everything[cut:], removed=removed, analyzer=analyzer) as index:
        values = scores(index, BM25(k1=k1, b=b, ngrams=largest), query)
        assert values == pytest.approx(oracle(query, live, k1, b, largest), rel=1e-12)
        ranking = BM25(k1=k1, b=b, ngrams=largest).rank(Document("q", query), index, 4, index.select(None))
        assert list(ranking.ids) == sorted((id for id in values if values[id]), key=lambda id: (-values[id], id))[:4]


class TestNgrams:
    def test_a_sequence_counts_beside_its_words(self) -> None:
        with index_of(
            documents(a="tide moor reef", b="moor tide reef"), analyzer="words(language=none,ngrams=2)"
        ) as index:
            assert len(set(scores(index, BM25(), "tide moor").values())) == 1
            values = scores(index, BM25(ngrams=2), "tide moor")
            assert values["a"] > values["b"] > 0

    def test_an_index_with_fewer(self) -> None:
        with (
            index_of(documents(a="tide moor"), analyzer="words(ngrams=2)") as index,
            pytest.raises(UsageError, match=r"bm25\(ngrams=3\) needs word n-grams up to 3, but .* up to 2: .*ngrams=3"),
        ):
            BM25(ngrams=3).scores(Document("q", "tide"), index)


# ---------------------------------------------------------------------------- Lucene's lengths


def encoded_by_java(length: int) -> int:
    """org.apache.lucene.util.SmallFloat.intToByte4, line by line."""
    free = 255 - long_to_int4(2**31 - 1)
    return length if length < free else free + long_to_int4(length - free)


def long_to_int4(value: int) -> int:
    bits = value.bit_length()
    if bits < 4:
        return value
    shift = bits - 4
    return ((value >> shift) & 0x07) | ((shift + 1) << 3)


def decoded_by_java(code: int) -> int:
    """SmallFloat.byte4ToInt, line by line."""
    free = 255 - long_to_int4(2**31 - 1)
    if code < free:
        return code
    bits, shift = (code - free) & 0x07, ((code - free) >> 3) - 1
    return free + (bits if shift == -1 else (bits | 0x08) << shift)


class TestLuceneLengths:
    def test_equal_those_of_java(self) -> None:
        chance = random.Random(0)
        lengths = [*range(100_001), *(chance.randrange(10**5, 2**31) for _ in range(1000)), 2**31 - 1]
        expected = [decoded_by_java(encoded_by_java(length)) for length in lengths]
        assert lucene_lengths(np.array(lengths)).tolist() == expected

    def test_examples(self) -> None:
        assert lucene_lengths(np.array([0, 39, 40, 41, 42, 1000])).tolist() == [0, 39, 40, 40, 42, 984]

    def test_the_average_stays_exact(self) -> None:
        texts = {"a": "kelp " * 41, "b": "kelp " * 43}  # stored as 40 and 42, but the average stays 42
        with index_of(documents(**texts)) as index:
            values = scores(index, BM25(k1=1, b=1, lengths="lucene"), "kelp")
        rsj = math.log(1 + 0.5 / 2.5)
        assert values == pytest.approx({"a": rsj * 41 / (41 + 40 / 42), "b": rsj * 43 / (43 + 42 / 42)}, rel=1e-12)


# ---------------------------------------------------------------------------- KLI


class TestKli:
    """A query of 4 words in a collection of 20, in which "law" stands 10 times, "court" twice, "tort" once.

    KLI(law) = ½ ln(.5/.5) = 0;  KLI(court) = ¼ ln(.25/.1) = 0.229073;  KLI(tort) = ¼ ln(.25/.05) = 0.402359
    """

    QUERY = "law law court tort"
    COLLECTION = documents(a="law law law court sand", b="law law law court tort", c="law law law law " + "sea " * 6)

    @pytest.mark.parametrize(
        ("share", "kept"),
        [(0.1, "tort"), (1 / 3, "tort"), (0.34, "court tort"), (2 / 3, "court tort"), (0.7, QUERY), (1, QUERY)],
    )
    def test_the_share_is_rounded_up(self, share: float, kept: str) -> None:
        """Of three distinct terms; those kept count as often as the query has them."""
        with index_of(self.COLLECTION) as index:
            assert int(index.lengths.sum()) == 20
            assert scores(index, BM25(kli=share), self.QUERY) == scores(index, BM25(), kept)

    def test_informative_terms_first(self) -> None:
        query, collection = np.array([2, 1, 1]), np.array([10, 2, 1])
        kept = [kli(query, collection, 4, 20, share).tolist() for share in (0.1, 0.5, 1.0)]
        assert kept == [[False, False, True], [False, True, True], [True, True, True]]

    def test_unknown_terms_are_dropped_but_counted_in_the_query(self) -> None:
        """Without a smoothed probability they would have the highest KLI of all, and match nothing."""
        query, collection = np.array([5, 1, 1, 1]), np.array([0, 2, 1, 0])
        assert kli(query, collection, 8, 20, 0.25).tolist() == [False, False, True, False]
        assert kli(query, collection, 8, 20, 1.0).tolist() == [False, True, True, False]
        assert kli(query[[0, 3]], collection[[0, 3]], 8, 20, 1.0).tolist() == [False, False]

    def test_of_equal_terms_the_earlier_is_kept(self) -> None:
        ones = np.ones(10, dtype=np.int64)
        assert np.flatnonzero(kli(ones, ones, 10, 100, 0.3)).tolist() == [0, 1, 2]
        with index_of(documents(a="kelp", b="reef", c="buoy")) as index:
            assert [id for id, score in scores(index, BM25(kli=0.5), "reef kelp buoy kelp reef").items() if score] == [
                "a",
                "b",
            ]

    def test_a_tenth_of_ten_is_one(self) -> None:
        """Although 0.1 · 30 is 3.0000000000000004 in floats."""
        for size, share, kept in [(10, 0.1, 1), (30, 0.1, 3), (11, 0.1, 2), (1, 0.1, 1), (70, 0.7, 49)]:
            ones = np.ones(size, dtype=np.int64)
            assert int(kli(ones, ones, size, 1000, share).sum()) == kept

    def test_removed_documents_do_not_count(self) -> None:
        """Without c, "law" occurs 6 times in 10 and "court" twice: the order of the terms is reversed."""
        more = [*self.COLLECTION, *documents(d="court " * 30)]
        with index_of(more) as index:  # court: ½ ln(.5/.64) < law: ½ ln(.5/.2)
            assert scores(index, BM25(kli=0.5), "law court") == scores(index, BM25(), "law")
        with index_of(more, removed=["d"]) as index:
            assert scores(index, BM25(kli=0.5), "law court") == scores(index, BM25(), "court")


# ---------------------------------------------------------------------------- ties


class TestTies:
    @pytest.mark.parametrize("seed", range(4))
    def test_the_smaller_id_first_whatever_the_history(self, seed: int) -> None:
        ids = ["10", "9", "B", "a", "z", "é"]  # by code point
        equal = [Document(id, "kelp reef") for id in ids]
        random.Random(seed).shuffle(equal)
        for segments in ([equal], [equal[:2], equal[2:]], [[document] for document in equal]):
            with index_of(*segments) as index:
                for depth in range(1, 8):
                    ranking = BM25().rank(Document("q", "reef"), index, depth, index.select(None))
                    assert list(ranking.ids) == ids[:depth]

    def test_the_cut_among_equals(self) -> None:
        places = top(np.array([1.0, 3, 1, 0, 1, 3, 1]), 4, np.array([True] * 6 + [False]))
        assert places.tolist() == [1, 5, 0, 2]

    @given(
        values=st.lists(st.sampled_from([0.0, 0.5, 0.5000000001, 2.0]), max_size=30),
        depth=st.integers(1, 35), chance=st.randoms(use_true_random=False),
    )  # fmt: skip
    def test_top_is_a_sorted_list_cut_off(self, values: list[float], depth: int, chance: random.Random) -> None:
        allowed = [chance.random() < 0.7 for _ in values]
        expected = sorted((n for n, value in enumerate(values) if value and allowed[n]), key=lambda n: (-values[n], n))
        places = top(np.array(values, dtype=np.float64), depth, np.array(allowed, dtype=bool))
        assert places.tolist() == expected[:depth]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k1": -1}, "The 'k1' parameter of bm25 must be a number in [0, inf). Got -1 instead."),
        ({"k1": math.nan}, "The 'k1' parameter of bm25 must be a number in [0, inf). Got nan instead."),
        ({"b": 1.5}, "The 'b' parameter of bm25 must be a number in [0, 1]. Got 1.5 instead."),
        ({"kli": 0}, "The 'kli' parameter of bm25 must be none or a number in (0, 1]. Got 0 instead."),
        ({"ngrams": 0}, "The 'ngrams' parameter of bm25 must be an integer in [1, inf). Got 0 instead."),
        ({"lengths": "java"}, "The 'lengths' parameter of bm25 must be 'exact' or 'lucene'. Got 'java' instead."),
    ],
)
def test_a_wrong_parameter(changes: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        replace(BM25(), **changes)  # type: ignore[arg-type]
    assert str(caught.value) == message
