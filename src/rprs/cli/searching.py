"""The verbs that search an index and say why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.options import (
    FIRST,
    RERANK,
    Depth,
    Everything,
    First,
    Format,
    IndexPath,
    KeepSelf,
    MinSimilarity,
    QueryFiles,
    QueryIds,
    Rerank,
    SettingsFile,
    Target,
    View,
    Where,
)
from rprs.cli.talk import Talk, counted
from rprs.errors import UsageError
from rprs.spec import DEPTH

if TYPE_CHECKING:
    from rprs.document import Document
    from rprs.index import Index
    from rprs.progress import Progress
    from rprs.rank import Ranker
    from rprs.search import Explanation, Results, Searcher
    from rprs.settings import Settings

DEFAULT_K = 10
FILES = (Format.csv, Format.ris, Format.bibtex)  # as they are taken away from the page, too


def search(
    context: typer.Context,
    path: IndexPath,
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERYFILE", help="The query: a file, or - for standard input.", show_default=False),
    ] = None,
    more: QueryFiles = None,
    ids: QueryIds = None,
    k: Annotated[int, typer.Option("-k", help="How many hits.", min=1)] = DEFAULT_K,
    first: First = FIRST,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    where: Where = None,
    keep_self: KeepSelf = False,
    format: Annotated[Format, typer.Option("--format", help="How to print the hits.")] = Format.table,
) -> None:
    """Find the documents that are most like a whole document.

    A hit shows its score, how much of the query it answers (QP), how much of it is about the query (DP), its rank in
    the first stage, and the two sentences that prove it. The query itself is left out. Several documents can be asked
    together, as one long query.

    Example: rprs search cases.rprs brief.pdf

    Example: rprs search cases.rprs brief.pdf --with annex.docx --id 2016/brown.txt

    Example: rprs search cases.rprs --id 2016/brown.txt -k 20 --where "date < 2016-01-01" --format jsonl

    Example: rprs search cases.rprs brief.pdf --settings tuned.toml --format csv > hits.csv
    """
    from rprs.cli.show import print_hits, print_json
    from rprs.document import together
    from rprs.export import FORMATS
    from rprs.index import Index
    from rprs.settings import returned
    from rprs.wire import about_search, hit_object

    talk: Talk = context.obj
    system = chosen(context, settings)
    with Index(path) as index:
        seeds = _seeds(index, query, more, ids)
        if not keep_self:
            _tell_left_out(talk, index, seeds)
        searcher = open_searcher(index, system, talk.progress)
        results = searcher.search(seeds, k, where=where, keep_self=keep_self)
        results = replace(results, hits=results.hits[: returned(system.cutoff, [hit.score for hit in results])])
        asked = together(seeds)
        if format in FILES:
            about = about_search(searcher, asked, k, where=where, keep_self=keep_self, cutoff=system.cutoff)
            sys.stdout.write(FORMATS[format].write(results, about))
    if format is Format.jsonl:
        for hit in results:
            print_json(hit_object(hit, asked.id))
    elif format is Format.trec:
        _print_run(asked, results, searcher.tag)
    elif format is Format.table and results:
        print_hits(results)
    _tell_results(talk, searcher, results)


def explain(
    context: typer.Context,
    path: IndexPath,
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERYFILE",
            help="The query: a file, or - for standard input. Leave it out with --id.",
            show_default=False,
        ),
    ],
    document: Target = None,
    more: QueryFiles = None,
    ids: QueryIds = None,
    first: First = FIRST,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    where: Where = None,
    keep_self: KeepSelf = False,
    min_similarity: MinSimilarity = -1.0,
    everything: Everything = False,
    format: Annotated[View, typer.Option("--format", help="How to print it.")] = View.table,
) -> None:
    """Show why a document of the index is like the query: pairs of sentences side by side.

    A pair is a sentence of the query with one of its nearest sentences among those of all candidates. What of the query
    nothing in the document matches comes last. As html it is a page with both texts that can be mailed.

    Example: rprs explain cases.rprs brief.pdf 2016/brown.txt

    Example: rprs explain cases.rprs brief.pdf 2016/brown.txt --format html > brown.html

    Example: rprs explain cases.rprs --id 2016/smith.txt 2016/brown.txt --min-similarity 0.6
    """
    from rprs.cli.show import print_explanation, print_json
    from rprs.index import Index
    from rprs.search import at_least
    from rprs.wire import explanation_object

    file, target = (query, document) if document or not ids else (None, query)
    if target is None:
        raise UsageError("Give the query, as a file or by --id, and the id of one document: rprs explain --help")
    talk: Talk = context.obj
    started = perf_counter()
    system = chosen(context, settings)
    with Index(path) as index:
        searcher = open_searcher(index, system, talk.progress)
        explanation = searcher.explain(_seeds(index, file, more, ids), target, where=where, keep_self=keep_self)
        found = at_least(explanation, min_similarity)
        sentences = len(index.sentences(target))
        if format is View.html:
            _print_report(searcher, explanation, min_similarity, where, keep_self)
    if format is View.jsonl:
        print_json(explanation_object(found, sentences))
    elif format is View.table:
        print_explanation(found, sentences, everything)
    for note in found.notes:
        talk.say(note)
    talk.say(f"{searcher.first} → {searcher.reranker} in {perf_counter() - started:.2f} s")


# ---------------------------------------------------------------------------- what both need


def chosen(context: typer.Context, file: Path | None) -> Settings:
    """The system of a command: what its options say, else what the file has, else the defaults."""
    from rprs.settings import NONE, Settings, read_settings

    found = read_settings(file) if file is not None else Settings()
    given = {
        name: context.params[name]
        for name in ("first", "rerank", "depth")
        if name in context.params and _explicit(context, name)
    }
    if given.get("rerank", "").strip().lower() == NONE:
        given["rerank"] = None
    return replace(found, **given)


def _explicit(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def open_searcher(index: Index, system: Settings, progress: Progress, first: Ranker | None = None) -> Searcher:
    """A searcher of that system, with another first stage if there is one; a model of its re-ranker is loaded."""
    from rprs.encode import Loadable
    from rprs.search import Searcher

    found = Searcher(index, first or system.first, system.rerank, system.depth, progress)
    if isinstance(found.reranker, Loadable):
        found.reranker.load(progress)
    return found


def _seeds(index: Index, file: str | None, more: list[str] | None, ids: list[str] | None) -> list[Document]:
    """The query: files, standard input, documents of the index, or several of them."""
    files = [name for name in (file, *(more or ())) if name is not None]
    if not files and not ids:
        raise UsageError("Give a query: a file, - for standard input, or --id with the id of a document in the index")
    return [*(_read(name) for name in files), *(index.document(id) for id in ids or ())]


def _read(file: str) -> Document:
    from rprs.document import Document
    from rprs.read import read_one
    from rprs.read.encoding import clean, decode

    if file == "-":
        return Document("stdin", clean(decode(sys.stdin.buffer.read())), "standard input")
    return read_one(file)


def _tell_left_out(talk: Talk, index: Index, seeds: Sequence[Document]) -> None:
    """Say so when a document that only shares the query's id is left out: it may be another text of that name."""
    for id in index.namesakes(seeds):
        talk.say(f"{id!r} of the index is left out, having the id of the query: --keep-self keeps it")


def _print_run(query: Document, results: Results, tag: str) -> None:
    import numpy as np

    from rprs.document import Ranking
    from rprs.read import write_run

    scores = np.array([hit.score for hit in results], dtype=np.float64)
    write_run(sys.stdout, query.id, Ranking(tuple(hit.id for hit in results), scores), tag)


def _print_report(
    searcher: Searcher, found: Explanation, min_similarity: float, where: str | None, keep_self: bool
) -> None:
    from rprs.export.report import report
    from rprs.wire import about_search

    about = about_search(searcher, found.query, DEFAULT_K, where=where, keep_self=keep_self)
    sentences = searcher.index.query_sentences(found.query), searcher.index.sentences(found.document.id)
    sys.stdout.write(report(found, *sentences, about, min_similarity))


def _tell_results(talk: Talk, searcher: Searcher, results: Results) -> None:
    """The settings, the size of the problem, and the seconds of each stage."""
    for note in results.notes:
        talk.say(note)
    if not results:
        talk.say("No document was found")
    stages = f"{searcher.first} → {searcher.reranker}" if searcher.reranker else str(searcher.first)
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in results.seconds.items())
    talk.say(
        f"{stages}: {counted(results.query_sentences, 'sentence')} against {counted(results.candidates, 'candidate')} "
        f"of {counted(len(searcher.index), 'document')}; {times}"
    )
