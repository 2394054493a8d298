"""The commands that measure runs against relevance judgements."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.messages import Messages
from rprs.errors import UsageError
from rprs.evaluation import DEFAULT_MEASURES

if TYPE_CHECKING:
    from rprs.evaluation.compare import Comparison
    from rprs.evaluation.evaluate import Evaluation
    from rprs.evaluation.table import Table


class Layout(StrEnum):
    """Formats of tables."""

    table = "table"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"
    jsonl = "jsonl"


JSON = (Layout.json, Layout.jsonl)


class Corrections(StrEnum):
    """Corrections for multiple comparisons."""

    bonferroni = "bonferroni"
    holm = "holm"
    none = "none"


class Tests(StrEnum):
    """Significance tests."""

    t = "t"
    fisher = "fisher"


class Orders(StrEnum):
    """Orders of documents with equal scores."""

    run = "run"
    trec_eval = "trec_eval"


Runs = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Runs in TREC format, also .gz and .xz.", show_default=False)
]
Judgements = Annotated[
    Path,
    typer.Option(
        "--qrels",
        help="Relevance judgements: TREC qrels, a BEIR table or a BEIR folder.",
        metavar="FILE",
        show_default=False,
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        help='Measures, separated by blanks: "P@1 AP@5 micro_F1@4". Names of trec_eval are accepted. Repeatable.',
        metavar="MEASURES",
        show_default=DEFAULT_MEASURES,
    ),
]
Judged = Annotated[
    bool,
    typer.Option(
        "--judged",
        help="Also print the share of judged documents among the top k, Judged@k, for every cut-off k of the measures.",
    ),
]
Ties = Annotated[
    Orders, typer.Option("--ties", help="Order of equal scores: that of the run, or by descending id as in trec_eval.")
]
Print = Annotated[Layout, typer.Option("--format", help="Output format.")]
Digits = Annotated[int, typer.Option("--digits", help="Digits after the decimal point.", min=1, max=10)]

Baselines = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        help="A system to compare with, by the name of its file. Repeatable.",
        metavar="NAME",
        show_default="the first run",
    ),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--pair",
        help="Compare only this system with this baseline. Repeatable.",
        metavar="SYSTEM,BASELINE",
        show_default=False,
    ),
]
Level = Annotated[float, typer.Option("--alpha", help="Significance level.")]
Correction = Annotated[
    Corrections, typer.Option("--correction", help="Correction for the number of comparisons by each measure.")
]
Test = Annotated[Tests, typer.Option("--test", help="The test that decides on the marks.")]
Permutations = Annotated[
    int, typer.Option("--permutations", help="Number of random permutations for Fisher's test.", min=1)
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of these permutations.", min=0)]
WithDetails = Annotated[
    bool,
    typer.Option(
        "--details",
        help="Also print differences with confidence intervals, effect sizes, p-values, wins, losses and ties of "
        "every pair; in CSV, nothing else.",
    ),
]


def evaluate(
    context: typer.Context,
    runs: Runs,
    qrels: Judgements,
    measures: Measures = None,
    judged: Judged = False,
    per_query: Annotated[bool, typer.Option("--per-query", help="Print the values of every query, too.")] = False,
    ties: Ties = Orders.run,
    digits: Digits = 4,
    format: Print = Layout.table,
) -> None:
    """Measure runs against relevance judgements.

    All queries with a relevant document count; a query missing from a run counts as 0. A system is named after its
    file.

    Example: rprs evaluate bm25.trec rprs.trec --qrels qrels.txt -m "P@1 R@1 AP@5 nDCG@5 RR"
    """
    from rprs.cli.output import print_objects
    from rprs.evaluation.evaluate import per_query_table, totals

    evaluations = _evaluations(context.obj, runs, qrels, measures, ties, judged)
    columns = evaluations[0].measures
    if format in JSON:
        print_objects(_evaluation_objects(evaluations, per_query), lines=format is Layout.jsonl)
    elif per_query:
        _print_tables([per_query_table(evaluations, columns, digits)], format)
    else:
        _print_tables([totals(evaluations, columns, digits=digits)], format)


def compare(
    context: typer.Context,
    runs: Runs,
    qrels: Judgements,
    measures: Measures = None,
    judged: Judged = False,
    baseline: Baselines = None,
    pair: Pairs = None,
    alpha: Level = 0.05,
    correction: Correction = Corrections.bonferroni,
    test: Test = Tests.t,
    permutations: Permutations = 100_000,
    seed: Seed = 0,
    details: WithDetails = False,
    ties: Ties = Orders.run,
    digits: Digits = 4,
    format: Print = Layout.table,
) -> None:
    """Compare runs: which is better, by how much, and is the difference significant?

    Every run is tested against every baseline over the queries, with a paired t-test and Fisher's randomisation test;
    with --pair, only the pairs named are tested, and the correction counts these alone.
    Significant improvements are marked: † over the first baseline, * over the second.

    Example: rprs compare bm25.trec rprs.trec --qrels qrels.txt -m "P@1 AP@5" --details --format latex
    """
    from rprs.cli.output import print_objects
    from rprs.evaluation.compare import compare

    evaluations = _evaluations(context.obj, runs, qrels, measures, ties, judged)
    names = [evaluation.name for evaluation in evaluations]
    comparison = compare(
        evaluations,
        baselines=baseline,
        comparisons=[_pair(text, names) for text in pair or ()],
        alpha=alpha,
        correction=correction.value,
        test=test.value,
        permutations=permutations,
        seed=seed,
    )
    if format in JSON:
        differences = _difference_objects(comparison) if details else []
        objects = [*_evaluation_objects(comparison.evaluations, per_query=False), *differences]
        print_objects(objects, lines=format is Layout.jsonl)
    elif details and format is Layout.csv:  # a CSV file is one table
        _print_tables([comparison.details(digits=digits)], format)
    else:
        tables = [comparison.table(digits=digits), *([comparison.details(digits=digits)] if details else [])]
        _print_tables(tables, format)


# ---------------------------------------------------------------------------- shared by both commands


def _evaluations(
    messages: Messages, runs: Sequence[Path], qrels: Path, measures: Sequence[str] | None, ties: Orders, judged: bool
) -> list[Evaluation]:
    """The evaluation of each run; their notes are printed."""
    from rprs.evaluation.evaluate import evaluate
    from rprs.evaluation.inputs import name_files
    from rprs.evaluation.measures import parse_measures
    from rprs.read.inputs import read_judgements

    parsed, judgements, evaluations = parse_measures(measures or DEFAULT_MEASURES), read_judgements(qrels), []
    with messages.progress("measuring", total=len(runs), unit="runs") as advance:
        for name, path in zip(name_files(runs), runs, strict=True):
            evaluations.append(evaluate(path, judgements, parsed, name=name, ties=ties.value, judged=judged))
            advance(1)
    for evaluation in evaluations:
        for note in evaluation.notes:
            messages.print(f"{evaluation.name}: {note}")
    return evaluations


def _pair(text: str, names: Sequence[str]) -> tuple[str, str]:
    """A system and a baseline, whose names may contain commas themselves."""
    words = text.split(",")
    halves = [(",".join(words[:place]).strip(), ",".join(words[place:]).strip()) for place in range(1, len(words))]
    pair = next((each for each in halves if set(each) <= set(names)), None)
    if pair is None:
        raise UsageError(
            f"--pair takes two systems, as {names[-1]},{names[0]}. Got {text!r}: there are {', '.join(names)}"
        )
    return pair


def _print_tables(tables: Sequence[Table], format: Layout) -> None:
    """Print the tables with a blank line between them."""
    sys.stdout.write("\n".join(_formatted(table, format) for table in tables))


def _formatted(table: Table, format: Layout) -> str:
    if format is Layout.table:
        from rprs.cli.output import stdout_console

        console = stdout_console()
        return table.plain(console.width, styled=True) if console.is_terminal else table.plain()
    return {"markdown": table.markdown, "latex": table.latex, "csv": table.csv}[format.value]()


def _evaluation_objects(evaluations: Sequence[Evaluation], per_query: bool) -> list[dict[str, Any]]:
    """One object per system, preceded by one per query if requested."""
    objects: list[dict[str, Any]] = []
    for evaluation in evaluations:
        if per_query:
            columns = {str(measure): evaluation.values(measure).tolist() for measure in evaluation.measures}
            for at, query in enumerate(evaluation.queries):
                values = {name: column[at] for name, column in columns.items()}
                objects.append({"system": evaluation.name, "query": query, "values": values})
        objects.append(
            {
                "system": evaluation.name,
                "queries": len(evaluation.queries),
                "values": {str(measure): evaluation.total(measure) for measure in evaluation.measures},
                "notes": list(evaluation.notes),
            }
        )
    return objects


def _difference_objects(comparison: Comparison) -> list[dict[str, Any]]:
    from dataclasses import asdict
    from math import isnan

    objects = [asdict(row) | {"measure": str(row.measure)} for row in comparison.rows]
    return [
        {key: None if isinstance(value, float) and isnan(value) else value for key, value in each.items()}
        for each in objects
    ]
