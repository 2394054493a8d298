"""How much n, k1 and b matter: the paper's heat maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from rprs.figures import heatmaps
from rprs.settings import Settings
from rprs.study.finding import Finding
from rprs.study.grids import rprs_grid
from rprs.study.options import Sensitivity
from rprs.study.runs import load
from rprs.study.systems import Study
from rprs.table import Cell, Figure, Table
from rprs.tune import RprsGrid, tune_rprs

__all__ = ["sensitivity"]


def sensitivity(study: Study, options: Sensitivity) -> Finding:
    """A measure over k1 and b, for some n, on the candidates of the analysed system."""
    grid = rprs_grid({"n": options.n, "k1": options.k1, "b": options.b})
    measure = str(study.target(options.measure))
    found = _surface(study, grid, measure)
    n, k1, b = found["n"], found["k1"], found["b"]
    totals = np.array(found["values"])
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
            "point is the best of these very queries: it is no estimate of what tuning gives.",
        ),
        data={"measure": measure, **found},
        tables={"sensitivity": Table(title, header, tuple(rows))},
        pictures=(heatmaps("sensitivity", title, n, k1, b, totals, measure),),
    )


def _surface(study: Study, grid: RprsGrid, measure: str) -> dict[str, Any]:
    """The values at all points of a grid, as a step."""
    subject, workshop = study.subject, study.workshop
    pooled = study.pools(subject, (subject.depth,), max(grid.n))[subject.depth]
    inputs = {
        "pools": pooled.key,
        "qrels": workshop.judged,
        "measure": measure,
        "rerank": subject.rerank,
        "grid": [grid.n, grid.k1, grid.b],
    }

    def compute() -> dict[str, Any]:
        base = Settings(rerank=subject.rerank, depth=subject.depth)
        listed = {subject.depth: list(load(pooled))}
        tuned = tune_rprs(listed, workshop.qrels, measure, grid, base=base, progress=workshop.progress)
        axes = {name: list(values) for name, values in tuned.axes.values.items() if name != "depth"}
        return {**axes, "values": tuned.totals[0].tolist()}

    found: dict[str, Any] = workshop.cache.write_json(
        "grid", inputs, compute, about=f"{workshop.data}: {measure}"
    ).json()
    return found
