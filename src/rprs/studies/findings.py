"""The analyses by name, and the function that computes each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rprs.evaluation.evaluate import Evaluation
from rprs.studies.ablation import ablation
from rprs.studies.depth import depth
from rprs.studies.finding import Finding
from rprs.studies.judgements import judgements
from rprs.studies.lengths import length_bias, lengths, pearson
from rprs.studies.overview import compare_systems, overview, significance, tuning
from rprs.studies.sensitivity import sensitivity
from rprs.studies.systems import Study
from rprs.studies.ties import ties
from rprs.studies.units import truncation, units
from rprs.studies.unjudged import unjudged

__all__ = ["compute_findings"]

_ANALYSES: dict[str, Callable[[Study, Any], Finding]] = {
    "ablation": ablation,
    "sensitivity": sensitivity,
    "ties": ties,
    "units": units,
    "truncation": truncation,
    "depth": depth,
    "length_bias": length_bias,
    "pearson": pearson,
    "lengths": lengths,
    "judgements": judgements,
    "unjudged": unjudged,
}


def compute_findings(
    study: Study, parts: Sequence[str], evaluations: dict[str, Evaluation], references: dict[str, Evaluation]
) -> dict[str, Finding]:
    """The findings of some parts of a study, in this order; the details of the systems come last."""
    findings: dict[str, Finding] = {}
    details: dict[str, Finding | None] = {}
    for name in parts:
        if name == "systems":
            comparison = compare_systems(study, evaluations)
            findings[name] = overview(study, evaluations, references, comparison)
            details = {
                "tuning": tuning(study),
                "significance": significance(study, comparison) if comparison else None,
            }
        else:
            findings[name] = _ANALYSES[name](study, study.plan.analyses[name])
    return findings | {name: detail for name, detail in details.items() if detail}
