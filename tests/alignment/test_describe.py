"""Coverage in words: what is shown adds up, on every surface."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from rprs.alignment.describe import coverage_percentages, coverage_sentence
from rprs.alignment.values import Coverage
from tests.support.coverages import every_coverage

COUNTS = st.integers(0, 10**6)
COVERAGES = st.builds(lambda rest, *kinds: Coverage(rest + sum(kinds), *kinds), COUNTS, COUNTS, COUNTS, COUNTS)


def check(coverage: Coverage) -> None:
    total, *parts = coverage_percentages(coverage)
    counts = coverage.identical, coverage.reworded, coverage.same_idea
    assert sum(parts) == total
    assert (total == 100) == (coverage.matched == coverage.words > 0)
    for part, count in zip(parts, counts, strict=True):
        assert abs(part - 100 * count / max(coverage.words, 1)) <= 1
        assert count or not part
    sentence = coverage_sentence(coverage, "query")
    if not coverage.matched:
        assert sentence == "No part of your document has a counterpart here"
        return
    shown, *kinds = [int(number or 0) for number in re.findall(r"(?:under 1|(\d+))%", sentence)]
    assert (shown, sum(kinds), len(kinds)) == (total, total, sum(map(bool, counts)))


@given(COVERAGES)
@example(Coverage(1000, 5, 5, 5))
@example(Coverage(1000, 995, 2, 2))
def test_percentages_add_up_to_the_total_as_shown(coverage: Coverage) -> None:
    check(coverage)


def test_those_of_all_short_texts_do() -> None:
    for coverage in every_coverage(24):
        check(coverage)
