"""`rprs.evaluate` and `rprs.compare`: they load their implementation, and NumPy with it, when they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rprs.evaluation import DEFAULT_MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rprs.evaluation.compare import Comparison, Correction, Test
    from rprs.evaluation.evaluate import Evaluation, Ties
    from rprs.evaluation.inputs import RunInput
    from rprs.evaluation.measures import MeasureInput

__all__ = ["compare", "evaluate"]


def evaluate(
    run: RunInput,
    qrels: Any,
    measures: MeasureInput = DEFAULT_MEASURES,
    *,
    name: str = "",
    ties: Ties = "run",
    judged: bool = False,
) -> Evaluation:
    """Measure a run on all queries with a relevant document (a grade above 0); queries that it lacks count as 0.

    `run` is a TREC file, a `Run`, a mapping from queries to rankings or to documents with scores, a DataFrame with
    query_id, doc_id and score, or an iterable of ir_measures' ScoredDoc. `qrels` is a file, a BEIR folder (its test
    split), a mapping from queries to documents with grades, a DataFrame with query_id, doc_id and relevance, or an
    iterable of ir_measures' Qrel. `measures` are texts ("P@1 AP nDCG@10", names of trec_eval too) or measures.

    Equal scores keep the order of the run, or with ties="trec_eval" the document with the greater id comes first.
    `name` is the name of the system; the default is that of the file, or the tag of the `Run`. `judged` adds Judged@k,
    the share of judged documents among the top k, for every cut-off k of the measures.
    """
    from rprs.evaluation.evaluate import evaluate

    return evaluate(run, qrels, measures, name=name, ties=ties, judged=judged)


def compare(
    runs: Mapping[str, Any] | Iterable[Any],
    qrels: Any = None,
    measures: MeasureInput | None = None,
    *,
    baselines: str | Iterable[str] | None = None,
    comparisons: Iterable[tuple[str, str]] | None = None,
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
    test: Test = "t",
    permutations: int = 100_000,
    seed: int = 0,
    ties: Ties = "run",
    judged: bool = False,
) -> Comparison:
    """Test every system against every baseline (by default, the first system), by each measure.

    `comparisons` lists pairs (system, baseline): then only these are tested, or these as well if `baselines` is given.

    `runs` maps names to runs as `evaluate` takes them, or lists files (named after the files), `Run`s (by their tags)
    and `Evaluation`s. `qrels` and `measures` are those of `evaluate`; evaluations need no qrels, and without `measures`
    theirs are compared. A difference is significant if the corrected p of `test` ("t" or "fisher") is below `alpha`.

    Each measure is a family of its own: the correction ("bonferroni", "holm" or "none") is over the pairs of systems
    that are compared by it. Where the total is not the mean over queries (micro_F1), the t-test compares the values of
    the queries, and Fisher's test the totals.

    Every difference has a confidence interval of level 1 − `alpha`, which is not corrected (Student's; where the total
    is not a mean, a bootstrap of the queries), and an effect size, Cohen's d_z. Judged@k is printed but not tested;
    `judged` adds it for every cut-off k of the measures.
    """
    from rprs.evaluation.compare import compare

    return compare(
        runs,
        qrels,
        measures,
        baselines=baselines,
        comparisons=comparisons,
        alpha=alpha,
        correction=correction,
        test=test,
        permutations=permutations,
        seed=seed,
        ties=ties,
        judged=judged,
    )
