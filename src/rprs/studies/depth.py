"""How many candidates to re-rank: from 15 to 100 in the paper."""

from __future__ import annotations

from rprs.studies.figures import line
from rprs.studies.finding import Finding, trend
from rprs.studies.options import Depth, positive_integers
from rprs.studies.runs import rank_pools
from rprs.studies.systems import Study, rprs_of

__all__ = ["depth"]


def depth(study: Study, options: Depth) -> Finding:
    """The analysed system with increasing numbers of candidates."""
    subject, measure = study.subject, study.target(options.measure)
    depths = positive_integers("depths", options.depths)
    reranker = rprs_of(subject)
    pools = study.pools(subject, depths)
    rows = {str(value): study.score(rank_pools(each, reranker), str(value), measure) for value, each in pools.items()}
    first = study.score(study.read(study.first(subject, max(depths))), "first stage", measure)
    picture = line(
        "depth",
        f"Number of re-ranked candidates: {subject.name}",
        list(depths),
        {str(measure): [row.total(measure) for row in rows.values()]},
        "candidates per query",
        str(measure),
        reference={f"first stage at {max(depths)}": first.total(measure)},
    )
    text = (
        f"`{subject.rerank}` over the best candidates of `{subject.first}`. Documents that are not "
        "candidates are not ranked, so measures of deep ranks grow with the depth.",
    )
    return trend("depth", "Re-ranking depth", text, "candidates", {**rows, "first stage": first}, picture)
