"""A folder in which studies are computed, and the steps that were computed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rprs.collection import open_collection
from rprs.files.cache import Cache
from rprs.studies.experiment import Experiment
from rprs.studies.plan import read_plan
from rprs.studies.study import study
from rprs.studies.systems import Study


@dataclass
class Steps:
    """Which steps were computed and which were kept."""

    computed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def __call__(self, step: str, computed: bool, about: str) -> None:
        (self.computed if computed else self.kept).append(f"{step} {about.partition(': ')[2]}".strip())


@dataclass(frozen=True)
class Place:
    """A folder with the collection, where studies are written and computed."""

    folder: Path

    def study(self, text: str, to: str = "results", **options: Any) -> Steps:
        path = self.folder / "study.toml"
        path.write_text(text)
        steps = Steps()
        study(path, self.folder / to, report=steps, **options)
        return steps

    @contextmanager
    def opened(self, text: str, steps: Steps) -> Iterator[Study]:
        """A running study, without its results folder."""
        path = self.folder / "study.toml"
        path.write_text(text)
        plan, cache = read_plan(path), Cache(self.folder / "results" / ".cache", steps)
        with Experiment(plan.data, open_collection(plan.data, self.folder), cache) as experiment:
            yield Study(plan, experiment, self.folder)

    def steps(self, text: str, *systems: str) -> Steps:
        """The steps that the runs of some systems need."""
        steps = Steps()
        with self.opened(text, steps) as study:
            for name in systems:
                study.run(study.plan.system(name))
        return steps

    def results(self, to: str = "results") -> Any:
        return json.loads((self.folder / to / "study" / "results.json").read_text())
