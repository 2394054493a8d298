"""The verbs that search an index and explain a hit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from rprs import Document, Index, Searcher, Writer, read_one
from rprs.alignment.describe import coverage_sentence
from rprs.results.passages import SIGNS, describe_pair
from tests.support.cli import ENCODER, QUERY, TEXTS, rprs_error, rprs_ok, sample_index


@pytest.fixture(scope="module")
def index_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_index(tmp_path_factory.mktemp("cli"))


@pytest.fixture(scope="module")
def index(index_path: Path) -> Iterator[Index]:
    with Index(index_path) as index:
        yield index


@pytest.fixture(scope="module")
def query(index_path: Path) -> Path:
    return index_path.parent / "query.txt"


def ids(outcome_objects: list[Any]) -> list[str]:
    return [hit["id"] for hit in outcome_objects]


# ---------------------------------------------------------------------------- search


def test_several_indexes_are_searched_as_one_and_hits_name_theirs(
    index_path: Path, query: Path, tmp_path: Path
) -> None:
    with Writer(tmp_path / "more.rprs", create=True, encoder=ENCODER) as writer:
        writer.add([Document("annex", QUERY.replace("roof", "cellar"))])
    both = (index_path, query, "--also", tmp_path / "more.rprs")
    hits = rprs_ok("search", *both, "--format", "jsonl").objects
    assert {hit["id"]: hit["collection"] for hit in hits}["annex"] == "more"
    assert {hit["collection"] for hit in hits} == {"more", index_path.name.removesuffix(".rprs")}
    assert "annex  in more" in rprs_ok("search", *both).out
    (source,) = json.loads(rprs_ok("coverage", *both, "-k", "1", "--format", "json").out)["sources"]
    assert (source["id"], source["collection"]) == ("annex", "more")
    assert "annex  in more" in rprs_ok("coverage", *both).out
    passages = rprs_ok("passages", index_path, QUERY, "--also", tmp_path / "more.rprs")  # a text longer than a name
    assert "annex  in more  sentence" in passages.out
    assert "cannot be searched together" in rprs_error("search", index_path, query, "--also", index_path)


def test_several_documents_are_combined_into_one_query(
    index_path: Path, index: Index, query: Path, tmp_path: Path
) -> None:
    annex = tmp_path / "annex.txt"
    annex.write_text("The river flooded the village. The barrier upstream gave way.")
    words = ("search", index_path, query, "--with", annex, "--id", "loan.txt", "--id", "lease.txt", "--format", "jsonl")
    documents = [*map(read_one, (query, annex)), *map(index.document, ("loan.txt", "lease.txt"))]
    expected = Searcher(index).search(documents)
    assert [(hit["id"], hit["score"]) for hit in rprs_ok(*words).objects] == [(hit.id, hit.score) for hit in expected]
    assert not {"loan.txt", "lease.txt"} & {hit.id for hit in expected}
    why = rprs_ok(
        "explain", index_path, query, expected[0].id, "--with", annex, "--id", "loan.txt", "--format", "jsonl"
    ).objects
    explained = Searcher(index).explain(documents[:3], expected[0].id)
    assert why[0]["query"] == "query.txt+annex.txt+loan.txt"
    assert [pair["similarity"] for pair in why[0]["pairs"]] == [pair.similarity for pair in explained.hit.pairs]


def test_search_prints_hits_with_their_evidence(index_path: Path, index: Index, query: Path) -> None:
    outcome = rprs_ok("search", index_path, query, "-k", "3", width=500)
    header, hit, left, right, *_ = outcome.out.splitlines()
    assert header.split() == ["#", "of", "yours", "of", "theirs", "document"]
    assert hit.split()[0] == "1"
    assert hit.endswith("lease.txt")
    (expected, *_) = Searcher(index).search(Document("query.txt", QUERY), 3)
    shares = [round(100 * part.share) for part in (expected.query_coverage, expected.document_coverage) if part]
    assert re.findall(r"(\d+)%", hit) == [str(share) for share in shares]
    pair = expected.pairs[0]
    assert left.startswith(f"     {SIGNS[pair.kind]} {describe_pair(pair)}: ")
    assert right.startswith("     ⇄ ")
    assert " ".join(pair.query.split()) in re.sub(r"\[-|-\]", "", left)
    assert " ".join(pair.document.split()) in re.sub(r"\{\+|\+\}", "", right)


def test_details_are_the_scores_and_the_keyword_rank(index_path: Path, index: Index, query: Path) -> None:
    hit = Searcher(index).search(Document("query.txt", QUERY), 1)[0]
    text = rprs_ok("search", index_path, query, "-k", "1", "--details").out
    assert f"     score {hit.score:.4f} (QP {hit.qp:.3f}, DP {hit.dp:.3f}); keyword rank {hit.first_rank}" in text
    assert "score" not in rprs_ok("search", index_path, query, "-k", "1").out


def test_duplicates_are_listed_beneath_their_hit(tmp_path: Path, query: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    for name in ("lease.txt", "copy of lease.txt"):
        (sources / name).write_text(TEXTS["lease.txt"])
    (sources / "loan.txt").write_text(TEXTS["loan.txt"])
    path = tmp_path / "twins.rprs"
    rprs_ok("index", sources, "--to", path, "--encoder", ENCODER)
    hits = rprs_ok("search", path, query, "--format", "jsonl").objects
    first = hits[0]
    (twin,) = first["duplicates"]
    assert {first["id"], twin["id"]} == {"lease.txt", "copy of lease.txt"}
    assert (twin["relation"], twin["score"], twin["rank"]) == ("identical", first["score"], 2)
    assert f"     also {twin['id']} (identical text)" in rprs_ok("search", path, query).out
    apart = rprs_ok("search", path, query, "--no-grouping", "--format", "jsonl").objects
    assert ids(apart)[:2] == [first["id"], twin["id"]]
    assert not apart[0]["duplicates"]
    assert "grouping=none" in rprs_ok("search", path, query, "--no-grouping", "--format", "csv").out
    assert "boilerplate=left out" in rprs_ok("search", path, query, "--no-boilerplate", "--format", "csv").out


def test_search_prints_the_system_and_the_seconds_of_each_stage(index_path: Path, query: Path) -> None:
    messages = rprs_ok(
        "search", index_path, query, "--first", "bm25(k1=2.8,b=1)", "--rerank", "rprs(n=3)", "--depth", "5"
    ).err
    first, second = messages.splitlines()
    assert first == "Top 5 of 12 documents · your document: 6 sentences"
    assert second.startswith("bm25 → rprs(n=3): 5 candidates; ")
    assert all(stage in messages for stage in ("sentences", "first stage", "candidates", "re-ranking", "evidence"))


@pytest.mark.parametrize("width", [40, 79, 250])
def test_no_line_of_the_table_is_wider_than_the_terminal(index_path: Path, query: Path, width: int) -> None:
    lines = rprs_ok("search", index_path, query, width=width).out.splitlines()
    assert max(cell_len(line) for line in lines) <= width
    assert any(line.endswith("…") for line in lines) == (width < 250)


def test_search_as_jsonl_has_everything(index_path: Path, index: Index, query: Path) -> None:
    hits = rprs_ok("search", index_path, query, "-k", "12", "--format", "jsonl").objects
    results = Searcher(index).search(Document("query.txt", QUERY), 12)
    assert ids(hits) == [hit.id for hit in results]
    for record, hit in zip(hits, results, strict=True):
        assert (record["rank"], record["score"], record["qp"], record["dp"]) == (hit.rank, hit.score, hit.qp, hit.dp)
        assert (record["first_rank"], record["first_score"]) == (hit.first_rank, hit.first_score)
        assert (record["title"], record["metadata"]) == (hit.title, hit.metadata)
        assert len(record["pairs"]) == len(hit.pairs)
    for pair in hits[0]["pairs"]:
        assert QUERY[slice(*pair["query_span"])] == pair["query"]
        assert TEXTS["lease.txt"][slice(*pair["document_span"])] == pair["document"]


def test_search_as_a_run(index_path: Path, query: Path) -> None:
    lines = [
        line.split() for line in rprs_ok("search", index_path, query, "-k", "4", "--format", "trec").out.splitlines()
    ]
    hits = rprs_ok("search", index_path, query, "-k", "4", "--format", "jsonl").objects
    assert [line[2] for line in lines] == ids(hits)
    assert [float(line[4]) for line in lines] == [hit["score"] for hit in hits]
    assert {(line[0], line[1], line[5]) for line in lines} == {("query.txt", "Q0", "default")}
    for system, tag in (("--first bm25 --rerank rprs", "paper"), ("--first bm25 --rerank rprs(n=2)", "rprs(n=2)")):
        run = rprs_ok("search", index_path, query, *system.split(), "--format", "trec").out.splitlines()
        assert {line.split()[5] for line in run} == {tag}


def test_the_query_can_be_standard_input(index_path: Path, query: Path) -> None:
    from_stdin = rprs_ok("search", index_path, "-", "--format", "jsonl", stdin=QUERY.encode()).objects
    from_file = rprs_ok("search", index_path, query, "--format", "jsonl").objects
    assert ids(from_stdin) == ids(from_file)
    latin = rprs_ok(
        "search", index_path, "-", "--format", "jsonl", stdin="Der Mieter zahlt für das Dach. Rent.".encode("latin-1")
    )
    assert latin.objects[0]["query"] == "stdin"


def test_a_document_of_the_index_as_the_query_is_left_out_unless_keep_self(index_path: Path) -> None:
    without = ids(rprs_ok("search", index_path, "--id", "lease.txt", "--format", "jsonl").objects)
    with_itself = ids(rprs_ok("search", index_path, "--id", "lease.txt", "--format", "jsonl", "--keep-self").objects)
    assert "lease.txt" not in without
    assert with_itself[0] == "lease.txt"


def test_another_text_with_the_id_of_the_query_is_left_out_with_a_message(index_path: Path, tmp_path: Path) -> None:
    other = tmp_path / "lease.txt"
    other.write_text("The rent is due. The roof leaks, and the deposit is gone.")
    outcome = rprs_ok("search", index_path, other)
    assert "'lease.txt' of the index is left out because it has the id of the query: see --keep-self" in outcome.err
    assert "left out" not in rprs_ok("search", index_path, other, "--keep-self").err
    assert "left out" not in rprs_ok("search", index_path, "--id", "lease.txt").err


def test_where_restricts_the_hits(index_path: Path, query: Path) -> None:
    hits = rprs_ok(
        "search", index_path, query, "--where", "court = harbour and date < 2000-01-01", "--format", "jsonl"
    ).objects
    assert ids(hits) == ["moss-v-reed"]
    outcome = rprs_ok("search", index_path, query, "--where", "court = nowhere")
    assert outcome.out == ""
    assert "No similar document passes the filters: relax them" in outcome.err
    nothing = rprs_ok("search", index_path, "--text", "Zyzzyva quokka.")
    assert (nothing.out, nothing.err.splitlines()[0]) == ("", "No document here shares any words with yours.")


FINCH = "finch-v-crane"


def test_a_date_limit_leaves_out_newer_documents(index_path: Path, index: Index) -> None:
    words = ("search", index_path, "--id", FINCH, "--before", "date", "--format", "jsonl")
    outcome = rprs_ok(*words)
    dates = [hit["metadata"].get("date", "") for hit in outcome.objects]
    assert ids(outcome.objects) == [hit.id for hit in Searcher(index).search(index.document(FINCH), before="date")]
    assert max(dates) <= "2011-09-14" < max(str(index.document(id).metadata.get("date", "")) for id in index)
    assert "Date limit: nothing newer than 2011-09-14; 3 documents left out" in outcome.err
    assert "Date limit: 4 documents without a date kept" in outcome.err
    given = rprs_ok("search", index_path, "--id", FINCH, "--before", "2011-09-14", "--format", "jsonl")
    assert given.objects == outcome.objects
    exported = rprs_ok(*words[:-1], "csv", "--undated", "drop").out
    assert "date=2011-09-14" in exported
    assert "; undated=drop" in exported
    explained = rprs_ok("explain", index_path, "--id", FINCH, "loan.txt", "--before", "date").err
    assert "Date limit: nothing newer than 2011-09-14" in explained


def test_an_error_of_a_date_limit_is_one_line(index_path: Path) -> None:
    text = ("search", index_path, "--text", "The rent.")
    assert "has no 'date'; give a date instead" in rprs_error(*text, "--before", "date")
    assert "no document has a date in 'filed'; fields with dates: date" in rprs_error(*text, "--before", "filed=2015")
    assert "The date limit '2015-13' is wrong" in rprs_error(*text, "--before", "2015-13")
    assert "'drop' needs 'before'" in rprs_error(*text, "--undated", "drop")


def test_without_a_reranker_the_order_is_that_of_the_first_stage(index_path: Path, query: Path) -> None:
    outcome = rprs_ok("search", index_path, query, "--rerank", "none", "-k", "2")
    assert outcome.out.splitlines()[0].split() == ["#", "of", "yours", "of", "theirs", "document"]
    (hit,) = rprs_ok("search", index_path, query, "--rerank", "none", "-k", "1", "--format", "jsonl").objects
    assert (hit["qp"], hit["dp"]) == (None, None)
    assert hit["pairs"]
    assert hit["score"] == hit["first_score"]


def test_an_error_of_a_search_is_one_line(index_path: Path, query: Path, tmp_path: Path) -> None:
    def error(*words: object, stdin: bytes = b"") -> str:
        return rprs_error("search", index_path, *words, stdin=stdin)

    blank = tmp_path / "blank.txt"
    blank.write_text("  \n ")
    assert error(tmp_path / "none.txt") == f"{tmp_path / 'none.txt'}: no such file or folder"
    assert "name the file of the query document" in error(tmp_path)
    assert "contains no text" in error(blank)
    assert "more than one document" in error(index_path.parent / "sources/cases.jsonl")
    assert error("-", stdin=b" \n") == "The query 'stdin' has no sentences: there is nothing to compare"
    assert error("--id", "nobody") == f"There is no document 'nobody' in {index_path}"
    assert error().startswith("Give a query")
    assert "did you mean 'rprs'" in error(query, "--rerank", "rpr")
    assert "has no parameter 'm'" in error(query, "--rerank", "rprs(m=4)")
    assert "must be an integer in [1, inf)" in error(query, "--rerank", "rprs(n=0)")
    assert "must be a number in [0, 1]" in error(query, "--first", "bm25(b=2)")
    assert "needs word n-grams" in error(query, "--first", "bm25(ngrams=2)")
    assert "The depth of re-ranking" in error(query, "--depth", "0")
    assert "The filter 'date <' is wrong" in error(query, "--where", "date <")


def test_an_id_with_a_space_cannot_be_in_a_run(index_path: Path, tmp_path: Path) -> None:
    spaced = tmp_path / "my brief.txt"
    spaced.write_text(QUERY)
    assert "cannot be written to a run file" in rprs_error("search", index_path, spaced, "--format", "trec")


def test_search_as_json_is_one_array(index_path: Path, query: Path) -> None:
    hits = json.loads(rprs_ok("search", index_path, query, "-k", 3, "--format", "json").out)
    assert hits == rprs_ok("search", index_path, query, "-k", 3, "--format", "jsonl").objects
    assert len(hits) == 3
    assert json.loads(rprs_ok("search", index_path, query, "--where", "court = nowhere", "--format", "json").out) == []


def test_the_query_can_be_a_text(index_path: Path, query: Path, index: Index) -> None:
    hits = rprs_ok("search", index_path, "--text", QUERY, "--format", "jsonl").objects
    assert [(hit["id"], hit["score"]) for hit in hits] == [
        (hit["id"], hit["score"]) for hit in rprs_ok("search", index_path, query, "--format", "jsonl").objects
    ]
    both = rprs_ok("search", index_path, "--text", QUERY, "--id", "loan.txt", "--format", "jsonl").objects
    expected = Searcher(index).search([QUERY, index.document("loan.txt")])
    assert [(hit["id"], hit["score"]) for hit in both] == [(hit.id, hit.score) for hit in expected]
    assert "has no sentences" in rprs_error("search", index_path, "--text", " ")


def test_an_excluded_document_is_not_a_hit(index_path: Path, query: Path, tmp_path: Path) -> None:
    table = tmp_path / "exclude.tsv"
    table.write_text("query-id\tcorpus-id\nquery.txt\tlease.txt\nother.txt\tsublease.txt\n")
    everything = ids(rprs_ok("search", index_path, query, "-k", 12, "--format", "jsonl").objects)
    without = ids(rprs_ok("search", index_path, query, "-k", 12, "--exclude", table, "--format", "jsonl").objects)
    assert "lease.txt" in everything
    assert set(everything) - set(without) == {"lease.txt"}
    (why,) = rprs_ok("explain", index_path, query, "lease.txt", "--exclude", table, "--format", "jsonl").objects
    assert not why["in_pool"]
    assert rprs_ok("explain", index_path, query, "lease.txt", "--format", "jsonl").objects[0]["in_pool"]


def test_the_exclusions_beside_a_query_in_a_beir_folder_apply(index_path: Path, tmp_path: Path) -> None:
    (tmp_path / "query.txt").write_text(QUERY)
    (tmp_path / "exclude.tsv").write_text("query-id\tcorpus-id\nquery.txt\tlease.txt\n")
    words = ("search", index_path, tmp_path / "query.txt", "-k", 12, "--format", "jsonl")
    assert "lease.txt" in ids(rprs_ok(*words).objects)  # not a BEIR folder yet
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "text": "Never read."}\n')
    assert "lease.txt" not in ids(rprs_ok(*words).objects)
    (tmp_path / "none.tsv").write_text("query-id\tcorpus-id\n")
    assert "lease.txt" in ids(rprs_ok(*words, "--exclude", tmp_path / "none.tsv").objects)


def test_the_index_in_the_wrong_place_is_recognised(index_path: Path, query: Path) -> None:
    assert rprs_error("search", query, index_path).endswith(f"is not. Run: rprs search {index_path} {query}")
    assert rprs_error("explain", query, index_path, "lease.txt").endswith(
        f"Run: rprs explain {index_path} {query} lease.txt"
    )
    assert rprs_error("explain", query, "lease.txt", index_path).endswith(
        f"Run: rprs explain {index_path} {query} lease.txt"
    )
    assert "There is no index at" in rprs_error("search", query, query)


# ---------------------------------------------------------------------------- explain


def test_the_document_before_the_query_is_recognised(index_path: Path, query: Path) -> None:
    line = rprs_error("explain", index_path, "lease.txt", query)
    assert line == (
        f"The query comes before the document: {query} is a file and 'lease.txt' is a document of the index. "
        f"Run: rprs explain {index_path} {query} lease.txt"
    )


def test_explain_accepts_the_path_of_a_document(index_path: Path, query: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy of a lease.txt"
    copy.write_text(TEXTS["lease.txt"])
    expected = rprs_ok("explain", index_path, query, "lease.txt", "--format", "json").out
    for path in (index_path.parent / "sources/lease.txt", "cases/lease.txt", copy):
        assert rprs_ok("explain", index_path, query, path, "--format", "json").out == expected
    assert "Did you mean 'lease.txt'" in rprs_error("explain", index_path, query, "leese.txt")


def test_explain_as_json_is_one_object(index_path: Path, query: Path) -> None:
    (line,) = rprs_ok("explain", index_path, query, "lease.txt", "--format", "jsonl").objects
    assert json.loads(rprs_ok("explain", index_path, query, "lease.txt", "--format", "json").out) == line


def test_explain_for_a_text_as_the_query(index_path: Path, query: Path) -> None:
    (from_text,) = rprs_ok("explain", index_path, "--text", QUERY, "lease.txt", "--format", "jsonl").objects
    (from_file,) = rprs_ok("explain", index_path, query, "lease.txt", "--format", "jsonl").objects
    assert from_text["pairs"] == from_file["pairs"]
    assert from_text["query"].startswith("text-")


def test_explain_prints_matches_side_by_side_and_what_has_no_counterpart(
    index_path: Path, index: Index, query: Path
) -> None:
    system = ("--first", "bm25", "--rerank", "rprs(n=2)")
    outcome = rprs_ok("explain", index_path, query, "lease.txt", *system, width=160)
    text = outcome.out
    alignment = Searcher(index).align(Document("query.txt", QUERY), "lease.txt")
    title, yours, theirs, *_ = text.splitlines()
    assert title == "query.txt  ⇄  lease.txt"
    assert yours == f"{coverage_sentence(alignment.query_coverage, 'query')}."
    assert theirs == f"{coverage_sentence(alignment.document_coverage, 'document')}."
    assert "purple dragon" in text.partition("Without a counterpart: ")[2]
    *_, caution, details = text.splitlines()
    assert caution == "Scores help you prioritise; they are not legal conclusions."
    assert re.fullmatch(r"Technical details: rank 1; score 0\.\d+ \(QP 0\.\d+, DP 0\.\d+\); keyword rank 1", details)
    assert "bm25 → rprs(n=2) in " in outcome.err


def test_explain_as_jsonl_has_everything(index_path: Path, index: Index, query: Path) -> None:
    (record,) = rprs_ok("explain", index_path, query, "lease.txt", "--format", "jsonl").objects
    explained = Searcher(index).explain(Document("query.txt", QUERY), "lease.txt")
    assert (record["id"], record["query"], record["in_pool"]) == ("lease.txt", "query.txt", True)
    assert (record["score"], record["qp"], record["dp"]) == (explained.hit.score, explained.hit.qp, explained.hit.dp)
    assert len(record["pairs"]) == len(explained.hit.pairs)
    assert (record["query_sentences"], record["sentences"]) == (6, 5)
    assert record["query_coverage"]["share"] == explained.alignment.query_coverage.share
    assert [tuple(part["span"]) for part in record["uncovered"]] == [*explained.uncovered]
    assert all(QUERY[slice(*part["span"])] == part["text"] for part in record["uncovered"])
    assert {*record["without_boilerplate"]} == {"query_coverage", "document_coverage"}


def test_explain_for_a_document_of_the_index_as_the_query(index_path: Path) -> None:
    text = rprs_ok("explain", index_path, "sublease.txt", "--id", "heron-v-otter").out
    assert text.startswith("heron-v-otter  Heron v. Otter  ⇄  sublease.txt\n")


def test_kinds_of_match_and_boilerplate_can_be_left_out(index_path: Path, index: Index, tmp_path: Path) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_text(f"{TEXTS['lease.txt'].splitlines()[1]}\n{QUERY}")
    words = ("explain", index_path, copy, "lease.txt", "--format", "jsonl")
    (everything,), (same,) = rprs_ok(*words).objects, rprs_ok(*words, "--kind", "identical").objects
    assert {pair["kind"] for pair in everything["pairs"]} > {"identical"}
    assert same["pairs"] == [pair for pair in everything["pairs"] if pair["kind"] == "identical"]
    assert (same["score"], same["query_coverage"]) == (everything["score"], everything["query_coverage"])
    others = rprs_ok(*words, "--kind", "reworded", "--kind", "same-idea").objects[0]["pairs"]
    assert others == [pair for pair in everything["pairs"] if pair["kind"] != "identical"]
    (bare,) = rprs_ok(*words, "--no-boilerplate").objects
    expected = Searcher(index).explain(read_one(copy), "lease.txt", boilerplate=False)
    assert len(bare["pairs"]) == len(expected.hit.pairs)
    assert bare["query_coverage"] == everything["without_boilerplate"]["query_coverage"]


def test_a_document_outside_the_candidates_is_explained_all_the_same(index_path: Path, query: Path) -> None:
    words = ("explain", index_path, query, "patent-copy", "--depth", "2")
    assert "not among the candidates of the search; added to them" in rprs_ok(*words).out
    (record,) = rprs_ok(*words, "--format", "jsonl").objects
    assert (record["in_pool"], record["first_score"]) == (False, None)


def test_an_error_of_an_explanation_is_one_line(index_path: Path, query: Path) -> None:
    assert rprs_error("explain", index_path, query, "nobody") == f"There is no document 'nobody' in {index_path}"
    assert "the id of one document" in rprs_error("explain", index_path, query)
    assert "--kind" in rprs_error("explain", index_path, query, "lease.txt", "--kind", "similar")


def test_explain_works_without_a_reranker(index_path: Path, query: Path) -> None:
    words = ("explain", index_path, query, "lease.txt", "--format", "jsonl")
    (plain,), (usual,) = rprs_ok(*words, "--rerank", "none").objects, rprs_ok(*words).objects
    assert plain["pairs"] == usual["pairs"]
    assert (plain["qp"], plain["score"]) == (None, plain["first_score"])
