"""The contribution of each part of RPRS: the paper's ablation (Table 7)."""

from __future__ import annotations

import dataclasses

from rprs.scoring.rprs import Form
from rprs.studies.finding import Finding, score_table, scores
from rprs.studies.options import Ablation
from rprs.studies.runs import rank_pools
from rprs.studies.systems import Study, rprs_of

__all__ = ["ablation"]

FORMS: dict[str, Form] = {
    "full": "full",
    "no QP": "no_qp",
    "no DP": "no_dp",
    "no b and k1": "no_b_k1",
    "no min": "no_min",
}


def ablation(study: Study, _options: Ablation) -> Finding:
    """The system with one part left out at a time."""
    subject = study.subject
    pools = study.pools(subject, (subject.depth,))[subject.depth]
    component = rprs_of(subject)
    forms = {name: dataclasses.replace(component, form=form) for name, form in FORMS.items()}
    rows = {name: study.score(rank_pools(pools, form), name) for name, form in forms.items()}
    title = f"{subject.name} with one part left out"
    return Finding(
        title="Ablation",
        text=(
            f"`{subject.rerank}` over {subject.depth} candidates, with one part left out. “No QP” ranks by DP alone, "
            "“no DP” by QP alone, “no min” counts every occurrence in full. “No b and k1” is as printed in the paper: "
            "Σx/Σx = 1 for every candidate with a match, so that only the lengths remain: 1/(m·|S_d|).",
        ),
        data={name: scores(row) for name, row in rows.items()},
        tables={"ablation": score_table(title, "form", rows)},
    )
