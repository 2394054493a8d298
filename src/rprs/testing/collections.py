"""Contract suite for collections, for the built-in ones and for the tests of plug-ins.

from rprs.testing.collections import check_collection

def test_my_collection(tmp_path: Path) -> None:
    check_collection(Mine("samples"), tmp_path)
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from rprs.collection import write_beir
from rprs.collection.beir import Beir
from rprs.collection.source import Collection
from rprs.document import Document
from rprs.read import Skipped
from rprs.read.encoding import clean
from rprs.spec import parse

__all__ = ["check_collection"]


def check_collection(collection: Any, workspace: Path) -> list[Document]:
    """Check a collection that has documents, queries and judgements; return its documents.

    It is a component whose text form parses back. Documents and queries always come in the same order, each id once
    and without white space, as runs and judgements require; a text begins with its title. At least one judged document
    and query exist, no excluded document is relevant, and the collection reads the same after it has been written as a
    BEIR folder into the empty folder `workspace`.
    """
    _require(dataclasses.is_dataclass(collection), "a collection must be a frozen dataclass")
    _require(parse("collection", str(collection)) == collection, f"{collection} does not parse back")
    documents, queries = _read(collection.documents), _read(collection.queries)
    _check_judgements(collection, {document.id for document in documents}, {query.id for query in queries})
    files = list(collection.files())
    _require(files == list(collection.files()), "two lists of its files differ")
    _require(len(set(files)) == len(files), "a file is listed twice")
    _require(all(path.is_file() for path in files), "a listed file does not exist")
    _check_round_trip(collection, workspace / "written", documents, queries)
    return documents


def _read(source: Any) -> list[Document]:
    """The documents, which must be the same when read twice."""
    reported: list[Skipped] = []
    documents: list[Document] = list(source(reported.append))
    again: list[Document] = list(source())
    _require(documents == again, "two readings differ")
    _require(len(documents) > 0, "there are no documents or no queries")
    _require(all("\n" not in str(skipped) for skipped in reported), "a skipped item is not reported in one line")
    _require(len({document.id for document in documents}) == len(documents), "two documents have the same id")
    for document in documents:
        _require(document.id.split() == [document.id], f"white space in the id {document.id!r}")
        _require(bool(document.text.strip()), f"{document.id}: the text is empty")
        _require(clean(document.text) == document.text, f"{document.id}: the text is not clean")
        _require(
            document.text.lstrip().startswith(document.title), f"{document.id}: the text does not begin with the title"
        )
    return documents


def _check_judgements(collection: Collection, documents: set[str], queries: set[str]) -> None:
    qrels, excluded = collection.qrels(), collection.excluded()
    _require(qrels == collection.qrels(), "two readings of the judgements differ")
    grades = [(query, id, grade) for query, judged in qrels.items() for id, grade in judged.items()]
    _require(any(id in documents for _, id, _ in grades), "no judged document is in the collection")
    _require(any(query in queries for query in qrels), "no judged query is in the collection")
    _require(all(type(grade) is int for _, _, grade in grades), "a grade is not an integer")
    for query, id, grade in grades:
        _require(grade <= 0 or id not in excluded.get(query, ()), f"{id} is relevant to {query}, and excluded")


def _check_round_trip(collection: Collection, to: Path, documents: list[Document], queries: list[Document]) -> None:
    written = write_beir(collection, to, split="checked")
    again = Beir(str(to), split="checked")
    _require(_texts(list(again.documents())) == _texts(documents), "documents differ after writing and reading")
    _require(_texts(list(again.queries())) == _texts(queries), "queries differ after writing and reading")
    _require(
        again.qrels() == {query: judged for query, judged in collection.qrels().items() if judged},
        "grades differ after writing and reading",
    )
    query_ids = {query.id for query in queries}
    exclusions = {query: ids for query, ids in collection.excluded().items() if query in query_ids and ids}
    _require(dict(again.excluded()) == exclusions, "exclusions differ after writing and reading")
    _require((written.documents, written.queries) == (len(documents), len(queries)), f"wrong counts: {written}")


def _texts(documents: list[Document]) -> list[tuple[str, str, str]]:
    return [(document.id, document.title, document.text) for document in documents]


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise AssertionError(problem)
