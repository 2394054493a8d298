"""Documents that are compared together have the same matches as each alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rprs.alignment.align import Findings, find_matches
from rprs.alignment.calibration import Calibration
from rprs.alignment.sides import Side, make_side
from rprs.document import Document, Sentences
from rprs.encode.hashed import Hashed
from rprs.scoring.vectors import to_grid
from rprs.text.split import SentenceSplitter

SPLITTER, ENCODER = SentenceSplitter(), Hashed(dimension=8)
WORDS = ["The", "pilot", "tide", "governs", "beacon", "harbour", "government", "govern-\nment", "and", "light.", "Not."]
LOW = Calibration((0.2,) * 18)  # so that there are ideas
TEXTS = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


def side(text: str) -> Side:
    sentences = SPLITTER.split(text)
    vectors = to_grid(ENCODER.encode(sentences.texts(text)))
    return make_side(Document("d", text), Sentences(sentences.spans, sentences.paragraphs, vectors))


def columns(findings: Findings) -> list[object]:
    runs, edited, has_open = findings.words
    found = [runs, *edited, *findings.ideas, findings.query.words.hashes]
    return [has_open, *(each.tolist() for each in found)]


@given(TEXTS, st.lists(TEXTS, max_size=5), st.booleans())
def test_equal_to_one_by_one(query: str, texts: list[str], ideas: bool) -> None:
    ours, others = side(query), [side(text) for text in texts]
    together = find_matches(ours, others, LOW, ideas=ideas)
    assert [each.document.document.text for each in together] == texts
    for found, other in zip(together, others, strict=True):
        (alone,) = find_matches(ours, [other], LOW, ideas=ideas)
        assert columns(found) == columns(alone)
