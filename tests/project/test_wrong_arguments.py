"""A wrong argument of a public function is one line, an `RprsError`: never a raw AttributeError or TypeError."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rprs

WRONG: list[Any] = [5, None, 2.5, b"x", object(), ["x"], {"a": 1}, True, ""]
INDEX = rprs.Index.in_memory(
    {"a": "The cat sat on the mat. It was warm.", "b": "Ships sail the sea. Storms come."}, encoder="hashed"
)
SEARCHER = rprs.Searcher(INDEX)
QUERY, QRELS = {"q": "The cat sat."}, {"q": {"a": 1}}
TEXT: Any = "high"
FRACTION: Any = 2.5
NUMBER: Any = 5
SMALL: Any = {"grid": {"n": [1], "k1": [0], "b": [0]}}

CALLS: dict[str, Callable[[Any], object]] = {
    "Searcher": lambda x: rprs.Searcher(x),
    "Searcher, system": lambda x: rprs.Searcher(INDEX, x),
    "Searcher, first": lambda x: rprs.Searcher(INDEX, first=x),
    "Searcher, progress": lambda x: rprs.Searcher(INDEX, progress=x),
    "search": lambda x: SEARCHER.search(x),
    "search, k": lambda x: SEARCHER.search("cat", x),
    "search, where": lambda x: SEARCHER.search("cat", where=x),
    "search, exclude": lambda x: SEARCHER.search("cat", exclude=x),
    "search, before": lambda x: SEARCHER.search("cat", before=x),
    "search, undated": lambda x: SEARCHER.search("cat", before="2015", undated=x),
    "search, pairs": lambda x: SEARCHER.search("cat", pairs=x),
    "passages": lambda x: SEARCHER.passages(x),
    "passages, k": lambda x: SEARCHER.passages("cat", x),
    "passages, kinds": lambda x: SEARCHER.passages("cat", kinds=x),
    "passages, context": lambda x: SEARCHER.passages("cat", context=x),
    "passages, exclude": lambda x: SEARCHER.passages("cat", exclude=x),
    "rank": lambda x: SEARCHER.rank(x),
    "explain": lambda x: SEARCHER.explain("cat", x),
    "coverage": lambda x: SEARCHER.coverage(x),
    "coverage, ids": lambda x: SEARCHER.coverage("cat", x),
    "coverage, k": lambda x: SEARCHER.coverage("cat", k=x),
    "coverage of documents": lambda x: rprs.coverage(x, ["a b"], encoder="hashed"),
    "coverage by documents": lambda x: rprs.coverage("a b", x, encoder="hashed"),
    "Chart.save": lambda x: SEARCHER.coverage("cat").save(x),
    "run": lambda x: SEARCHER.run(x),
    "run, exclude": lambda x: SEARCHER.run(QUERY, exclude=x),
    "run, k": lambda x: SEARCHER.run(QUERY, k=x),
    "run, cache": lambda x: SEARCHER.run(QUERY, cache=x or None),
    "run, tag": lambda x: SEARCHER.run(QUERY, tag=x).text,
    "Index": lambda x: rprs.Index(x),
    "Index[id]": lambda x: INDEX.document(x),
    "Index.find": lambda x: INDEX.find(x),
    "Index.select": lambda x: INDEX.select(x),
    "Index.dates": lambda x: INDEX.dates(x),
    "in_memory": lambda x: rprs.Index.in_memory(x, encoder="hashed"),
    "in_memory, encoder": lambda x: rprs.Index.in_memory(["a b c"], encoder=x or "hashed"),
    "build": lambda x: rprs.build(x, ["a b c"], encoder="hashed"),
    "build, documents": lambda x: rprs.build("made.rprs", x, encoder="hashed"),
    "sync": lambda x: rprs.sync(x, "made.rprs", encoder="hashed"),
    "sync, index": lambda x: rprs.sync(".", x, encoder="hashed"),
    "rerank": lambda x: rprs.rerank(x, ["a b"], encoder="hashed"),
    "rerank, documents": lambda x: rprs.rerank("a b", x, encoder="hashed"),
    "rerank, k": lambda x: rprs.rerank("a b", ["a b"], encoder="hashed", k=x),
    "tune": lambda x: rprs.tune(x, QUERY, QRELS),
    "tune, queries": lambda x: rprs.tune(INDEX, x, QRELS),
    "tune, qrels": lambda x: rprs.tune(INDEX, QUERY, x),
    "tune, measure": lambda x: rprs.tune(INDEX, QUERY, QRELS, measure=x, **SMALL),
    "tune, grid": lambda x: rprs.tune(INDEX, QUERY, QRELS, grid=x or {"z": [1]}),
    "tune, folds": lambda x: rprs.tune(INDEX, QUERY, QRELS, folds=x, **SMALL),
    "tune, system": lambda x: rprs.tune(INDEX, QUERY, QRELS, system=x, **SMALL),
    "evaluate": lambda x: rprs.evaluate(x, QRELS),
    "evaluate, qrels": lambda x: rprs.evaluate({"q": {"a": 1.0}}, x),
    "evaluate, measures": lambda x: rprs.evaluate({"q": {"a": 1.0}}, QRELS, x),
    "compare": lambda x: rprs.compare(x, QRELS),
    "study": lambda x: rprs.study(x, "results"),
    "read_run": lambda x: rprs.read_run(x),
    "Run.read": lambda x: rprs.Run.read(x),
    "write_run": lambda x: rprs.write_run("run.trec", "q", x, "t"),
    "read_qrels": lambda x: rprs.read_qrels(x),
    "read_one": lambda x: rprs.read_one(x),
    "read_settings": lambda x: rprs.read_settings(x),
    "read_queries": lambda x: list(rprs.read_queries(x)),
    "read_all": lambda x: list(rprs.read_all(x)),
    "read_exclusions": lambda x: rprs.read_exclusions(x),
    "parse_measures": lambda x: rprs.parse_measures(x),
    "open_collection": lambda x: rprs.open_collection(x),
    "Client": lambda x: rprs.Client(x),
    "Document, id": lambda x: rprs.Document(x, "text"),
    "Document, text": lambda x: rprs.Document("id", x),
    "Document, title": lambda x: rprs.Document("id", "text", x),
    "Document, metadata": lambda x: rprs.Document("id", "text", "", x),
    "System": lambda x: rprs.System(x),
    "System, cutoff": lambda x: rprs.System(cutoff=x),
    "BM25": lambda x: rprs.BM25(k1=x),
    "RPRS": lambda x: rprs.RPRS(n=x),
    "Birch": lambda x: rprs.Birch(a=x),
    "SDR": lambda x: rprs.SDR(x),
    "Cross": lambda x: rprs.Cross(x),
    "Fuse": lambda x: rprs.Searcher(INDEX, rerank=rprs.Fuse(x, x)).search("cat"),
    "RunFile": lambda x: rprs.Searcher(INDEX, first=rprs.RunFile(x)).search("cat"),
    "Writer": lambda x: rprs.Writer(x, create=True).close(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for value in WRONG:
        message = "no error"
        try:
            CALLS[name](value)
        except rprs.RprsError as error:
            message = str(error)
        assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rprs.BM25(k1=TEXT), "The 'k1' parameter of bm25 must be a number. Got 'high' instead."),
        (lambda: rprs.RPRS(n=FRACTION), "The 'n' parameter of rprs must be an integer. Got 2.5 instead."),
        (lambda: rprs.RPRS(n=True), "The 'n' parameter of rprs must be an integer. Got True instead."),
        (lambda: rprs.Cross(NUMBER), "The 'model' parameter of cross must be a text. Got 5 instead."),
        (lambda: list(rprs.read_all("")), "The path is empty: name a file or folder, or . for the current folder"),
    ],
)
def test_the_line_names_parameter_and_value(make: Callable[[], object], message: str) -> None:
    with pytest.raises(rprs.UsageError) as raised:
        make()
    assert str(raised.value) == message
