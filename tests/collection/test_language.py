"""French sentences among English ones: found, dropped, translated."""

from __future__ import annotations

import sys
from unittest.mock import patch

import pytest

from rprs.collection import language, open_collection
from rprs.collection.language import french_spans, load_translator, replace_french, treatment
from rprs.errors import MissingExtra, UsageError
from tests.support.paths import DATA

SAMPLES = DATA / "collections"
TEXT = """[1] The widow asks for the pension of her husband. She lived with him for nine years.

[2] La veuve demande la pension de son mari, qui est mort en mer. See Moss v. Reed, 2004 FC 12. Rejeté.

[3] Le tribunal FRAGMENT_SUPPRESSED a refusé la demande sans donner de motifs.
"""


def shouted(sentences: list[str]) -> list[str]:
    return [sentence.upper() for sentence in sentences]


def lazy(sentences: list[str]) -> list[str]:
    return sentences[1:]


def test_french_sentences_are_found_and_short_ones_not_judged() -> None:
    assert [TEXT[start:end] for start, end in french_spans(TEXT)] == [
        "[2] La veuve demande la pension de son mari, qui est mort en mer.",
        "[3] Le tribunal FRAGMENT_SUPPRESSED a refusé la demande sans donner de motifs.",
    ]
    assert french_spans("Rejeté. Demande accueillie.") == []
    assert french_spans("") == []


@pytest.mark.parametrize(
    ("sentence", "french"),
    [
        ("The Minister must consider the best interests of the child in every case.", False),
        ("Le ministre doit tenir compte de l'intérêt supérieur de l'enfant.", True),
        ("The applicant was born in Côte d'Ivoire and came to Québec as a student.", False),
        ("Il n'y a pas lieu d'intervenir dans cette affaire.", True),
        ("Moss v. Reed, 2004 FC 12; Finch v. Crane, 2011 FCA 7; Pike v. Vole, 2019 SCC 3.", False),
        ("Une question de droit de cette nature appelle la norme de la décision correcte.", True),
    ],
)
def test_english_and_french_are_told_apart(sentence: str, french: bool) -> None:
    assert bool(french_spans(sentence)) == french


def test_sentences_are_replaced_where_they_stand() -> None:
    first = TEXT[TEXT.index("[2]") : TEXT.index(" See Moss")]
    second = TEXT[TEXT.index("[3]") :].rstrip()
    assert replace_french(TEXT, shouted) == TEXT.replace(first, first.upper()).replace(second, second.upper())
    assert treatment("drop", None)(TEXT) == TEXT.replace(first, "").replace(second, "")
    assert treatment("keep", None)(TEXT) == TEXT


def test_all_french_sentences_of_a_text_come_at_once() -> None:
    calls: list[int] = []

    def counting(sentences: list[str]) -> list[str]:
        calls.append(len(sentences))
        return sentences

    assert replace_french(TEXT, counting) == TEXT
    assert replace_french("All of this is English, and nothing is to be done.", counting).startswith("All")
    assert calls == [2]


def test_a_translator_of_the_user_translates_a_collection() -> None:
    collection = open_collection(
        f"coliee(coliee, french=translate, translator='{__name__}:shouted')".replace("coliee(", "coliee(", 1), SAMPLES
    )
    found = {document.id: document.text for document in collection.documents()}
    assert (
        "[2] LE PROPRIÉTAIRE DU TRAVERSIER SOUTIENT QUE L'AMENDE EST BEAUCOUP TROP ÉLEVÉE. The Court" in found["000101"]
    )
    assert found["000102"].startswith("[1] A fine for sailing")
    assert found["000103"].isupper()


def test_dropping_can_leave_nothing() -> None:
    said: list[str] = []
    found = open_collection("coliee(coliee, french=drop)", SAMPLES).documents(lambda what: said.append(str(what)))
    assert [document.id for document in found] == ["000101", "000102", "000104"]
    assert said == ["000103: all sentences are French"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no_such_package:translate", "cannot be loaded: No module named 'no_such_package'"),
        ("os:no_such_name", "cannot be loaded: module 'os' has no attribute"),
        ("os", "must be a callable named as package.module:function"),
        ("os:name", "must be a callable"),
    ],
)
def test_a_translator_that_is_none_is_one_line(name: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        load_translator(name)


def test_a_translator_must_give_a_text_for_each() -> None:
    with pytest.raises(UsageError, match="returned 1 texts for 2 sentences"):
        replace_french(TEXT, lazy)


def test_without_the_library_its_extra_is_named() -> None:
    language._identifier.cache_clear()
    with (
        patch.dict(sys.modules, {"py3langid": None}),
        pytest.raises(
            MissingExtra, match=r"needs py3langid, which is not installed: pip install 'rprs\[collections\]'"
        ),
    ):
        open_collection("coliee(coliee, french=drop)", SAMPLES).documents()
    language._identifier.cache_clear()
