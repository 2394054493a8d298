"""How much n, k1 and b matter: the paper's heat maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from rprs.evaluation.table import Cell, Figure, Table
from rprs.rank import System
from rprs.studies.figures import heatmaps
from rprs.studies.finding import Finding
from rprs.studies.options import Sensitivity, rprs_grid
from rprs.studies.systems import Study
from rprs.tuning.grids import RprsGrid
from rprs.tuning.rerankers import tune_rprs

__all__ = ["sensitivity"]


def sensitivity(study: Study, options: Sensitivity) -> Finding:
    """A measure over k1 and b, for some n, on the candidates of the analysed system."""
    grid = rprs_grid(options.n, options.k1, options.b)
    measure = str(study.target(options.measure))
    surface_data = _surface(study, grid, measure)
    n, k1, b = surface_data["n"], surface_data["k1"], surface_data["b"]
    totals = np.array(surface_data["values"])
    rows: list[tuple[Cell, ...]] = []
    for size, surface in zip(n, totals, strict=True):
        best = np.unravel_index(int(surface.argmax()), surface.shape)
        figures = (Figure(float(value), 4) for value in (surface.max(), surface.mean(), surface.min()))
        rows.append((size, *figures, k1[best[0]], b[best[1]], Figure(float(np.ptp(surface)), 4)))
    header = ("n", "best", "mean", "worst", "best k1", "best b", "range")
    title = f"Sensitivity of {study.subject.name} to n, k1 and b"
    return Finding(
        title="Sensitivity",
        text=(
            f"{measure} at {totals.size:,} points, on all queries and the candidates of {study.subject.name}. The best "
            "point was chosen on these same queries: its value does not estimate the effect of tuning.",
        ),
        data={"measure": measure, **surface_data},
        tables={"sensitivity": Table(title, header, tuple(rows))},
        pictures=(heatmaps("sensitivity", title, n, k1, b, totals, measure),),
    )


def _surface(study: Study, grid: RprsGrid, measure: str) -> dict[str, Any]:
    """The values at all points of a grid, as a step."""
    subject, experiment = study.subject, study.experiment
    index, first, mean = study.index(subject), study.first(subject), study.mean_sentences(subject)
    inputs = {
        "index": index.key,
        "queries": experiment.query_key,
        "candidates": first.key,
        "mean_sentences": mean,
        "depth": subject.depth,
        "qrels": experiment.qrels_key,
        "measure": measure,
        "rerank": subject.rerank,
        "grid": [grid.n, grid.k1, grid.b],
    }

    def compute() -> dict[str, Any]:
        base = System(rerank=subject.rerank, depth=subject.depth)
        pools = study.pools(subject, (subject.depth,), max(grid.n))
        tuned = tune_rprs(pools, experiment.qrels, measure, grid, base=base, progress=experiment.progress)
        axes = {name: list(values) for name, values in tuned.axes.values.items() if name != "depth"}
        return {**axes, "values": tuned.totals[0].tolist()}

    step = experiment.cache.write_json("grid", inputs, compute, about=f"{experiment.data}: {measure}")
    values: dict[str, Any] = step.json()
    return values
