"""Measures of rankings, as values whose text parses back: `P@1`, `nDCG@5`, `micro_F1@4`, `F1@ratio(p=0.8,l=1,h=6)`.

What ir_measures has is meant as it is there, and in trec_eval: P@k divides by k however few are retrieved, R@k and AP@k
by all relevant documents, nDCG takes the grade as the gain. Ours are those that it lacks:

    F1@rule                          the mean of the queries' own F1 over the documents that a rule returns
    macro_P, macro_R, macro_F1@rule  means over queries of P and R, and the F1 of these two means
    micro_P, micro_R, micro_F1@rule  the same of all pairs (query, document) thrown together, as COLIEE counts
    MPR                              1 − mean of rank / length over the relevant documents in the list, rank from 0; one
                                     that is not in the list is left out, and one of grade 2 counts twice (SDR's code)
    sdr_RR (sdr_MRR)                 1 for ranks 1 and 2, 1/2 for rank 3, 1/3 for rank 4 (SDR's code); 0 for none

A measure is made of *parts*: numbers of one query, whose mean over the queries gives the total. So the total of many
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

__all__ = [
    "MPR",
    "Measure",
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
    """One query under p settings: what its judgements say of the documents at each rank."""

    gains: Ints  # (p, depth): the grade of the document; 0 where it is not judged, or judged below 0
    scores: Floats  # (p, depth), falling
    grades: Ints  # all positive grades of the query's judgements
    # (p, depth), and how many are judged 0 in all: for measures, such as Bpref, to which unjudged is not irrelevant
    judged: NDArray[np.bool_] | None = None
    irrelevant: int = 0


def judge(ids: Sequence[str], scores: Floats, judgements: Mapping[str, int]) -> Ranked:
    """A ranking seen through the judgements of its query: `Ranked` with p = 1."""
    grades = [judgements.get(id, -1) for id in ids]
    found = np.array([grades], dtype=np.int64).reshape(1, len(ids))
    positive = np.array([grade for grade in judgements.values() if grade > 0], dtype=np.int64)
    irrelevant = sum(grade == 0 for grade in judgements.values())
    return Ranked(np.maximum(found, 0), np.asarray(scores, np.float64)[None], positive, found >= 0, irrelevant)


class Measure(ABC):
    """A measure: its text names it in commands, files and tables."""

    @property
    def averaged(self) -> bool:
        """Whether the total is the mean of the queries' values."""
        return True

    @abstractmethod
    def parts(self, ranked: Ranked) -> Floats:
        """(p, j): what one query adds to the total."""

    def combine(self, parts: Floats) -> Floats:
        """(..., j) → (...): the value of one query, or of the mean over many."""
        return np.asarray(parts[..., 0])

    def values(self, parts: Floats) -> Floats:
        """(..., j) → (...): each query's own value."""
        return self.combine(parts)

    def total(self, parts: Floats) -> Floats:
        """(queries, ..., j) → (...): the value over all queries."""
        return self.combine(parts.mean(axis=0))


# ---------------------------------------------------------------------------- ours

Quantity = Literal["P", "R", "F1"]
Over = Literal["each", "macro", "micro"]


@dataclass(frozen=True, slots=True)
class Returned(Measure):
    """Precision, recall or F1 of the documents that a rule returns: of each query, of the means, or of all pairs."""

    quantity: Quantity
    over: Over
    rule: Rule

    def __str__(self) -> str:
        return f"{'' if self.over == 'each' else self.over + '_'}{self.quantity}@{self.rule}"

    @property
    def averaged(self) -> bool:
        """Not so of what is counted over all pairs, or is an F1 of means."""
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
        """(p, 4): the sum of rank / length of the relevant documents in the list, and that of their weights, their
        grades; how many they are, and how many there are in all."""
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
    """The reciprocal rank as SDR's code has it, with ranks from 0 and 1 in the place of 0."""

    def __str__(self) -> str:
        return "sdr_RR"

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 1): 1 / max(rank, 1)."""
        found, first = first_hit(ranked.gains > 0)
        return np.where(found, 1.0 / np.maximum(first, 1), 0.0)[:, None]


# ---------------------------------------------------------------------------- those of ir_measures


@dataclass(frozen=True, slots=True)
class Standard(Measure):
    """A measure that ir_measures defines, by its text there; made by `parse_measure`."""

    text: str

    def __str__(self) -> str:
        return self.text

    def parts(self, ranked: Ranked) -> Floats:
        """(p, 1): by an array function where there is one, else by ir_measures, once for each distinct order."""
        theirs = _theirs(self.text)
        array = ARRAYS.get(theirs.__name__)
        if array is None or theirs.params.keys() - {"cutoff", "rel"}:
            return self._distinct(ranked)
        k, rel = theirs.params.get("cutoff"), theirs.params.get("rel", 1)
        depth = ranked.gains.shape[1]
        return array(ranked.gains[:, : depth if k is None else k], ranked.grades, k, rel)[:, None]

    def total(self, parts: Floats) -> Floats:
        """The mean over queries; of counts, such as NumRet, the sum."""
        from ir_measures import SumAgg

        if isinstance(_theirs(self.text).aggregator(), SumAgg):
            return np.asarray(parts[..., 0].sum(axis=0))
        return np.asarray(parts[..., 0].mean(axis=0))

    def _distinct(self, ranked: Ranked) -> Floats:
        judged, irrelevant = ranked.judged, ranked.irrelevant
        if judged is None:
            if self.text.startswith(("Bpref", "infAP", "Judged")) or "judged_only" in self.text:
                raise UsageError(f"{self} needs to know which documents are judged not relevant: take another measure")
            judged, irrelevant = ranked.gains > 0, 0
        known = np.where(judged, ranked.gains, -1)
        rows, which = np.unique(known, axis=0, return_inverse=True)
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
    """(queries, 1) for each measure, by ir_measures; ranks are its scores, so that it has no ties to break."""
    import ir_measures

    numbers = {query: str(number) for number, query in enumerate(queries, 1)}  # gdeval knows none but numbers
    asked = {_theirs(measure.text): measure for measure in measures}
    values = {measure: np.zeros((len(queries), 1)) for measure in measures}
    listed = {
        numbers[query]: {id: float(len(run[query]) - rank) for rank, id in enumerate(run[query])}
        for query in queries
        if run.get(query)
    }
    judged = {numbers[query]: dict(qrels[query]) for query in queries}
    for metric in ir_measures.iter_calc(list(asked), judged, listed) if asked else ():
        values[asked[metric.measure]][int(metric.query_id) - 1] = metric.value
    return values


# ---------------------------------------------------------------------------- text → measure

_COUNTED, _COUNTS = ("cutoff", "rel"), range(1, 2**31)  # beyond which trec_eval's numbers overflow
_OURS: dict[str, Measure] = {"MPR": MPR(), "sdr_RR": SdrRR(), "sdr_MRR": SdrRR()}
_NO_RULE = "Cannot read the cut-off of {!r}: write a number, as 4, or a rule, as ratio(p=0.8,l=1,h=6)"
_RETURNED: dict[str, tuple[Quantity, Over]] = {
    "F1": ("F1", "each"),
    "macro_F1": ("F1", "macro"),
    "macro_P": ("P", "macro"),
    "macro_R": ("R", "macro"),
    "micro_F1": ("F1", "micro"),
    "micro_P": ("P", "micro"),
    "micro_R": ("R", "micro"),
}


def parse_measures(texts: Iterable[str]) -> tuple[Measure, ...]:
    """The measures of several texts, in each of which blanks or commas part them; the same one is meant only once."""
    words = [word for text in texts for word in re.split(r"[\s,]+(?![^(]*\))", text) if word]
    return tuple(dict.fromkeys(map(parse_measure, words)))


def parse_measure(text: str) -> Measure:
    """The measure that a text names; `str` of it parses back."""
    name, params, at = _parsed(text)
    if name in _RETURNED:
        if params or at is None:
            raise UsageError(f"{name} needs a cut-off and nothing else: {name}@4 or {name}@ratio(p=0.8,l=1,h=6)")
        return Returned(*_RETURNED[name], _rule(at, text))
    if name in _OURS:
        if params or at is not None:
            raise UsageError(f"{name} takes neither a cut-off nor parameters. Got {text!r} instead.")
        return _OURS[name]
    return Standard(str(_instance(text)))


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
    """Name, parameters and what follows the @: the little language is a part of Python's own."""
    node, at = _expression(text), None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        at, node = node.right, node.left
    name, params = _call(node, text)
    return _known(name), params, at


def _call(node: ast.expr, text: str) -> tuple[str, dict[str, Any]]:
    function = node.func if isinstance(node, ast.Call) else node
    keywords = node.keywords if isinstance(node, ast.Call) else []
    if not isinstance(function, ast.Name) or (isinstance(node, ast.Call) and node.args):
        raise UsageError(f"Cannot read {text!r}: expected a name, and parameters as name=value")
    try:
        return function.id, {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords}
    except ValueError as error:
        raise UsageError(f"Cannot read {text!r}: a parameter must be a number, a quoted text, True or False") from error


def _known(name: str) -> str:
    """The name as it is registered, whatever its case."""
    from ir_measures.measures import registry

    names: list[str] = [*_OURS, *_RETURNED, *registry]
    if name in names:
        return name
    folded = {known.casefold(): known for known in reversed(names)}
    if name.casefold() in folded:
        return folded[name.casefold()]
    close = get_close_matches(name.casefold(), folded, n=1)
    ours = f"known: {', '.join([*ARRAYS, *_RETURNED, *_OURS])} and all of ir_measures"
    hint = f"did you mean {folded[close[0]]!r}?" if close else ours
    raise UsageError(f"There is no measure named {name!r}: {hint}")


def _rule(node: ast.expr, text: str) -> Rule:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Top(node.value)
    name, params = _call(node, text)
    fits = {"p": (int, float), "l": (int,), "h": (int,)}
    good = name == "ratio" and "p" in params and all(type(value) in fits.get(key, ()) for key, value in params.items())
    if not good:
        raise UsageError(_NO_RULE.format(text))
    return Ratio(**params)


@cache
def _theirs(text: str) -> Any:
    return _instance(text)


def _instance(text: str) -> Any:
    """The measure of ir_measures, checked: its own checks are assertions."""
    import ir_measures

    name, params, at = _parsed(text)
    found = ir_measures.measures.registry[name]
    if at is not None:
        if not isinstance(at, ast.Constant):
            raise UsageError(f"{name} takes a number above 0 behind the @; F1, macro_P, micro_P ... take a rule, too")
        params[found.AT_PARAM] = at.value
    allowed = found.SUPPORTED_PARAMS
    for key in params.keys() - allowed.keys():
        raise UsageError(f"{name} has no parameter {key!r}: it has {', '.join(allowed) or 'none'}")
    for key, param in allowed.items():
        if param.required and key not in {**found.params, **params}:
            where = f"{name}@10" if key == "cutoff" else f"{name}({key}=...)"
            raise UsageError(f"{name} needs the parameter {key!r}: {where}")
        if key in params and not (param.validate(params[key]) and (key not in _COUNTED or params[key] in _COUNTS)):
            raise UsageError(f"The {key!r} parameter of {name} cannot be {params[key]!r}: {param.desc}")
    made = found(**params)
    try:
        ir_measures.evaluator([made], {})
    except ValueError as error:  # nothing that is installed computes it
        raise UsageError(f"No installed package computes {made}: {' '.join(str(error).split())}") from error
    return made
