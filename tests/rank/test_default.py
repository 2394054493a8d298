"""The default system: how far sentence vectors change the order of words and phrases, and its evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rprs import RPRS, Searcher, System
from rprs.document import Candidates, Document, Ranking, Sentences
from rprs.index import Index
from rprs.rank import load_candidates
from rprs.rank.fuse import Fuse
from rprs.rank.named import NAMED
from rprs.read import read_run
from tests.support.cli import rprs_ok
from tests.support.indexes import index_of
from tests.support.tales import QUERY, TALES

SHORT = Document("short", "Fog hides the northern harbour, its quay and the reef.")
UNKNOWN, KNOWN = False, True


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with index_of(TALES) as opened:
        yield opened


def fused() -> Fuse:
    reranker = System().rerank
    assert isinstance(reranker, Fuse)
    return reranker


def candidates_of(index: Index, query: Document, known: bool) -> tuple[Sentences, Candidates]:
    first = System().first.rank(query, index, 100, index.select(None))
    return index.query_sentences(query), replace(load_candidates(index, query, first), knows_language=known)


def weight_of_vectors(index: Index, sentences: int, known: bool) -> float:
    """As in docs/method.md, from the texts."""
    lengths = [len(index.splitter.split(document.text)) for document in TALES]
    ratio = sentences / (sum(lengths) / len(lengths))
    return 0.3 * min(1.0, 9 * ratio * ratio) if known else 0.0


@pytest.mark.parametrize("known", [KNOWN, UNKNOWN])
@pytest.mark.parametrize("sentences", [1, 2, 3, 9])
def test_the_weight_follows_from_the_length_of_the_query_and_from_its_language(
    index: Index, sentences: int, known: bool
) -> None:
    spans = index.splitter.split(QUERY.text).spans
    query = Document("part", QUERY.text[: int(spans[sentences - 1][1])])
    side, candidates = candidates_of(index, query, known)
    assert len(side) == sentences
    weight = weight_of_vectors(index, sentences, known)
    assert fused().prepare(side, candidates).automatic == pytest.approx(weight, rel=1e-12, abs=0)
    automatic = fused().rerank(side, candidates)
    fixed = replace(fused(), weight=weight).rerank(side, candidates)
    assert automatic.ids == fixed.ids
    assert automatic.scores.tolist() == pytest.approx(fixed.scores.tolist(), rel=1e-12)


def has_the_evidence_of_rprs(ranking: Ranking, side: Sentences, candidates: Candidates) -> None:
    """Neighbours and the parts of the score are those of RPRS alone."""
    alone = RPRS(k1=0.0, form="no_qp").rerank(side, candidates)
    assert ranking.neighbours is not None
    assert alone.neighbours is not None
    assert np.array_equal(ranking.neighbours.sentence, alone.neighbours.sentence)
    assert ranking.neighbours.similarity.tobytes() == alone.neighbours.similarity.tobytes()
    assert set(ranking.parts) == {"qp", "dp"}
    for name, values in ranking.parts.items():
        expected = dict(zip(alone.ids, alone.parts[name].tolist(), strict=True))
        assert dict(zip(ranking.ids, values.tolist(), strict=True)) == expected
        assert any(expected.values())


def test_in_an_unknown_language_the_order_is_that_of_fast_and_the_evidence_stays(index: Index) -> None:
    side, candidates = candidates_of(index, QUERY, UNKNOWN)
    ranking = fused().rerank(side, candidates)
    assert ranking.ids == Searcher(index, "fast").rank(QUERY).ids
    has_the_evidence_of_rprs(ranking, side, candidates)
    known = fused().rerank(*candidates_of(index, QUERY, KNOWN))
    assert known.ids != ranking.ids
    assert set(known.ids) == set(ranking.ids)


def test_a_short_query_nearly_keeps_the_order_of_fast_and_has_its_evidence(index: Index) -> None:
    """One sentence weighs so little that only documents with almost equal scores of words change places."""
    side, candidates = candidates_of(index, SHORT, KNOWN)
    ranking, prepared = fused().rerank(side, candidates), fused().prepare(side, candidates)
    weight = prepared.automatic
    assert weight == pytest.approx(weight_of_vectors(index, 1, KNOWN))
    assert 0 < weight < 0.1
    first = dict(zip(candidates.ranking.ids, prepared.a.tolist(), strict=True))
    largest_gap = weight / (1 - weight) * float(np.ptp(prepared.b))
    for place, id in enumerate(ranking.ids):
        assert all(first[other] - first[id] <= largest_gap + 1e-12 for other in ranking.ids[place:])
    has_the_evidence_of_rprs(ranking, side, candidates)


@pytest.mark.parametrize("query", [QUERY, SHORT])
def test_hits_have_pairs_and_scores_of_their_parts(index: Index, query: Document) -> None:
    searcher = Searcher(index)
    results = searcher.search(query, k=30)
    assert [hit.score for hit in results] == sorted((hit.score for hit in results), reverse=True)
    for hit in results:
        assert (hit.dp > 0) == (hit.qp > 0)
    best = results[0]
    explained = searcher.explain(query, best.id).hit
    assert (explained.rank, explained.score, explained.parts) == (best.rank, best.score, best.parts)
    assert set(best.pairs) <= set(explained.pairs)


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_the_same_system_in_python_and_on_the_command_line(index: Index, name: str, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text(f'{{"id": "query", "text": {json.dumps(QUERY.text)}}}\n')
    rprs_ok("run", index.path, tmp_path / "queries.jsonl", "-o", tmp_path / "run.trec", "--system", name)
    expected = Searcher(index, name).rank(QUERY)
    run = read_run(tmp_path / "run.trec")
    assert run["query"].ids == expected.ids
    assert (tmp_path / "run.trec").read_text().splitlines()[0].endswith(f" {name}")
    assert Searcher(index, System.named(name)).rank(QUERY).ids == expected.ids
