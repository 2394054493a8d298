"""Cost against size: `python -m benchmarks.scale [--sizes 1000 10000 100000] [--json FILE] [--figure FILE.svg]`.

Collections of invented documents, each in a new process: building, memory, bytes, opening, and a search with its stages
(these by the clock), beside bm25s and tantivy, which receive the same words. `--from FILE` draws the figure of an
earlier run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.build import peak_memory
from benchmarks.invented import invented_document
from benchmarks.timing import peer_module
from rprs.document import Document
from rprs.index import Index, Writer
from rprs.search import Searcher
from rprs.text.analyze import Words

__all__ = ["Measured", "measure"]

SIZES = (1_000, 10_000, 100_000)
SENTENCES, QUERY_SENTENCES = 8, 40  # of 14 words
ENCODER = "hashed(dimension=64)"
QUERIES, REPEATED, DEPTH = 5, 5, 100

Measured = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every size in a process of its own, print a table, and draw a figure if one is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--from", dest="earlier", type=Path, metavar="FILE")
    parser.add_argument("--figure", type=Path, metavar="FILE")
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.only:
        print(json.dumps(measure(options.only)))
        return
    rows = json.loads(options.earlier.read_text("utf-8")) if options.earlier else []
    for size in () if options.earlier else options.sizes:
        command = [sys.executable, "-m", "benchmarks.scale", "--only", str(size)]
        rows.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    print(_table(rows))
    if options.figure:
        options.figure.write_bytes(_drawn(rows))


def measure(size: int) -> Measured:
    """The figures of one size."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "scale.rprs"
        worked = _processor()
        with Writer(path, create=True, encoder=ENCODER) as writer:
            writer.add(_documents(size))
        figures = {"documents": size, "building": _processor() - worked, "memory": peak_memory()}
        figures["bytes"] = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        figures["opening"] = _least(lambda: Index(path).close())
        with Index(path) as index:
            figures |= _searches(index)
        queries = [Words().terms(query.text) for query in _queries()]
        for name, peer in (("bm25s", _bm25s), ("tantivy", _tantivy)):
            if (module := peer_module(name)) is not None:
                figures |= {f"{name} {what}": value for what, value in peer(module, size, queries).items()}
    return figures


def _documents(size: int) -> Any:
    random = Random(1)
    return (invented_document(random, number, SENTENCES) for number in range(size))


def _queries() -> list[Document]:
    random = Random(2)
    return [invented_document(random, -number - 1, QUERY_SENTENCES) for number in range(QUERIES)]


def _processor() -> float:
    """Processor time of this process and of those that it started and that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def _least(task: Callable[[], object], clock: Callable[[], float] = process_time) -> float:
    times = []
    for _ in range(REPEATED):
        started = clock()
        task()
        times.append(clock() - started)
    return min(times)


def _searches(index: Index) -> Measured:
    """The median over queries of the least of several times: all of a search, and each stage."""
    searcher, queries = Searcher(index), _queries()
    stages: dict[str, list[list[float]]] = {}
    for _ in range(1 + REPEATED):  # in turn: an index remembers the sentences of the last query
        for place, query in enumerate(queries):
            started = process_time()
            seconds = dict(searcher.search(query).seconds)
            seconds["all"] = process_time() - started
            for stage, value in seconds.items():
                stages.setdefault(stage, [[] for _ in queries])[place].append(value)
    medians = {stage: float(np.median([min(each[1:]) for each in times])) for stage, times in stages.items()}
    return {"search": medians.pop("all"), **{f"stage {stage}": value for stage, value in medians.items()}}


# ---------------------------------------------------------------------------- the other libraries


def _bm25s(bm25s: Any, size: int, queries: Sequence[list[str]]) -> Measured:
    words = [Words().terms(document.text) for document in _documents(size)]
    started = process_time()
    ranker = bm25s.BM25(method="lucene", backend="numba")
    ranker.index(words, show_progress=False)
    building = process_time() - started
    held = sum(ranker.scores[name].nbytes for name in ("data", "indices", "indptr"))

    def best(query: list[str]) -> Any:
        return np.argpartition(-ranker.get_scores(query), DEPTH)[:DEPTH]

    best(queries[0])
    search = float(np.median([_least(lambda query=query: best(query)) for query in queries]))  # type: ignore[misc]
    return {"building": building, "bytes": held, "search": search}


def _tantivy(tantivy: Any, size: int, queries: Sequence[list[str]]) -> Measured:
    schema = tantivy.SchemaBuilder().add_text_field("body", stored=False, tokenizer_name="whitespace").build()
    with TemporaryDirectory() as folder:
        started = process_time()
        engine = tantivy.Index(schema, path=folder)
        writer = engine.writer(heap_size=200_000_000, num_threads=1)
        for document in _documents(size):
            writer.add_document(tantivy.Document(body=" ".join(Words().terms(document.text))))
        writer.commit()
        writer.wait_merging_threads()
        building = process_time() - started
        engine.reload()
        searcher = engine.searcher()

        def best(query: list[str]) -> Any:
            parts = [(tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", word)) for word in query]
            return searcher.search(tantivy.Query.boolean_query(parts), DEPTH)

        search = float(np.median([_least(lambda query=query: best(query)) for query in queries]))  # type: ignore[misc]
        held = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    return {"building": building, "bytes": held, "search": search}


# ---------------------------------------------------------------------------- the table and the figure


def _table(rows: Sequence[Measured]) -> str:
    """All figures, and by which power of the size each grows between the two largest sizes."""
    names = [name for name in rows[-1] if name != "documents"]
    lines = [["", *(f"{row['documents']:,}" for row in rows), "power"], ["---"] * (len(rows) + 2)]
    for name in names:
        values = [row.get(name, float("nan")) for row in rows]
        lines.append([name, *(f"{value:.3g}" for value in values), f"{_power(rows, name):.2f}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _power(rows: Sequence[Measured], name: str) -> float:
    """p, where the figure grows as size^p."""
    if len(rows) < 2 or not rows[-2].get(name) or not rows[-1].get(name):
        return float("nan")
    before, after = rows[-2:]
    return float(np.log(after[name] / before[name]) / np.log(after["documents"] / before["documents"]))


def _drawn(rows: Sequence[Measured]) -> bytes:
    """Six panels with logarithmic axes, as SVG."""
    from matplotlib.ticker import NullFormatter

    from rprs.studies.figures.canvas import blank, draw_lines, finish, label_axes, styled

    stages = [name for name in rows[-1] if name.startswith("stage ")]
    panels = {
        "building, processor seconds": ["building", "bm25s building", "tantivy building"],
        "peak memory of building, MB": ["memory"],
        "size, MB": ["bytes", "bm25s bytes", "tantivy bytes"],
        "opening, processor seconds": ["opening"],
        "a search, processor seconds": ["search", "bm25s search", "tantivy search"],
        "stages of a search, seconds": stages,
    }
    sizes = [row["documents"] for row in rows]
    with styled():
        figure = blank("Cost against the number of documents", 8.5)
        for axes, (title, names) in zip(np.ravel(figure.subplots(3, 2)), panels.items(), strict=True):
            unit = 1e6 if title.endswith("MB") else 1
            curves = {_label(name): np.array([row.get(name, np.nan) for row in rows]) / unit for name in names}
            draw_lines(axes, sizes, curves)
            axes.set(title=title, xscale="log", yscale="log")
            label_axes(axes, "documents", "")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter("{x:,.10g}")
                axis.set_minor_formatter(NullFormatter())
            if len(curves) > 1:
                axes.legend(fontsize=7)
        return finish(figure, "scale", "Six panels with logarithmic axes.").svg


def _label(name: str) -> str:
    """The name of a curve: a stage, or a library."""
    return name.removeprefix("stage ") if name.startswith("stage ") else name.split()[0] if " " in name else "rprs"


if __name__ == "__main__":
    started = perf_counter()
    main()
    print(f"{perf_counter() - started:.0f} s", file=sys.stderr)
