"""A cluster answers as one index of all its documents does, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rprs import Document, Index, Searcher
from rprs.document import Query, Ranking
from rprs.errors import NoDocument, RprsError, UsageError
from rprs.index.lookup import require_id
from tests.index.test_union import DOCUMENTS, indexes
from tests.support.cli import QUERY
from tests.support.clusters import LocalCluster
from tests.support.indexes import index_of
from tests.support.tiny_models import make_cross

ENCODER = "hashed(dimension=16)"
QUERY_DOCUMENT = Document("query", QUERY, metadata={"date": "2012-05-01"})
SYSTEMS = ("default", "paper", "bm25", "fast")
FIRST = (
    "bm25(kli=0.3)",
    "bm25(lengths=lucene,phrases=3)",
    "cosine",
    "cosine(ngrams=1)",
    "blend(weight=0.5)",
    "rprs(n=3)",
    "rprs(n=4,ties=worst,avgdl=candidates)",
    "sdr",
    "sdr(normalise=zscore)",
    "maxsim",
    "maxsim(direction=both)",
    "meanpool",
    "fuse(bm25,maxsim)",
    "fuse(blend,sdr(normalise=zscore),method=zscore)",
)
RERANK = (
    "first",
    "rprs(n=4,ties=id)",
    "rprs(n=2,ties=worst,avgdl=candidates)",
    "soft",
    "sdr(normalise=zscore)",
    "maxsim(direction=both)",
    "meanpool",
    "birch",
    "fuse(first,rprs(n=3),weight=0.4)",
)


def assert_same(left: Ranking, right: Ranking) -> None:
    """Two rankings are equal to the last bit."""
    assert left.ids == right.ids
    assert left.scores.tobytes() == right.scores.tobytes()
    assert left.notes == right.notes
    assert left.parts.keys() == right.parts.keys()
    for name, values in left.parts.items():
        assert values.tobytes() == right.parts[name].tobytes()


def outcome(search: Any) -> Any:
    """A ranking, or the message of the error."""
    try:
        return search()
    except RprsError as error:
        return type(error), str(error)


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[LocalCluster, Index]]:
    """A cluster of four shards, one of them empty and one with a removed document, and one index."""
    with indexes(DOCUMENTS[::3], DOCUMENTS[1::3], DOCUMENTS[2::3], [], DOCUMENTS) as (*parts, one):
        yield LocalCluster(parts), one


@pytest.mark.parametrize("system", SYSTEMS)
def test_named_systems(pair: tuple[LocalCluster, Index], system: str) -> None:
    cluster, one = pair
    many, alone = cluster.searcher(system), Searcher(one, system)
    queries: tuple[Query, ...] = (one["lease.txt"], "Rent.", [one["loan.txt"], QUERY])
    for query in queries:
        assert_same(many.rank(query), alone.rank(query))
        for options in ({"boilerplate": False}, {"group": False, "pairs": 5, "keep_self": True}):
            left, right = (searcher.search(query, 4, **options) for searcher in (many, alone))
            assert left.hits == right.hits
            assert (left.notes, left.candidates, left.query_sentences) == (
                right.notes,
                right.candidates,
                right.query_sentences,
            )


@pytest.mark.parametrize("first", FIRST)
def test_first_stages(pair: tuple[LocalCluster, Index], first: str) -> None:
    cluster, one = pair
    for depth in (2, 50):
        for rerank in (None, "rprs(n=3)"):
            many = cluster.searcher(first=first, rerank=rerank, depth=depth)
            alone = Searcher(one, first=first, rerank=rerank, depth=depth)
            assert_same(many.rank(QUERY_DOCUMENT), alone.rank(QUERY_DOCUMENT))
            assert_same(many.rank(one["lease.txt"], like=["loan.txt"]), alone.rank(one["lease.txt"], like=["loan.txt"]))


@pytest.mark.parametrize("rerank", RERANK)
def test_rerankers(pair: tuple[LocalCluster, Index], rerank: str) -> None:
    cluster, one = pair
    many, alone = cluster.searcher(rerank=rerank, depth=6), Searcher(one, rerank=rerank, depth=6)
    assert_same(many.rank(QUERY_DOCUMENT), alone.rank(QUERY_DOCUMENT))
    left, right = (searcher.explain(QUERY_DOCUMENT, "patent-boat") for searcher in (many, alone))
    assert repr(left) == repr(right)


@pytest.mark.parametrize("rerank", ["cross({})", "birch(scorer=cross,model={})", "fuse(first,cross({}))"])
def test_cross_encoders_read_texts_that_shards_have(
    pair: tuple[LocalCluster, Index], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rerank: str
) -> None:
    monkeypatch.setenv("RPRS_CACHE", str(tmp_path / "cache"))
    cluster, one = pair
    options: dict[str, Any] = {"rerank": rerank.format(f'"{make_cross(tmp_path / "cross")}"'), "depth": 6}
    many, alone = cluster.searcher(**options), Searcher(one, **options)
    for query in (QUERY_DOCUMENT, one["lease.txt"]):
        ranking = alone.rank(query)
        assert_same(many.rank(query), ranking)
        assert len(set(ranking.scores.tolist())) > 2
    left, right = (searcher.search(QUERY_DOCUMENT, 4) for searcher in (many, alone))
    assert (left.hits, left.notes) == (right.hits, right.notes)


@pytest.mark.parametrize(
    "options",
    [
        {"where": "court = harbour"},
        {"where": "nothing = 1"},
        {"where": "date <"},
        {"before": "date"},
        {"before": "2005-01-01", "undated": "drop"},
        {"before": "court"},
        {"exclude": ["lease.txt", "no such document"]},
        {"like": ["loan.txt"], "unlike": ["licence.txt"]},
        {"like": ["lease.txt"], "keep_self": True},
        {"like": ["no such document"]},
        {"key": [(0, 40)], "ignore": [(100, 120)]},
        {"exclude": "lease.txt"},
    ],
    ids=str,
)
def test_restrictions_and_marks(pair: tuple[LocalCluster, Index], options: dict[str, Any]) -> None:
    cluster, one = pair
    for system in ("default", "bm25"):
        many, alone = cluster.searcher(system, name=str(one.path)), Searcher(one, system)
        left, right = (
            outcome(lambda s=searcher: s.search(QUERY_DOCUMENT, 20, **options)) for searcher in (many, alone)
        )
        if isinstance(right, tuple):
            assert left == right
        else:
            assert (left.hits, left.notes) == (right.hits, right.notes)


def test_evidence_passages_and_coverage(pair: tuple[LocalCluster, Index]) -> None:
    cluster, one = pair
    many, alone = cluster.searcher(), Searcher(one)
    assert many.align(QUERY_DOCUMENT, "lease.txt") == alone.align(QUERY_DOCUMENT, "lease.txt")
    for id in ("lease.txt", "removed"):
        left, right = (outcome(lambda s=each, id=id: repr(s.explain(QUERY_DOCUMENT, id))) for each in (many, alone))
        assert left == right if isinstance(right, str) else left[0] == right[0]
    for text in (
        QUERY,
        "The tenant pays the rent",
        "rent",
        "The court held that the sublease had ended by that breach.",
    ):
        for options in ({}, {"where": "court = hill"}, {"boilerplate": False, "k": 3}):
            left, right = (searcher.passages(text, **options) for searcher in (many, alone))
            assert (left.hits, left.total, left.compared, left.notes) == (
                right.hits,
                right.total,
                right.compared,
                right.notes,
            )
    assert many.coverage(QUERY_DOCUMENT, k=4) == alone.coverage(QUERY_DOCUMENT, k=4)
    assert many.coverage(QUERY_DOCUMENT, ["loan.txt"]) == alone.coverage(QUERY_DOCUMENT, ["loan.txt"])


def test_runs_and_what_a_search_reports_about_itself(pair: tuple[LocalCluster, Index], tmp_path: Any) -> None:
    cluster, one = pair
    queries = [QUERY_DOCUMENT, one["lease.txt"], Document("empty", "")]
    runs = [searcher.run(queries, before="date", cache=tmp_path) for searcher in (cluster.searcher(), Searcher(one))]
    again = cluster.searcher().run(queries, before="date", cache=tmp_path)
    for query, ranking in runs[1].items():
        assert_same(runs[0][query], ranking)
        assert_same(again[query], ranking)
    assert runs[0].failures == runs[1].failures
    path = tmp_path / "run.txt"
    runs[1].write(path)
    first = f"runfile({path})"
    rankings = [
        searcher.rank(QUERY_DOCUMENT, exclude=["loan.txt"])
        for searcher in (cluster.searcher(first=first), Searcher(one, first=first))
    ]
    assert_same(*rankings)
    assert cluster.searcher().about(QUERY, 3).fingerprint == one.fingerprint
    assert cluster.statistics.calibration.bars == one.calibration.bars


def test_what_can_be_read_of_a_cluster(pair: tuple[LocalCluster, Index]) -> None:
    cluster, one = pair
    index = cluster.searcher().index
    assert [*index] == index.ids == one.ids
    assert [index[id] for id in index] == [one[id] for id in one]
    assert ("lease.txt" in index, "removed" in index, len(index)) == (True, False, len(one))
    assert index.find("reed") == one.find("reed")
    assert index.holds(one["lease.txt"])
    assert not index.holds(Document("lease.txt", "Another text."))
    with pytest.raises(
        UsageError, match="is a cluster, which has no segments of its own: search it with ClusterSearcher"
    ):
        _ = index.lengths
    with pytest.raises(NoDocument, match=r"Did you mean 'lease\.txt'"):
        require_id(index, "leese.txt")
    assert not hasattr(index, "unknown")
    assert list(index.list_ids("court = hill")) == [one.ids[n] for n in np.flatnonzero(one.select("court = hill"))]


# ---------------------------------------------------------------------------- any documents, anywhere

IDS = st.sampled_from(["a", "B", "é", "ä\u0308", "日本", "🦊", "z z", "0", "10", "2", "ª", "\uffff", "𐀀", "ß"])
WORDS = st.sampled_from("river stone river cloud bank stone lamp river 河 石 fox".split())
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=4).map(". ".join)
FILLED = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=4).map(". ".join)
POOLS = st.tuples(FILLED, FILLED, TEXTS)  # few texts: many documents tie
COLLECTIONS = POOLS.flatmap(lambda pool: st.dictionaries(IDS, st.sampled_from(pool), min_size=1, max_size=10))
DATES = st.sampled_from(["1999-12-31", "2004-06-01", "2004-06-02", "2020-02-29"])
FIELDS = st.fixed_dictionaries(
    {"n": st.integers(0, 9)}, optional={"kind": st.sampled_from("ab"), "date": DATES | st.just("soon")}
)
FILTERS = ["n < 5", "n >= 3 and kind = a", "kind = b or n = 2", "not kind = a", "date < 2004-06-02", "nothing = 1"]
LIMITS: list[dict[str, Any]] = [
    {},
    {"before": st.just("date")},
    {"before": st.just("2004-06-01")},
    {"before": st.just("date"), "undated": st.just("drop")},
]
KLI = st.floats(0.05, 0.95).map("bm25(kli={:.2f})".format)
OPTIONS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(dict, system=st.sampled_from(SYSTEMS)),
    st.builds(dict, first=st.sampled_from(FIRST) | KLI, rerank=st.none()),
    st.builds(dict, first=st.sampled_from(FIRST) | KLI, rerank=st.sampled_from(RERANK), depth=st.integers(1, 6)),
)


@dataclass(frozen=True)
class Case:
    """A collection divided into three shards, from which a document is removed, and a search of it."""

    documents: list[Document]
    places: list[int]
    removed: str  # or none, if empty
    query: Document
    restricted: dict[str, Any]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    documents = [Document(id, text, metadata=draw(FIELDS)) for id, text in draw(COLLECTIONS).items()]
    places = draw(st.lists(st.integers(0, 2), min_size=len(documents), max_size=len(documents)))
    removed, like, unlike, *others = draw(st.permutations([document.id for document in documents] + [""] * 3))
    spans = st.lists(st.tuples(st.integers(0, 5), st.integers(6, 30)), max_size=1)
    restricted = st.fixed_dictionaries(
        draw(st.sampled_from(LIMITS)),
        optional={
            "where": st.sampled_from(FILTERS),
            "exclude": st.just([each for each in others if each][:2]),
            "like": st.just([like] if like else []),
            "unlike": st.just([unlike] if unlike else []),
            "key": spans,
            "ignore": spans,
            "keep_self": st.booleans(),
        },
    )
    query = Document("q", draw(FILLED), metadata={"date": draw(DATES)})
    return Case(documents, places, removed, draw(st.sampled_from([query, documents[0]])), draw(restricted))


@given(cases(), OPTIONS)
def test_however_documents_are_distributed(case: Case, options: dict[str, Any]) -> None:
    """Ties, empty documents, empty shards, removed documents, ids in any script; every restriction, mark and system."""
    parts = [
        [document for document, place in zip(case.documents, case.places, strict=True) if place == part]
        for part in range(3)
    ]
    with ExitStack() as stack:
        one, *opened = (
            stack.enter_context(
                index_of(each, removed=[case.removed] if case.removed else [], analyzer="words", encoder=ENCODER)
            )
            for each in (case.documents, *parts)
        )
        many, alone = LocalCluster(opened).searcher(**options, name=str(one.path)), Searcher(one, **options)
        for restricted in ({}, case.restricted):
            left, right = (
                outcome(lambda s=searcher, r=restricted: (s.search(case.query, 5, **r), s.rank(case.query, **r)))
                for searcher in (many, alone)
            )
            if isinstance(right[0], type):
                assert left == right
            else:
                assert (left[0].hits, left[0].notes) == (right[0].hits, right[0].notes)
                assert_same(left[1], right[1])


@pytest.mark.parametrize("first", ["bm25", "blend", "maxsim", "rprs(n=4)", "rprs(n=4,ties=worst)", "sdr"])
def test_documents_that_tie_come_in_the_order_of_their_ids(first: str) -> None:
    """Equal texts in all shards, whose ids interleave, cut in the middle of the tie."""
    ids = ["a", "B", "é", "日本", "🦊", "10", "2", "\uffff", "𐀀", "ß"]
    documents = [Document(id, "The river bends. A fox sleeps.") for id in ids] + [Document("other", "The lamp burns.")]
    with ExitStack() as stack:
        one, *parts = (
            stack.enter_context(_in_memory(each))
            for each in (documents, documents[::3], documents[1::3], documents[2::3])
        )
        cluster = LocalCluster(parts)
        for rerank in (None, "rprs(n=2)", "rprs(n=3,ties=id)"):
            options: dict[str, Any] = {"first": first, "rerank": rerank, "depth": 5}
            left, right = (
                searcher.rank("A river bends.") for searcher in (cluster.searcher(**options), Searcher(one, **options))
            )
            assert_same(left, right)
            assert len(set(right.scores.tolist())) < len(right)


def _in_memory(documents: Sequence[Document]) -> Index:
    return Index.in_memory(documents, encoder=ENCODER)
