from __future__ import annotations

import pickle
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs import spec
from rprs.errors import UsageError
from rprs.text import analyze
from rprs.text.analyze import STOP_WORDS, Words, ngrams

WORDS = Words()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The Courts held that the claims were valid.", "court held claim were valid"),
        ("See Smith v. Jones, 123 F.2d 456 (9th Cir. 1990).", "see smith v jone 123 f 2d 456 9th cir 1990"),
        ("42 U.S.C. § 1983", "42 usc 1983"),
        ("the U.S. and (U.S.)", "us us"),
        ("3.14 and 1,000 or 1,234,567.89", "3.14 1000 1234567.89"),
        ("refs 1,2,3 and 2,4-D at 3.5kg", "ref 1 2 3 2 4 d 3.5 kg"),
        ("C++, C# and c", "c++ c# c"),
        ("the Court’s opinions, Smith's dogs' bones", "court opinion smith dog bone"),
        ("don't, O’Brien", "don't o'brien"),
        ("__init__ my_func _emphasis_", "init my_func emphasi"),
        ("end.Next (foo@bar.com)", "end next foo bar com"),
        ("ﬁnding Straße CAFÉ", "find strass café"),
        ("conse\u00adquence", "consequ"),
        ("हिन्दी भाषा", "हिन्दी भाषा"),
        ("  --- *** the of ", ""),
        ("", ""),
    ],
)
def test_terms_of_a_text(text: str, terms: str) -> None:
    assert WORDS.terms(text) == terms.split()


def test_composed_and_decomposed_letters_are_equal() -> None:
    assert WORDS.terms(unicodedata.normalize("NFD", "Café Müller")) == WORDS.terms("Café Müller") == ["café", "müller"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("合同法", "合同 同法"),
        ("合", "合"),
        ("日本語のテキスト。", "日本 本語 語の のテ テキ キス スト"),
        ("적용법", "적용 용법"),
        ("合同contract法", "合同 contract 法"),
        ("ＡＢＣ１２", "abc12"),
        ("ｶﾞｽ", "ガス"),
    ],
)
def test_scripts_without_spaces_become_pairs_of_characters(text: str, terms: str) -> None:
    assert WORDS.terms(text) == terms.split()


def test_stop_words_and_stemming_can_be_turned_off() -> None:
    text = "The courts were not amused"
    assert Words(stop=False).terms(text) == ["the", "court", "were", "not", "amus"]
    assert Words(stem=False).terms(text) == ["courts", "were", "amused"]
    assert Words(language="none").terms(text) == ["the", "courts", "were", "not", "amused"]
    assert len(STOP_WORDS) == 33


def test_other_languages_have_their_own_stemmer_and_no_stop_words() -> None:
    assert Words(language="german").terms("Die Häuser der Stadt") == ["die", "haus", "der", "stadt"]
    assert Words(language="french").terms("l'homme et l’histoire") == ["l", "homm", "et", "l", "histoir"]


def test_a_very_long_word_is_cut_off_and_not_cached() -> None:
    assert WORDS.terms("q" * 100_000) == ["q" * 64]
    assert "q" * 100_000 not in analyze._table("english", True, True)


def test_n_grams() -> None:
    assert ngrams(["a", "b", "c"], 1) == ["a", "b", "c"]
    assert ngrams(["a", "b", "c"], 2) == ["a b", "b c"]
    assert ngrams(["a", "b", "c"], 3) == ["a b c"]
    assert ngrams(["a", "b", "c"], 4) == []
    assert Words(ngrams=3).terms("two words") == ["two", "word"]


def test_the_cache_is_bounded_and_clearing_it_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyze, "_CACHED", 10)
    text = " ".join(f"({word}s), {word}ing" for word in ["claim", "court", "walk", "talk", "hold", "sign"] * 5)
    small = analyze._Table(STOP_WORDS, Stemmer.Stemmer("english").stemWord, False)
    assert " ".join(small[chunk] for chunk in text.split()).split() == WORDS.terms(text)
    assert len(small) <= 11


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_terms_of_any_text_are_plain_words(text: str) -> None:
    terms = WORDS.terms(text)
    assert all(term and len(term) <= 64 and not any(map(str.isspace, term)) for term in terms)
    assert terms == WORDS.terms(text)
    assert terms == [term for chunk in text.split() for term in WORDS.terms(chunk)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="abcdefgs'.,()", min_size=1, max_size=12), max_size=30))
def test_punctuation_around_a_word_makes_no_difference(words: list[str]) -> None:
    for word in words:
        assert WORDS.terms(f"({word}),") == WORDS.terms(word)


def test_analysis_is_thread_safe() -> None:
    texts = [" ".join(f"{a}{b}ing" for a in "bcdfghjk") for b in ("at", "in", "on", "ell")] * 50
    fresh = Words(language="porter")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(fresh.terms, texts))
    assert results == [fresh.terms(text) for text in texts]


@pytest.mark.parametrize("text", ["words", "words(language=german)", "words(stop=false,stem=false,ngrams=2)"])
def test_the_text_of_an_analyzer_parses_back(text: str) -> None:
    analyzer = spec.parse("analyzer", text)
    assert str(analyzer) == text
    assert pickle.loads(pickle.dumps(analyzer)) == analyzer


def test_an_invalid_parameter_is_named_in_the_error() -> None:
    with pytest.raises(UsageError, match=r"The 'language' parameter of words must be one of .*english.* Got 'klingon'"):
        Words(language="klingon")
    with pytest.raises(UsageError, match="The 'ngrams' parameter of words must be"):
        Words(ngrams=0)


def test_stems_are_those_of_snowball() -> None:
    stem = Stemmer.Stemmer("english").stemWord
    for word in ["generalization", "retrieval", "relational", "patents", "liability"]:
        assert WORDS.terms(word) == [stem(word)]
