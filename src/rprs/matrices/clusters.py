"""Groups of documents that near duplicates connect, and an order of documents that puts similar ones side by side."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

import numpy as np

__all__ = ["connected", "reading_order"]

Node = TypeVar("Node", bound=Hashable)


def connected(links: Iterable[tuple[Node, Node]]) -> list[list[Node]]:
    """The groups of nodes that links connect, directly or through others: the largest first, then as they occur.

    The members of a group are in the order of their first link.
    """
    leader: dict[Node, Node] = {}

    def find(node: Node) -> Node:
        leader.setdefault(node, node)
        while leader[node] != node:
            leader[node] = leader[leader[node]]  # halves the way for the next
            node = leader[node]
        return node

    for left, right in links:
        first, second = find(left), find(right)
        leader[second] = first
    groups: dict[Node, list[Node]] = {}
    for node in leader:
        groups.setdefault(find(node), []).append(node)
    return sorted((group for group in groups.values() if len(group) > 1), key=lambda group: -len(group))


def reading_order(size: int, links: Sequence[tuple[int, int]], groups: Sequence[Sequence[int]]) -> list[int]:
    """All of `size` nodes: the groups first, then the others so that linked ones are near each other.

    The others are ordered by the reverse Cuthill-McKee method, which keeps links near the diagonal of a matrix.
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    grouped = [node for group in groups for node in group]
    rest = sorted({*range(size)} - {*grouped})
    place = {node: number for number, node in enumerate(rest)}
    pairs = [(place[left], place[right]) for left, right in links if left in place and right in place]
    if not pairs:
        return [*grouped, *rest]
    rows, columns = np.array(pairs + [(right, left) for left, right in pairs]).T
    graph = csr_array(coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(len(rest), len(rest))))
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    return [*grouped, *(rest[number] for number in order.tolist())]
