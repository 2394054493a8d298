"""Every part of a study by its name: which function makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rprs.evaluate import Evaluation
from rprs.study.ablation import ablation
from rprs.study.depth import depth
from rprs.study.finding import Finding
from rprs.study.judgements import judgements
from rprs.study.lengths import length_bias, lengths, pearson
from rprs.study.overview import compared, overview, significance, tuning
from rprs.study.sensitivity import sensitivity
from rprs.study.systems import Study
from rprs.study.units import truncation, units
from rprs.study.unjudged import unjudged

__all__ = ["find"]

_MAKERS: dict[str, Callable[[Study, Any], Finding]] = {
    "ablation": ablation,
    "sensitivity": sensitivity,
    "units": units,
    "truncation": truncation,
    "depth": depth,
    "length_bias": length_bias,
    "pearson": pearson,
    "lengths": lengths,
    "judgements": judgements,
    "unjudged": unjudged,
}


def find(study: Study, wanted: Sequence[str], evaluations: dict[str, Evaluation]) -> dict[str, Finding]:
    """The findings that are wanted, in this order; the details of the systems come last."""
    found: dict[str, Finding] = {}
    details: dict[str, Finding | None] = {}
    for name in wanted:
        if name == "systems":
            tested = compared(study, evaluations)
            found[name] = overview(study, evaluations, tested)
            details = {"tuning": tuning(study), "significance": significance(study, tested) if tested else None}
        else:
            found[name] = _MAKERS[name](study, study.plan.analyses[name])
    return found | {name: detail for name, detail in details.items() if detail}
