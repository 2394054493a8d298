"""Counting terms by tables gives what counting the analyzer's terms gives."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs.index import batches, term_numbers
from rprs.index.term_numbers import TermCounts, TermNumbers
from rprs.index.terms import term_hashes
from rprs.text.analyze import Words
from rprs.text.split import SentenceSplitter

ANALYZERS = [Words(), Words(stop=False, stem=False), Words("french"), Words("none")]
PIECES = st.sampled_from(
    "The the court's COURTS (court) U.S.C. l’homme 1,000.5 C++ ß İ 中文字 한국어 ﬁn -- ... § of §12".split()
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=20).map(" ".join) | st.text(max_size=40)
SHARED = {analyzer: TermNumbers(analyzer) for analyzer in ANALYZERS}


def check(found: TermCounts, analyzer: Words, text: str) -> None:
    terms = analyzer.terms(text)
    counted = Counter(terms)
    assert found.terms == tuple(counted)
    assert found.counts.tolist() == list(counted.values())
    assert found.length == len(terms)
    assert found.sequence is not None
    assert np.array_equal(found.sequence, term_hashes(terms))


@given(TEXTS, st.sampled_from(ANALYZERS))
def test_terms_are_those_of_the_analyzer(text: str, analyzer: Words) -> None:
    check(SHARED[analyzer].count(text, hashed=True), analyzer, text)


@given(TEXTS, st.booleans())
def test_an_entry_is_the_same_step_by_step(text: str, phrases: bool) -> None:
    parts = SentenceSplitter(), Words()
    found = batches.prepare(text, *parts, phrases=phrases)
    expected = batches._prepare_step_by_step(text, *parts, phrases=phrases)
    assert (found.terms, found.length) == (expected.terms, expected.length)
    assert np.array_equal(found.counts, expected.counts)
    assert (found.sequence is None) == (expected.sequence is None) == (not phrases)
    assert found.sequence is None or expected.sequence is None or np.array_equal(found.sequence, expected.sequence)


def test_the_tables_start_again_when_they_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_numbers, "MOST_WORDS", 5)
    numbers = TermNumbers(Words())
    for text in ("one two three four five six seven", "eight nine ten", "one eight"):
        check(numbers.count(text, hashed=True), Words(), text)
    assert len(numbers._words) == 4


def test_an_analyzer_that_fails_leaves_tables_that_work(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = TermNumbers(Words())
    with monkeypatch.context() as patched:
        patched.setattr(Words, "terms_of_words", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            numbers.count("one two", hashed=True)
    check(numbers.count("two three one", hashed=True), Words(), "two three one")


def test_threads_share_the_tables() -> None:
    numbers = TermNumbers(Words())
    texts = [" ".join(f"word{number % (7 + thread)} of{thread}" for number in range(400)) for thread in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for text, found in zip(texts, pool.map(lambda text: numbers.count(text, hashed=True), texts), strict=True):
            check(found, Words(), text)
