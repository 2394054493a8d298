"""Every part of a study by its name: which function makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rprs.evaluation.evaluate import Evaluation
from rprs.studies.ablation import ablation
from rprs.studies.depth import depth
from rprs.studies.finding import Finding
from rprs.studies.judgements import judgements
from rprs.studies.lengths import length_bias, lengths, pearson
from rprs.studies.overview import compared, overview, significance, tuning
from rprs.studies.sensitivity import sensitivity
from rprs.studies.systems import Study
from rprs.studies.units import truncation, units
from rprs.studies.unjudged import unjudged

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
