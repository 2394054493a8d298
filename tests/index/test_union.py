"""Several indexes as one: every figure equals that of a real index of all documents."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import docx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rprs import Document, Index, Searcher, Writer
from rprs.charts.csv_chart import write as write_chart
from rprs.charts.serialize import chart_from, chart_object
from rprs.charts.word import write as write_word
from rprs.errors import IndexMismatch
from rprs.index.union import UnionIndex, why_not_together
from rprs.passages.export import columns as passage_columns
from rprs.passages.export import hit_object as hit_object_of_passage
from rprs.passages.export import passages_from, passages_object
from rprs.results.csv_table import columns
from rprs.results.hits import Hit
from rprs.results.serialize import hit_from, hit_object
from tests.support.cli import ENCODER, QUERY, RECORDS, TEXTS
from tests.support.indexes import MEMORY

KEYS = ("date", "court")
DOCUMENTS = [
    *(Document(id, text) for id, text in TEXTS.items()),
    *(
        Document(record["id"], record["text"], record["title"], {key: record[key] for key in KEYS if key in record})
        for record in RECORDS
    ),
    Document("copy-of-lease", TEXTS["lease.txt"]),
    Document("removed", "The purple dragon guards seven golden spoons beneath the roof of the house."),
]


@contextmanager
def indexes(*parts: Sequence[Document], **options: str) -> Iterator[list[Index]]:
    """An index of each part; the document `removed` was removed from the one that had it."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, ExitStack() as stack:
        opened = []
        for number, documents in enumerate(parts):
            path = Path(folder) / f"part-{number}.rprs"
            with Writer(path, create=True, **{"encoder": ENCODER, **options}) as writer:  # type: ignore[arg-type]
                writer.add(documents[: len(documents) // 2])
                writer.add(documents[len(documents) // 2 :])
                writer.remove([document.id for document in documents if document.id == "removed"])
            opened.append(stack.enter_context(Index(path)))
        yield opened


def same(union: Index, one: Index, query: Document) -> None:
    """All results of two indexes are equal, to the last bit."""
    assert union.ids == one.ids
    assert union.fingerprint == one.fingerprint
    assert np.array_equal(union.squared_norms, one.squared_norms)
    assert np.array_equal(union.lengths, one.lengths)
    assert union.calibration.bars == one.calibration.bars
    for system in ("default", "paper", "bm25"):
        left, right = (Searcher(index, system).rank(query) for index in (union, one))
        assert left.ids == right.ids
        assert np.array_equal(left.scores, right.scores)
    hits = [Searcher(index).search(query, 20) for index in (union, one)]
    assert without_names(hits[0]) == hits[1].hits
    assert [hit.collection for hit in hits[0]] == [union.collection_of(hit.id) for hit in hits[0]]
    assert not any(hit.collection for hit in hits[1])


def without_names(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Hits without the names of their collections, which one index does not have."""
    return tuple(
        replace(hit, collection="", duplicates=tuple(replace(each, collection="") for each in hit.duplicates))
        for hit in hits
    )


def test_a_union_gives_what_one_index_of_all_documents_gives() -> None:
    with indexes(DOCUMENTS[::2], DOCUMENTS[1::2], DOCUMENTS) as (first, second, one):
        union = UnionIndex([first, second])
        for query in (Document("query", QUERY), one["lease.txt"]):
            same(union, one, query)
        assert [union[id] for id in union] == [one[id] for id in one]
        assert union.content_hashes(["loan.txt", "lease.txt"]) == one.content_hashes(["loan.txt", "lease.txt"])
        assert [union.ids[n] for n in union.same_content(one["lease.txt"])] == ["copy-of-lease", "lease.txt"]
        for where in ("court = harbour", "date < 2005-01-01", "nothing = 1"):
            assert np.array_equal(union.select(where), one.select(where))
        searches = [Searcher(index).search(QUERY_DOCUMENT, 20, before="2005-01-01") for index in (union, one)]
        assert without_names(searches[0]) == searches[1].hits
        assert union.find("reed")[0] == one.find("reed")[0]
        assert [(f.name, f.kind, f.documents, f.least, f.greatest, f.values) for f in union.fields] == [
            (f.name, f.kind, f.documents, f.least, f.greatest, f.values) for f in one.fields
        ]
        left, right = (Searcher(index).explain(QUERY_DOCUMENT, "lease.txt") for index in (union, one))
        assert without_names([left.hit]) == (right.hit,)


QUERY_DOCUMENT = Document("query", QUERY)


def test_hits_and_their_duplicates_name_their_collections() -> None:
    with indexes(DOCUMENTS[::2], DOCUMENTS[1::2], DOCUMENTS) as (first, second, one):
        union = UnionIndex([first, second])
        hits = Searcher(union).search(QUERY_DOCUMENT, 20)
        duplicates = [each for hit in hits for each in hit.duplicates]
        assert duplicates
        for each in (*hits, *duplicates):
            assert each.collection == ("part-0" if each.id in first else "part-1")
        assert [hit_from(hit_object(hit, "query")) for hit in hits] == [*hits]
        assert columns(hits)["collection"] == [hit.collection for hit in hits]
        alone = Searcher(one).search(QUERY_DOCUMENT, 20)
        assert "collection" not in columns(alone)
        assert "collection" not in hit_object(alone[0], "query")


def test_passages_and_sources_of_a_chart_name_their_collections() -> None:
    sentence = TEXTS["lease.txt"].split(". ")[0]
    with indexes(DOCUMENTS[::2], DOCUMENTS[1::2], DOCUMENTS) as (first, second, one):
        searcher, alone = Searcher(UnionIndex([first, second])), Searcher(one)
        collections = {id: part for part, index in (("part-0", first), ("part-1", second)) for id in index}
        passages = searcher.passages(sentence)
        chart = searcher.coverage(QUERY_DOCUMENT)
        for listed in (passages, chart.sources):
            assert {each.collection for each in listed} == {"part-0", "part-1"}
            assert all(each.collection == collections[each.id] for each in listed)
        assert passages_from(passages_object(passages)) == passages
        assert chart_from(chart_object(chart), chart.query) == chart
        assert passage_columns(passages)["collection"] == [hit.collection for hit in passages]
        rows = csv.DictReader(io.StringIO(write_chart(chart)))
        assert all(row["source_collection"] == collections.get(row["source"], "") for row in rows)
        other = chart.sources[chart.rows[0].covers[1].source]
        assert f"{other.id} in {other.collection} (" in write_chart(chart)
        source = chart.sources[0]
        words = [cell.text for table in docx.Document(io.BytesIO(write_word(chart))).tables for cell in table._cells]
        assert f"{source.id}, in {source.collection}" in "\n".join(words)
        without = [replace(hit, collection="") for hit in passages]
        assert [*alone.passages(sentence)] == without
        assert "collection" not in passage_columns(without)
        assert "collection" not in json.dumps([hit_object_of_passage(hit) for hit in without])
        single = alone.coverage(QUERY_DOCUMENT)
        assert single.sources == tuple(replace(each, collection="") for each in chart.sources)
        assert "collection" not in json.dumps(chart_object(single)) + write_chart(single)


@settings(max_examples=6)
@given(st.lists(st.integers(0, 2), min_size=len(DOCUMENTS), max_size=len(DOCUMENTS)))
def test_however_documents_are_distributed(places: list[int]) -> None:
    parts = [[each for each, place in zip(DOCUMENTS, places, strict=True) if place == part] for part in range(3)]
    filled = [part for part in parts if any(each.id != "removed" for each in part)]
    with indexes(*filled, DOCUMENTS) as opened:
        same(UnionIndex(opened[:-1]), opened[-1], QUERY_DOCUMENT)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"encoder": "hashed(dimension=32)"}, "part-0.rprs and part-1.rprs have different encoders"),
        ({"analyzer": "words(language=none)"}, "analyse words differently"),
        ({"splitter": "sentences(limit=25)"}, "split sentences differently"),
        ({"vectors": "float32"}, "store vectors differently: float16 and float32"),
    ],
)
def test_what_cannot_be_exact_is_refused_with_the_reason(options: dict[str, str], reason: str) -> None:
    with indexes(DOCUMENTS[:3]) as (first,), indexes(DOCUMENTS[:1], DOCUMENTS[3:5], **options) as (_, second):
        assert reason in (why_not_together([first, second]) or "")
        with pytest.raises(IndexMismatch, match="cannot be searched together") as error:
            UnionIndex([first, second])
        assert "\n" not in str(error.value)


def test_documents_with_the_same_id_are_refused() -> None:
    with indexes(DOCUMENTS[:3], DOCUMENTS[2:5]) as opened:
        assert why_not_together(opened) == (
            "part-0.rprs and part-1.rprs have documents with the same ids (1, such as 'licence.txt')"
        )
        assert why_not_together(opened[:1]) is None
