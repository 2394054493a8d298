"""How much of its inputs a model did not see: each ranking says so in a note, and many rankings once in total."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rprs.document import Ranking

__all__ = ["Truncation", "other_notes"]

_NOTE = re.compile(r"([\d,]+) of ([\d,]+) inputs truncated to (\d+) tokens")


@dataclass(frozen=True, slots=True)
class Truncation:
    """So many inputs, and those of them that were cut to a window."""

    cut: int = 0
    inputs: int = 0
    window: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """One line, if there is anything to tell."""
        line = f"{self.cut:,} of {self.inputs:,} inputs truncated to {self.window} tokens"
        return (line,) if self.cut else ()

    def plus(self, ranking: Ranking) -> Truncation:
        """With what a ranking tells: by its part `truncated`, which counts whole inputs too, or by its note alone."""
        told = [[int(number.replace(",", "")) for number in note.groups()] for note in _told(ranking)]
        flags = ranking.parts.get("truncated")
        cut = sum(numbers[0] for numbers in told) if flags is None else int(flags.sum())
        inputs = sum(numbers[1] for numbers in told) if flags is None else len(flags)
        window = max([self.window, *(numbers[2] for numbers in told)])
        return Truncation(self.cut + cut, self.inputs + inputs, window)


def other_notes(ranking: Ranking) -> tuple[str, ...]:
    """What a ranking has to say beside that."""
    return tuple(note for note in ranking.notes if not _NOTE.fullmatch(note))


def _told(ranking: Ranking) -> list[re.Match[str]]:
    return [found for note in ranking.notes if (found := _NOTE.fullmatch(note))]
