"""The PyTerrier transformers, in real pipelines and experiments of the real package, without Java."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, nDCG

from rprs import (
    Document,
    Index,
    NoDocument,
    Searcher,
    System,
    UsageError,
    build,
    parse_measures,
    read_qrels,
    read_queries,
)
from rprs.evaluation.evaluate import evaluate
from rprs.pyterrier import Reranker, Retriever
from tests.support.paths import ROOT

SAMPLE = ROOT / "docs" / "sample"
COLUMNS = ["qid", "query", "docno", "score", "rank"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    path = tmp_path_factory.mktemp("pyterrier") / "sample.rprs"
    build(path, str(SAMPLE / "files"), encoder="hashed(dimension=64)")
    with Index(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def queries() -> list[Document]:
    return list(read_queries(SAMPLE / "queries.jsonl"))


@pytest.fixture(scope="module")
def topics(queries: list[Document]) -> Any:
    return pd.DataFrame([(query.id, query.text) for query in queries], columns=["qid", "query"])


def ranking(results: Any, qid: str) -> list[tuple[str, float]]:
    """Documents and scores of one query by rank."""
    rows = results[results["qid"] == qid].sort_values("rank")
    return list(zip(rows["docno"], rows["score"], strict=True))


# ---------------------------------------------------------------------------- retriever


def test_the_retriever_returns_the_rankings_of_the_searcher(index: Index, queries: list[Document], topics: Any) -> None:
    searcher = Searcher(index, rerank="rprs(n=3)", depth=20)
    results = Retriever(searcher).transform(topics)
    assert list(results.columns) == COLUMNS
    for query in queries:
        expected = searcher.rank(query)
        assert ranking(results, query.id) == list(zip(expected.ids, expected.scores.tolist(), strict=True))
        assert results[results["qid"] == query.id]["rank"].tolist() == list(range(len(expected)))
        assert set(results[results["qid"] == query.id]["query"]) == {query.text}


def test_the_retriever_takes_a_path_and_the_options_of_a_system(
    index: Index, queries: list[Document], topics: Any
) -> None:
    results = Retriever(index.path, rerank=None, first="bm25(k1=1.2,b=0.75)", depth=7, k=4).transform(topics)
    expected = Searcher(index, rerank=None, first="bm25(k1=1.2,b=0.75)", depth=7).rank(queries[0]).top(4)
    assert ranking(results, queries[0].id) == list(zip(expected.ids, expected.scores.tolist(), strict=True))
    assert results.groupby("qid").size().tolist() == [4] * len(queries)


def test_a_single_text_can_be_searched(index: Index, queries: list[Document]) -> None:
    results = Retriever(index, k=2).search(queries[0].text)
    assert results["docno"].tolist() == list(Searcher(index).rank(queries[0].text).ids[:2])


def test_the_query_itself_is_a_result_only_on_request(index: Index) -> None:
    own = index.document(index.ids[0])
    topic = pd.DataFrame([(own.id, own.text)], columns=["qid", "query"])
    assert own.id not in Retriever(index).transform(topic)["docno"].tolist()
    assert Retriever(index, keep_self=True).transform(topic)["docno"].iloc[0] == own.id


def test_the_filter_of_the_retriever_applies(index: Index, topics: Any) -> None:
    results = Retriever(index, where="id = 'contracts/residential-lease.txt'", rerank=None).transform(topics)
    assert set(results["docno"]) <= {"contracts/residential-lease.txt"}


def test_further_columns_of_the_topics_stay(index: Index, topics: Any) -> None:
    results = Retriever(index, k=1).transform(topics.assign(court="north"))
    assert list(results.columns) == ["qid", "query", "court", "docno", "score", "rank"]
    assert set(results["court"]) == {"north"}


def test_a_query_without_sentences_has_no_results_and_a_warning(index: Index, topics: Any) -> None:
    empty = pd.DataFrame([("blank", " ")], columns=["qid", "query"])
    with pytest.warns(UserWarning, match="No results for the query 'blank'.*no sentences"):
        results = Retriever(index, k=1).transform(pd.concat([topics, empty]))
    assert results["qid"].tolist() == topics["qid"].tolist()
    with pytest.raises(UsageError, match="None of the 1 queries could be answered"):
        Retriever(index).transform(empty)


def test_two_queries_cannot_have_the_same_qid(index: Index, topics: Any) -> None:
    with pytest.raises(UsageError, match=f"qid of its own. Got '{topics['qid'][0]}' more than once"):
        Retriever(index).transform(pd.concat([topics, topics.head(1)]))


# ---------------------------------------------------------------------------- re-ranker


@pytest.mark.parametrize("rerank", ["rprs(n=3)", "sdr", "maxsim", "fuse(a=rprs,b=first)", "birch"])
def test_a_pipeline_equals_the_system_of_both_stages(
    index: Index, queries: list[Document], topics: Any, rerank: str
) -> None:
    pipeline = Retriever(index, rerank=None, depth=20) >> Reranker(index, rerank)
    results = pipeline.transform(topics)
    assert sorted(results.columns) == sorted(COLUMNS)
    for query in queries:
        expected = Searcher(index, rerank=rerank, depth=20).rank(query)
        assert ranking(results, query.id) == list(zip(expected.ids, expected.scores.tolist(), strict=True))


def test_the_order_of_the_rows_does_not_matter_where_ranks_are_known(index: Index, topics: Any) -> None:
    first = Retriever(index, rerank=None, depth=20).transform(topics)
    shuffled = first.sample(frac=1, random_state=1)
    expected, results = Reranker(index).transform(first), Reranker(index).transform(shuffled)
    for qid in topics["qid"]:
        assert ranking(results, qid) == ranking(expected, qid)
        assert ranking(Reranker(index).transform(shuffled.drop(columns="rank")), qid) == ranking(expected, qid)


def test_candidates_without_scores_are_ordered_by_rank_or_row(index: Index, topics: Any) -> None:
    ids = index.ids[:4]
    rows = pd.DataFrame([("q", topics["query"][0], id) for id in reversed(ids)], columns=["qid", "query", "docno"])
    kept = Reranker(index, "first").transform(rows)
    assert ranking(kept, "q") == [(id, score) for id, score in zip(reversed(ids), (4.0, 3.0, 2.0, 1.0), strict=True)]
    ranked = Reranker(index, "first").transform(rows.assign(rank=[3, 2, 1, 0]))
    assert [docno for docno, _ in ranking(ranked, "q")] == ids


def test_columns_of_the_candidates_move_with_them(index: Index, topics: Any) -> None:
    first = Retriever(index, rerank=None, depth=5).transform(topics)
    results = Reranker(index).transform(first.assign(note=first["docno"].str.upper()))
    assert (results["note"] == results["docno"].str.upper()).all()


def test_a_candidate_that_the_index_lacks_is_an_error(index: Index, topics: Any) -> None:
    rows = pd.DataFrame([("q", topics["query"][0], "elsewhere")], columns=["qid", "query", "docno"])
    with pytest.raises(NoDocument, match="There is no document 'elsewhere'"):
        Reranker(index).transform(rows)


def test_a_candidate_that_occurs_twice_is_an_error(index: Index, topics: Any) -> None:
    rows = pd.DataFrame([("q", topics["query"][0], index.ids[0])] * 2, columns=["qid", "query", "docno"])
    with pytest.raises(UsageError, match=f"a different document. Got '{index.ids[0]}' twice for 'q'"):
        Reranker(index).transform(rows)


def test_the_candidates_of_a_query_without_sentences_are_dropped_with_a_warning(index: Index, topics: Any) -> None:
    rows = [("blank", " ", index.ids[0]), ("q", topics["query"][0], index.ids[0])]
    with pytest.warns(UserWarning, match="No results for the query 'blank'"):
        results = Reranker(index).transform(pd.DataFrame(rows, columns=["qid", "query", "docno"]))
    assert results["qid"].tolist() == ["q"]


def test_a_re_ranker_is_required(index: Index) -> None:
    with pytest.raises(UsageError, match="Choose a re-ranker"):
        Reranker(index, "none")
    with pytest.raises(UsageError, match="'rpsr'"):
        Reranker(index, "rpsr")


# ---------------------------------------------------------------------------- conventions of PyTerrier


def test_empty_frames_keep_the_columns(index: Index, topics: Any) -> None:
    results = Retriever(index).transform(topics.head(0))
    assert list(results.columns) == COLUMNS
    assert len(results) == 0
    assert sorted(Reranker(index).transform(results).columns) == sorted(COLUMNS)
    assert (Retriever(index) >> Reranker(index)).transform(topics.head(0)).empty


def test_wrong_columns_are_reported_as_everywhere_in_pyterrier(index: Index, topics: Any) -> None:
    with pytest.raises(pt.validate.InputValidationError, match="query"):
        Retriever(index).transform(topics[["qid"]])
    with pytest.raises(pt.validate.InputValidationError, match="docno"):
        Reranker(index).transform(topics)


def test_pyterrier_can_inspect_inputs_and_outputs(index: Index) -> None:
    retriever, reranker = Retriever(index), Reranker(index)
    assert pt.inspect.transformer_inputs(retriever) == [["qid", "query"]]
    assert pt.inspect.transformer_outputs(retriever, ["qid", "query"]) == COLUMNS
    assert pt.inspect.transformer_inputs(reranker) == [["qid", "docno", "query"]]
    assert sorted(pt.inspect.transformer_outputs(reranker, COLUMNS)) == sorted(COLUMNS)
    assert sorted(pt.inspect.transformer_outputs(retriever >> reranker, ["qid", "query"])) == sorted(COLUMNS)


def test_a_cut_off_is_compiled_into_the_retriever(index: Index, topics: Any) -> None:
    retriever = Retriever(index)
    assert retriever.fuse_rank_cutoff(3).k == 3
    assert Retriever(index, k=2).fuse_rank_cutoff(3).k == 2
    compiled, plain = (retriever % 3).compile(), (retriever % 3)
    assert isinstance(compiled, Retriever)
    for qid in topics["qid"]:
        assert ranking(compiled.transform(topics), qid) == ranking(plain.transform(topics), qid)


def test_an_experiment_measures_what_rprs_measures(index: Index, queries: list[Document], topics: Any) -> None:
    rows = [line.split() for line in (SAMPLE / "qrels.txt").read_text(encoding="utf-8").splitlines()]
    qrels = pd.DataFrame([(row[0], row[2], int(row[3])) for row in rows], columns=["qid", "docno", "label"])
    bm25 = Retriever(index, first="bm25", rerank=None)
    systems = {"default": Retriever(index), "bm25": bm25, "rprs": bm25 >> Reranker(index)}
    table = pt.Experiment([*systems.values()], topics, qrels, [AP, nDCG @ 10], names=[*systems])
    measures = parse_measures(["AP", "nDCG@10"])
    for name, system in (("default", System()), ("bm25", System("bm25", None)), ("rprs", System("bm25", "rprs"))):
        run = Searcher(index, system).run(queries)
        expected = evaluate(run, read_qrels(SAMPLE / "qrels.txt"), measures, ties="trec_eval")
        row = table.set_index("name").loc[name]
        assert [row["AP"], row["nDCG@10"]] == pytest.approx([expected.total(measure) for measure in measures])


def test_no_java_is_started(index: Index, topics: Any) -> None:
    (Retriever(index, k=3) >> Reranker(index)).transform(topics)
    assert not pt.java.started()


def test_without_the_package_the_error_has_its_pip_line() -> None:
    program = "import sys; sys.modules['pyterrier'] = None\nimport rprs.pyterrier"
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert process.returncode == 1
    assert "MissingExtra: rprs.pyterrier needs PyTerrier, which is not installed" in process.stderr
    assert "pip install 'rprs[pyterrier]'" in process.stderr


def test_without_an_index_the_texts_of_the_frame_are_reranked(index: Index, topics: Any) -> None:
    """With all documents of the index in the frame, the scores are those of the re-ranker over the index."""
    rows = [
        (qid, query, id, index[id].text)
        for qid, query in zip(topics["qid"], topics["query"], strict=True)
        for id in index
    ]
    frame = pd.DataFrame(rows, columns=["qid", "query", "docno", "text"])
    reranker = Reranker(rerank="rprs(n=3)", encoder="hashed(dimension=64)")
    results, expected = reranker.transform(frame), Reranker(index, "rprs(n=3)").transform(frame)
    for qid in topics["qid"]:
        assert ranking(results, qid) == ranking(expected, qid)
    with pytest.raises(UsageError, match="An index has its own encoder"):
        Reranker(index, encoder="hashed")
