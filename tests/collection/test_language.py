"""French sentences in English texts: detected, dropped, translated."""

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


def test_french_sentences_are_detected_and_short_ones_ignored() -> None:
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
def test_english_and_french_are_distinguished(sentence: str, french: bool) -> None:
    assert bool(french_spans(sentence)) == french


def test_sentences_are_replaced_in_place() -> None:
    first = TEXT[TEXT.index("[2]") : TEXT.index(" See Moss")]
    second = TEXT[TEXT.index("[3]") :].rstrip()
    assert replace_french(TEXT, shouted) == TEXT.replace(first, first.upper()).replace(second, second.upper())
    assert treatment("drop", None)(TEXT) == TEXT.replace(first, "").replace(second, "")
    assert treatment("keep", None)(TEXT) == TEXT


def test_the_translator_receives_all_french_sentences_of_a_text() -> None:
    calls: list[int] = []

    def counting(sentences: list[str]) -> list[str]:
        calls.append(len(sentences))
        return sentences

    assert replace_french(TEXT, counting) == TEXT
    assert replace_french("All of this is English, and nothing is to be done.", counting).startswith("All")
    assert calls == [2]


def test_a_user_defined_translator_translates_a_collection() -> None:
    collection = open_collection(
        f"coliee(coliee, french=translate, translator='{__name__}:shouted')".replace("coliee(", "coliee(", 1), SAMPLES
    )
    texts = {document.id: document.text for document in collection.documents()}
    assert (
        "[2] LE PROPRIÉTAIRE DU TRAVERSIER SOUTIENT QUE L'AMENDE EST BEAUCOUP TROP ÉLEVÉE. The Court" in texts["000101"]
    )
    assert texts["000102"].startswith("[1] A fine for sailing")
    assert texts["000103"].isupper()


def test_a_document_with_only_french_sentences_is_skipped() -> None:
    reports: list[str] = []
    documents = open_collection("coliee(coliee, french=drop)", SAMPLES).documents(
        lambda item: reports.append(str(item))
    )
    assert [document.id for document in documents] == ["000101", "000102", "000104"]
    assert reports == ["000103: all sentences are French"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no_such_package:translate", "cannot be loaded: No module named 'no_such_package'"),
        ("os:no_such_name", "cannot be loaded: module 'os' has no attribute"),
        ("os", "must be a callable named as package.module:function"),
        ("os:name", "must be a callable"),
    ],
)
def test_an_invalid_translator_is_a_one_line_error(name: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        load_translator(name)


def test_a_translator_must_return_one_text_per_sentence() -> None:
    with pytest.raises(UsageError, match="returned 1 texts for 2 sentences"):
        replace_french(TEXT, lazy)


def test_a_missing_library_is_reported_with_its_extra() -> None:
    language._identifier.cache_clear()
    with (
        patch.dict(sys.modules, {"py3langid": None}),
        pytest.raises(
            MissingExtra, match=r"needs py3langid, which is not installed: pip install 'rprs\[collections\]'"
        ),
    ):
        open_collection("coliee(coliee, french=drop)", SAMPLES).documents()
    language._identifier.cache_clear()
