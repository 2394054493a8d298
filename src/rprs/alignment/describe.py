"""Coverage and similarity in words, the same on the command line, in the web interface, in reports and exports."""

from __future__ import annotations

from typing import Literal, Protocol

from rprs.alignment.values import Coverage, Kind

__all__ = ["Matched", "coverage_percentages", "coverage_sentence", "joint_coverage_sentence", "similarity_text"]


class Matched(Protocol):
    """A pair, or anything else with a kind and a similarity."""

    @property
    def kind(self) -> Kind:
        """The kind of match."""
        ...

    @property
    def similarity(self) -> float:
        """The similarity in the unit of the kind."""
        ...


Whose = Literal["query", "document"]
_SUBJECTS: dict[Whose, tuple[str, str]] = {
    "query": ("your document", "here"),
    "document": ("this document", "in yours"),
}


def coverage_sentence(coverage: Coverage, whose: Whose) -> str:
    """The coverage of the query or of the document in one sentence, without a full stop."""
    return _sentence(coverage, *_SUBJECTS[whose])


def joint_coverage_sentence(coverage: Coverage, documents: int) -> str:
    """The coverage of the query by several documents together in one sentence, without a full stop."""
    return _sentence(coverage, "your document", f"in {'this document' if documents == 1 else 'these documents'}")


def _sentence(coverage: Coverage, subject: str, place: str) -> str:
    if not coverage.matched:
        return f"No part of {subject} has a counterpart {place}"
    total, *parts = coverage_percentages(coverage)
    names = ("identical", "reworded", "same idea")
    listed = ", ".join(
        f"{_percent(part, count)} {name}"
        for part, count, name in zip(parts, _counts(coverage), names, strict=True)
        if count
    )
    return f"{_percent(total, coverage.matched)} of {subject} has a counterpart {place}: {listed}"


def coverage_percentages(coverage: Coverage) -> tuple[int, int, int, int]:
    """The matched, identical, reworded and same-idea words in percent; the parts add up to the total.

    100% means every word: a smaller share is at most 99%.
    """
    if not coverage.words:
        return 0, 0, 0, 0
    counts = _counts(coverage)
    total = round(100 * coverage.matched / coverage.words)
    total = min(total, 99) if coverage.matched < coverage.words else total
    exact = [100 * count / coverage.words for count in counts]
    parts = [int(value) for value in exact]
    by_remainder = sorted(range(3), key=lambda place: (parts[place] - exact[place], place))
    step = 1 if total > sum(parts) else -1
    for place in (by_remainder if step > 0 else by_remainder[::-1]) * 2:
        if sum(parts) != total and parts[place] + step >= 0:
            parts[place] += step
    return total, parts[0], parts[1], parts[2]


def similarity_text(pair: Matched) -> str:
    """The similarity of a pair in its own unit: "identical", "92% of words" or "0.83"."""
    if pair.kind == "identical":
        return "identical"
    if pair.kind == "reworded":
        return f"{min(int(100 * pair.similarity), 99)}% of words"
    return f"{min(int(100 * pair.similarity) / 100, 0.99):.2f}"


def _counts(coverage: Coverage) -> tuple[int, int, int]:
    return coverage.identical, coverage.reworded, coverage.same_idea


def _percent(percent: int, count: int) -> str:
    return f"{percent}%" if percent or not count else "under 1%"
