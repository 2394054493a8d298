"""The verbs that search an index and say why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
    from rprs.rank import System
    from rprs.results.hits import Explanation, Results
    from rprs.search import Searcher

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
    from rprs.document import combine
    from rprs.index import Index
    from rprs.results import FORMATS
    from rprs.results.hits import ranking_of
    from rprs.results.run import Run
    from rprs.results.serialize import hit_object

    talk: Talk = context.obj
    system = chosen(context, settings)
    with Index(path) as index:
        seeds = _seeds(index, query, more, ids)
        if not keep_self:
            _tell_left_out(talk, index, seeds)
        searcher = open_searcher(index, system, talk.progress)
        results = searcher.search(seeds, k, where=where, keep_self=keep_self)
        asked = combine(seeds)
        if format in FILES:
            about = searcher.about(asked, k, where=where, keep_self=keep_self)
            sys.stdout.write(FORMATS[format].write(results, about))
    if format is Format.jsonl:
        for hit in results:
            print_json(hit_object(hit, asked.id))
    elif format is Format.trec:
        Run({asked.id: ranking_of(results)}, searcher.system.tag).write(sys.stdout)
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
    from rprs.results.serialize import explanation_object

    file, target = (query, document) if document or not ids else (None, query)
    if target is None:
        raise UsageError("Give the query, as a file or by --id, and the id of one document: rprs explain --help")
    talk: Talk = context.obj
    started = perf_counter()
    system = chosen(context, settings)
    with Index(path) as index:
        searcher = open_searcher(index, system, talk.progress)
        explanation = searcher.explain(_seeds(index, file, more, ids), target, where=where, keep_self=keep_self)
        found = explanation.at_least(min_similarity)
        sentences = len(index.sentences(target))
        if format is View.html:
            _print_report(searcher, explanation, min_similarity, where, keep_self)
    if format is View.jsonl:
        print_json(explanation_object(found, sentences))
    elif format is View.table:
        print_explanation(found, sentences, everything)
    for note in found.notes:
        talk.say(note)
    talk.say(f"{searcher.system} in {perf_counter() - started:.2f} s")


# ---------------------------------------------------------------------------- what both need


def chosen(context: typer.Context, file: Path | None) -> System:
    """The system of a command: from its options, else from the settings file, else the default."""
    from rprs.rank import System
    from rprs.tuning.settings import read_settings

    system = read_settings(file) if file is not None else System()
    names = [name for name in ("first", "rerank", "depth") if name in context.params and _explicit(context, name)]
    return system.changed(**{name: context.params[name] for name in names})


def _explicit(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def open_searcher(index: Index, system: System, progress: Progress) -> Searcher:
    """A searcher of that system; a model of its re-ranker is loaded."""
    from rprs.search import Searcher

    system.load(progress)
    return Searcher(index, system, progress=progress)


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


def _print_report(
    searcher: Searcher, found: Explanation, min_similarity: float, where: str | None, keep_self: bool
) -> None:
    from rprs.results.report import report

    about = searcher.about(found.query, DEFAULT_K, where=where, keep_self=keep_self)
    sentences = searcher.index.query_sentences(found.query), searcher.index.sentences(found.document.id)
    sys.stdout.write(report(found, *sentences, about, min_similarity))


def _tell_results(talk: Talk, searcher: Searcher, results: Results) -> None:
    """The settings, the size of the problem, and the seconds of each stage."""
    for note in results.notes:
        talk.say(note)
    if not results:
        talk.say("No document was found")
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in results.seconds.items())
    talk.say(
        f"{searcher.system}: {counted(results.query_sentences, 'sentence')} against {counted(results.candidates, 'candidate')} "
        f"of {counted(len(searcher.index), 'document')}; {times}"
    )
