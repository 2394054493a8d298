"""The choice of reworded versions, against a literal version of it with rapidfuzz."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rapidfuzz.distance import Indel

from rprs.alignment.candidates import LEAST_SIMILARITY
from rprs.alignment.reworded import MEMBER_SHARE, find_edited
from rprs.alignment.versions import GROUP_PENALTY

Text = list[list[int]]  # sentences of words
Version = tuple[int, int, int, int]  # first sentence and stop in the query, then in the document
NO_RUNS = np.empty((0, 4), dtype=np.int64)


class Example(NamedTuple):
    """Two texts, which of their sentences look for a version, and the versions."""

    query: Text
    document: Text
    opened: list[bool]
    other_opened: list[bool]
    versions: list[Version]


@st.composite
def examples(draw: st.DrawFn) -> Example:
    query = draw(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=7), min_size=1, max_size=4))
    document = [[*sentence] for sentence in draw(st.permutations(query))]
    for sentence in document:  # some have a changed, a new or a missing word
        place = draw(st.integers(0, len(sentence)))
        sentence[place : draw(st.integers(place, place + 1))] = draw(st.lists(st.integers(0, 5), max_size=1))
    texts = [query, document]
    opened = [draw(st.lists(st.booleans(), min_size=len(text), max_size=len(text))) for text in texts]
    versions = []
    for _ in range(draw(st.integers(0, 8))):
        ranges = []
        for text in texts:
            first = draw(st.integers(0, len(text) - 1))
            ranges += [first, min(first + draw(st.integers(1, 2)), len(text))]
        versions.append((ranges[0], ranges[1], ranges[2], ranges[3]))
    return Example(query, document, opened[0], opened[1], versions)


def words_of(text: Text) -> list[int]:
    return list(chain.from_iterable(text))


def bounds_of(text: Text) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, text)], dtype=np.int64)


def blocks_of(ours: Text, theirs: Text) -> list[tuple[int, int, int]]:
    blocks = Indel.editops(words_of(ours), words_of(theirs)).as_matching_blocks()
    return [(block.a, block.b, block.size) for block in blocks if block.size]


def is_balanced(ours: Text, theirs: Text) -> bool:
    for side, text in enumerate((ours, theirs)):
        equal = {block[side] + each for block in blocks_of(ours, theirs) for each in range(block[2])}
        for first, stop in pairwise(bounds_of(text).tolist()):
            if len(equal & {*range(first, stop)}) < MEMBER_SHARE * (stop - first):
                return False
    return True


def chosen_literally(example: Example) -> list[Version]:
    """The versions that are chosen, in their order."""

    def parts(version: Version) -> tuple[Text, Text]:
        return example.query[version[0] : version[1]], example.document[version[2] : version[3]]

    def is_group(version: Version) -> bool:
        return version[1] - version[0] + version[3] - version[2] > 2

    def value(version: Version) -> float:
        similarity = Indel.normalized_similarity(*map(words_of, parts(version)))
        return similarity - GROUP_PENALTY if is_group(version) else similarity

    wanted, others, chosen = [*example.opened], [*example.other_opened], []
    for version in sorted(example.versions, key=value, reverse=True):
        first, stop, start, end = version
        if value(version) <= LEAST_SIMILARITY or not any(wanted[first:stop] + others[start:end]):
            continue
        if not is_group(version) or is_balanced(*parts(version)):
            wanted[first:stop], others[start:end] = [False] * (stop - first), [False] * (end - start)
            chosen.append(version)
    return sorted(chosen)


@given(examples())
def test_equal_to_a_literal_version(example: Example) -> None:
    bounds, other_bounds = bounds_of(example.query), bounds_of(example.document)
    ranges: list[list[int]] = []
    blocks: list[list[int]] = []
    similarities = []
    for first, stop, start, end in chosen_literally(example):
        words = [int(bounds[first]), int(bounds[stop]), int(other_bounds[start]), int(other_bounds[end])]
        equal = blocks_of(example.query[first:stop], example.document[start:end])
        similarity = 2 * sum(size for _, _, size in equal) / (words[1] - words[0] + words[3] - words[2])
        if similarity < 1:
            blocks += [[words[0] + left, words[2] + right, size, len(ranges)] for left, right, size in equal]
            ranges.append(words)
            similarities.append(similarity)
    found = find_edited(
        np.array(example.versions, dtype=np.int64).reshape(-1, 4),
        np.array(example.opened, dtype=bool),
        np.array(example.other_opened, dtype=bool),
        bounds,
        other_bounds,
        np.array(words_of(example.query), dtype=np.int64),
        np.array(words_of(example.document), dtype=np.int64),
        NO_RUNS,
    )
    assert [each.tolist() for each in found] == [ranges, similarities, blocks]


def test_a_sentence_within_an_identical_run_is_not_reworded() -> None:
    """The run is shown; the words around it on one side are no change of it."""
    query, document = np.arange(8), np.arange(10)
    versions, opened = np.array([[0, 1, 0, 1]]), np.array([True])
    arguments = (versions, opened, opened, np.array([0, 8]), np.array([0, 10]), query, document)
    assert len(find_edited(*arguments, np.array([[0, 8, 0, 8]]))[0]) == 0
    assert len(find_edited(*arguments, NO_RUNS)[0]) == 1
