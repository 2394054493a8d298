"""The verbs that search an index and explain a hit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from rprs.cli.groups import QueryGroup, RestrictionGroup, SystemGroup, with_groups
from rprs.cli.messages import Messages, counted
from rprs.cli.opening import open_collection
from rprs.cli.options import (
    AllPairs,
    Details,
    ExplanationFormat,
    HitFormat,
    IndexPath,
    Kinds,
    NoBoilerplate,
    NoGrouping,
    QueryFile,
    Target,
    chosen_kinds,
)
from rprs.cli.queries import QuerySources, check_explain_order, check_index_first
from rprs.cli.steering import read_marks
from rprs.cli.system import selected_system
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.document import Document
    from rprs.rank.restrictions import SearchOptions
    from rprs.results.hits import Explanation, Results
    from rprs.results.serialize import About
    from rprs.search import Searcher

DEFAULT_K = 10
EXPORTS = (HitFormat.csv, HitFormat.ris, HitFormat.bibtex)  # the web interface exports the same files


QueryToExplain = Annotated[
    str,
    typer.Argument(
        metavar="QUERYFILE",
        help="The query document: a file, or - for standard input. Leave it out with --id or --text.",
        show_default=False,
    ),
]
Format = Annotated[HitFormat, typer.Option("--format", help="The format of the hits.")]
FormatOfExplanation = Annotated[ExplanationFormat, typer.Option("--format", help="The format of the explanation.")]


class EvidenceOptions(TypedDict):
    """The keyword arguments of `Searcher.search` that decide how hits and their evidence are shown."""

    group: bool
    boilerplate: bool


@with_groups
def search(
    context: typer.Context,
    *,
    path: IndexPath,
    query: QueryFile = None,
    queries: QueryGroup,
    k: Annotated[int, typer.Option("-k", help="The number of hits.", min=1)] = DEFAULT_K,
    ranking: SystemGroup,
    restrictions: RestrictionGroup,
    no_grouping: NoGrouping = False,
    no_boilerplate: NoBoilerplate = False,
    details: Details = False,
    format: Format = HitFormat.table,
) -> None:
    """Find the documents that are most similar to a whole document.

    Each hit has the share of your document that has a counterpart in it (of yours), the share of its own text that has
    one in yours (of theirs), and the most telling pair of passages: identical (=), reworded (±) or with the same idea
    (≈). Documents with the same or almost the same text are listed beneath the best of them. The query itself is left
    out. Several documents can be combined into one query. Documents that are relevant (--like) or not (--not), and
    sentences of the query that matter (--key) or do not (--ignore), steer the ranking.

    Example: rprs search cases.rprs brief.pdf

    Example: rprs search cases.rprs brief.pdf --with annex.docx --id 2016/brown.txt

    Example: rprs search cases.rprs --text "The landlord kept the deposit." --format json

    Example: rprs search cases.rprs --id 2016/brown.txt -k 20 --where "date < 2016-01-01" --format jsonl

    Example: rprs search cases.rprs brief.pdf --also contracts.rprs

    Example: rprs search cases.rprs --id 2016/brown.txt --before date

    Example: rprs search cases.rprs brief.pdf --like 2016/brown.txt --not 2014/smith.txt --ignore 1-5

    Example: rprs search cases.rprs brief.pdf --settings tuned.toml --format csv > hits.csv
    """
    check_index_first("search", path, query)
    messages: Messages = context.obj
    with open_search(context, path, query) as (searcher, documents, options):
        if not restrictions.keep_self:
            for id in searcher.index.namesakes(documents):
                messages.print(f"{id!r} of the index is left out because it has the id of the query: see --keep-self")
        group = not no_grouping and format is not HitFormat.trec  # a run ranks documents, not groups
        evidence: EvidenceOptions = {"group": group, "boilerplate": not no_boilerplate}
        results = searcher.search(documents, k, **options, **evidence)
        about = partial(searcher.about, documents, k, **options, **evidence)
        _print_results(searcher, documents, results, about, context)
    restricted = any((restrictions.where, restrictions.before, options["exclude"], restrictions.unlike))
    _print_summary(messages, searcher, results, restricted=restricted)


@with_groups
def explain(
    context: typer.Context,
    *,
    path: IndexPath,
    query: QueryToExplain,
    document: Target = None,
    queries: QueryGroup,
    ranking: SystemGroup,
    restrictions: RestrictionGroup,
    kind: Kinds = None,
    no_boilerplate: NoBoilerplate = False,
    all_pairs: AllPairs = False,
    format: FormatOfExplanation = ExplanationFormat.table,
) -> None:
    """Show why a document of the index is similar to the query: matching passages side by side.

    A match is identical (=), reworded (±, with the changed words marked) or has the same idea (≈). The parts of the
    query without a counterpart come last, then the rank and scores of the document in a search. The html format is one
    file with both texts, which can be mailed.

    Example: rprs explain cases.rprs brief.pdf 2016/brown.txt

    Example: rprs explain cases.rprs brief.pdf 2016/brown.txt --format html > brown.html

    Example: rprs explain cases.rprs --id 2016/smith.txt 2016/brown.txt --kind identical --kind reworded

    Example: rprs explain cases.rprs --text "The landlord kept the deposit." 2016/brown.txt --format json
    """
    from rprs.index.lookup import resolve_id

    messages: Messages = context.obj
    started = perf_counter()
    check_index_first("explain", path, query, document)
    is_file = document or not (queries.ids or queries.text is not None)
    file, name = (query, document) if is_file else (None, query)
    if name is None:
        raise UsageError(
            "Give the query, as a file or by --text or --id, and the id of one document: see rprs explain --help"
        )
    if "url" not in context.params:
        check_explain_order(path, file, name)
    with open_search(context, path, file) as (searcher, documents, options):
        id = resolve_id(searcher.index, name)
        explanation = searcher.explain(documents, id, **options, boilerplate=not no_boilerplate)
        about = partial(searcher.about, documents, DEFAULT_K, **options, boilerplate=not no_boilerplate)
        _print_explanation(explanation, about, context)
    for note in explanation.notes:
        messages.print(note)
    messages.print(f"{searcher.system} in {perf_counter() - started:.2f} s")


@contextmanager
def open_search(
    context: typer.Context, path: Path, file: str | None
) -> Iterator[tuple[Searcher, list[Document], SearchOptions]]:
    """The searcher of a command, the documents of its query, and the options that restrict the hits."""
    from rprs.rehearsal import rehearsing

    parameters, progress = context.params, context.obj.progress
    system = selected_system(context)
    files = [each for each in (file, *(parameters["more"] or ())) if each is not None]
    sources = QuerySources(files, parameters["text"], parameters["ids"] or ())
    with rehearsing(from_end=True), open_collection(context, [path, *(parameters.get("also") or ())]) as collection:
        index = collection.index
        documents = sources.read(index)
        options: SearchOptions = {
            "where": parameters["where"],
            "keep_self": parameters["keep_self"],
            "exclude": sources.excluded_ids(documents, parameters["exclude"]),
            "before": parameters["before"],
            "undated": parameters["undated"].value,
            **read_marks(parameters, documents, index),
        }
        system.load(progress)
        yield collection.searcher(system, progress), documents, options


# ---------------------------------------------------------------------------- output


def _print_results(
    searcher: Searcher, documents: list[Document], results: Results, about: Callable[[], About], context: typer.Context
) -> None:
    from rprs.cli.evidence import print_hits
    from rprs.cli.output import print_objects
    from rprs.document import combine
    from rprs.results import FORMATS
    from rprs.results.hits import ranking_of
    from rprs.results.run import Run
    from rprs.results.serialize import hit_object

    format, query = context.params["format"], combine(documents)
    if format in EXPORTS:
        sys.stdout.write(FORMATS[format].write(results, about()))
    elif format in (HitFormat.json, HitFormat.jsonl):
        print_objects([hit_object(hit, query.id) for hit in results], lines=format is HitFormat.jsonl)
    elif format is HitFormat.trec:
        Run({query.id: ranking_of(results)}, searcher.system.tag).write(sys.stdout)
    elif results:
        print_hits(results, details=context.params["details"])


def _print_explanation(explanation: Explanation, about: Callable[[], About], context: typer.Context) -> None:
    from rprs.cli.evidence import print_explanation
    from rprs.cli.output import print_object
    from rprs.results.report import explanation_report
    from rprs.results.serialize import explanation_object

    format, kinds = context.params["format"], chosen_kinds(context.params["kind"])
    if format is ExplanationFormat.html:
        sys.stdout.write(explanation_report(explanation, about(), kinds))
    elif format is ExplanationFormat.table:
        print_explanation(explanation, kinds, context.params["all_pairs"])
    else:
        lines = format is ExplanationFormat.jsonl
        print_object(explanation_object(explanation.of_kinds(kinds)), lines=lines)


def _print_summary(messages: Messages, searcher: Searcher, results: Results, *, restricted: bool) -> None:
    """The notes of a search, its size, and as technical details its system and the seconds of each stage."""
    from rprs.results.wording import NOTHING_SHARED

    for note in results.notes:
        messages.print(note)
    if not results:
        messages.print("No similar document passes the filters: relax them" if restricted else NOTHING_SHARED)
    sentences = counted(results.query_sentences, "sentence")
    documents = counted(len(searcher.index), "document")
    top = f"Top {len(results):,} of {documents}" if results else documents
    messages.print(f"{top} · your document: {sentences}")
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in results.seconds.items())
    messages.print(f"{searcher.system}: {counted(results.candidates, 'candidate')}; {times}")
