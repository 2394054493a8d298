"""A collection with everything computed from it: indexes, first stages, pools and rankings, each a cached step."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.collection import Collection, open_collection
from rprs.document import Document, Ranking
from rprs.errors import IndexMismatch, ReadError, UsageError
from rprs.files.cache import Cache, Step
from rprs.files.hashes import digest
from rprs.index import Index, Writer
from rprs.progress import Progress, silent
from rprs.rank import BM25, RPRS, RunFile
from rprs.rank.batch import first_stage, rerank_run
from rprs.rank.date_limit import DateLimit
from rprs.rank.fuse import run_files
from rprs.rank.identity import identity
from rprs.read import Exclusions, read_run
from rprs.read.dates import parse_period
from rprs.scoring.neighbours import Ties
from rprs.studies.runs import rank_pools, write_facts, write_rankings
from rprs.tuning.pools import NEAREST, Pool, pools_at_depths

__all__ = ["Documents", "Experiment", "Kind", "find_collection"]

QUERIES = 512 * 2**20  # bytes for the sentences of queries: each system asks the same ones


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """The settings of an index: the texts of its components."""

    splitter: str
    analyzer: str
    encoder: str


@dataclasses.dataclass(frozen=True)
class Documents:
    """Facts about a collection's documents that need no index."""

    digest: str  # of ids and texts, and of dates where there is a date limit, whatever files they come from
    ids: tuple[str, ...]
    words: NDArray[np.int64]  # (documents,): separated by white space
    skipped: tuple[str, ...]
    undated: int = 0  # without a date in the field of the date limit

    @cached_property
    def words_of(self) -> dict[str, int]:
        """Words by document."""
        return dict(zip(self.ids, self.words.tolist(), strict=True))


def find_collection(data: str, base: Path, download: str) -> Collection:
    """A collection whose files exist; otherwise, an error that says where to get them."""
    try:
        collection = open_collection(data, base)
        missing = [path for path in collection.files() if not path.exists()]
    except (ReadError, UsageError, OSError) as error:
        if not download:
            raise
        raise ReadError(f"{data} was not found in {base}: {download}") from error
    if missing:
        raise ReadError(f"{data}: there is no {missing[0]}: {download or 'put it there, or use --data FOLDER'}")
    return collection


class Experiment:
    """The steps over one collection. Use it in a `with` statement: that closes its indexes."""

    def __init__(
        self,
        data: str,
        collection: Collection,
        cache: Cache,
        progress: Progress = silent,
        exclude: Exclusions | None = None,
        limit: DateLimit | None = None,
    ) -> None:
        self.data, self.collection, self.cache, self.progress = data, collection, cache, progress
        self._exclude = exclude  # None: as the collection says
        self.limit = limit
        self.folder = Path(getattr(collection, "folder", "."))
        self._open: dict[str, Index] = {}
        self._others: dict[str, Experiment] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def other(self, data: str, base: Path, download: str) -> Experiment:
        """The steps over another collection, in the same cache."""
        if data not in self._others:
            collection = find_collection(data, base, download)
            self._others[data] = self._stack.enter_context(Experiment(data, collection, self.cache, self.progress))
        return self._others[data]

    # ------------------------------------------------------------------------ documents, queries, judgements

    @cached_property
    def documents(self) -> Documents:
        """The documents, counted and hashed; they are read only when a file has changed."""
        files = self.collection.files()
        inputs = {
            "data": _without_location(self.collection),
            "files": self.cache.contents(files),
            "names": [os.path.relpath(path, self.folder) for path in files],  # which may be the ids
        }
        if self.limit:
            inputs["date"] = self.limit.field
        facts = self.cache.write_json("documents", inputs, self._count, about=self.data).json()
        if not facts["ids"]:
            raise UsageError(f"{self.data} has no document that can be read: there is nothing to search")
        return Documents(
            facts["digest"],
            tuple(facts["ids"]),
            np.array(facts["words"], np.int64),
            tuple(facts["skipped"]),
            facts.get("undated", 0),
        )

    def _count(self) -> dict[str, Any]:
        skipped: list[str] = []
        words: dict[str, int] = {}
        hashes: dict[str, list[Any]] = {}
        with self.progress("counting", unit="documents") as advance:
            for document in self.collection.documents(lambda what: skipped.append(str(what))):
                words[document.id] = len(document.text.split())
                hashes[document.id] = [document.content_hash, *self._dates(document)]
                advance(1)
        ids = sorted(words)
        key = digest([[id, *hashes[id]] for id in ids])
        location = f"{self.folder}/"
        return {
            "digest": key,
            "skipped": [line.replace(location, "") for line in skipped],
            "ids": ids,
            "words": [words[id] for id in ids],
            **({"undated": sum(hashes[id][1] is None for id in ids)} if self.limit else {}),
        }

    def _dates(self, document: Document) -> list[Any]:
        """The date that a date limit compares, if there is one."""
        period = parse_period(document.metadata.get(self.limit.field)) if self.limit else None
        return [period and period.text] if self.limit else []

    @cached_property
    def qrels(self) -> dict[str, dict[str, int]]:
        """The judgements."""
        return self.collection.qrels()

    @cached_property
    def excluded(self) -> Mapping[str, frozenset[str]]:
        """By query, the documents that must not be ranked."""
        return self.collection.excluded() if self._exclude is None else self._exclude

    @cached_property
    def queries(self) -> list[Document]:
        """The queries with relevant documents, by id."""
        judged = {query for query, grades in self.qrels.items() if any(grade > 0 for grade in grades.values())}
        queries = {query.id: query for query in self.collection.queries() if query.id in judged}
        if not queries:
            raise UsageError(f"{self.data} has no query with a relevant document: there is nothing to measure")
        return [queries[id] for id in sorted(queries)]

    @cached_property
    def query_key(self) -> str:
        """The key of the queries, of the documents excluded for them, and of the date limit."""
        exclusions = [[id, sorted(documents)] for id, documents in sorted(self.excluded.items())]
        queries = [[query.id, query.content_hash, *self._dates(query)] for query in self.queries]
        return digest([queries, exclusions, *([str(self.limit), self.limit.undated] if self.limit else [])])

    @cached_property
    def qrels_key(self) -> str:
        """The key of the judgements."""
        return digest(self.qrels)

    # ------------------------------------------------------------------------ indexes

    def index(self, kind: Kind, shared: Step | None = None) -> Step:
        """An index of the whole collection; with `shared`, it uses the encoder of that index."""
        inputs, encoder = self._index_inputs(kind, shared)

        def produce(path: Path) -> None:
            self._build(path, dataclasses.replace(kind, encoder=encoder), self.collection.documents())

        about = f"{self.data}: {kind.splitter}, {kind.encoder}"
        return self.cache.grow("index", inputs, produce, about=about)

    def pool_index(self, kind: Kind, ids: Iterable[str], shared: Step | None = None) -> Step:
        """An index of some documents only, extended when more are needed: a document's sentences stay the same."""
        needed = frozenset(ids)
        inputs, encoder = self._index_inputs(kind, shared)

        def produce(path: Path) -> None:
            chosen = (document for document in self.collection.documents() if document.id in needed)
            self._build(path, dataclasses.replace(kind, encoder=encoder), chosen)

        about = f"{self.data}: candidates, {kind.splitter}, {kind.encoder}"
        return self.cache.grow("candidates", inputs, produce, until=digest(sorted(needed)), about=about)

    def _index_inputs(self, kind: Kind, shared: Step | None) -> tuple[dict[str, Any], str]:
        """What an index depends on, and the text of its encoder."""
        texts: dict[str, str] = {
            each: spec.text(spec.parse(each, getattr(kind, each)), full=True) for each in _COMPONENTS
        }
        if shared is not None:
            texts["encoder"] = self.open(shared).encoder_text
        inputs: dict[str, Any] = {"documents": self.documents.digest, **texts}
        weights = (identity(spec.parse("encoder", texts["encoder"]), self.cache) or {}).get("weights")
        return {**inputs, "weights": weights} if weights else inputs, texts["encoder"]

    def _build(self, path: Path, kind: Kind, documents: Iterable[Document]) -> None:
        self._open.pop(path.name, None)  # an open index does not see new documents
        try:
            writer = Writer(path, create=True, **dataclasses.asdict(kind), progress=self.progress)
        except IndexMismatch as error:
            raise IndexMismatch(f"{error}; or delete {path}, and it is built again") from error
        with writer:
            writer.add(documents)

    def open(self, step: Step) -> Index:
        """The index of a step; it stays open."""
        if step.key not in self._open:
            opened = self._open[step.key] = self._stack.enter_context(Index(step.path))
            opened.known_queries.room = QUERIES
        return self._open[step.key]

    def mean_units(self, splitter: str) -> float:
        """avgdl for a splitter without building an index: mean number of units per document of the collection."""

        def count() -> dict[str, int]:
            split = spec.parse("splitter", splitter).split
            units = documents = 0
            with self.progress("splitting", len(self.documents.ids), "documents") as advance:
                for document in self.collection.documents():
                    units, documents = units + len(split(document.text)), documents + 1
                    advance(1)
            return {"units": units, "documents": documents}

        text = spec.text(spec.parse("splitter", splitter), full=True)
        inputs = {"documents": self.documents.digest, "splitter": text}
        counts = self.cache.write_json("units", inputs, count, about=f"{self.data}: {splitter}").json()
        return float(counts["units"] / counts["documents"])

    # ------------------------------------------------------------------------ first stages

    def ranker(self, text: str) -> Any:
        """A first stage; the paths of run files are relative to the collection's folder."""
        return _with_folder(spec.parse("ranker", text), self.folder)

    def first(self, text: str, depth: int, index: Step, analyzer: str) -> Step:
        """The run of a first stage: a folder with run.trec and facts.json."""
        ranker = self.ranker(text)
        files = [Path(file.path) for file in run_files(ranker)]
        for file in files:
            if not file.is_file():
                raise ReadError(f"{file}: no such run file")
        inputs: dict[str, Any] = {
            "documents": self.documents.digest,
            "queries": self.query_key,
            "ranker": spec.text(spec.parse("ranker", text), full=True),
            "runs": self.cache.contents(files),
            "depth": depth,
            "analyzer": spec.text(spec.parse("analyzer", analyzer), full=True),
        }
        if not isinstance(ranker, RunFile | BM25):  # others may depend on anything in the index
            inputs["index"] = index.key

        def produce(path: Path) -> None:
            opened = self.open(index)
            limits: dict[str, Any] = {"exclude": self.excluded, "limit": self.limit}
            run = first_stage(opened, self.queries, ranker, depth, **limits, progress=self.progress)
            facts = {"candidates": sum(map(len, run.values())), "unanswered": _unanswered(self.queries, run)}
            absent: Counter[str] = Counter()
            for file in files:
                absent.update(self._absent(read_run(file), depth))
            facts |= absent
            path.mkdir()
            write_rankings(path / "run.trec", run, spec.text(spec.parse("ranker", text)))
            (path / "facts.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")

        return self.cache.make("first", inputs, produce, about=f"{self.data}: {text}, depth {depth}")

    def _absent(self, run: Mapping[str, Ranking], depth: int) -> dict[str, int]:
        """How many documents of a run file are missing from the collection."""
        present = self.documents.words_of
        listed = [run[query.id].ids for query in self.queries if query.id in run]
        return {
            "listed": sum(map(len, listed)),
            "listed_absent": sum(id not in present for ids in listed for id in ids),
            "top_absent": sum(id not in present for ids in listed for id in ids[:depth]),
        }

    # ------------------------------------------------------------------------ pools and rankings

    def pools(
        self,
        index: Step,
        run: Step,
        depths: tuple[int, ...],
        n: int,
        mean_sentences: float,
        ties: Ties = "first",
    ) -> dict[int, Sequence[Pool]]:
        """The neighbours of every query's candidates, by depth, at about the cost of the deepest."""
        n = max(n, NEAREST)  # other systems and grids can then use them too

        def pools(progress: Progress = silent) -> dict[int, Sequence[Pool]]:
            return pools_at_depths(
                self.open(index),
                self.queries,
                read_run(run.path / "run.trec"),
                depths,
                n=n,
                ties=ties,
                mean_sentences=mean_sentences,
                cache=self.cache,
                index_key=index.key,
                progress=progress,
            )

        def produce(path: Path) -> None:
            pools(self.progress)
            path.mkdir(exist_ok=True)

        inputs = {
            "index": index.key,
            "queries": self.query_key,
            "candidates": run.key,
            "mean_sentences": mean_sentences,
            "depths": depths,
            "n": n,
            **({} if ties == "first" else {"ties": ties}),
        }
        self.cache.grow("pools", inputs, produce, about=f"{self.data}: depth {', '.join(map(str, depths))}")
        return pools()

    def ranking(self, index: Step, run: Step, depth: int, rerank: str, mean_sentences: float) -> Step:
        """The run of a re-ranker over the candidates of a first stage."""
        reranker = spec.parse("reranker", rerank)
        inputs = {
            "index": index.key,
            "queries": self.query_key,
            "candidates": run.key,
            "mean_sentences": mean_sentences,
            "depth": depth,
            "rerank": identity(reranker, self.cache),
        }

        def produce(path: Path) -> None:
            if isinstance(reranker, RPRS):
                pools = self.pools(index, run, (depth,), reranker.n, mean_sentences, reranker.ties)
                rankings = rank_pools(pools[depth], reranker)
            else:
                rankings = rerank_run(
                    self.open(index),
                    self.queries,
                    read_run(run.path / "run.trec"),
                    reranker,
                    depth=depth,
                    mean_sentences=mean_sentences,
                    progress=self.progress,
                )
            path.mkdir()
            write_rankings(path / "run.trec", rankings, rerank)
            write_facts(path / "facts.json", rankings)

        return self.cache.make("ranking", inputs, produce, about=f"{self.data}: {rerank}")


_COMPONENTS: tuple[spec.Kind, ...] = ("splitter", "analyzer", "encoder")


def _without_location(collection: Any) -> dict[str, Any]:
    """The parameters of a collection without the folders that it is in."""
    paths = getattr(collection, "paths", ("folder",))
    values = {field.name: getattr(collection, field.name) for field in dataclasses.fields(collection)}
    parameters = {name: Path(value).name if name in paths and value else value for name, value in values.items()}
    return {"name": collection.name, **parameters}


def _with_folder(ranker: Any, folder: Path) -> Any:
    """A first stage whose run files, and those of its parts, are relative to a folder."""
    if isinstance(ranker, RunFile):
        return dataclasses.replace(ranker, path=str(folder / ranker.path))
    parts = {field.name: getattr(ranker, field.name) for field in dataclasses.fields(ranker)}
    inner = {name: _with_folder(part, folder) for name, part in parts.items() if dataclasses.is_dataclass(part)}
    return dataclasses.replace(ranker, **inner)


def _unanswered(queries: Iterable[Document], run: Mapping[str, Ranking]) -> list[str]:
    return [query.id for query in queries if not len(run[query.id])]
