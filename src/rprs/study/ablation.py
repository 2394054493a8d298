"""What each part of RPRS is worth: the paper's ablation (Table 7)."""

from __future__ import annotations

import dataclasses

from rprs import spec
from rprs.rerank import RPRS
from rprs.scoring.rprs import Form
from rprs.study.finding import Finding, score_table, scores
from rprs.study.options import Ablation
from rprs.study.runs import reranked
from rprs.study.systems import Study

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
    pooled = study.pools(subject, (subject.depth,))[subject.depth]
    component: RPRS = spec.parse("reranker", subject.rerank or "")
    forms = {name: dataclasses.replace(component, form=form) for name, form in FORMS.items()}
    rows = {name: study.score(reranked(pooled, form), name) for name, form in forms.items()}
    title = f"{subject.name} without its parts"
    return Finding(
        title="Ablation",
        text=(
            f"`{subject.rerank}` over {subject.depth} candidates, with one part left out. “No QP” ranks by DP alone, "
            "“no DP” by QP alone, “no min” counts every occurrence in full. “No b and k1” is as the paper prints it, "
            "Σx/Σx = 1 for every candidate that anything matched, so that only the lengths remain: 1/(m·|S_d|).",
        ),
        data={name: scores(row) for name, row in rows.items()},
        tables={"ablation": score_table(title, "form", rows)},
    )
