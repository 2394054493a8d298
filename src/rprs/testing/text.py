"""Contract suites for splitters and analyzers, for the built-in ones and for the tests of plug-ins.

from rprs.testing.text import check_analyzer, check_splitter

def test_my_splitter() -> None:
    check_splitter(MySplitter())
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from rprs.document import Sentences
from rprs.text import Analyzer, Splitter

__all__ = ["EMPTY_TEXTS", "TEXTS", "check_analyzer", "check_splitter"]

EMPTY_TEXTS = ("", " ", "\n\n", " \t\r\n\f\u2028\u3000\xa0")
TEXTS = (
    "One sentence.",
    "word",
    "  The tenant shall pay the rent. The landlord shall repair the roof!\n\nA second paragraph? Yes.  \n",
    "1. First item\n2. Second item\n(a) and a third\n\n* a bullet\n\n\f New page.",
    "See Smith v. Jones, 42 U.S.C. § 1983, ¶ 4, at 3.14 (1,000 copies), e.g. C++ and don't.",
    "本合同自双方签字之日起生效。合同一式两份！日本語の文です。한국어 문장입니다.",
    "Größe, naïveté, Ελληνικά, русский текст; עברית, العربية۔ हिन्दी भाषा। ภาษาไทย ကမ္ဘာ",
    "😀👩‍👩‍👧‍👦 \u200b zero\u0000width\ufeff \U0010ffff e\u0301\u0327\u0300 ﷽ \u202eright to left",
    "half of a pair: \ud800 and \udfff. Another sentence.",
    "... --- *** !!! ???",
    "x" * 20_000,
    "word " * 20_000,
    "line\n" * 5_000,
    "。" * 5_000,
    "合" * 5_000,
    "A sentence of several words stands here. " * 500,
)


def check_splitter(splitter: Splitter) -> None:
    """Raise AssertionError if a splitter violates its contract.

    The spans of a text ascend without overlap; none of them is empty, white space alone, or outside the text. Numbers
    of paragraphs start at 0 and never decrease. A text without content has no sentences. The same text always has the
    same sentences, whatever was split before and in any number of threads at a time.
    """
    for text in EMPTY_TEXTS:
        _require(len(_check_sentences(splitter, text)) == 0, f"{text!r} has no content, but has sentences")
    for text in TEXTS:
        _require(len(_check_sentences(splitter, text)) > 0, f"{text[:40]!r} has no sentences")
    _check_repetition(lambda text: _values(splitter.split(text)))


def check_analyzer(analyzer: Analyzer) -> None:
    """Raise AssertionError if an analyzer violates its contract.

    Terms are non-empty strings without white space, and `ngrams` is a positive integer. A text without content has no
    terms. A text has the terms of its parts: those before a blank line, and those after it. The same text always has
    the same terms, whatever was analysed before and in any number of threads at a time.
    """
    _require(type(analyzer.ngrams) is int and analyzer.ngrams >= 1, f"ngrams must be 1 or more, not {analyzer.ngrams}")
    for text in EMPTY_TEXTS:
        _require(analyzer.terms(text) == [], f"{text!r} has no content, but has terms")
    for text in TEXTS:
        terms = analyzer.terms(text)
        _require(isinstance(terms, list), f"terms must be a list, not {type(terms).__name__}")
        for term in terms:
            _require(type(term) is str and term.split() == [term], f"{term!r:.80} is not a term: empty, or white space")
        doubled = analyzer.terms(f"{text}\n\n{text}")
        _require(doubled == terms * 2, f"{text[:40]!r}: a text written twice must have its terms twice")
    _require(any(analyzer.terms(text) for text in TEXTS), "no text has any terms")
    _check_repetition(analyzer.terms)


def _check_sentences(splitter: Splitter, text: str) -> Sentences:
    sentences = splitter.split(text)
    label = f"{text[:40]!r}"
    count = len(sentences)
    _require(sentences.spans.shape == (count, 2), f"{label}: spans must have the shape (m, 2)")
    _require(sentences.spans.dtype == np.int64, f"{label}: spans must be int64, not {sentences.spans.dtype}")
    _require(sentences.paragraphs.shape == (count,), f"{label}: there must be one paragraph number per sentence")
    _require(sentences.paragraphs.dtype == np.int32, f"{label}: paragraphs must be int32")
    _require(sentences.vectors.size == 0, f"{label}: a splitter does not encode")
    spans, paragraphs = sentences.spans.tolist(), sentences.paragraphs.tolist()
    previous_end = 0
    for start, end in spans:
        _require(previous_end <= start < end <= len(text), f"{label}: the span {start}:{end} overlaps or is empty")
        _require(text[start:end] == text[start:end].strip(), f"{label}: {start}:{end} has white space around it")
        previous_end = end
    _require(
        sentences.texts(text) == [text[start:end] for start, end in spans], f"{label}: spans do not give the texts"
    )
    _require(paragraphs == sorted(paragraphs), f"{label}: paragraph numbers must not decrease")
    _require(not paragraphs or paragraphs[0] >= 0, f"{label}: a paragraph number is negative")
    return sentences


def _values(sentences: Sentences) -> Any:
    return sentences.spans.tolist(), sentences.paragraphs.tolist()


def _check_repetition(compute: Callable[[str], Any]) -> None:
    expected = [compute(text) for text in TEXTS]
    _require([compute(text) for text in reversed(TEXTS)][::-1] == expected, "the same text must give the same result")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(compute, TEXTS * 2))
    _require(results == expected * 2, "threads must not change the result")


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise AssertionError(problem)
