"""Figures: the same values give the same bytes, the values are drawn as they are, and a mistake is one line."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.cbook
import numpy as np
import pytest

from rprs.errors import MissingExtra, UsageError
from rprs.studies import figures
from rprs.studies.figures import Picture, canvas
from tests.support.paths import ROOT

NAN = float("nan")
SVG = "{http://www.w3.org/2000/svg}"

DRAW: dict[str, Callable[[str], Picture]] = {
    "systems": lambda title: figures.systems_bars(
        "systems", title, ["BM25", "RPRS"], ["P@1", "AP"], [[0.5, 0.227], [0.78, NAN]], [["", ""], ["†", ""]]
    ),
    "sensitivity": lambda title: figures.heatmaps(
        "sensitivity",
        title,
        [1, 5],
        [0, 1.5, 3],
        [0, 1],
        [[[0.1, 0.1]] * 3, [[0.1, 0.1], [0.2, 0.3], [0.2, 0.2]]],
        "F1@4",
    ),
    "units": lambda title: figures.line(
        "units",
        title,
        [16, 32, 64],
        {"units": [0.1, 0.3, 0.2]},
        "tokens",
        "AP",
        log_x=True,
        reference={"sentences": 0.4},
    ),
    "bias": lambda title: figures.probability(
        "bias", title, [0, 1000, 5000, float("inf")], {"relevant": [0.1, 0.2, 0.4], "RPRS": [0.1, NAN, 0.3]}
    ),
    "lengths": lambda title: figures.boxes("lengths", title, {"a": [*range(1, 10), 1000], "b": [3.0, 4.0]}),
    "pearson": lambda title: figures.correlation("pearson", title, [1, 2, 3], [3, 1, 2], -0.5),
    "gains": lambda title: figures.differences("gains", title, [0.3, -0.2, 0.1, 0.0], "difference in AP"),
}


@cache
def picture_of(name: str) -> Picture:
    return DRAW[name]("A title & more")


def texts(picture: Picture) -> list[str]:
    """The texts in a picture, which exist because fonts are not converted to paths."""
    return ["".join(node.itertext()) for node in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")]


def count(picture: Picture, style: str) -> int:
    return picture.svg.decode().count(style)


# ---------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", DRAW)
def test_a_picture_has_a_name_both_formats_a_text_title_and_an_alternative_text(name: str) -> None:
    picture = picture_of(name)
    assert picture.name == name
    assert picture.png.startswith(b"\x89PNG\r\n")
    assert "A title & more" in texts(picture)
    assert picture.alt.startswith("A title & more. ")
    assert len(picture.alt) > 40


@pytest.mark.parametrize("name", DRAW)
def test_a_hostile_title_is_shown_as_it_is(name: str) -> None:
    picture = DRAW[name]("$x_{$ <b>&amp;\x00\ud800 漢字")  # no mathematics, no markup, nothing that XML cannot hold
    assert "$x_{$ <b>&amp; 漢字" in texts(picture)


def digests() -> dict[str, str]:
    return {name: hashlib.sha256((p := draw("Title")).svg + p.png).hexdigest() for name, draw in DRAW.items()}


@pytest.mark.slow
def test_another_process_with_other_settings_of_matplotlib_draws_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 30\nlines.linewidth: 9\nsvg.fonttype: path\n", encoding="utf-8")
    code = (
        "import json, sys; from tests.studies import test_figures as t; "
        "print(json.dumps([t.digests(), 'matplotlib.pyplot' in sys.modules]))"
    )
    environment = {**os.environ, "MATPLOTLIBRC": str(tmp_path), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=environment,
    )
    assert json.loads(process.stdout) == [digests(), False]  # without the state that pyplot keeps


FIRST_TIME = """
import threading
patient = threading.Timer.__init__
def hasty(self, interval, *rest, **more):  # as on a machine so slow that matplotlib prints a message
    patient(self, 0, *rest, **more)
threading.Timer.__init__ = hasty
from tests.studies import test_figures
test_figures.DRAW["units"]("Title")
"""


def test_the_first_figure_on_a_machine_prints_nothing_about_fonts(tmp_path: Path) -> None:
    """Matplotlib does if searching for them takes longer than five seconds."""
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path)}
    command = [sys.executable, "-c", FIRST_TIME]
    process = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    assert (process.stdout, process.stderr) == ("", "")
    assert list(tmp_path.glob("fontlist*"))  # it searched for them


def test_drawing_leaves_the_settings_of_matplotlib_as_they_were() -> None:
    with matplotlib.rc_context({"font.size": 17}):
        before = dict(matplotlib.rcParams)
        DRAW["units"]("Title")
        assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_error_has_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    for draw in DRAW.values():
        with pytest.raises(MissingExtra, match=r"matplotlib.*pip install 'rprs\[study\]'"):
            draw("Title")


def test_importing_figures_does_not_import_matplotlib() -> None:
    code = "import sys, rprs.studies.figures, rprs.studies.report; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------------------- each of them


def test_bars_print_values_as_tables_do_with_marks_and_a_dash_and_the_best_stands_out() -> None:
    picture = picture_of("systems")
    assert {"BM25", "RPRS", "P@1", "AP", ".500", ".780†", ".227", "–"} <= set(texts(picture))
    assert count(picture, f"fill: {canvas.BLUE}") == 2  # the best of each measure
    assert count(picture, f"fill: {canvas.SKY}") == 2


def test_twelve_systems_and_seven_measures_have_room() -> None:
    systems = [f"a system with quite a long name, number {i}" for i in range(12)]
    measures = [f"P@{i}" for i in range(7)]
    picture = figures.systems_bars("wide", "Many", systems, measures, np.full((12, 7), 0.5))
    assert set(measures) <= set(texts(picture))


def test_heat_maps_share_one_scale_of_colours_and_name_the_best_cells() -> None:
    picture = picture_of("sensitivity")
    assert {"n = 1", "n = 5", "k1", "b", "F1@4"} <= set(texts(picture))
    assert {"best .100 at k1 = 0, b = 0", "best .300 at k1 = 1.5, b = 1"} <= set(texts(picture))
    lowest, highest = "fill: #00224e", "fill: #fee838"  # the ends of cividis
    assert (count(picture, lowest), count(picture, highest)) == (6 + 2, 1)


def test_a_grid_of_one_value_and_a_grid_with_holes_are_drawn() -> None:
    flat = figures.heatmaps("flat", "Flat", [4], [0.0], [0.5], [[[0.25]]], "AP")
    assert "best .250 at k1 = 0, b = 0.5" in texts(flat)
    holes = figures.heatmaps("holes", "Holes", [1, 2], [0.0, 1.0], [0.5], [[[NAN], [NAN]], [[0.1], [NAN]]], "AP")
    assert "best .100 at k1 = 0, b = 0.5" in texts(holes)


def positions(picture: Picture, labels: list[str]) -> list[float]:
    """The x positions of these labels."""
    x_by_label = {}
    for node in ElementTree.fromstring(picture.svg).iter(f"{SVG}text"):
        x_by_label["".join(node.itertext())] = float(node.attrib["x"])
    return [x_by_label[label] for label in labels]


def test_a_logarithmic_axis_and_an_axis_with_a_word_are_evenly_spaced() -> None:
    full = figures.line("full", "Full", [256, 4096, "full"], {"RPRS": [0.1, 0.2, 0.3]}, "tokens", "AP", log_x=True)
    for picture, labels in ((picture_of("units"), ["16", "32", "64"]), (full, ["256", "4,096", "full"])):
        first, second, third = positions(picture, labels)
        assert second - first == pytest.approx(third - second)
        assert second > first
    assert full.alt == "Full. AP by tokens; highest: RPRS .300 at full."


def test_a_linear_axis_is_linear_and_a_reference_line_has_its_value() -> None:
    picture = figures.line("depth", "Depth", [15, 20, 100], {"RPRS": [0.1, 0.2, 0.3]}, "k", "AP", reference={"K": 0.25})
    first, second, third = positions(picture, ["15", "20", "100"])
    assert (third - first) / (second - first) == pytest.approx(17)
    assert {"RPRS", "K: .250"} <= set(texts(picture))


@pytest.mark.parametrize("many", [1, 12])
def test_series_differ_in_more_than_colour(many: int) -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    canvas.draw_lines(axes, [1, 2], {f"series {i}": np.array([i, i + 1.0]) for i in range(many)})
    looks = {(str(line.get_color()), str(line.get_linestyle()), str(line.get_marker())) for line in axes.lines}
    assert len(looks) == len({marker for _, _, marker in looks}) == many
    picture = figures.line(
        "many", "Many", [1, 2], {f"series {i}": [i, i + 1] for i in range(many)}, "x", "y", reference={"none": 0}
    )
    assert {f"series {i}" for i in range(many)} <= set(texts(picture))


def test_probabilities_name_their_curves_and_the_edges_of_their_bins() -> None:
    picture = picture_of("bias")
    assert {"P(relevant | length)", "P(retrieved | length), RPRS", "1,000", "5,000", "∞"} <= set(texts(picture))


def test_boxes_leave_outliers_out() -> None:
    labels = texts(picture_of("lengths"))
    assert {"a", "b", "median 6", "of 10", "of 2"} <= set(labels)
    assert (
        max(float(label) for label in labels if label.replace(".", "").isdigit()) < 20
    )  # the axis does not reach 1,000


def test_a_box_is_the_quartiles_and_its_whiskers_end_at_values_within_one_and_a_half_of_it() -> None:
    values = np.array([-50.0, *range(1, 10), 14, 15, 100])  # quartiles 3, 6, 9: whiskers reach from -6 to 18
    assert figures._five(values) == (1, 3, 6, 9, 15)
    stats = matplotlib.cbook.boxplot_stats(values)[0]  # matplotlib's own boxes
    assert figures._five(values) == tuple(stats[key] for key in ("whislo", "q1", "med", "q3", "whishi"))


def test_a_large_scatter_is_an_image_in_its_svg_and_a_small_one_is_not() -> None:
    small = picture_of("pearson")
    assert "Pearson’s r = -.500, 3 documents" in texts(small)
    assert b"<image" not in small.svg
    x = np.arange(20_000.0)
    large = figures.correlation("large", "Large", x, np.sin(x), 0.0)
    assert large.svg.count(b"<image") == 1
    assert len(large.svg) < 300_000
    same = figures.correlation("same", "Same", [5, 5], [1, 2], NAN)  # no line fits, no r exists
    assert "Pearson’s r = –, 2 documents" in texts(same)


def test_differences_count_gains_and_losses() -> None:
    assert "Better on 2, worse on 1, equal on 1; mean +.050" in texts(picture_of("gains"))


# ---------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: figures.systems_bars("f", "t", [], ["AP"], []), "nothing to show"),
        (lambda: figures.systems_bars("f", "t", ["a"], [], [[]]), "nothing to show"),
        (lambda: figures.systems_bars("f", "t", ["a"], ["AP"], [[NAN]]), "nothing to show"),
        (lambda: figures.systems_bars("f", "t", ["a"], ["AP"], [[0.1, 0.2]]), r"shape \(1, 1\).*Got \(1, 2\)"),
        (lambda: figures.systems_bars("f", "t", ["a"], ["AP"], [[0.1]], [["", "†"]]), "a mark for each of its 1"),
        (lambda: figures.heatmaps("f", "t", [], [0], [0], [], "AP"), "nothing to show"),
        (lambda: figures.heatmaps("f", "t", [1], [0], [0], [[[0.1]], [[0.1, 0.2]]], "AP"), "needs numbers"),
        (lambda: figures.line("f", "t", [1], {}, "x", "y"), "no series"),
        (lambda: figures.line("f", "t", [], {"a": []}, "x", "y"), "nothing to show"),
        (lambda: figures.line("f", "t", [1, 2], {"a": [1.0]}, "x", "y"), "'a', one value for each x"),
        (lambda: figures.line("f", "t", [1], {"a": [float("inf")]}, "x", "y"), "infinity"),
        (lambda: figures.probability("f", "t", [0], {"relevant": []}), "two edges"),
        (lambda: figures.probability("f", "t", [0, 1], {}), "a curve"),
        (lambda: figures.boxes("f", "t", {}), "no collections"),
        (lambda: figures.boxes("f", "t", {"a": []}), "nothing to show"),
        (lambda: figures.boxes("f", "t", {"a": [1, NAN]}), "NaN among them"),
        (lambda: figures.correlation("f", "t", [], [], 0), "nothing to show"),
        (lambda: figures.correlation("f", "t", [1, 2], [1], 0), "Got 1 for 2"),
        (lambda: figures.differences("f", "t", [], "y"), "nothing to show"),
    ],
)
def test_what_cannot_be_drawn_is_one_line_that_names_the_figure(draw: Callable[[], Picture], message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        draw()
    assert "The figure 'f'" in str(error.value)
    assert "\n" not in str(error.value)
