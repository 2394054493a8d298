"""Seconds after a cut link and a killed head: `python -m benchmarks.cluster_faults`, as root, with Redis installed.

A head and two nodes run in network namespaces of this machine. Faults come in the middle of searches with evidence,
and in the middle of a step of a build; answers must be those of one index, and builds those of one process.
`python -m benchmarks.cluster` has the faults that need no network.
"""

from __future__ import annotations

import json

from tests.support.network import HEAD, THIRD
from tests.support.place import Place, prepared_place


def main() -> None:
    """Print, as JSON, the seconds of all searches under way, and those from each fault to the end of a build."""
    with prepared_place() as place:
        figures = {"searches": _searches(place), "builds": _builds(place)}
    print(json.dumps({what: {name: round(each, 1) for name, each in own.items()} for what, own in figures.items()}))


def _searches(place: Place) -> dict[str, float]:
    seconds = {"no fault": place.ask()}
    place.coordinator.begin()
    place.machines.cut(THIRD)
    seconds["link cut"] = place.check(place.coordinator.answer())
    place.machines.cut(THIRD, "up")
    place.ask()
    place.coordinator.begin()
    place.machines.kill(HEAD)
    seconds["head killed"] = place.check(place.coordinator.answer())
    place.machines.start_nodes(HEAD)
    place.ask()
    return seconds


def _builds(place: Place) -> dict[str, float]:
    seconds = {"no fault": place.build("undisturbed", lambda: None, THIRD)}

    def restart() -> None:
        place.machines.kill(HEAD)
        place.machines.start_nodes(HEAD)

    seconds["head killed and started again"] = place.build("headless", restart, THIRD)
    seconds["link cut"] = place.build("cut", lambda: place.machines.cut(THIRD), THIRD)
    place.bring_back(THIRD)
    place.ask()
    return seconds


if __name__ == "__main__":
    main()
