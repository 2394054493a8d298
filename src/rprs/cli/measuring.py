"""The verbs that measure runs against judgements."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.messages import Messages
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.evaluation.compare import Comparison
    from rprs.evaluation.evaluate import Evaluation
    from rprs.evaluation.measures import Measure
    from rprs.evaluation.table import Table

USUAL = "P@1 P@10 R@10 R@100 AP nDCG@10 RR"


class Layout(StrEnum):
    """How tables are printed."""

    table = "table"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    jsonl = "jsonl"


class Corrections(StrEnum):
    """Corrections for many comparisons."""

    bonferroni = "bonferroni"
    holm = "holm"
    none = "none"


class Tests(StrEnum):
    """Tests of significance."""

    t = "t"
    fisher = "fisher"


class Orders(StrEnum):
    """Orders of equal scores."""

    run = "run"
    trec_eval = "trec_eval"


Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Runs in TREC format; also .gz and .xz.", show_default=False)
]
Judgements = Annotated[
    Path,
    typer.Option("--qrels", help="The judgements: TREC qrels, or a BEIR table.", metavar="FILE", show_default=False),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        help='Measures, parted by blanks: "P@1 AP@5 micro_F1@4". May be given several times.',
        metavar="MEASURES",
        show_default=USUAL,
    ),
]
Ties = Annotated[
    Orders, typer.Option("--ties", help="Equal scores: in the order of the run, or by falling id as in trec_eval.")
]
Print = Annotated[Layout, typer.Option("--format", help="How to print it.")]
Digits = Annotated[int, typer.Option("--digits", help="Digits behind the point.", min=1, max=10)]


def evaluate(
    context: typer.Context,
    runs: Runs,
    qrels: Judgements,
    measures: Measures = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="The values of every query, too.")] = False,
    ties: Ties = Orders.run,
    digits: Digits = 4,
    format: Print = Layout.table,
) -> None:
    """Measure runs against judgements.

    All queries with a relevant document count; one that a run lacks counts as 0. The name of a system is that of its
    file.

    Example: rprs evaluate bm25.trec rprs.trec --qrels qrels.txt -m "P@1 R@1 AP@5 nDCG@5 RR"
    """
    from rprs.evaluation.compare import totals

    asked, found = _evaluated(context.obj, runs, qrels, measures, ties)
    if format is Layout.jsonl:
        _print_objects(_objects(found, asked, per_query))
    else:
        _print(_per_query(found, asked, digits) if per_query else totals(found, asked, digits=digits), format=format)


def compare(
    context: typer.Context,
    runs: Runs,
    qrels: Judgements,
    measures: Measures = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            help="A system to compare with, by the name of its file. May be given several times.",
            metavar="NAME",
            show_default="the first run",
        ),
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="A difference is significant if p is below this.")] = 0.05,
    correction: Annotated[
        Corrections, typer.Option("--correction", help="For the number of comparisons by one measure.")
    ] = Corrections.bonferroni,
    test: Annotated[Tests, typer.Option("--test", help="The test that decides on the marks.")] = Tests.t,
    permutations: Annotated[
        int, typer.Option("--permutations", help="Swaps of two systems that Fisher's test draws.", min=1)
    ] = 100_000,
    seed: Annotated[int, typer.Option("--seed", help="Of these draws.", min=0)] = 0,
    details: Annotated[
        bool,
        typer.Option(
            "--details", help="Differences, p-values, wins, losses and ties of every pair, too; in CSV, alone."
        ),
    ] = False,
    ties: Ties = Orders.run,
    digits: Digits = 4,
    format: Print = Layout.table,
) -> None:
    """Compare runs: which is better, by how much, and is it significant?

    Every run is tested against every baseline over the queries, by a paired t-test and by Fisher's randomisation test.
    Marks stand at significant improvements: † over the first baseline, * over the second.

    Example: rprs compare bm25.trec rprs.trec --qrels qrels.txt -m "P@1 AP@5" --details --format latex
    """
    from rprs.evaluation.compare import compare

    asked, found = _evaluated(context.obj, runs, qrels, measures, ties)
    result = compare(
        found,
        asked,
        baselines=baseline,
        alpha=alpha,
        correction=correction.value,
        test=test.value,
        permutations=permutations,
        seed=seed,
    )
    if format is Layout.jsonl:
        _print_objects([*_objects(found, asked, False), *(_difference_objects(result) if details else ())])
        return
    tables = [result.table(digits=digits), *([result.details(digits=digits)] if details else [])]
    _print(*(tables[-1:] if format is Layout.csv else tables), format=format)  # a CSV file is one table


# ---------------------------------------------------------------------------- what both need


def _evaluated(
    messages: Messages, runs: Sequence[Path], qrels: Path, texts: Sequence[str] | None, ties: Orders
) -> tuple[tuple[Measure, ...], list[Evaluation]]:
    """The measures, and what each run gets; notes are said."""
    from rprs.evaluation.evaluate import evaluate
    from rprs.evaluation.measures import parse_measures
    from rprs.read import read_run
    from rprs.read.qrels import read_qrels

    measures = parse_measures(texts or [USUAL])
    if not measures:
        raise UsageError(f'Name a measure: -m "{USUAL}"')
    judged = read_qrels(qrels)
    found = []
    with messages.progress("measuring", total=len(runs), unit="runs") as advance:
        for name, path in zip(_names(runs), runs, strict=True):
            found.append(evaluate(read_run(path), judged, measures, name, ties=ties.value))
            advance(1)
    for evaluation in found:
        for note in evaluation.notes:
            messages.print(f"{evaluation.name}: {note}")
    return measures, found


def _names(runs: Sequence[Path]) -> list[str]:
    """The names of the files without their suffixes, where these tell them apart; otherwise their paths."""
    from rprs.read.source import stem_of

    stems = [stem_of(path) for path in runs]
    names = [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, runs, strict=True)]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"The run {twice[0]} is given twice")
    return names


def _print(*tables: Table, format: Layout) -> None:
    """The tables, a blank line between them."""
    sys.stdout.write("\n".join(_written(table, format) for table in tables))


def _written(table: Table, format: Layout) -> str:
    if format is Layout.table:
        from rprs.cli.output import stdout_console

        console = stdout_console()
        return table.plain(console.width, styled=True) if console.is_terminal else table.plain()
    return {"markdown": table.markdown, "latex": table.latex, "csv": table.csv}[format.value]()


def _print_objects(objects: Iterable[dict[str, Any]]) -> None:
    from rprs.cli.output import print_json

    for found in objects:
        print_json(found)


def _per_query(evaluations: Sequence[Evaluation], measures: Sequence[Measure], digits: int) -> Table:
    """A row a system and query, and one of all queries after those of each system."""
    from rprs.evaluation.table import Cell, Figure, Table

    rows: list[tuple[Cell, ...]] = []
    for evaluation in evaluations:
        values = zip(*(evaluation.values(measure).tolist() for measure in measures), strict=True)
        each = [*zip(evaluation.queries, values, strict=True), ("all", [evaluation.total(by) for by in measures])]
        rows += [(evaluation.name, query, *(Figure(value, digits) for value in row)) for query, row in each]
    return Table("", ("system", "query", *map(str, measures)), tuple(rows))


def _objects(evaluations: Sequence[Evaluation], measures: Sequence[Measure], per_query: bool) -> list[dict[str, Any]]:
    """One a system; before it, where they are asked for, one a query."""
    objects: list[dict[str, Any]] = []
    for evaluation in evaluations:
        if per_query:
            columns = {str(measure): evaluation.values(measure).tolist() for measure in measures}
            for at, query in enumerate(evaluation.queries):
                values = {name: column[at] for name, column in columns.items()}
                objects.append({"system": evaluation.name, "query": query, "values": values})
        objects.append(
            {
                "system": evaluation.name,
                "queries": len(evaluation.queries),
                "values": {str(measure): evaluation.total(measure) for measure in measures},
                "notes": list(evaluation.notes),
            }
        )
    return objects


def _difference_objects(result: Comparison) -> list[dict[str, Any]]:
    from dataclasses import asdict

    return [asdict(row) | {"measure": str(row.measure)} for row in result.rows]
