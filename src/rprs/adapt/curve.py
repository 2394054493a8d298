"""The losses of a training run, step by step, as data and as a figure."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Curve"]

TENTHS = 10  # the first and the last loss are means over a tenth of the steps


@dataclass(frozen=True)
class Curve:
    """The losses of every step, and the validation measure after some of them."""

    losses: Sequence[Mapping[str, float]]  # by name, for step 1, 2, ...
    measure: str = ""  # the validation measure, such as P@5
    values: Mapping[int, float] = field(default_factory=dict)  # by step

    @property
    def names(self) -> list[str]:
        """The names of the losses."""
        return list(dict.fromkeys(name for row in self.losses for name in row))

    def first(self) -> dict[str, float]:
        """The mean losses of the first tenth of the steps."""
        return self._mean(self.losses[: math.ceil(len(self.losses) / TENTHS)])

    def last(self) -> dict[str, float]:
        """The mean losses of the last tenth of the steps."""
        return self._mean(self.losses[-math.ceil(len(self.losses) / TENTHS) :])

    def table(self) -> str:
        """The text of loss.csv: step, each loss, and the validation measure where it was computed."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["step", *self.names, *([self.measure] if self.measure else [])])
        for step, row in enumerate(self.losses, start=1):
            losses = [repr(row[name]) if name in row else "" for name in self.names]
            value = [repr(self.values[step]) if step in self.values else ""] if self.measure else []
            writer.writerow([step, *losses, *value])
        return text.getvalue()

    def picture(self, title: str) -> bytes:
        """The content of loss.svg."""
        from rprs.studies.figures import losses

        series = {name: [row.get(name, math.nan) for row in self.losses] for name in self.names}
        return losses("loss", title, series, self.measure, self.values).svg

    def _mean(self, rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
        losses = {name: [row[name] for row in rows if name in row] for name in self.names}
        return {name: float(np.mean(values)) for name, values in losses.items() if values}
