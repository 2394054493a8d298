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

from rprs.version import __version__ as __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path, PurePath

    from rprs.client import Client
    from rprs.collection import open_collection
    from rprs.document import Document
    from rprs.errors import (
        Busy,
        Cancelled,
        DiskFull,
        EmptyQuery,
        IndexCorrupt,
        IndexError_,
        IndexLocked,
        IndexMismatch,
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
    from rprs.index import Added, Index, Writer
    from rprs.progress import Progress
    from rprs.rank import BM25, RunFile
    from rprs.read import Skipped, read_one, read_qrels, read_queries, read_run, write_run
    from rprs.read import read as read_all
    from rprs.rerank import RPRS
    from rprs.scoring.measures import parse_measures
    from rprs.search import Explanation, Hit, Pair, Results, Searcher
    from rprs.settings import Settings, read_settings

__all__ = [
    "BM25",
    "RPRS",
    "Added",
    "Busy",
    "Cancelled",
    "Client",
    "DiskFull",
    "Document",
    "EmptyQuery",
    "Explanation",
    "Hit",
    "Index",
    "IndexCorrupt",
    "IndexError_",
    "IndexLocked",
    "IndexMismatch",
    "MissingExtra",
    "ModelError",
    "NoDocument",
    "NotAllowed",
    "Pair",
    "ReadError",
    "Results",
    "RprsError",
    "RunFile",
    "Searcher",
    "ServiceError",
    "Settings",
    "Skipped",
    "TooLarge",
    "TooLong",
    "UsageError",
    "Writer",
    "build",
    "open_collection",
    "parse_measures",
    "read_all",
    "read_one",
    "read_qrels",
    "read_queries",
    "read_run",
    "read_settings",
    "write_run",
]

# module → names; "read as read_all", since `rprs.read` is the module
_HOME = {
    "rprs.client": ["Client"],
    "rprs.collection": ["open_collection"],
    "rprs.document": ["Document"],
    "rprs.errors": [
        "Busy",
        "Cancelled",
        "DiskFull",
        "EmptyQuery",
        "IndexCorrupt",
        "IndexError_",
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
    "rprs.rank": ["BM25", "RunFile"],
    "rprs.read": ["Skipped", "read as read_all", "read_one", "read_qrels", "read_queries", "read_run", "write_run"],
    "rprs.rerank": ["RPRS"],
    "rprs.scoring.measures": ["parse_measures"],
    "rprs.search": ["Explanation", "Hit", "Pair", "Results", "Searcher"],
    "rprs.settings": ["Settings", "read_settings"],
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
