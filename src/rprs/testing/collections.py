"""The contract of a collection, for the built-in ones and for a plug-in's tests.

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
    """Check a collection that has something of everything; return its documents.

    It is a component whose text form parses back. Documents and queries come in the same order each time, each id once
    and without white space, so that runs and judgements can name it; a title stands at the beginning of its text.
    Some judgement is of a document that is there, no excluded document is judged relevant, and written as a BEIR folder
    into the empty folder `workspace` all of it reads the same.
    """
    _require(dataclasses.is_dataclass(collection), "a collection is a frozen dataclass")
    _require(parse("collection", str(collection)) == collection, f"{collection} does not parse back")
    documents, queries = _read(collection.documents), _read(collection.queries)
    _check_judgements(collection, {document.id for document in documents}, {query.id for query in queries})
    files = list(collection.files())
    _require(files == list(collection.files()), "two lists of its files differ")
    _require(len(set(files)) == len(files), "a file is listed twice")
    _require(all(path.is_file() for path in files), "a file that it lists is not there")
    _check_round_trip(collection, workspace / "written", documents, queries)
    return documents


def _read(source: Any) -> list[Document]:
    """The documents of two readings, which must be the same."""
    reported: list[Skipped] = []
    found: list[Document] = list(source(reported.append))
    again: list[Document] = list(source())
    _require(found == again, "two readings differ")
    _require(len(found) > 0, "there are no documents or no queries")
    _require(all("\n" not in str(skipped) for skipped in reported), "what is skipped is not said in one line")
    _require(len({document.id for document in found}) == len(found), "two documents have the same id")
    for document in found:
        _require(document.id.split() == [document.id], f"white space in the id {document.id!r}")
        _require(bool(document.text.strip()), f"{document.id}: the text is empty")
        _require(clean(document.text) == document.text, f"{document.id}: the text is not clean")
        _require(document.text.lstrip().startswith(document.title), f"{document.id}: the title is not before the text")
    return found


def _check_judgements(collection: Collection, documents: set[str], queries: set[str]) -> None:
    qrels, excluded = collection.qrels(), collection.excluded()
    _require(qrels == collection.qrels(), "two readings of the judgements differ")
    grades = [(query, id, grade) for query, judged in qrels.items() for id, grade in judged.items()]
    _require(any(id in documents for _, id, _ in grades), "no judged document is there")
    _require(any(query in queries for query in qrels), "no judged query is there")
    _require(all(type(grade) is int for _, _, grade in grades), "a grade is not an integer")
    for query, id, grade in grades:
        _require(grade <= 0 or id not in excluded.get(query, ()), f"{id} is relevant to {query}, and excluded")


def _check_round_trip(collection: Collection, to: Path, documents: list[Document], queries: list[Document]) -> None:
    written = write_beir(collection, to, split="checked")
    again = Beir(str(to), split="checked")
    _require(_texts(list(again.documents())) == _texts(documents), "documents differ once written and read")
    _require(_texts(list(again.queries())) == _texts(queries), "queries differ once written and read")
    _require(again.qrels() == {query: judged for query, judged in collection.qrels().items() if judged}, "so do grades")
    asked = {query.id for query in queries}
    kept = {query: ids for query, ids in collection.excluded().items() if query in asked and ids}
    _require(dict(again.excluded()) == kept, "excluded pairs differ once written and read")
    _require((written.documents, written.queries) == (len(documents), len(queries)), f"miscounted: {written}")


def _texts(documents: list[Document]) -> list[tuple[str, str, str]]:
    return [(document.id, document.title, document.text) for document in documents]


def _require(good: bool, otherwise: str) -> None:
    if not good:
        raise AssertionError(otherwise)
