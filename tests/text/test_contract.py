"""Every built-in splitter and analyzer fulfils its contract, and the contract rejects components that do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pytest

from rprs.document import Sentences
from rprs.spec import parse
from rprs.testing.text import check_analyzer, check_splitter
from rprs.text.split import SentenceSplitter


@pytest.mark.parametrize(
    "text", ["sentences", "sentences(limit=10,piece=3)", "sentences(first=5)", "tokens", "tokens(length=1)"]
)
def test_built_in_splitters(text: str) -> None:
    check_splitter(parse("splitter", text))


@pytest.mark.parametrize(
    "text", ["words", "words(language=none)", "words(language=french)", "words(stop=false,stem=false,ngrams=2)"]
)
def test_built_in_analyzers(text: str) -> None:
    check_analyzer(parse("analyzer", text))


def sentences(spans: list[tuple[int, int]], paragraphs: list[int] | None = None) -> Sentences:
    numbers = [0] * len(spans) if paragraphs is None else paragraphs
    return Sentences(np.array(spans, np.int64).reshape(-1, 2), np.array(numbers, np.int32))


@dataclass
class Broken:
    """A splitter with one fault."""

    fault: str
    calls: count[int] = field(default_factory=count)

    def split(self, text: str) -> Sentences:
        valid = SentenceSplitter().split(text)
        spans, paragraphs = valid.spans.tolist(), valid.paragraphs.tolist()
        match self.fault:
            case "content":
                return sentences([(0, len(text))] if text else [])
            case "nothing":
                return sentences([])
            case "order":
                return sentences(spans[::-1], paragraphs)
            case "overlap":
                return sentences(spans * 2)
            case "outside":
                return sentences([(start, end + len(text)) for start, end in spans])
            case "white space":
                return sentences([(start, min(end + 1, len(text))) for start, end in spans[:1]])
            case "paragraphs":
                return sentences(spans, paragraphs[::-1])
            case "types":
                return Sentences(valid.spans.astype(np.int32), valid.paragraphs)
            case "lengths":
                return Sentences(valid.spans, valid.paragraphs[:1])
            case _:  # "state"
                return sentences(spans[: next(self.calls) + 1])


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("content", "has white space around it"),
        ("nothing", "has no sentences"),
        ("order", "overlaps or is empty"),
        ("overlap", "overlaps or is empty"),
        ("outside", "overlaps or is empty"),
        ("white space", "has white space around it"),
        ("paragraphs", "must not decrease"),
        ("types", "spans must be int64"),
        ("lengths", "one paragraph number per sentence"),
        ("state", "the same text must give the same result"),
    ],
)
def test_a_faulty_splitter_is_rejected(fault: str, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_splitter(Broken(fault))


@dataclass
class BrokenAnalyzer:
    """An analyzer with one fault."""

    fault: str
    ngrams: int = 1
    calls: count[int] = field(default_factory=count)

    def terms(self, text: str) -> list[str]:
        words = text.split()
        match self.fault:
            case "empty":
                return ["", *words] if words else []
            case "white space":
                return [text] if words else []
            case "always":
                return [*words, "end"]
            case "nothing":
                return []
            case "distinct":
                return sorted(set(words))
            case "type":
                return tuple(words) if words else []  # type: ignore[return-value]
            case _:  # "state"
                return words if next(self.calls) < 60 else words[:1]


@pytest.mark.parametrize(
    ("analyzer", "problem"),
    [
        (BrokenAnalyzer("empty"), "'' is not a term"),
        (BrokenAnalyzer("white space"), "is not a term"),
        (BrokenAnalyzer("always"), "has no content, but has terms"),
        (BrokenAnalyzer("nothing"), "no text has any terms"),
        (BrokenAnalyzer("distinct"), "a text written twice must have its terms twice"),
        (BrokenAnalyzer("type"), "terms must be a list, not tuple"),
        (BrokenAnalyzer("state"), "must"),
        (BrokenAnalyzer("", ngrams=0), "ngrams must be 1 or more"),
    ],
)
def test_a_faulty_analyzer_is_rejected(analyzer: BrokenAnalyzer, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_analyzer(analyzer)
