"""Which documents are like this whole document, and why?

    import rprs

    rprs.build("cases.rprs", "cases/")
    searcher = rprs.Searcher(rprs.Index("cases.rprs"))
    for hit in searcher.search(rprs.read_one("brief.pdf"), k=3):
        print(f"{hit.score:.3f}", hit.id, "because", hit.pairs[0].document)

A name is loaded when it is first used, so that `import rprs` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path, PurePath

    from rprs.collection import open_collection
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
        MissingExtra,
        ModelError,
        NoDocument,
        NotAllowed,
        ReadError,
        RprsError,
        ServiceError,
        TooLarge,
        TooLong,
        UsageError,
    )
    from rprs.evaluation.compare import Comparison, compare
    from rprs.evaluation.evaluate import Evaluation, evaluate
    from rprs.evaluation.measures import parse_measures
    from rprs.index import Added, Index, Writer
    from rprs.progress import Progress
    from rprs.rank import BM25, RPRS, RunFile, System
    from rprs.read import Skipped, read_one, read_qrels, read_queries, read_run, write_run
    from rprs.read import read as read_all
    from rprs.results.hits import Explanation, Hit, Pair, Results
    from rprs.results.run import Run
    from rprs.search import Searcher
    from rprs.serve.client import Client
    from rprs.studies.study import study
    from rprs.tuning.choose import Tuned
    from rprs.tuning.settings import read_settings
    from rprs.tuning.tune import tune

__all__ = [
    "BM25",
    "RPRS",
    "Added",
    "Busy",
    "Cancelled",
    "Client",
    "Comparison",
    "DiskFull",
    "Document",
    "EmptyQuery",
    "Evaluation",
    "Explanation",
    "Hit",
    "Index",
    "IndexCorrupt",
    "IndexLocked",
    "IndexMismatch",
    "InvalidIndex",
    "MissingExtra",
    "ModelError",
    "NoDocument",
    "NotAllowed",
    "Pair",
    "ReadError",
    "Results",
    "RprsError",
    "Run",
    "RunFile",
    "Searcher",
    "ServiceError",
    "Skipped",
    "System",
    "TooLarge",
    "TooLong",
    "Tuned",
    "UsageError",
    "Writer",
    "build",
    "compare",
    "evaluate",
    "open_collection",
    "parse_measures",
    "read_all",
    "read_one",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_settings",
    "study",
    "tune",
    "write_run",
]

# module → names; "read as read_all", since `rprs.read` is the module
_HOME = {
    "rprs.serve.client": ["Client"],
    "rprs.collection": ["open_collection"],
    "rprs.document": ["Document"],
    "rprs.errors": [
        "Busy",
        "Cancelled",
        "DiskFull",
        "EmptyQuery",
        "IndexCorrupt",
        "InvalidIndex",
        "IndexLocked",
        "IndexMismatch",
        "MissingExtra",
        "ModelError",
        "NoDocument",
        "NotAllowed",
        "ReadError",
        "RprsError",
        "ServiceError",
        "TooLarge",
        "TooLong",
        "UsageError",
    ],
    "rprs.index": ["Added", "Index", "Writer"],
    "rprs.rank": ["BM25", "RPRS", "RunFile", "System"],
    "rprs.read": ["Skipped", "read as read_all", "read_one", "read_qrels", "read_queries", "read_run", "write_run"],
    "rprs.evaluation.compare": ["Comparison", "compare"],
    "rprs.evaluation.evaluate": ["Evaluation", "evaluate"],
    "rprs.evaluation.measures": ["parse_measures"],
    "rprs.results.hits": ["Explanation", "Hit", "Pair", "Results"],
    "rprs.results.run": ["Run"],
    "rprs.search": ["Searcher"],
    "rprs.studies.study": ["study"],
    "rprs.tuning.choose": ["Tuned"],
    "rprs.tuning.tune": ["tune"],
    "rprs.tuning.settings": ["read_settings"],
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
    documents: str | PurePath | Iterable[str | PurePath] | Iterable[Document],
    *,
    splitter: str | None = None,
    analyzer: str | None = None,
    encoder: str | None = None,
    strict: bool = False,
    skipped: Callable[[Skipped], None] | None = None,
    progress: Progress | None = None,
) -> Added:
    """Make the index at `path` of files and folders, or of documents; on one that is there, go on where it stopped.

    Documents that are in it already are left alone, changed ones are replaced. `skipped` is told of each file that
    cannot be read; with `strict`, the first of them is a `ReadError`.
    """
    from rprs.index import Writer
    from rprs.progress import silent

    found = _documents(documents, strict, skipped)
    with Writer(
        path, create=True, splitter=splitter, analyzer=analyzer, encoder=encoder, progress=progress or silent
    ) as writer:
        return writer.add(found)


def _documents(given: Any, strict: bool, skipped: Callable[[Skipped], None] | None) -> Iterator[Document]:
    from itertools import chain
    from pathlib import PurePath

    from rprs.document import Document
    from rprs.read import ignore, read

    items = iter([given] if isinstance(given, (str, PurePath)) else given)
    first = next(items, None)
    everything = chain([] if first is None else [first], items)
    if isinstance(first, Document):
        return everything
    return read(list(everything), strict=strict, skipped=skipped or ignore)
