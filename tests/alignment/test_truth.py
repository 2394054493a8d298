"""The figures of docs/evidence.md are those of the generated pairs with known truth."""

from __future__ import annotations

import re

import pytest

from tests.support.alignment_truth import measure
from tests.support.paraphrases import PARAPHRASES
from tests.support.paths import ROOT

TOLERANCE = 0.03  # a quantised model differs a little between processors


@pytest.mark.slow
def test_the_figures_of_the_docs_are_measured() -> None:
    scores = measure()["all"]
    page = (ROOT / "docs/evidence.md").read_text("utf-8")
    printed = dict[str, tuple[float, float]]()
    for kind, recall, precision in re.findall(r"^\| ([a-z ]+) \| (\d\.\d{3}) \| (\d\.\d{3}) \|$", page, re.MULTILINE):
        printed[kind] = float(recall), float(precision)
    assert set(printed) == set(scores)
    for kind, score in scores.items():
        assert (score.recall, score.precision) == pytest.approx(printed[kind], abs=TOLERANCE)


def test_there_are_enough_paraphrases() -> None:
    assert len(set(PARAPHRASES)) >= 60
