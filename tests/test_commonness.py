"""How common passages are, against a literal count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import ClassVar

import pytest

import rprs
from rprs.commonness import commonness
from rprs.document import Document
from rprs.index import Index
from rprs.spec import Component

TEXTS = [
    "The pilot saw the beacon at low tide and steered north.",
    "The pilot saw the beacon at high tide and waited.",
    "A beacon at low tide is hard to see.",
    "Nothing here.",
]
PASSAGES = ["the beacon at low tide", "Beacon tide", "pilot", "", "A pilot saw beacon-light, at dusk: Straße STRASSE"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    path = tmp_path_factory.mktemp("commonness") / "index.rprs"
    rprs.build(path, [Document(str(number), text) for number, text in enumerate(TEXTS)], encoder="hashed")
    with Index(path) as opened:
        yield opened


def phrases(text: str, index: Index, size: int) -> list[tuple[str, ...]]:
    terms = index.analyzer.terms(text)
    return [tuple(terms[start : start + size]) for start in range(len(terms) - size + 1)]


def test_medians_and_means_of_frequencies(index: Index) -> None:
    found = commonness(PASSAGES, index)
    for number, passage in enumerate(PASSAGES):
        size = min(3, max(2, len(index.analyzer.terms(passage))))
        own = phrases(passage, index, size)
        frequencies = sorted(sum(phrase in phrases(text, index, size) for text in TEXTS) for phrase in own)
        assert found.phrases[number] == len(own)
        assert found.documents[number] == (frequencies[(len(own) - 1) // 2] if own else 0)
        rarity = [1 - log(max(frequency, 1)) / log(len(TEXTS)) for frequency in frequencies]
        assert found.distinctness[number] == pytest.approx(sum(rarity) / len(own) if own else 1)


@dataclass(frozen=True)
class _Other(Component):
    """An analyzer whose terms depend on more than one word."""

    name: ClassVar[str] = "other"
    ngrams: int = 1

    def terms(self, text: str) -> Sequence[str]:
        return text.split(",")


def test_any_analyzer_will_do(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(index), "analyzer", _Other())
    assert commonness(["the beacon,at low,tide", "the beacon"], index).phrases.tolist() == [1, 0]


def test_without_phrases_nothing_is_common(tmp_path: Path) -> None:
    rprs.build(tmp_path / "none.rprs", [Document("a", "One text.")], encoder="hashed", phrases=False)
    with Index(tmp_path / "none.rprs") as opened:
        assert commonness(["One text."], opened).distinctness.tolist() == [1]
