"""The speed of indexing a collection, by stage and in total, with peak memory and size on disk."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from time import perf_counter

from benchmarks.collection import collection, name_of, work_folder
from benchmarks.table import Goal, Row, seconds, size
from benchmarks.timing import Options
from rprs.document import Document
from rprs.encode.fitted import Table
from rprs.index import Index
from rprs.read import read
from rprs.scoring.vectors import to_grid

__all__ = ["MEMORY", "built", "bytes_by_kind", "run"]

SAMPLE_WORDS = 1_000_000  # read for the rates of the stages
MEMORY = 1.5e9
RATE, ENCODED = 600_000, 1_000_000  # words a second: of all stages without fitting, and of a fitted encoder
FITTING = 15.0  # seconds
REACHED = Goal(1.0, at_least=True)
KINDS = {
    "vectors": "vectors",
    "term_": "postings",
    "posting_": "postings",
    "phrase_": "phrases",
    "norms/": "phrases",
    "encoders": "encoder",
}


@cache
def built(source: Path, encoder: str, phrases: bool = True) -> tuple[Path, dict[str, float]]:
    """The index of a collection and its build statistics; built once, in a separate process."""
    path = work_folder() / f"{'collection' if phrases else 'plain'}.rprs"
    command = [sys.executable, "-m", "benchmarks.build", str(source), str(path), encoder]
    command += [] if phrases else ["--no-phrases"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return path, json.loads(done.stdout)


def run(options: Options) -> Iterator[Row]:
    """The stages one after the other on a part of the collection, then all of it as by `rprs index`."""
    source = collection(options)
    path, cost = built(source, options.encoder)
    with Index(path) as index:
        yield from _stages(source, index, SAMPLE_WORDS // 10 if options.quick else SAMPLE_WORDS)
        yield from _whole(source, index, cost)
        yield from _bytes(index, cost["documents"])


def _stages(source: Path, index: Index, limit: int) -> Iterator[Row]:
    spent: defaultdict[str, float] = defaultdict(float)
    documents: list[Document] = []
    words = 0
    started = perf_counter()
    for document in read(source):
        documents.append(document)
        words += len(document.text.split())
        if words >= limit:
            break
    spent["reading"] = perf_counter() - started
    texts: list[str] = []
    index.encoder.encode(["A sentence that loads everything."])
    index.splitter.split("A sentence. Another one that loads everything.")
    index.analyzer.terms("a word")
    for document in documents:
        started = perf_counter()
        sentences = index.splitter.split(document.text)
        halfway = perf_counter()
        index.analyzer.terms(document.text)
        spent["splitting"] += halfway - started
        spent["analysis"] += perf_counter() - halfway
        texts += sentences.texts(document.text)
    started = perf_counter()
    to_grid(index.encoder.encode(texts))
    spent["encoding"] = perf_counter() - started
    whole = sum(spent.values())
    for stage, cost in spent.items():
        what = f"{stage} of {words:,} words, {len(texts):,} sentences"
        rate, share = f"{words / cost:,.0f} words/s", f"{cost / whole:.0%} of the time"
        yield Row("indexing", what, rate, "all four stages", share)
    if isinstance(index.encoder, Table):
        yield _rate(f"encoding of {words:,} words by a fitted encoder", words / spent["encoding"], ENCODED)


def _rate(what: str, rate: float, least: float) -> Row:
    theirs = f"{least:,.0f} words/s"
    return Row("indexing", what, f"{rate:,.0f} words/s", "the least", theirs, rate / least, goal=REACHED)


def _whole(source: Path, index: Index, cost: dict[str, float]) -> Iterator[Row]:
    words = cost["words"]
    encoder = index.catalog.encoder()
    report = encoder.measurements if encoder else {}
    fitting = float(report.get("seconds", 0.0))
    what = f"{name_of(source)}: {cost['documents']:,.0f} documents, {words:,.0f} words"
    rate, without = words / cost["seconds"], words / (cost["seconds"] - fitting)
    yield Row("indexing", f"{what}; all of it", f"{rate:,.0f} words/s, {seconds(cost['seconds'])}")
    yield _rate(f"{what}; without fitting ({seconds(fitting)})", without, RATE)
    if fitting:
        yield _limited(f"{what}; fitting", fitting, FITTING, seconds)
    yield _limited(f"{what}; peak of memory", cost["peak"], MEMORY, size)


def _limited(what: str, value: float, most: float, text: Callable[[float], str]) -> Row:
    return Row("indexing", what, text(value), "the limit set", text(most), value / most, goal=Goal(1.0))


def bytes_by_kind(index: Index) -> Counter[str]:
    """The bytes of an index, by content."""
    bytes_by = Counter({"texts": index.catalog.one("SELECT sum(length(cast(text AS BLOB))) FROM texts")})
    for path in index.path.rglob("*"):
        if path.is_file() and path.suffix in (".sqlite", ".npy", ".json"):
            local = path.relative_to(index.path).as_posix()
            kinds = [kind for mark, kind in KINDS.items() if mark in local]
            bytes_by[kinds[-1] if kinds else "catalog" if path.suffix == ".sqlite" else "sentences"] += (
                path.stat().st_size
            )
    bytes_by["catalog"] -= bytes_by["texts"]
    return bytes_by


def _bytes(index: Index, documents: float) -> Iterator[Row]:
    """Bytes per document, by content."""
    bytes_by = bytes_by_kind(index)
    whole, text = sum(bytes_by.values()) / documents, bytes_by["texts"] / documents
    yield Row("indexing", "bytes a document", size(whole), "its text", size(text), whole / text)
    for kind, held in bytes_by.most_common():
        share = f"{held / documents / whole:.0%} of the bytes"
        yield Row("indexing", f"bytes a document: {kind}", size(held / documents), "all of it", share)
