"""The common ground of all figures: matplotlib in one style, and checks of the values."""

from __future__ import annotations

import logging
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rprs.errors import MissingExtra, UsageError
from rprs.evaluation.table import Figure as Printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "GRID",
    "INK",
    "LEVELS",
    "PAPER",
    "SKY",
    "VECTOR_POINTS",
    "VERMILION",
    "WIDTH",
    "Picture",
    "add_legend",
    "blank",
    "draw_lines",
    "finish",
    "label_axes",
    "numbers",
    "plain",
    "sample",
    "short",
    "signed",
    "styled",
    "wrapped",
]

INK, PAPER, GRID = "#1c2024", "#fefefe", "#d9dde1"  # text and axes, background, grid; used for nothing else
BLUE, VERMILION, SKY, GREY = "#0072b2", "#d55e00", "#a9cfe6", "#7a828a"
COLOURS = (BLUE, VERMILION, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")
DASHES = ("-", "--", "-.", ":")
LEVELS = ((0, (6, 2)), (0, (2, 2)), (0, (1, 1)), (0, (6, 2, 1, 2)))  # of reference lines: points on, points off

LINES = 3  # of a title or a label; more would leave no room for the figure
WIDTH = 7.0  # inches: a page's width of text
VECTOR_POINTS = 2000  # a scatter of more becomes an image inside its SVG
STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a title is a dollar sign
    "figure.facecolor": PAPER,
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "savefig.facecolor": PAPER,
    "savefig.dpi": 160,
    "figure.constrained_layout.w_pad": 0.08,
    "figure.constrained_layout.h_pad": 0.08,
    "axes.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: it can be searched, selected and read aloud
    "svg.hashsalt": "rprs",
}


@dataclass(frozen=True)
class Picture:
    """A drawn figure. `alt` describes what it shows and how to read it."""

    name: str
    svg: bytes
    png: bytes
    alt: str = ""


# ---------------------------------------------------------------------------- matplotlib


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib with this style, whatever the user's own settings are."""
    style = _loaded()
    with style.context(["default", STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # browsers substitute another font
        yield


def _loaded() -> Any:
    """The style module of matplotlib, without the message that it prints when it first searches for fonts."""
    fonts = logging.getLogger("matplotlib.font_manager")
    before = fonts.level
    fonts.setLevel(logging.ERROR)
    try:
        from matplotlib import font_manager, style  # noqa: F401  # the fonts are loaded on import
    except ImportError as error:
        raise MissingExtra("A figure", "matplotlib", "study") from error
    finally:
        fonts.setLevel(before)
    return style


def blank(title: str, height: float, width: float = WIDTH) -> Figure:
    """An empty figure of this size in inches, plus the title; draw on it within `styled`."""
    from matplotlib.figure import Figure

    lines = wrapped(title, int(width * 11))
    figure = Figure(figsize=(width, height + 0.35 + 0.2 * lines.count("\n")), layout="constrained")
    figure.suptitle(lines, x=0.01, ha="left")
    return figure


def finish(figure: Figure, name: str, alt: str) -> Picture:
    """The figure in both formats, without dates and versions: equal figures have equal bytes."""
    svg, png = BytesIO(), BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", metadata={"Software": None})
    return Picture(name, svg.getvalue(), png.getvalue(), plain(alt))


# ---------------------------------------------------------------------------- what figures share


def draw_lines(axes: Axes, x: ArrayLike, curves: Mapping[str, NDArray[np.float64]]) -> None:
    """One line per curve, each with its own colour, dashes and marker."""
    for number, (label, y) in enumerate(curves.items()):
        axes.plot(
            np.asarray(x),
            y,
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)],
            label=wrapped(label, 80),
        )


def label_axes(axes: Axes, x_label: str, y_label: str) -> None:
    """Label the axes and add horizontal grid lines."""
    axes.set_xlabel(plain(x_label))
    axes.set_ylabel(plain(y_label))
    axes.grid(axis="y")


def add_legend(figure: Figure, axes: Axes, columns: int | None = None) -> None:
    """Add a legend below the axes if there is more than one label."""
    labels = axes.get_legend_handles_labels()[1]
    if len(labels) > 1:
        fits = max(1, min(len(labels), 90 // (max(map(len, labels)) + 8)))
        figure.legend(loc="outside lower center", ncols=columns or fits, handlelength=3.5)


# ---------------------------------------------------------------------------- words and numbers


def numbers(name: str, values: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """The values as an array of this shape with at least one number; otherwise, a `UsageError`."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"The figure {name!r} needs numbers ({what}): {error}") from error
    if array.size == 0 or 0 in shape or np.isnan(array).all():
        raise UsageError(f"The figure {name!r} has nothing to show: no values ({what})")
    if array.shape != shape:
        raise UsageError(f"The figure {name!r} needs values of shape {shape} ({what}). Got {array.shape} instead.")
    if np.isinf(array).any():
        raise UsageError(f"The figure {name!r} cannot show infinity ({what})")
    return array


def sample(name: str, values: ArrayLike, what: str) -> NDArray[np.float64]:
    """A sequence of values that must all be numbers."""
    array = numbers(name, values, (np.size(values),), what)
    if np.isnan(array).any():
        raise UsageError(f"The figure {name!r} needs numbers ({what}). Got NaN among them instead.")
    return array


_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def plain(text: str) -> str:
    """The text on one line, without characters that XML does not allow."""
    return " ".join(_UNFIT.sub(" ", text).split())


def wrapped(text: str, width: int) -> str:
    """The text on a few lines of at most this many characters; a longer text ends in an ellipsis."""
    return textwrap.fill(plain(text), max(width, 12), max_lines=LINES, placeholder=" …")


def short(value: float) -> str:
    """A number as tables print it: .321, -.040, 1.000, and a dash for NaN."""
    return Printed(float(value)).number


def signed(value: float) -> str:
    """The same with its sign, for a difference."""
    return short(value) if value < 0 else f"+{short(value)}"
