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
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rprs.errors import UsageError
from rprs.evaluation.cutoff import Ratio, Rule, Top, cut
from rprs.evaluation.gains import ARRAYS, first_hit
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
    "parse_measure",
    "parse_measures",
    "parse_rule",
    "standard",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One query under p settings: the grade of the document at each rank."""

    gains: Ints  # (p, depth): the grade of the document; 0 where it is not judged, or judged below 0
    scores: Floats  # (p, depth), falling
    grades: Ints  # all positive grades of the query's judgements
    # (p, depth), and the number of documents judged 0: for measures such as Bpref, where unjudged is not irrelevant
    judged: NDArray[np.bool_] | None = None
    irrelevant: int = 0


def judge(ids: Sequence[str], scores: Floats, judgements: Mapping[str, int]) -> Ranked:
    """A ranking with the judgements of its query: `Ranked` with p = 1."""
    grades = np.array([[judgements.get(id, -1) for id in ids]], dtype=np.int64).reshape(1, len(ids))
    positive = np.array([grade for grade in judgements.values() if grade > 0], dtype=np.int64)
    irrelevant = sum(grade == 0 for grade in judgements.values())
    return Ranked(np.maximum(grades, 0), np.asarray(scores, np.float64)[None], positive, grades >= 0, irrelevant)


class Measure(ABC):
    """A measure; its text is its name in commands, files and tables."""

    @property
    def averaged(self) -> bool:
        """Whether the total is the mean of the queries' values."""
        return True

    @abstractmethod
    def parts(self, ranked: Ranked) -> Floats:
        """(p, j): the numbers of one query that the total is made of."""

    def combine(self, parts: Floats) -> Floats:
        """(..., j) → (...): the value of one query, or of the mean over many."""
        return np.asarray(parts[..., 0])

    def values(self, parts: Floats) -> Floats:
        """(..., j) → (...): the value of each query."""
        return self.combine(parts)

    def total(self, parts: Floats) -> Floats:
        """(queries, ..., j) → (...): the value over all queries."""
        return self.combine(parts.mean(axis=0))


# ---------------------------------------------------------------------------- measures of this package

Quantity = Literal["P", "R", "F1"]
Over = Literal["each", "macro", "micro"]


@dataclass(frozen=True, slots=True)
class Returned(Measure):
    """Precision, recall or F1 of the documents that a rule returns: per query, of the means, or over all pairs."""

    quantity: Quantity
    over: Over
    rule: Rule

    def __str__(self) -> str:
        return f"{'' if self.over == 'each' else self.over + '_'}{self.quantity}@{self.rule}"

    @property
    def averaged(self) -> bool:
        """False for counts over all pairs, and for the F1 of means."""
        return self.over == "each" or (self.over == "macro" and self.quantity != "F1")

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 3): hits, returned, relevant; or (p, 2): P, R; or (p, 1): F1."""
        returned = cut(self.rule, ranked.scores)
        most = int(returned.max(initial=0))
        hits = ((ranked.gains[:, :most] > 0) & (np.arange(most) < returned[:, None])).sum(axis=1)
        counts = np.stack([hits, returned, np.full(len(hits), len(ranked.grades))], axis=1).astype(np.float64)
        if self.over == "micro":
            return counts
        p, r = _share(counts[:, 0], counts[:, 1]), _share(counts[:, 0], counts[:, 2])
        return np.stack([p, r], axis=1) if self.over == "macro" else _f1(p, r)[:, None]

    def combine(self, parts: Floats) -> Floats:
        """The quantity from its parts."""
        if self.over == "each":
            return np.asarray(parts[..., 0])
        if self.over == "macro":
            p, r = parts[..., 0], parts[..., 1]
        else:
            p, r = _share(parts[..., 0], parts[..., 1]), _share(parts[..., 0], parts[..., 2])
        return np.asarray({"P": p, "R": r}[self.quantity] if self.quantity != "F1" else _f1(p, r))


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _f1(p: Floats, r: Floats) -> Floats:
    return _share(2 * p * r, p + r)


@dataclass(frozen=True, slots=True)
class MPR(Measure):
    """The mean percentile rank of SDR, turned so that 1 is best."""

    def __str__(self) -> str:
        return "MPR"

    @property
    def averaged(self) -> bool:
        """The mean is over pairs: a query with more relevant documents counts more."""
        return False

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 4): for the relevant documents in the list, the sum of rank / length (weighted by grade), the sum of the
        grades and their number; and the number of all relevant documents."""
        depth = max(ranked.gains.shape[1], 1)
        percentiles = (ranked.gains * (np.arange(ranked.gains.shape[1]) / depth)).sum(axis=1)
        listed = (ranked.gains > 0).sum(axis=1)
        relevant = np.full(len(listed), len(ranked.grades))
        return np.stack([percentiles, ranked.gains.sum(axis=1), listed, relevant], axis=1).astype(np.float64)

    def combine(self, parts: Floats) -> Floats:
        """1 − the mean; 0 where no relevant document is listed."""
        return np.asarray(np.where(parts[..., 1] > 0, 1 - _share(parts[..., 0], parts[..., 1]), 0.0))


@dataclass(frozen=True, slots=True)
class SdrRR(Measure):
    """The reciprocal rank as computed by SDR's code: ranks count from 0, and 0 is replaced by 1."""

    def __str__(self) -> str:
        return "sdr_RR"

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 1): 1 / max(rank, 1)."""
        any_hit, first = first_hit(ranked.gains > 0)
        return np.where(any_hit, 1.0 / np.maximum(first, 1), 0.0)[:, None]


# ---------------------------------------------------------------------------- measures of ir_measures


@dataclass(frozen=True, slots=True)
class Standard(Measure):
    """A measure of ir_measures, by its text there; `parse_measure` creates it."""

    text: str

    def __str__(self) -> str:
        return self.text

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 1): computed on arrays if possible, otherwise by ir_measures, once for each distinct order."""
        measure = _ir_measure(self.text)
        array = ARRAYS.get(measure.__name__)
        if array is None or measure.params.keys() - {"cutoff", "rel"}:
            return self._distinct(ranked)
        k, rel = measure.params.get("cutoff"), measure.params.get("rel", 1)
        depth = ranked.gains.shape[1]
        return array(ranked.gains[:, : depth if k is None else k], ranked.grades, k, rel)[:, None]

    def total(self, parts: Floats) -> Floats:
        """The mean over queries; for counts, such as NumRet, the sum."""
        from ir_measures import SumAgg

        if isinstance(_ir_measure(self.text).aggregator(), SumAgg):
            return np.asarray(parts[..., 0].sum(axis=0))
        return np.asarray(parts[..., 0].mean(axis=0))

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
