"""Which node holds which shards. No Ray."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["HolderState", "New", "Plan", "plan"]


@dataclass(frozen=True, slots=True)
class HolderState:
    """A holder as `status` shows it."""

    name: str
    generation: int
    shards: tuple[int, ...]
    replica: int
    alive: bool
    node: str = ""
    process: int = 0


@dataclass(frozen=True, slots=True)
class New:
    """A holder to start."""

    shards: tuple[int, ...]
    replica: int
    node: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to start, and which holders to stop afterwards."""

    new: tuple[New, ...]
    surplus: tuple[str, ...]  # names


def plan(groups: Sequence[Sequence[int]], nodes: Sequence[str], replicas: int, present: Sequence[HolderState]) -> Plan:
    """Let each group of shards have its replicas on different nodes, of which there are enough.

    Holders stay where they are, except those that share a node with another of the same shards, those of nodes that
    are gone, and those of other groups.
    """
    kept: dict[tuple[int, ...], dict[str, HolderState]] = {tuple(group): {} for group in groups}
    for holder in sorted(present, key=lambda each: each.replica):
        own = kept.get(holder.shards, {})
        if holder.alive and holder.node in nodes and holder.node not in own and len(own) < replicas:
            own[holder.node] = holder
    load = Counter(node for own in kept.values() for node in own)
    new: list[New] = []
    for place, (shards, own) in enumerate(kept.items()):
        numbers = [number for number in range(replicas) if number not in {each.replica for each in own.values()}]
        taken = set(own)
        for number in numbers[: replicas - len(own)]:
            turned = [nodes[(place + number + step) % len(nodes)] for step in range(len(nodes))]
            node = min((each for each in turned if each not in taken), key=lambda each: load[each])
            taken.add(node)
            load[node] += 1
            new.append(New(shards, number, node))
    names = {holder.name for own in kept.values() for holder in own.values()}
    return Plan(tuple(new), tuple(holder.name for holder in present if holder.name not in names))
