"""The bar for sentences with the same idea, measured on few documents."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from rprs.alignment.calibration import LARGEST, LEAST_CHARACTERS, LEAST_DOCUMENTS, measure_bars
from rprs.encode.hashed import Hashed
from rprs.text.split import SentenceSplitter
from tests.soak.history import GROUPS, documents


def _vectors(text: str) -> NDArray[np.float16]:
    spans = SentenceSplitter().split(text).spans.tolist()
    long = [text[start:end] for start, end in spans if end - start >= LEAST_CHARACTERS]
    return Hashed(16).encode(long).astype(np.float16)


@pytest.mark.parametrize("seed", [941, 1855, 2952])
def test_the_document_with_most_others_to_compare_may_have_no_usual_sentence(seed: int) -> None:
    """One collection of a thousand such small ones: all sentences of that document are left out as formulas."""
    random = Random(seed)
    owners = [(owner, group) for owner in ("first", "second", "client") for group in range(GROUPS)]
    groups = [documents(owner, group, random.randrange(1, 40)) for owner, group in owners if random.random() < 0.25]
    vectors = [_vectors(document.text) for group in groups for document in group]
    sample = [each for each in vectors if len(each)]
    random.shuffle(sample)
    bars = measure_bars(sample)
    assert len(sample) >= LEAST_DOCUMENTS
    assert len(bars) == LARGEST + 1
    assert list(bars) == sorted(bars)
