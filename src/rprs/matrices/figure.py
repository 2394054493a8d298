"""The picture of a matrix: a row for each query document, a column for each document that it may match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rprs.errors import UsageError
from rprs.matrices.clusters import reading_order
from rprs.studies.figures.canvas import BLUE, INK, SKY, VERMILION, Picture, blank, finish, plain, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rprs.matrices.values import Matrix

__all__ = ["draw"]

PIXELS = 900  # a side of the image at most: of more documents, several share a cell, and its strongest match shows
LABELLED = 40  # documents: beyond it, their names would be too small to read
NAME = 34  # characters of a name
SIZE = 6.0  # inches

Member = tuple[bool, str]  # whether it is a query from outside of the collection, and its id


def draw(matrix: Matrix) -> Picture:
    """Matches as squares, darker for a better rank; near duplicates have another colour, their clusters a frame."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    if not matrix.matches:
        raise UsageError("There is nothing to draw: no document has a match")
    rows, columns, groups = _axes_of(matrix)
    strongest = _cells(matrix, rows, columns)
    shades = LinearSegmentedColormap.from_list("ranks", [SKY, BLUE])
    image = np.ones((*strongest.shape, 3))
    matched, duplicate = strongest > 0, strongest > 1
    image[matched] = shades(np.minimum(strongest[matched], 1.0))[:, :3]
    image[duplicate] = to_rgb(VERMILION)
    title = f"{len(matrix.queries):,} documents, their matches and {_count(len(matrix.clusters), 'cluster')}"
    with styled():
        figure = blank(f"{title} of near duplicates", SIZE, SIZE + 1)
        axes = figure.subplots()
        axes.imshow(
            image, interpolation="nearest", aspect="auto", extent=(0, len(columns), len(rows), 0), rasterized=True
        )
        if matrix.within:
            _frame(axes, groups)
        _label(axes, [id for _, id in rows], [id for _, id in columns], matrix.within)
        _legend(axes)
        return finish(figure, "matrix", _description(matrix))


def _axes_of(matrix: Matrix) -> tuple[list[Member], list[Member], list[list[Member]]]:
    """The members of both axes in an order that shows clusters, and the clusters in the same order."""
    links = [((not matrix.within, match.query), (False, match.id)) for match in matrix.matches]
    outside = not matrix.within
    members = list(dict.fromkeys([*((outside, id) for id in matrix.queries), *(hit for _, hit in links)]))
    number = {member: place for place, member in enumerate(members)}
    inside: dict[int, list[Member]] = {}
    for member, cluster in matrix.cluster_numbers.items():
        inside.setdefault(cluster, []).append(member)
    groups = [inside[cluster] for cluster in sorted(inside)]
    order = reading_order(
        len(members),
        [(number[left], number[right]) for left, right in links],
        [[number[member] for member in group] for group in groups],
    )
    ordered = [members[place] for place in order]
    if matrix.within:
        return ordered, ordered, groups
    return [member for member in ordered if member[0]], [member for member in ordered if not member[0]], groups


def _cells(matrix: Matrix, rows: Sequence[Member], columns: Sequence[Member]) -> NDArray[np.float64]:
    """The strongest match of each cell: 0 for none, up to 1 for the best rank, 2 for a near duplicate."""
    row_of = {member: place for place, member in enumerate(rows)}
    column_of = {member: place for place, member in enumerate(columns)}
    last = max(match.rank for match in matrix.matches)
    strength = [2.0 if match.is_duplicate else (last + 1 - match.rank) / last for match in matrix.matches]
    shape = min(len(rows), PIXELS), min(len(columns), PIXELS)
    places = [
        [row_of[not matrix.within, match.query] * shape[0] // len(rows) for match in matrix.matches],
        [column_of[False, match.id] * shape[1] // len(columns) for match in matrix.matches],
    ]
    cells = np.zeros(shape)
    np.maximum.at(cells, (np.array(places[0]), np.array(places[1])), strength)
    return cells


def _frame(axes: Axes, groups: Sequence[Sequence[Member]]) -> None:
    """A frame around each cluster, which are the first of both axes."""
    from matplotlib.patches import Rectangle

    start = 0
    for group in groups:
        axes.add_patch(Rectangle((start, start), len(group), len(group), fill=False, edgecolor=INK, linewidth=0.8))
        start += len(group)


def _label(axes: Axes, rows: Sequence[str], columns: Sequence[str], within: bool) -> None:
    """Names where they can be read."""
    axes.set_ylabel("documents" if within else "queries")
    axes.set_xlabel("documents that match" if within else "documents of the collection that match")
    if len(rows) <= LABELLED:
        axes.set_yticks(np.arange(len(rows)) + 0.5, [_short(id) for id in rows], fontsize=7)
    if len(columns) <= LABELLED:
        axes.set_xticks(np.arange(len(columns)) + 0.5, [_short(id) for id in columns], fontsize=7, rotation=90)
    axes.tick_params(length=2)


def _legend(axes: Axes) -> None:
    from matplotlib.patches import Patch

    names = {"best match": BLUE, "last of the matches": SKY, "identical or near duplicate": VERMILION}
    patches = [Patch(facecolor=colour, label=name) for name, colour in names.items()]
    axes.get_figure().legend(handles=patches, loc="outside lower center", ncols=3)  # type: ignore[union-attr]  # it has one


def _description(matrix: Matrix) -> str:
    sizes = ", ".join(f"{len(cluster):,}" for cluster in matrix.clusters[:5])
    largest = f"; the largest have {sizes} members" if sizes else ""
    return (
        f"A matrix of {len(matrix.queries):,} documents (rows) and the documents that match them (columns), "
        f"with {_count(len(matrix.clusters), 'cluster')} of near duplicates{largest}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _short(id: str) -> str:
    name = plain(id)
    return name if len(name) <= NAME else f"…{name[1 - NAME :]}"
