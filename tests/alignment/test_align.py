"""The alignment of two texts: kinds, spans, coverage, relation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rprs
from rprs.alignment.align import align_sides
from rprs.alignment.calibration import Calibration
from rprs.alignment.sides import make_side
from rprs.alignment.values import Alignment, Pair
from rprs.alignment.words import fold_words
from rprs.document import Document, Sentences
from rprs.encode.hashed import Hashed
from rprs.index import Index
from rprs.text.split import SentenceSplitter
from tests.support.tales import TALES
from tests.support.verbatim_oracle import unmatched_clauses

SPLITTER = SentenceSplitter()
ENCODER = Hashed(16)
VOCABULARY = (
    "the rent roof leak tenant owner may not pay for court held that a lease ends when Fog 12 No. v. é 日本 $5 -5 5% §"
).split()


def plain_align(query: str, document: str) -> Alignment:
    """Without vectors."""
    sides = [make_side(Document(name, text), SPLITTER.split(text)) for name, text in (("q", query), ("d", document))]
    return align_sides(sides[0], sides[1])


def pairs_of(alignment: Alignment, kind: str) -> list[Pair]:
    return [pair for pair in alignment.pairs if pair.kind == kind]


FILLER = "Bees fly over the meadow in spring. Some of them never return home. The keeper counts hives every week."
OTHER = "Ships leave this port at noon. Captains drink strong coffee before departure. Nobody waits on the quay."
CLAUSE = "the tenant may withhold the rent until the owner repairs the roof"


class TestKinds:
    def test_a_copied_sentence(self) -> None:
        sentence = f"It is agreed that {CLAUSE}."
        (pair,) = plain_align(f"{FILLER} {sentence}", f"{sentence.upper()} {OTHER}").pairs
        assert (pair.kind, pair.query, pair.similarity) == ("identical", sentence, 1)
        assert pair.query_words == pair.document_words == 16
        assert pair.changes == ()

    def test_a_quotation_within_other_sentences(self) -> None:
        left = f"Long ago the judges wrote in a letter to their king: “{CLAUSE}”, which he never answered in writing."
        right = f"Modern commentators add without any hesitation whatsoever that {CLAUSE} if nothing else can be done."
        (pair,) = pairs_of(plain_align(left, right), "identical")
        assert pair.query == pair.document == CLAUSE

    def test_an_edited_sentence_shows_its_changes(self) -> None:
        left = f"It is agreed that {CLAUSE} of the house."
        right = "It is agreed that the tenant shall withhold all rent until the owner repairs the roof of the house."
        (pair,) = plain_align(f"{left} {FILLER}", f"{OTHER} {right}").pairs
        query, document = f"{left} {FILLER}", f"{OTHER} {right}"
        assert pair.kind == "reworded"
        assert pair.similarity == 2 * 17 / 38
        changes = [(query[slice(*c.query_span)], document[slice(*c.document_span)]) for c in pair.changes]
        assert changes == [("may", "shall"), ("the", "all")]

    def test_words_added_and_left_out(self) -> None:
        left = "The tenant withheld the rent because the roof had leaked for three months."
        right = "The old tenant withheld the rent because the roof leaked for three long months indeed."
        (pair,) = plain_align(left, right).pairs
        changes = [(left[slice(*c.query_span)], right[slice(*c.document_span)]) for c in pair.changes]
        assert changes == [("", "old"), ("had", ""), ("", "long"), ("", "indeed")]
        assert all(pair.query_span[0] <= c.query_span[0] <= c.query_span[1] <= pair.query_span[1] for c in pair.changes)

    def test_a_sentence_that_was_split_and_edited(self) -> None:
        whole = "The owner promised to mend the broken roof before winter and the tenant promised to pay all the rent."
        parts = "The owner promised to repair the broken roof before winter. The tenant promised to pay the whole rent."
        for query, document in ((whole, parts), (parts, whole)):
            (pair,) = plain_align(f"{FILLER} {query}", f"{document} {OTHER}").pairs
            assert (pair.kind, pair.query, pair.document) == ("reworded", query, document)

    def test_neighbouring_matches_are_one_passage(self) -> None:
        sentences = "The roof leaked. Nobody came. The tenant left the house at last."
        (pair,) = plain_align(f"{FILLER} {sentences}", f"{sentences} {OTHER}").pairs
        assert (pair.kind, pair.query) == ("identical", sentences)

    def test_short_sentences(self) -> None:
        alignment = plain_align(f"{FILLER} It is so ordered. No.", f"{OTHER} Therefore it is so ordered! No.")
        assert [(pair.kind, pair.query) for pair in alignment.pairs] == [("identical", "It is so ordered. No.")]

    def test_a_clause_that_one_text_repeats(self) -> None:
        alignment = plain_align(f"{CLAUSE}.", f"Now {CLAUSE} in any case. {FILLER} Here, however, {CLAUSE} at once.")
        assert [pair.document for pair in pairs_of(alignment, "identical")] == [CLAUSE, CLAUSE]
        assert alignment.document_coverage.identical == 2 * 12

    def test_unrelated_texts(self) -> None:
        alignment = plain_align(FILLER, OTHER)
        assert alignment.pairs == ()
        assert alignment.relation == "different"
        assert len(alignment.query_unmatched) == len(alignment.query_sentences)


class TestSameIdea:
    """Vectors made by hand: the first two sentences of both texts are similar."""

    def side(self, id: str, text: str, vectors: Sequence[Sequence[float]]) -> object:
        sentences = SPLITTER.split(text)
        return make_side(
            Document(id, text), Sentences(sentences.spans, sentences.paragraphs, np.array(vectors, dtype=np.float16))
        )

    def align(self, bar: float, ideas: bool = True) -> Alignment:
        query = self.side("q", FILLER, [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
        document = self.side("d", OTHER, [(0.75, 0, 0), (0, 0.875, 0), (-1, 0, 0)])
        return align_sides(query, document, Calibration((bar,)), ideas)  # type: ignore[arg-type]

    def test_above_the_bar(self) -> None:
        (pair,) = self.align(0.7).pairs  # two neighbours are one passage
        assert pair.kind == "same idea"
        assert pair.query == "Bees fly over the meadow in spring. Some of them never return home."
        assert 0.75 < pair.similarity < 0.875

    def test_below_the_bar(self) -> None:
        assert [pair.similarity for pair in self.align(0.8).pairs] == [0.875]
        assert self.align(0.9).pairs == ()
        assert self.align(0.5, ideas=False).pairs == ()


class TestRelation:
    def test_the_same_words_are_identical(self) -> None:
        assert plain_align(FILLER, FILLER.upper().replace(" ", "\n")).relation == "identical"
        assert plain_align("", "").relation == "identical"

    def test_a_near_copy(self) -> None:
        alignment = plain_align(f"{FILLER} {OTHER}", f"{FILLER} {OTHER}".replace("noon", "midnight"))
        assert alignment.relation == "near duplicate"
        assert all(pair.similarity < 1 for pair in alignment.pairs if pair.kind != "identical")

    def test_a_part_is_different(self) -> None:
        assert plain_align(f"{FILLER} {OTHER}", FILLER).relation == "different"


# ---------------------------------------------------------------------------- properties

SENTENCE = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=14).map(lambda words: " ".join(words) + ". ")
TEXT = st.lists(SENTENCE, max_size=7).map("".join)
HOSTILE = st.text(st.sampled_from("aB é.\u0301日。'’-\n\x00\ud800\u200b1$>"), max_size=60)


def check(alignment: Alignment) -> None:
    query, document = alignment.query.text, alignment.document.text
    for pair in alignment.pairs:
        assert query[slice(*pair.query_span)] == pair.query
        assert document[slice(*pair.document_span)] == pair.document
        assert pair.query_words == len(fold_words(pair.query)) > 0
        assert pair.document_words == len(fold_words(pair.document)) > 0
        assert 0 < pair.similarity <= 1
        assert (pair.kind == "identical") == (pair.similarity == 1)
        if pair.kind == "identical":
            assert fold_words(pair.query).hashes.tolist() == fold_words(pair.document).hashes.tolist()
        assert bool(pair.changes) == (pair.kind == "reworded")
    for coverage, text in ((alignment.query_coverage, query), (alignment.document_coverage, document)):
        assert coverage.words == len(fold_words(text))
        assert 0 <= coverage.matched <= coverage.words
    assert not unmatched_clauses(alignment)


@given(TEXT, TEXT)
def test_pairs_are_true(query: str, document: str) -> None:
    check(plain_align(query, document))


@given(HOSTILE, HOSTILE)
def test_any_characters(query: str, document: str) -> None:
    alignment = plain_align(query, document)
    for pair in alignment.pairs:
        assert query[slice(*pair.query_span)] == pair.query
        assert document[slice(*pair.document_span)] == pair.document
    if query == document:
        assert alignment.relation == "identical"


def idea_align(query: str, document: str) -> Alignment:
    """With vectors and a low bar, so that many sentences have the same idea."""
    sides = []
    for name, text in (("q", query), ("d", document)):
        sentences = SPLITTER.split(text)
        vectors = ENCODER.encode(sentences.texts(text)).astype(np.float16)
        sides.append(make_side(Document(name, text), Sentences(sentences.spans, sentences.paragraphs, vectors)))
    return align_sides(sides[0], sides[1], Calibration((0.3,)))


@given(TEXT, TEXT)
def test_pairs_of_the_same_idea_are_true(query: str, document: str) -> None:
    check(idea_align(query, document))


def test_the_same_idea_is_among_these_pairs() -> None:
    alignment = idea_align(
        f"{FILLER} The roof of the owner may leak.", f"{OTHER} A leak in a roof is not for the owner."
    )
    check(alignment)
    assert pairs_of(alignment, "same idea")


def is_within(place: int, length: int, spans: Iterable[tuple[int, int]]) -> bool:
    """Whether one of the spans contains some characters."""
    return any(start <= place and place + length <= end for start, end in spans)


def is_sentence(place: int, length: int, text: str) -> bool:
    """Whether these characters are one sentence for the splitter."""
    return [place, place + length] in SPLITTER.split(text).spans.tolist()


@given(TEXT, TEXT, TEXT, TEXT, st.lists(st.sampled_from(VOCABULARY), min_size=3, max_size=20))
def test_an_inserted_sentence_is_identical(a: str, b: str, c: str, d: str, words: list[str]) -> None:
    """One of 4 to 7 words is found anywhere if it is a sentence for the splitter; a longer one need not be."""
    sentence = "Whereas " + " ".join(words) + "."
    query, document = a + sentence + " " + b, c + sentence + " " + d
    place, other, length = len(a), len(c), len(sentence)
    if len(fold_words(sentence)) < 8:
        assume(is_sentence(place, length, query) and is_sentence(other, length, document))
    identical = pairs_of(plain_align(query, document), "identical")
    assert is_within(place, length - 1, (pair.query_span for pair in identical))
    assert is_within(other, length - 1, (pair.document_span for pair in identical))


@pytest.mark.parametrize("sentence", ["Nobody paid the rent.", "So nobody paid the rent.", "It is so ordered now."])
def test_a_short_sentence_that_starts_within_longer_runs(sentence: str) -> None:
    """In each text, the first words of the sentence end a run of words that the other text has elsewhere."""
    before, other = "Long ago the judges of the old town", "Many years later her brothers from the new harbour"
    first = sentence.split()[0]
    query = f"{before}. {sentence} {FILLER} {other} {first} then."
    document = f"{other}. {sentence} {OTHER} {before} {first} then."
    identical = pairs_of(plain_align(query, document), "identical")
    assert is_within(query.index(sentence), len(sentence) - 1, (pair.query_span for pair in identical))
    assert is_within(document.index(sentence), len(sentence) - 1, (pair.document_span for pair in identical))


@given(TEXT, TEXT)
def test_both_directions_agree(query: str, document: str) -> None:
    """The other way round, the same words are covered; where two partners are equally good, others may be chosen."""
    there, back = plain_align(query, document), plain_align(document, query)
    assert there.relation == back.relation
    assert (there.query_coverage.identical > 0) == (back.document_coverage.identical > 0)
    assert (there.query_coverage.matched > 0) == (back.document_coverage.matched > 0)


@given(TEXT)
def test_a_text_is_identical_to_itself(text: str) -> None:
    alignment = plain_align(text, text)
    assert alignment.relation == "identical"
    assert alignment.query_coverage.identical == alignment.query_coverage.words
    assert alignment.document_coverage.identical == alignment.document_coverage.words


@settings(max_examples=15)
@given(texts=st.lists(TEXT.filter(str.strip), min_size=3, max_size=6, unique=True))
def test_removing_a_document_never_changes_the_alignment_of_two_others(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("removing") / "made.rprs"
    rprs.build(path, {str(number): text for number, text in enumerate(texts)}, encoder="hashed")

    def alignment() -> Alignment:
        with rprs.Index(path) as index:
            return rprs.align(index["0"], "1", index=index)

    before = alignment()
    with rprs.Writer(path) as writer:
        writer.remove(["2"])
    assert facts(alignment()) == facts(before)


def test_removing_documents_keeps_the_measured_bar_and_all_pairs(tmp_path: Path) -> None:
    """The bar of 30 documents is stored; measured on those that are left, it would be another."""
    path, names = tmp_path / "made.rprs", [tale.id for tale in TALES]
    rprs.build(path, TALES, encoder="hashed(dimension=16)")

    def alignments() -> dict[tuple[str, str], tuple[object, object, object, set[str]]]:
        with rprs.Index(path) as index:
            kept = [name for name in names[::3] if name in index]
            return {(a, b): facts(rprs.align(index[a], b, index=index)) for a in kept for b in kept if a != b}

    with rprs.Index(path) as index:
        measured = index.calibration
    before = alignments()
    assert measured.bars
    assert sum("same idea" in kinds for *_, kinds in before.values()) > 20
    for gone in (names[1::3], names[2:12:3], [names[0], names[3]]):
        with rprs.Writer(path) as writer:
            writer.remove(gone)
        after = alignments()
        assert after == {pair: before[pair] for pair in after}
        with rprs.Index(path) as index:
            assert index.calibration == measured
    with rprs.Index(path) as index:
        left = Index.in_memory([index[name] for name in index], encoder="hashed(dimension=16)")
    assert left.calibration.bars != measured.bars


def facts(alignment: Alignment) -> tuple[object, object, object, set[str]]:
    """All of an alignment but what is boilerplate, which depends on the collection."""
    pairs = [(p.query_span, p.document_span, p.kind, p.similarity, p.changes) for p in alignment.pairs]
    coverages = alignment.query_coverage, alignment.document_coverage
    return pairs, coverages, alignment.relation, {pair.kind for pair in alignment.pairs}


# ---------------------------------------------------------------------------- sizes


def texts_of(size: int) -> Iterator[str]:
    rng = np.random.default_rng(size)
    for seed in (1, 2):
        numbers = rng.zipf(1.3, size) % 30_000 + seed * 0
        yield " ".join(f"w{number}{'.' if place % 20 == 19 else ''}" for place, number in enumerate(numbers.tolist()))


def test_four_hundred_thousand_words() -> None:
    query, document = texts_of(400_000)
    clause = "the passage that stands in the middle of both of these endless texts"
    alignment = plain_align(f"{query} {clause}. {document[:900]}", f"{document[-900:]} {clause}. {document}")
    assert any(clause in pair.query and pair.kind == "identical" for pair in alignment.pairs)
    assert alignment.query_coverage.words > 400_000
