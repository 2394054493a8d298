"""Passages of a whole collection: worked by hand, against brute force, and the same however the index was made."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rprs
from rprs.alignment.calibration import Calibration
from rprs.alignment.sides import Side
from rprs.document import Document
from rprs.errors import EmptyQuery, RprsError, UsageError
from rprs.index import Index
from rprs.passages import find
from rprs.passages.export import passages_from, passages_object
from rprs.passages.find import find_passages
from rprs.passages.values import PassageResults
from rprs.search import Searcher
from tests.support.indexes import documents, index_of
from tests.support.passages_oracle import longest_common_run, nearest
from tests.support.tales import TALES, VOCABULARY

SENTENCE = "The tenant may withhold the rent until the owner repairs the roof of the house."
DOCUMENTS = documents(
    copy=f"The lease was signed in May. {SENTENCE} The owner disagreed and sued her.",
    quotes="It was argued that she may withhold the rent until the owner repairs the roof, and rightly so.",
    edits="A storm came. The tenant may withhold the rent until the landlord repairs the roof of the cottage.",
    words="The rent of the tenant is due. The owner repairs nothing. Until May, roof tiles were cheap.",
    other="The boat left the harbour at dawn. Nobody saw it again in that cold year.",
)


@pytest.fixture(scope="module")
def searcher() -> Iterator[Searcher]:
    with index_of(DOCUMENTS[:2], DOCUMENTS[2:], analyzer="words") as index:
        yield Searcher(index)


def found(results: PassageResults) -> list[tuple[str, str]]:
    return [(hit.id, hit.pair.kind) for hit in results]


def test_by_hand(searcher: Searcher) -> None:
    """15 words: `copy` has them all, `edits` 13 of its own 15, `quotes` a run of 11."""
    results = searcher.passages(SENTENCE)
    assert found(results)[:3] == [("copy", "identical"), ("edits", "reworded"), ("quotes", "identical")]
    copy, edits, quotes = results[:3]
    assert (copy.text, copy.score, copy.sentences, copy.of) == (SENTENCE, 1.0, (2, 2), 3)
    assert (copy.before, copy.after) == ("The lease was signed in May. ", " The owner disagreed and sued her.")
    assert edits.score == edits.pair.similarity == 26 / 30
    changed = [
        edits.pair.document[slice(*np.subtract(change.document_span, edits.pair.document_span[0]))]
        for change in edits.pair.changes
    ]
    assert changed == ["landlord", "cottage"]
    assert quotes.text == "may withhold the rent until the owner repairs the roof"
    assert quotes.score == 10 / 15
    assert quotes.before == "It was argued that she "
    assert quotes.after == ", and rightly so."
    assert results.compared == sum(len(searcher.index.sentences(id)) for id in searcher.index)


def test_options(searcher: Searcher) -> None:
    assert found(searcher.passages(SENTENCE, 1)) == [("copy", "identical")]
    assert searcher.passages(SENTENCE, 0).total == searcher.passages(SENTENCE, 99).total >= 3
    assert found(searcher.passages(SENTENCE, kinds=["reworded"])) == [("edits", "reworded"), ("quotes", "reworded")]
    assert searcher.passages(SENTENCE, exclude=["copy", "edits"])[0].id == "quotes"
    assert searcher.passages(SENTENCE, 1, context=0)[0].before == ""
    assert searcher.passages(SENTENCE, 1, context=20)[0].after == " The owner disagreed and sued her."


def test_filters_and_dates() -> None:
    dated = [replace(each, metadata={"date": f"20{10 + place}-01-01"}) for place, each in enumerate(DOCUMENTS)]
    with index_of(dated) as index:
        searcher = Searcher(index)
        assert found(searcher.passages(SENTENCE, where="date > 2010-06-01"))[0] == ("edits", "reworded")
        limited = searcher.passages(Document("x", SENTENCE, "", {"date": "2011-05-01"}), before="date")
        assert {hit.id for hit in limited} <= {"copy", "quotes"}
        assert limited.notes[0].startswith("Date limit: nothing newer than 2011-05-01; 3 documents left out")
        with pytest.raises(UsageError, match="needs a date of the query"):
            searcher.passages(SENTENCE, before="date")


def test_short_passages_are_found_at_all_their_places(searcher: Searcher) -> None:
    """Fewer than 8 words: every place with all of them, whatever lies between two words."""
    hits = searcher.passages("the Owner  repairs")
    assert [hit.id for hit in hits if hit.pair.kind == "identical"] == ["copy", "quotes", "words"]
    assert found(searcher.passages("harbour")) == [("other", "identical")]
    assert "very short" in searcher.passages("harbour").notes[0]


def test_several_sentences_are_one_passage(searcher: Searcher) -> None:
    hit = searcher.passages(f"{SENTENCE} The owner disagreed and sued her.")[0]
    assert (hit.id, hit.score, hit.sentences) == ("copy", 1.0, (2, 3))


def test_boilerplate_is_marked_or_left_out() -> None:
    clause = "This agreement is governed by the laws of the harbour and of nothing else."
    many = [
        Document(f"d{number}", f"{clause} Number {number} has a clause about {VOCABULARY[number]} and tides.")
        for number in range(12)
    ]
    with index_of(many) as index:
        searcher = Searcher(index)
        assert [hit.pair.boilerplate for hit in searcher.passages(clause, 3)] == [True] * 3
        assert not [hit for hit in searcher.passages(clause, boilerplate=False) if hit.pair.kind == "identical"]


# ---------------------------------------------------------------------------- against brute force


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), shared=st.integers(8, 20))
def test_every_quotation_of_eight_words_is_found(seed: int, shared: int) -> None:
    """In the order of their lengths, then of their ids."""
    chance = random.Random(seed)
    passage = " ".join(chance.choices(VOCABULARY, k=24)).capitalize() + "."
    texts = []
    for number in range(9):
        words = chance.choices(VOCABULARY, k=60)
        if number % 3:
            start = chance.randint(0, 24 - shared)
            words[20:20] = passage.rstrip(".").split()[start : start + chance.randint(6, shared)]
        texts.append(Document(f"d{number}", " ".join(words) + "."))
    with Index.in_memory(texts, encoder="hashed(dimension=16)", analyzer="words(language=none)") as index:
        results = Searcher(index).passages(passage, 50, kinds=["identical"])
    runs = {text.id: longest_common_run(passage, text.text) for text in texts}
    expected = sorted((id for id, run in runs.items() if run >= 8), key=lambda id: (-runs[id], id))
    longest = dict[str, int]()
    for hit in results:
        longest.setdefault(hit.id, hit.pair.query_words)
    assert [*longest] == expected
    assert longest == {id: runs[id] for id in expected}


def test_the_nearest_of_all_sentences_have_the_same_idea() -> None:
    """With the most similar first, as far as they reach the bar of their document."""
    with index_of(TALES[:11], TALES[11:], removed=["t03"]) as index:
        index.calibration = Calibration((0.1, 0.12, 0.15, 0.2, 0.25))
        passage = "Harbour lamp fog signal quay anchor."
        results = Searcher(index).passages(passage, 15, kinds=["same idea"])
        bars = {id: index.calibration.bar(len(index.sentences(id))) for id in index}
        expected = [row for row in nearest(passage, index) if row[0] >= bars[row[1]]][:15]
        assert [(hit.pair.similarity, hit.id, hit.sentences[0] - 1) for hit in results] == expected
        assert len(expected) > 5


@settings(max_examples=4)
@given(cut=st.integers(0, 30), threads=st.integers(1, 3), place=st.integers(0, 29))
def test_segments_and_threads_change_nothing(cut: int, threads: int, place: int) -> None:
    sentences = TALES[place].text.split(".")
    passage = Document("passage", ".".join(sentences[: 1 + place % 3]) + ".")

    def results(index: Index, threads: int | None = None) -> Any:
        every = np.ones(len(index), dtype=bool)
        return replace(find_passages(passage, index, every, 20, threads=threads), seconds={})

    with index_of(TALES) as whole, index_of(TALES[:cut], [Document("t", "Gone.")], TALES[cut:], removed=["t"]) as parts:
        assert results(whole, 1) == results(parts, threads)


def test_reading_ends_where_nothing_longer_can_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 documents have the sentence; 20 are read, and with a smaller limit the search says so."""
    many = [Document(f"d{number:03d}", f"{SENTENCE} Number {number} ends here.") for number in range(200)]
    with Index.in_memory(many, encoder="hashed(dimension=16)") as index:
        read, original = list[str](), find._Search._read

        def count(search: find._Search, id: str) -> Side:
            read.append(id)
            return original(search, id)

        monkeypatch.setattr(find._Search, "_read", count)
        assert [hit.id for hit in Searcher(index).passages(SENTENCE, 3)] == ["d000", "d001", "d002"]
        assert len(set(read)) == find.QUOTING
        monkeypatch.setattr(find, "MOST_READ", 5)
        assert Searcher(index).passages(SENTENCE, 3).notes[0].startswith("More than 5 documents have these phrases")


# ---------------------------------------------------------------------------- typing, scripts, indexes


@pytest.mark.parametrize(
    ("passage", "text"),
    [
        ("Under 42 U.S.C. § 1983 every person is liable", "under 42 U. S. C. §1983, every Person is liable"),
        ("the court's “reasonable person” test was not met", "The court’s reasonable-person test was not met."),
        ("a fine of 1-000 crowns is due on the first day", "A fine of 1 000 crowns is due on the first day."),
        ("a fine of $1,000.50 (5%) is due on the day", "A fine of $ 1,000.50, 5 % is due on the “day”."),
        ("which the govern-\nment of the town had promised him", "which the government of the town had promised him"),
        ("当事人一方不履行合同义务的应当承担违约责任", "根据合同法，当事人一方不履行合同义务的，应当承担违约责任。"),
        ("l'homme qui possède la maison doit payer les frais", "L’homme qui possède la maison doit payer les frais."),
    ],
)  # fmt: skip
def test_typing_does_not_matter(passage: str, text: str) -> None:
    with Index.in_memory({"a": "Something else.", "b": f"Before. {text} Behind."}, encoder="hashed") as index:
        hit = Searcher(index).passages(passage, kinds=["identical"])[0]
        assert (hit.id, hit.score) == ("b", 1.0)


@pytest.mark.parametrize("text", ["a fine of €5,000 is due today", "a fine of $5.000 is due today"])
def test_signs_and_numbers_matter(text: str) -> None:
    with Index.in_memory({"a": "Something else.", "b": f"Before. {text} Behind."}, encoder="hashed") as index:
        assert not Searcher(index).passages("a fine of $5,000 is due today", kinds=["identical"])


def test_an_index_without_phrases_is_searched_by_words() -> None:
    with Index.in_memory({each.id: each.text for each in DOCUMENTS}, encoder="hashed", phrases=False) as index:
        results = Searcher(index).passages(SENTENCE)
        assert found(results)[:3] == [("copy", "identical"), ("edits", "reworded"), ("quotes", "identical")]
        assert results.notes[0].startswith("The index has no phrases")


def test_an_encoder_that_does_not_know_the_language(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(searcher.index), "knows_language", lambda self, query: False)
    results = searcher.passages(SENTENCE)
    assert {kind for _, kind in found(results)} == {"identical", "reworded"}
    assert results.compared == 0
    assert "does not know the script" in results.notes[0]


def test_an_empty_index() -> None:
    with Index.in_memory([], encoder="hashed") as index:
        assert list(Searcher(index).passages(SENTENCE)) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"text": ""}, EmptyQuery, "The passage has no words"),
        ({"text": " *** \n — "}, EmptyQuery, "The passage has no words"),
        ({"text": "word " * 2_000_000}, UsageError, "has 10,000,000 characters; at most 20,000 are compared"),
        ({"text": 5}, UsageError, "Expected a rprs.Document"),
        ({"text": "a b", "k": -1}, UsageError, "k must be an integer from 0 to 1,000. Got -1"),
        ({"text": "a b", "k": True}, UsageError, "k must be an integer"),
        ({"text": "a b", "context": 21}, UsageError, "context must be an integer from 0 to 20"),
        ({"text": "a b", "kinds": "same"}, UsageError, "A kind of match is one of identical, reworded, same idea"),
        ({"text": "a b", "where": "date <"}, UsageError, "filter"),
        ({"text": "a b", "exclude": "copy"}, UsageError, "exclude must be a list"),
    ],
)  # fmt: skip
def test_wrong_arguments(searcher: Searcher, arguments: dict[str, Any], error: type[RprsError], message: str) -> None:
    with pytest.raises(error, match=message):
        searcher.passages(**arguments)


def test_json_and_back(searcher: Searcher) -> None:
    results = searcher.passages(SENTENCE)
    assert passages_from(passages_object(results)) == results
    assert repr(results).startswith("<PassageResults: ")
    assert repr(results[0]).startswith("<PassageHit 1: copy, identical (1.000): 'The tenant may")
    assert isinstance(results, rprs.PassageResults)
