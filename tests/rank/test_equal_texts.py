"""Documents with the same words have the same score, however they are typed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rprs import Document, Index, Searcher, Writer
from rprs.alignment.duplicates import Grouping
from rprs.alignment.words import fold_words
from rprs.document import Ranking
from rprs.index import verify
from rprs.index.union import UnionIndex
from rprs.rank.equal_texts import equal_scores
from tests.support.clusters import LocalCluster

LEASE = (
    "The tenant’s “own” share of the rent is $5,000 a month. The well-known owner repairs the roof before winter. "
    "Neither of them may end the lease within the first year, unless the other one agrees in writing."
)
TYPED = {
    "quotes": LEASE.translate({0x2019: "'", 0x201C: '"', 0x201D: '"'}),
    "wrapped": LEASE.replace(" of ", " of\r\n").replace(". ", ".\n\n"),
    "upper": LEASE.upper(),
    "hyphens": LEASE.replace("-", " "),
}
OTHERS = {
    "euros": LEASE.replace("$", "€"),
    "share": "The tenant pays the rent of the house, and the owner repairs the roof when it leaks.",
    "boats": "Boats leave the port at noon, and their captains drink coffee on the quay.",
}
QUERY = "The tenant pays a share of the rent. The owner repairs the roof before winter. The lease ends within a year."


def documents(*ids: str) -> list[Document]:
    texts = {"lease": LEASE, **TYPED, **OTHERS}
    return [Document(id, texts[id]) for id in ids or texts]


def build(path: Path, *batches: list[Document]) -> Path:
    for number, batch in enumerate(batches):
        with Writer(path, create=not number, encoder=None if number else "hashed") as writer:
            writer.add(batch)
    return path


def forget_hashes(path: Path) -> None:
    """As in an index of an earlier version."""
    with Writer(path) as writer:
        with writer.catalog.transaction():
            writer.catalog.forget_files("segments/*/word_hashes.npy")
        for file in path.glob("segments/*/word_hashes.npy"):
            file.unlink()


@pytest.fixture(params=["disk", "memory", "union", "cluster"])
def searcher(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Searcher]:
    """The documents in each kind of index, in two parts where there can be some."""
    every = documents()
    if request.param == "memory":
        yield Searcher(Index.in_memory(every, encoder="hashed"))
    elif request.param == "disk":
        with Index(build(tmp_path / "index.rprs", every[::2], every[1::2])) as index:
            yield Searcher(index)
    else:
        paths = [build(tmp_path / f"{part}.rprs", every[part::2]) for part in range(2)]
        with Index(paths[0]) as left, Index(paths[1]) as right:
            is_union = request.param == "union"
            yield Searcher(UnionIndex([left, right])) if is_union else LocalCluster([left, right]).searcher()


def test_the_best_score_counts(searcher: Searcher) -> None:
    ids = ("quotes", "boats", "lease", "euros", "upper")
    ranking = Ranking(ids, np.array([5.0, 4, 3, 2, 1]), parts={"dp": np.array([0.5, 0.4, 0.3, 0.2, 0.1])})
    equal = equal_scores(ranking, searcher.index)
    assert equal.ids == ("quotes", "lease", "upper", "boats", "euros")
    assert equal.scores.tolist() == [5, 5, 5, 4, 2]
    assert equal.parts["dp"].tolist() == [0.5, 0.5, 0.5, 0.4, 0.2]


def test_different_texts_stay_as_they_are(searcher: Searcher) -> None:
    ranking = Ranking(("lease", "euros", "boats"), np.array([3.0, 2, 1]))
    assert equal_scores(ranking, searcher.index) is ranking


def test_what_is_identical_has_the_same_score(searcher: Searcher) -> None:
    (group,) = (hit for hit in searcher.search(QUERY, exclude=["euros"]) if hit.duplicates)
    assert {group.id, *(each.id for each in group.duplicates)} == {"lease", *TYPED}
    assert {each.relation for each in group.duplicates} == {"identical"}
    scores = {hit.id: hit.score for hit in searcher.search(QUERY, group=False)}
    assert len({scores[id] for id in ("lease", *TYPED)}) == 1


def test_another_currency_is_another_text() -> None:
    grouping = Grouping()
    assert grouping.add(fold_words(LEASE)) == (0, "different")
    assert [grouping.add(fold_words(TYPED[id])) for id in TYPED] == [(0, "identical")] * len(TYPED)
    assert grouping.add(fold_words(OTHERS["euros"])) == (0, "near duplicate")


@pytest.mark.parametrize("change", [lambda writer: writer.compact(), lambda writer: writer.remove(["boats"])])
def test_hashes_survive_changes(tmp_path: Path, change: Callable[[Writer], None]) -> None:
    path = build(tmp_path / "index.rprs", documents("lease", "boats"), documents("upper", "share"))
    with Index(path) as index:
        before = index.word_hashes(["lease", "upper", "share"])
    with Writer(path) as writer:
        change(writer)
    with Index(path) as index:
        assert index.word_hashes(["lease", "upper", "share"]) == before
    assert before is not None
    assert before[0] == before[1] != before[2]
    assert verify(path) == []


def test_an_index_of_an_earlier_version(tmp_path: Path) -> None:
    path = build(tmp_path / "index.rprs", [*documents("lease", "upper"), Document("copy", LEASE)], documents("share"))
    with Index(path) as index:
        hashes = index.word_hashes(["lease", "upper", "copy", "share"])
    forget_hashes(path)
    with Writer(path) as writer:
        writer.add(documents("quotes"))
    ranking = Ranking(("lease", "share", "upper", "copy", "quotes"), np.array([5.0, 4, 3, 2, 1]))
    with Index(path) as index:
        assert index.word_hashes(["lease"]) is None
        assert equal_scores(ranking, index).ids == ("lease", "copy", "share", "upper", "quotes")  # by characters
    assert verify(path) == []
    with Writer(path) as writer:
        assert writer.upgrade()
        assert not writer.upgrade()
    assert verify(path) == []
    with Index(path) as index:
        assert index.word_hashes(["lease", "upper", "copy", "share"]) == hashes
        assert equal_scores(ranking, index).ids == ("lease", "upper", "copy", "quotes", "share")
    forget_hashes(path)
    with Writer(path) as writer:
        writer.compact()
    assert verify(path) == []
