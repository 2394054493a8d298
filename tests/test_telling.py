"""The choice of pairs that are shown, against a literal version that weighs all pairs of the alignment."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import rprs
from rprs import Document, Index
from rprs.alignment.evidence import choose_telling
from rprs.alignment.values import Pair
from rprs.evidence import Evidence
from rprs.telling import MORE, passages_of

WORDS = "harbour pilot tide mooring beacon vessel captain cargo lantern channel storm anchor".split()
SIZE = 3


def sentence(random: Random) -> list[str]:
    return random.choices(WORDS, k=random.randint(5, 12))


def edited(random: Random, words: list[str]) -> list[str]:
    changed = [*words]
    changed[random.randrange(len(words))] = f"x{random.randrange(5)}"
    return changed


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Texts of sentences that some, or many, of them share, as they are or with a changed word."""
    random = Random(0)
    shared = [sentence(random) for _ in range(30)]
    texts = []
    for _ in range(30):
        own = [sentence(random) for _ in range(2)]
        own += [edited(random, each) if random.random() < 0.5 else each for each in random.sample(shared, 5)]
        texts.append(" ".join(" ".join(words).capitalize() + "." for words in own))
    return [Document(f"d{number:02d}", text) for number, text in enumerate(texts)]


def chosen_literally(evidence: Evidence, id: str) -> tuple[Pair, ...]:
    alignment = evidence.align(id)
    query = alignment.query, alignment.query_sentences
    passages = passages_of(query, (alignment.document, alignment.document_sentences), alignment.pairs)
    evidence.weighing.weigh([passages])
    lengths = [min(pair.query_words, pair.document_words) * pair.similarity for pair in alignment.pairs]
    values = [length * value for length, value in zip(lengths, passages.distinctness, strict=True)]
    flags = [pair.boilerplate for pair in alignment.pairs]
    assert flags == passages.boilerplate
    numbers = choose_telling(*passages.spans, values, flags, SIZE)
    return tuple(alignment.pairs[number] for number in numbers if not flags[number])


def test_equal_to_a_literal_version(tmp_path: Path, documents: list[Document]) -> None:
    rprs.build(tmp_path / "index", documents, encoder="hashed")
    with Index(tmp_path / "index") as index:
        reworded = boilerplate = 0
        for query in documents[:10]:
            evidence = Evidence(query, index)
            ids = [document.id for document in documents if document.id != query.id]
            for id, alignment in zip(ids, evidence.summaries(ids, SIZE), strict=True):
                whole = evidence.align(id)
                assert len(whole.pairs) <= MORE * SIZE  # the choice below is among all of them
                assert alignment.pairs == chosen_literally(evidence, id)
                assert alignment.query_coverage == whole.query_coverage
                reworded += sum(pair.kind == "reworded" for pair in alignment.pairs)
                boilerplate += sum(pair.boilerplate and pair.kind == "reworded" for pair in whole.pairs)
        assert min(reworded, boilerplate) > 20  # both are among the examples
