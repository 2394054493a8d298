"""The figures of a study, drawn with matplotlib: plain values in, a `Picture` (SVG and PNG) out.

The same values give the same bytes. Series differ in colour (the palette of Okabe and Ito, which colour-blind readers
can distinguish), line style and marker, so that figures work in black and white. A missing value is NaN. Needs the
extra `study`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rprs.errors import UsageError
from rprs.studies.figures.canvas import (
    BLUE,
    INK,
    LEVELS,
    SKY,
    VECTOR_POINTS,
    VERMILION,
    WIDTH,
    Picture,
    add_legend,
    blank,
    draw_lines,
    finish,
    label_axes,
    numbers,
    plain,
    sample,
    short,
    signed,
    styled,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Picture",
    "boxes",
    "correlation",
    "differences",
    "heatmaps",
    "line",
    "losses",
    "probability",
    "systems_bars",
]

# ---------------------------------------------------------------------------- the paper's figures


def systems_bars(
    name: str,
    title: str,
    systems: Sequence[str],
    measures: Sequence[str],
    values: ArrayLike,  # (systems, measures)
    marks: Sequence[Sequence[str]] | None = None,  # the same shape: † where a difference is significant
) -> Picture:
    """A systems table as bars: one panel per measure, one bar per system; the best of each measure stands out."""
    table = numbers(name, values, (len(systems), len(measures)), "systems by measures")
    marks = marks or [[""] * len(measures)] * len(systems)
    if [len(row) for row in marks] != [len(measures)] * len(systems):
        raise UsageError(f"The figure {name!r} needs a mark for each of its {table.size} values, or none at all")
    columns = min(len(measures), 5)
    rows = math.ceil(len(measures) / columns)
    with styled():
        figure = blank(title, rows * (0.75 + 0.27 * len(systems)), WIDTH + 0.5 * max(0, columns - 3))
        axes = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for extra in axes.flat[len(measures) :]:
            extra.set_visible(False)
        for column, (panel, measure) in enumerate(zip(axes.flat, measures, strict=False)):
            panel.set_title(plain(measure))
            _bars(panel, table[:, column], [row[column] for row in marks])
        for panel in axes[:, 0]:
            panel.set_yticks(range(len(systems)), [wrapped(system, 30) for system in systems])
            panel.invert_yaxis()
        return finish(figure, name, f"{title}. One panel per measure, one bar per system; the best is dark blue.")


def heatmaps(
    name: str,
    title: str,
    n: Sequence[int],
    k1: Sequence[float],
    b: Sequence[float],
    values: ArrayLike,  # (n, k1, b)
    measure: str,
) -> Picture:
    """A measure over (n, k1, b): one panel per n on one colour scale, with the best cell of each panel marked."""
    grid = numbers(name, values, (len(n), len(k1), len(b)), "n by k1 by b")
    low, high = np.nanmin(grid), np.nanmax(grid)
    columns = min(len(n), 4)
    with styled():
        figure = blank(title, 3.1 * math.ceil(len(n) / columns), WIDTH if columns < 4 else WIDTH + 2)
        axes = figure.subplots(math.ceil(len(n) / columns), columns, sharex=True, sharey=True, squeeze=False)
        for extra in axes.flat[len(n) :]:
            extra.set_visible(False)
        for panel, size, cells in zip(axes.flat, n, grid, strict=False):
            mesh = panel.pcolormesh(
                np.ma.masked_invalid(cells), cmap="cividis", vmin=low, vmax=high, edgecolors="face", linewidth=0.5
            )
            panel.set_title(f"n = {size}")
            _mark_best(panel, cells, k1, b, overall=high)
            panel.set_xticks(*_ticks(b))
            panel.set_yticks(*_ticks(k1))
            panel.tick_params(length=2)
        figure.supxlabel("b", fontsize=10)
        figure.supylabel("k1", fontsize=10, rotation=0)
        figure.colorbar(mesh, ax=axes, shrink=0.9, pad=0.02, label=plain(measure))
        how = f"Heat maps of {measure} over k1 and b, one for each n; ○ the best for an n, ★ the best overall."
        return finish(figure, name, f"{title}. {how}")


def line(
    name: str,
    title: str,
    x: Sequence[float | str],
    series: Mapping[str, ArrayLike],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    reference: Mapping[str, float] | None = None,
) -> Picture:
    """Values over a setting, one line per series. If an x is a word, such as "full", all x are evenly spaced.

    `reference` are values that do not depend on x: level lines.
    """
    curves = {
        label: numbers(name, values, (len(x),), f"{label!r}, one value for each x") for label, values in series.items()
    }
    if not curves:
        raise UsageError(f"The figure {name!r} has nothing to show: no series")
    at = [float(value) for value in x if not isinstance(value, str)]
    places: Sequence[float] = at if len(at) == len(x) else range(len(x))
    with styled():
        figure = blank(title, 3.4)
        axes = figure.subplots()
        draw_lines(axes, places, curves)
        for level, (label, value) in enumerate((reference or {}).items()):
            caption = f"{plain(label)}: {short(value)}"
            axes.axhline(value, color=INK, linewidth=1.3, linestyle=LEVELS[level % len(LEVELS)], label=caption)
        if log_x and places is at:
            axes.set_xscale("log", base=2)
        axes.set_xticks(places, [value if isinstance(value, str) else f"{value:,.10g}" for value in x])
        axes.minorticks_off()
        label_axes(axes, x_label, y_label)
        add_legend(figure, axes)
        highest = [f"{label} {short(np.nanmax(y))} at {x[int(np.nanargmax(y))]}" for label, y in curves.items()]
        return finish(figure, name, f"{title}. {y_label} by {x_label}; highest: {', '.join(highest)}.")


def probability(
    name: str,
    title: str,
    edges: Sequence[float],
    curves: Mapping[str, ArrayLike],
    *,
    what: str = "P(retrieved | length)",
    x_label: str = "length of the document (words)",
) -> Picture:
    """P(relevant | length) against P(retrieved | length): the curve named "relevant" is the former, systems the rest.

    `what` names the latter. `edges` bound the bins of length, one more than there are bins; the last may be infinity.
    """
    if len(edges) < 2 or not curves:
        raise UsageError(f"The figure {name!r} has nothing to show: it needs a bin (two edges) and a curve")
    bins = len(edges) - 1
    drawn = {
        "P(relevant | length)" if label == "relevant" else f"{what}, {label}": numbers(
            name, values, (bins,), f"{label!r}, one value for each bin"
        )
        for label, values in curves.items()
    }
    with styled():
        figure = blank(title, 3.6)
        axes = figure.subplots()
        draw_lines(axes, np.arange(bins) + 0.5, drawn)
        if "relevant" in curves:
            axes.lines[list(curves).index("relevant")].set(color=INK, linestyle="-", linewidth=2.6)
        every = math.ceil(len(edges) / 12)
        axes.set_xticks(range(0, len(edges), every), ["∞" if math.isinf(e) else f"{e:,.10g}" for e in edges[::every]])
        axes.set_xlim(0, bins)
        axes.set_ylim(bottom=0)
        label_axes(axes, x_label, "probability")
        add_legend(figure, axes, columns=1)
        return finish(figure, name, f"{title}. The closer a curve is to that of relevance, the smaller the bias.")


def boxes(
    name: str, title: str, lengths: Mapping[str, ArrayLike], *, y_label: str = "length of a document (words)"
) -> Picture:
    """Distributions of lengths: the box from the 25th to the 75th percentile, whiskers to 1.5 IQR, no outliers."""
    if not lengths:
        raise UsageError(f"The figure {name!r} has nothing to show: no collections")
    samples = {label: sample(name, values, f"the lengths of {label!r}") for label, values in lengths.items()}
    with styled():
        figure = blank(title, 3.8)
        axes = figure.subplots()
        places = np.arange(len(samples))
        _boxes(axes, places, np.array([_five(values) for values in samples.values()]))
        axes.set_xticks(
            places,
            [
                f"{wrapped(label, 80 // len(samples))}\nmedian {np.median(values):,.0f}\nof {len(values):,}"
                for label, values in samples.items()
            ],
        )
        margin = 0.6 + max(0, 3 - len(samples)) / 2  # otherwise the box of a single collection would fill the figure
        axes.set_xlim(-margin, len(samples) - 1 + margin)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        label_axes(axes, "", y_label)
        how = "Boxes hold the middle half, the line in them is the median, whiskers reach 1.5 IQR; no outliers."
        return finish(figure, name, f"{title}. {how}")


def correlation(
    name: str,
    title: str,
    lengths: ArrayLike,
    scores: ArrayLike,
    r: float,
    *,
    x_label: str = "length of the document (words)",
    y_label: str = "score",
) -> Picture:
    """Scores of documents against their lengths, with Pearson's r as the caller computed it."""
    x, y = sample(name, lengths, "lengths"), sample(name, scores, "scores")
    if len(x) != len(y):
        raise UsageError(f"The figure {name!r} needs a score for each length. Got {len(y)} for {len(x)} instead.")
    with styled():
        figure = blank(title, 3.8)
        axes = figure.subplots()
        many = len(x) > VECTOR_POINTS
        axes.scatter(x, y, s=9, color=BLUE, alpha=0.25 if many else 0.5, linewidths=0, rasterized=many)
        if np.ptp(x) > 0:
            slope = np.mean((x - x.mean()) * (y - y.mean())) / np.var(x)
            ends = np.array([x.min(), x.max()])
            axes.plot(ends, y.mean() + slope * (ends - x.mean()), color=VERMILION, linestyle="--")
        caption = f"Pearson’s r = {short(r)}, {len(x):,} documents"
        axes.set_title(caption, loc="right")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        label_axes(axes, x_label, y_label)
        return finish(figure, name, f"{title}. {caption}; the dashed line is the least-squares fit.")


def differences(name: str, title: str, values: ArrayLike, y_label: str) -> Picture:
    """Gains (blue) and losses (vermilion) of each query against a baseline, the largest gain first."""
    gains = np.sort(sample(name, values, "differences"))[::-1]
    better, worse = int((gains > 0).sum()), int((gains < 0).sum())
    with styled():
        from matplotlib.ticker import MaxNLocator

        figure = blank(title, 3.2)
        axes = figure.subplots()
        edges = np.arange(len(gains) + 1) + 0.5
        axes.stairs(np.maximum(gains, 0), edges, fill=True, color=BLUE)
        axes.stairs(np.minimum(gains, 0), edges, fill=True, color=VERMILION)
        axes.axhline(0, color=INK, linewidth=0.8)
        mean = float(gains.mean())
        axes.axhline(mean, color=INK, linewidth=1.2, linestyle="--")
        caption = f"Better on {better}, worse on {worse}, equal on {len(gains) - better - worse}; mean {signed(mean)}"
        axes.set_title(caption, loc="right")
        axes.set_xlim(0, len(gains) + 1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        label_axes(axes, "queries, largest gain first", y_label)
        return finish(figure, name, f"{title}. {caption} (the dashed line); one bar per query.")


def losses(
    name: str, title: str, series: Mapping[str, ArrayLike], measure: str = "", values: Mapping[int, float] | None = None
) -> Picture:
    """Training losses by step, averaged over intervals; below, a measure at the steps where it was computed."""
    steps = max((np.size(loss) for loss in series.values()), default=0)
    curves = {label: numbers(name, loss, (steps,), f"{label!r}, one loss per step") for label, loss in series.items()}
    if not curves:
        raise UsageError(f"The figure {name!r} has nothing to show: no losses")
    intervals = np.array_split(np.arange(steps), min(40, steps))
    means = {label: np.array([loss[part].mean() for part in intervals]) for label, loss in curves.items()}
    with styled():
        figure = blank(title, 5.0 if values else 3.4)
        panels = figure.subplots(2 if values else 1, 1, sharex=True, squeeze=False)[:, 0]
        draw_lines(panels[0], [part.mean() + 1 for part in intervals], means)
        panels[0].xaxis.set_major_formatter("{x:,.0f}")
        label_axes(panels[0], "" if values else "step", "loss")
        if values:
            panels[1].plot([*values], [*values.values()], color=INK, marker="o")
            label_axes(panels[1], "step", measure)
        add_legend(figure, panels[0])
        caption = ", ".join(f"{label} from {short(mean[0])} to {short(mean[-1])}" for label, mean in means.items())
        return finish(figure, name, f"{title}. {caption} in {steps:,} steps.")


# ---------------------------------------------------------------------------- parts of a figure


def _bars(axes: Axes, values: NDArray[np.float64], marks: Sequence[str]) -> None:
    finite = np.nan_to_num(values, nan=0.0)
    best = np.nanmax(values) if np.isfinite(values).any() else math.nan
    colours = [BLUE if value == best else SKY for value in values]
    axes.barh(range(len(values)), finite, height=0.72, color=colours)
    for row, (value, mark) in enumerate(zip(values, marks, strict=True)):
        caption = short(value) + mark
        weight = "bold" if value == best else "normal"
        axes.annotate(
            caption,
            (max(finite[row], 0), row),
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            weight=weight,
        )
    lowest, highest = min(0.0, finite.min()), max(finite.max(), 1e-9)
    axes.set_xlim(lowest, highest * 1.45)  # room for the numbers
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", bottom=False, labelbottom=False)
    axes.tick_params(axis="y", length=0)


def _five(values: NDArray[np.float64]) -> tuple[float, ...]:
    """The lower whisker, the quartiles and the upper whisker: the last values within 1.5 IQR of the box."""
    first, median, third = np.percentile(values, [25, 50, 75])
    reach = 1.5 * (third - first)
    return values[values >= first - reach].min(), first, median, third, values[values <= third + reach].max()


def _boxes(axes: Axes, places: NDArray[np.int64], fives: NDArray[np.float64]) -> None:
    """Drawn from primitives: matplotlib's `boxplot` reads all settings and therefore looks for a display."""
    low, first, median, third, high = fives.T
    axes.bar(places, third - first, 0.5, first, facecolor=SKY, edgecolor=BLUE)
    for end, edge in ((low, first), (high, third)):
        axes.vlines(places, end, edge, color=BLUE, linewidth=1)
        axes.hlines(end, places - 0.12, places + 0.12, color=BLUE, linewidth=1)
    axes.hlines(median, places - 0.25, places + 0.25, color=VERMILION, linewidth=2)


def _mark_best(
    axes: Axes, cells: NDArray[np.float64], k1: Sequence[float], b: Sequence[float], overall: np.float64
) -> None:
    if not np.isfinite(cells).any():
        return
    row, column = np.unravel_index(np.nanargmax(cells), cells.shape)
    marker, size, fill = ("*", 13, VERMILION) if cells[row, column] == overall else ("o", 6, "#ffffff")
    axes.plot(column + 0.5, row + 0.5, marker, markersize=size, color=fill, markeredgecolor="#000000")
    best = f"best {short(cells[row, column])} at k1 = {k1[int(row)]:g}, b = {b[int(column)]:g}"
    axes.annotate(best, (0.5, 1.02), xycoords="axes fraction", ha="center", fontsize=7.5)
    axes.set_title(axes.get_title(), pad=14)


def _ticks(values: Sequence[float]) -> tuple[list[float], list[str]]:
    """Positions and labels of cell centres, at most nine of them."""
    every = math.ceil(len(values) / 9)
    return [place + 0.5 for place in range(0, len(values), every)], [f"{value:g}" for value in values[::every]]
