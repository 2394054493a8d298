"""Which documents are like this document, and why? Query by document, with aligned sentences as evidence.

    import rprs

    rprs.build("cases.rprs", "cases/")
    searcher = rprs.Searcher("cases.rprs")
    for hit in searcher.search(rprs.read_one("brief.pdf"), k=3):
        for pair in hit.pairs[:1]:
            print(f"{hit.score:.3f}", hit.id, "because", pair.document)

Names are loaded on first use, so that `import rprs` is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rprs.aligning import align
    from rprs.alignment.values import Alignment, Change, Coverage
    from rprs.charts.values import Chart
    from rprs.cluster.cluster import Cluster
    from rprs.collection import open_collection
    from rprs.covering import coverage
    from rprs.document import Document
    from rprs.errors import (
        Busy,
        Cancelled,
        DiskFull,
        EmptyQuery,
        IndexCorrupt,
        IndexLocked,
        IndexMismatch,
        InvalidIndex,
        InvalidMatter,
        MatterConflict,
        MissingExtra,
        ModelError,
        NoCollection,
        NoDocument,
        NotAllowed,
        ReadError,
        RprsError,
        ServiceError,
        ShardUnavailable,
        StoreError,
        TooLarge,
        TooLong,
        UsageError,
    )
    from rprs.evaluation.compare import Comparison
    from rprs.evaluation.evaluate import Evaluation
    from rprs.evaluation.functions import compare, evaluate
    from rprs.evaluation.measures import parse_measures
    from rprs.index import Added, Index, Writer
    from rprs.matrices.compute import matrix
    from rprs.matrices.values import Match, Matrix
    from rprs.passages.values import PassageHit, PassageResults
    from rprs.progress import Progress
    from rprs.rank import BM25, RPRS, RunFile, System
    from rprs.rank.birch import Birch
    from rprs.rank.blend import Blend
    from rprs.rank.cosine import Cosine
    from rprs.rank.cross import Cross
    from rprs.rank.fuse import First, Fuse
    from rprs.rank.maxsim import MaxSim, MeanPool
    from rprs.rank.restrictions import SearchOptions
    from rprs.rank.sdr import SDR
    from rprs.rank.soft import SoftRPRS
    from rprs.read import Skipped, read_exclusions, read_one, read_qrels, read_queries, read_run, write_run
    from rprs.read import read as read_all
    from rprs.read.inputs import Documents
    from rprs.reranking import rerank
    from rprs.results.hits import Duplicate, Explanation, Hit, Pair, Results
    from rprs.results.run import Run
    from rprs.scoring.vectors import VectorType
    from rprs.search import Searcher
    from rprs.serve.client import Client
    from rprs.spec import Component
    from rprs.studies.study import study
    from rprs.syncing import Synced, sync
    from rprs.tuning.choose import Tuned
    from rprs.tuning.settings import read_settings
    from rprs.tuning.tune import tune

__all__ = [
    "BM25",
    "RPRS",
    "SDR",
    "Added",
    "Alignment",
    "Birch",
    "Blend",
    "Busy",
    "Cancelled",
    "Change",
    "Chart",
    "Client",
    "Cluster",
    "Comparison",
    "Cosine",
    "Coverage",
    "Cross",
    "DiskFull",
    "Document",
    "Duplicate",
    "EmptyQuery",
    "Evaluation",
    "Explanation",
    "First",
    "Fuse",
    "Hit",
    "Index",
    "IndexCorrupt",
    "IndexLocked",
    "IndexMismatch",
    "InvalidIndex",
    "InvalidMatter",
    "Match",
    "Matrix",
    "MatterConflict",
    "MaxSim",
    "MeanPool",
    "MissingExtra",
    "ModelError",
    "NoCollection",
    "NoDocument",
    "NotAllowed",
    "Pair",
    "PassageHit",
    "PassageResults",
    "Progress",
    "ReadError",
    "Results",
    "RprsError",
    "Run",
    "RunFile",
    "SearchOptions",
    "Searcher",
    "ServiceError",
    "ShardUnavailable",
    "Skipped",
    "SoftRPRS",
    "StoreError",
    "Synced",
    "System",
    "TooLarge",
    "TooLong",
    "Tuned",
    "UsageError",
    "Writer",
    "align",
    "build",
    "compare",
    "coverage",
    "evaluate",
    "matrix",
    "open_collection",
    "parse_measures",
    "read_all",
    "read_exclusions",
    "read_one",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_settings",
    "rerank",
    "study",
    "sync",
    "tune",
    "write_run",
]

# module → names; "read as read_all", since `rprs.read` is a module
_HOME = {
    "rprs.aligning": ["align"],
    "rprs.alignment.values": ["Alignment", "Change", "Coverage"],
    "rprs.charts.values": ["Chart"],
    "rprs.cluster.cluster": ["Cluster"],
    "rprs.collection": ["open_collection"],
    "rprs.covering": ["coverage"],
    "rprs.document": ["Document"],
    "rprs.errors": [
        "Busy",
        "Cancelled",
        "DiskFull",
        "EmptyQuery",
        "IndexCorrupt",
        "IndexLocked",
        "IndexMismatch",
        "InvalidIndex",
        "InvalidMatter",
        "MatterConflict",
        "MissingExtra",
        "ModelError",
        "NoCollection",
        "NoDocument",
        "NotAllowed",
        "ReadError",
        "RprsError",
        "ServiceError",
        "ShardUnavailable",
        "StoreError",
        "TooLarge",
        "TooLong",
        "UsageError",
    ],
    "rprs.evaluation.compare": ["Comparison"],
    "rprs.evaluation.evaluate": ["Evaluation"],
    "rprs.evaluation.functions": ["compare", "evaluate"],
    "rprs.evaluation.measures": ["parse_measures"],
    "rprs.index": ["Added", "Index", "Writer"],
    "rprs.matrices.compute": ["matrix"],
    "rprs.matrices.values": ["Match", "Matrix"],
    "rprs.progress": ["Progress"],
    "rprs.rank": ["BM25", "RPRS", "RunFile", "System"],
    "rprs.rank.birch": ["Birch"],
    "rprs.rank.blend": ["Blend"],
    "rprs.rank.cosine": ["Cosine"],
    "rprs.rank.cross": ["Cross"],
    "rprs.rank.fuse": ["First", "Fuse"],
    "rprs.rank.maxsim": ["MaxSim", "MeanPool"],
    "rprs.rank.restrictions": ["SearchOptions"],
    "rprs.rank.sdr": ["SDR"],
    "rprs.rank.soft": ["SoftRPRS"],
    "rprs.read": [
        "Skipped",
        "read as read_all",
        "read_exclusions",
        "read_one",
        "read_qrels",
        "read_queries",
        "read_run",
        "write_run",
    ],
    "rprs.reranking": ["rerank"],
    "rprs.passages.values": ["PassageHit", "PassageResults"],
    "rprs.results.hits": ["Duplicate", "Explanation", "Hit", "Pair", "Results"],
    "rprs.results.run": ["Run"],
    "rprs.search": ["Searcher"],
    "rprs.serve.client": ["Client"],
    "rprs.studies.study": ["study"],
    "rprs.syncing": ["Synced", "sync"],
    "rprs.tuning.choose": ["Tuned"],
    "rprs.tuning.settings": ["read_settings"],
    "rprs.tuning.tune": ["tune"],
}
_PLACE = {name.split(" as ")[-1]: (module, name.split(" as ")[0]) for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name on its first use (PEP 562)."""
    if name not in _PLACE:
        raise AttributeError(f"module 'rprs' has no attribute {name!r}")
    from importlib import import_module

    module, original = _PLACE[name]
    value = globals()[name] = getattr(import_module(module), original)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def build(
    path: str | Path,
    documents: Documents,
    *,
    splitter: str | Component | None = None,
    analyzer: str | Component | None = None,
    encoder: str | Component | None = None,
    phrases: bool | None = None,
    vectors: VectorType | None = None,
    vectors_from: str | Path | None = None,
    strict: bool = False,
    skipped: Callable[[Skipped], None] | None = None,
    progress: Progress | bool | None = None,
) -> Added:
    """Build the index at `path`, or add to it: from files and folders, texts, records, documents or a DataFrame.

    A string or path is a file or folder. A list holds paths, texts (their ids are "0", "1", …), records such as
    `{"id": "a", "text": "...", "court": "ca9"}` or documents; a mapping has texts by id. Documents that the index has
    already are skipped, changed ones replaced, so that calling again resumes an interrupted call. `skipped` is called
    with each file that cannot be read; with `strict`, the first of them raises a `ReadError`. `vectors="float32"` gives
    a new index vectors with a higher precision than float16. Sentences of the index `vectors_from`, which must have the
    same encoder, are not encoded again.
    """
    from rprs.errors import UsageError
    from rprs.index import Writer
    from rprs.read import ignore
    from rprs.read.inputs import read_documents

    if skipped is not None and not callable(skipped):
        raise UsageError(f"skipped must be a function of one argument. Got {skipped!r:.80} instead.")
    items = read_documents(documents, strict=strict, skipped=skipped or ignore)
    with Writer(
        path,
        create=True,
        splitter=splitter,
        analyzer=analyzer,
        encoder=encoder,
        phrases=phrases,
        vectors=vectors,
        vectors_from=vectors_from,
        progress=progress,
    ) as writer:
        return writer.add(items)
