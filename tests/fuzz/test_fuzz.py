"""The samples of the fuzzer, and what it found before, keep their promises; so do samples with a few changed bytes."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.targets import TARGETS, seeds

CHANGED = 6  # versions of each sample


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.timeout(60)
def test_samples_and_changed_samples(name: str) -> None:
    chance = Random(name)
    for sample in seeds(name):
        TARGETS[name](sample)
        for _ in range(CHANGED):
            data = bytearray(sample)
            for _ in range(chance.randint(1, 8)):
                place = chance.randrange(len(data) + 1)
                match chance.randrange(3):
                    case 0:
                        data[place:place] = chance.randbytes(chance.randint(1, 4))
                    case 1:
                        del data[place : place + chance.randint(1, 64)]
                    case _:
                        data[place : place + 1] = chance.randbytes(1)
            TARGETS[name](bytes(data))
