"""No flipped bit of any file of an index changes an answer without a word."""

from __future__ import annotations

import pytest

from tests.support.crash import memory_folder
from tests.support.flips import campaign, flips_of, small_index, table


@pytest.mark.parametrize("step", [397, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(7200)])])
def test_a_flipped_bit_in_every_byte(step: int) -> None:
    with memory_folder() as folder:
        path = folder / "a.rprs"
        small_index(path)
        findings = list(campaign(path, flips_of(path, step)))
    print(table(findings))
    assert [finding for finding in findings if finding.search not in ("reported", "same")] == []
    by_search = sum(finding.search == "reported" for finding in findings)
    assert by_search > len(findings) // 4
    assert sum(finding.verified for finding in findings) > len(findings) // 3
