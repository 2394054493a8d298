"""Measures of rankings, as values whose text parses back: `P@1`, `nDCG@5`, `micro_F1@4`, `F1@ratio(p=0.8,l=1,h=6)`.

The measures of ir_measures are defined as there and in trec_eval: P@k divides by k however few documents are retrieved,
R@k and AP@k by all relevant documents, and nDCG uses the grade as the gain. These are added:

    F1@rule                          the mean of the queries' F1 over the documents that a rule returns
    macro_P, macro_R, macro_F1@rule  means of P and R over queries, and the F1 of these two means
    micro_P, micro_R, micro_F1@rule  the same over all pairs (query, document) pooled, as in COLIEE
    MPR                              1 − mean of rank / length over the relevant documents in the list, rank from 0; one
                                     that is not in the list is left out, and one of grade 2 counts twice (SDR's code)
    sdr_RR (sdr_MRR)                 1 for ranks 1 and 2, 1/2 for rank 3, 1/3 for rank 4 (SDR's code); 0 for none

A measure has *parts*: numbers of one query, whose mean over the queries gives the total. Thus the total of many
settings, or of many permutations of two systems, is one sum. The common measures are computed for p orders of the same
documents at once, since tuning compares thousands of them.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rprs.errors import UsageError
from rprs.evaluation.cutoff import Ratio, Rule, Top, cut
from rprs.evaluation.definitions import MPR, Measure, Over, Quantity, Ranked, Returned, SdrRR, judge
from rprs.evaluation.gains import ARRAYS
from rprs.evaluation.trec_names import expand_trec_name

__all__ = [
    "MPR",
    "Measure",
    "MeasureInput",
    "Over",
    "Quantity",
    "Ranked",
    "Ratio",
    "Returned",
    "Rule",
    "SdrRR",
    "Standard",
    "Top",
    "cut",
    "judge",
    "judged_beside",
    "parse_measure",
    "parse_measures",
    "parse_rule",
    "standard",
]

Floats = NDArray[np.float64]


# ---------------------------------------------------------------------------- measures of ir_measures


@dataclass(frozen=True, slots=True)
class Standard(Measure):
    """A measure of ir_measures, by its text there; `parse_measure` creates it."""

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def averaged(self) -> bool:
        """False for counts, such as NumRet, which are added up."""
        from ir_measures import SumAgg

        return not isinstance(_ir_measure(self.text).aggregator(), SumAgg)

    @property
    def compared(self) -> bool:
        """False for Judged@k."""
        return not self.text.startswith("Judged")

    @property
    def cutoff(self) -> int | None:
        """The number after the @."""
        k: int | None = _ir_measure(self.text).params.get("cutoff")
        return k

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 1): computed on arrays if possible, otherwise by ir_measures, once for each distinct order."""
        measure = _ir_measure(self.text)
        array, k, depth = ARRAYS.get(measure.__name__), self.cutoff, ranked.gains.shape[1]
        if measure.__name__ == "Judged" and ranked.judged is not None:
            return np.asarray(ranked.judged[:, :k].sum(axis=1, keepdims=True) / max(min(k or depth, depth), 1))
        if array is None or measure.params.keys() - {"cutoff", "rel"}:
            return self._distinct(ranked)
        rel = measure.params.get("rel", 1)
        return array(ranked.gains[:, : depth if k is None else k], ranked.grades, k, rel)[:, None]

    def total(self, parts: Floats) -> Floats:
        """The mean over queries; for counts, such as NumRet, the sum."""
        values = parts[..., 0]
        return np.asarray(values.mean(axis=0) if self.averaged else values.sum(axis=0))

    def _distinct(self, ranked: Ranked) -> Floats:
        judged, irrelevant = ranked.judged, ranked.irrelevant
        if judged is None:
            if self.text.startswith(("Bpref", "infAP", "Judged")) or "judged_only" in self.text:
                raise UsageError(f"{self} needs documents that are judged not relevant: choose another measure")
            judged, irrelevant = ranked.gains > 0, 0
        grades = np.where(judged, ranked.gains, -1)
        rows, which = np.unique(grades, axis=0, return_inverse=True)
        run, qrels = {}, {}
        for number, row in enumerate(rows.tolist()):
            listed = {str(rank): grade for rank, grade in enumerate(row) if grade >= 0}
            unlisted = Counter(ranked.grades.tolist() + [0] * irrelevant) - Counter(listed.values())
            run[str(number)] = tuple(map(str, range(len(row))))
            qrels[str(number)] = listed | {f"u{n}": grade for n, grade in enumerate(unlisted.elements())}
        return standard([self], run, qrels, list(run))[self][which.ravel()]


def standard(
    measures: Sequence[Standard],
    run: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
    queries: Sequence[str],
) -> dict[Standard, Floats]:
    """(queries, 1) for each measure, by ir_measures; scores are made from the ranks, so that there are no ties."""
    import ir_measures

    numbers = {query: str(number) for number, query in enumerate(queries, 1)}  # gdeval supports numbers only
    by_theirs = {_ir_measure(measure.text): measure for measure in measures}
    values = {measure: np.zeros((len(queries), 1)) for measure in measures}
    listed = {
        numbers[query]: {id: float(len(run[query]) - rank) for rank, id in enumerate(run[query])}
        for query in queries
        if run.get(query)
    }
    judged = {numbers[query]: dict(qrels[query]) for query in queries}
    for metric in ir_measures.iter_calc(list(by_theirs), judged, listed) if by_theirs else ():
        values[by_theirs[metric.measure]][int(metric.query_id) - 1] = metric.value
    return values


# ---------------------------------------------------------------------------- text → measure

MeasureInput = str | Measure | Iterable[Any] | Any  # Any: a measure of ir_measures, or several

_COUNTED, _COUNTS = ("cutoff", "rel"), range(1, 2**31)  # beyond which trec_eval's numbers overflow
_OURS: dict[str, Measure] = {"MPR": MPR(), "sdr_RR": SdrRR(), "sdr_MRR": SdrRR()}
_NO_RULE = "Cannot read the cut-off of {!r}: write a number, such as 4, or a rule, such as ratio(p=0.8,l=1,h=6)"
_RETURNED: dict[str, tuple[Quantity, Over]] = {
    "F1": ("F1", "each"),
    "macro_F1": ("F1", "macro"),
    "macro_P": ("P", "macro"),
    "macro_R": ("R", "macro"),
    "micro_F1": ("F1", "micro"),
    "micro_P": ("P", "micro"),
    "micro_R": ("R", "micro"),
}


def parse_measures(measures: MeasureInput) -> tuple[Measure, ...]:
    """The measures that texts name, each once; measures, also those of ir_measures, are accepted too.

    Blanks or commas separate the measures in a text. Names of trec_eval are accepted: `ndcg_cut_10` is nDCG@10, and `P`
    without a cut-off is P@5, P@10 and so on to P@1000.
    """
    items = list(measures) if isinstance(measures, Iterable) and not isinstance(measures, str) else [measures]
    return tuple(dict.fromkeys(measure for item in items for measure in _parse_item(item)))


def _parse_item(item: Any) -> list[Measure]:
    if isinstance(item, Measure):
        return [item]
    if isinstance(item, str):
        words = [word for word in re.split(r"[\s,]+(?![^(]*\))", item) if word]
        return [parse_measure(text) for word in words for text in expand_trec_name(word)]
    from ir_measures.measures import Measure as IrMeasure

    if isinstance(item, IrMeasure):
        return [parse_measure(str(item))]
    raise UsageError(f"A measure is a text, such as 'P@1 AP', or a measure of ir_measures. Got {item!r:.80}")


def judged_beside(measures: Iterable[Measure]) -> tuple[Measure, ...]:
    """Judged@k for every cut-off k of some measures, in ascending order; Judged@10 if none of them has one.

    Judged@k is the share of judged documents among the top k of a ranking.
    """
    cutoffs = {measure.cutoff for measure in measures if measure.cutoff is not None} or {10}
    return tuple(parse_measure(f"Judged@{k}") for k in sorted(cutoffs))


def parse_measure(text: str) -> Measure:
    """The measure that a text names; `str` of it parses back."""
    texts = expand_trec_name(text.strip())
    text = texts[0] if len(texts) == 1 else text
    name, params, at = _parsed(text)
    if name in _RETURNED:
        if params or at is None:
            raise UsageError(f"{name} needs a cut-off and nothing else: {name}@4 or {name}@ratio(p=0.8,l=1,h=6)")
        return Returned(*_RETURNED[name], _rule(at, text))
    if name in _OURS:
        if params or at is not None:
            raise UsageError(f"{name} takes neither a cut-off nor parameters. Got {text!r} instead.")
        return _OURS[name]
    return Standard(str(_ir_measure(text)))


def parse_rule(text: str) -> Rule:
    """The cut-off rule that a text names: `4`, or `ratio(p=0.8,l=1,h=6)`; `str` of it parses back."""
    try:
        node = _expression(text)
    except UsageError as error:
        raise UsageError(_NO_RULE.format(text)) from error
    return _rule(node, text)


def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"Cannot read {text!r} as a measure: write NAME, NAME@5 or NAME(parameter=value)@5") from error


def _parsed(text: str) -> tuple[str, dict[str, Any], ast.expr | None]:
    """Name, parameters and what follows the @; the syntax of measures is a subset of Python's."""
    node, at = _expression(text), None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        at, node = node.right, node.left
    name, params = _call(node, text)
    return _registered(name), params, at


def _call(node: ast.expr, text: str) -> tuple[str, dict[str, Any]]:
    function = node.func if isinstance(node, ast.Call) else node
    keywords = node.keywords if isinstance(node, ast.Call) else []
    if not isinstance(function, ast.Name) or (isinstance(node, ast.Call) and node.args):
        raise UsageError(f"Cannot read {text!r}: expected a name, and parameters as name=value")
    try:
        return function.id, {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords}
    except ValueError as error:
        raise UsageError(f"Cannot read {text!r}: a parameter must be a number, a quoted text, True or False") from error


def _registered(name: str) -> str:
    """The registered spelling of a name, ignoring case."""
    from ir_measures.measures import registry

    names: list[str] = [*_OURS, *_RETURNED, *registry]
    if name in names:
        return name
    folded = {each.casefold(): each for each in reversed(names)}
    if name.casefold() in folded:
        return folded[name.casefold()]
    close = get_close_matches(name.casefold(), folded, n=1)
    choices = f"supported are {', '.join([*ARRAYS, *_RETURNED, *_OURS])} and all of ir_measures"
    hint = f"did you mean {folded[close[0]]!r}?" if close else choices
    raise UsageError(f"There is no measure named {name!r}: {hint}")


def _rule(node: ast.expr, text: str) -> Rule:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Top(node.value)
    name, params = _call(node, text)
    types = {"p": (int, float), "l": (int,), "h": (int,)}
    valid = (
        name == "ratio" and "p" in params and all(type(value) in types.get(key, ()) for key, value in params.items())
    )
    if not valid:
        raise UsageError(_NO_RULE.format(text))
    return Ratio(**params)


@cache
def _ir_measure(text: str) -> Any:
    """The measure of ir_measures with that text, checked here because ir_measures checks by assertions."""
    import ir_measures

    name, params, at = _parsed(text)
    kind = ir_measures.measures.registry[name]
    if at is not None:
        if not isinstance(at, ast.Constant):
            raise UsageError(f"{name} takes a number above 0 after the @; F1, macro_P, micro_P ... take a rule, too")
        params[kind.AT_PARAM] = at.value
    allowed = kind.SUPPORTED_PARAMS
    for key in params.keys() - allowed.keys():
        raise UsageError(f"{name} has no parameter {key!r}: it has {', '.join(allowed) or 'none'}")
    for key, param in allowed.items():
        if param.required and key not in {**kind.params, **params}:
            where = f"{name}@10" if key == "cutoff" else f"{name}({key}=...)"
            raise UsageError(f"{name} needs the parameter {key!r}: {where}")
        if key in params and not (param.validate(params[key]) and (key not in _COUNTED or params[key] in _COUNTS)):
            raise UsageError(f"The {key!r} parameter of {name} cannot be {params[key]!r}: {param.desc}")
    measure = kind(**params)
    try:
        ir_measures.evaluator([measure], {})
    except ValueError as error:
        raise UsageError(f"No installed package computes {measure}: {' '.join(str(error).split())}") from error
    return measure
