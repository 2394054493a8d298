"""How many candidates to re-rank: from 15 to 100 in the paper."""

from __future__ import annotations

from rprs import spec
from rprs.figures import line
from rprs.study.finding import Finding, trend
from rprs.study.grids import whole
from rprs.study.options import Depth
from rprs.study.runs import reranked
from rprs.study.systems import Study

__all__ = ["depth"]


def depth(study: Study, options: Depth) -> Finding:
    """The analysed system over more and more candidates."""
    subject, measure = study.subject, study.target(options.measure)
    depths = whole("depths", options.depths)
    reranker = spec.parse("reranker", subject.rerank or "")
    pooled = study.pools(subject, depths)
    rows = {str(value): study.score(reranked(made, reranker), str(value), measure) for value, made in pooled.items()}
    first = study.score(study.read(study.first(subject, max(depths))), "first stage", measure)
    picture = line(
        "depth",
        f"Candidates that are re-ranked: {subject.name}",
        list(depths),
        {str(measure): [row.total(measure) for row in rows.values()]},
        "candidates a query",
        str(measure),
        reference={f"first stage at {max(depths)}": first.total(measure)},
    )
    text = (
        f"`{subject.rerank}` over the best candidates of `{subject.first}`. What is not a candidate is not ranked at "
        "all, so that measures of deep ranks grow with the depth by themselves.",
    )
    return trend("depth", "Re-ranking depth", text, "candidates", {**rows, "first stage": first}, picture)
