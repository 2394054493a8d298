"""Which node holds which shards. No Ray."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["HolderState", "New", "Plan", "choose_groups", "plan"]

Group = tuple[int, ...]  # the shards of a process


@dataclass(frozen=True, slots=True)
class HolderState:
    """A holder as `status` shows it."""

    name: str
    generation: int
    shards: Group
    replica: int
    alive: bool
    node: str = ""
    process: int = 0


@dataclass(frozen=True, slots=True)
class New:
    """A holder to start."""

    shards: Group
    replica: int
    node: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to start, and which holders to stop afterwards."""

    new: tuple[New, ...]
    surplus: tuple[str, ...]  # names


def choose_groups(shards: int, processes: int | None, cores: int, present: Sequence[HolderState]) -> Sequence[Group]:
    """The shards of each process: as equal as possible.

    Unless the number of processes is given, the groups stay as they are: otherwise, all would be opened anew while a
    machine is away, and again when it is back. At first, there is one for each core.
    """
    if processes is None:
        held = {holder.shards for holder in present}
        for number in range(shards, 0, -1):
            if held.issuperset(groups := _groups(shards, number)):
                return groups
    return _groups(shards, min(shards, processes or cores))


def _groups(shards: int, number: int) -> Sequence[Group]:
    return [tuple(range(place, shards, number)) for place in range(number)]


def plan(groups: Sequence[Group], nodes: Sequence[str], replicas: int, present: Sequence[HolderState]) -> Plan:
    """Let each group of shards have its replicas on different nodes, of which there are enough.

    Holders stay where they are, except those that share a node with another of the same shards, those of nodes that
    are gone, and those of other groups.
    """
    kept: dict[Group, dict[str, HolderState]] = {group: {} for group in groups}
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
