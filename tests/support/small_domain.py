"""A small domain of invented sentences: eight scenes with their own words, and two synonyms for each thing."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["NEW", "QUICK", "paraphrases", "write_domain"]

NEW = "new(layers=2,width=32,heads=2,vocabulary=300,positions=64)"
QUICK: dict[str, Any] = {"sentences": 96, "batch": 8, "rate": 1e-3, "checkpoint": 5}

# Two words each for the person, the action, the object and the place.
SCENES = [
    scene.split()
    for scene in (
        "pilot captain moors anchors boat vessel quay pier",
        "cook baker kneads bakes bread pastry kitchen bakery",
        "gardener grower trims prunes roses shrubs orchard greenhouse",
        "judge magistrate dismisses rejects appeal petition court tribunal",
        "nurse doctor treats heals patient invalid clinic hospital",
        "farmer herder feeds milks cows goats barn stable",
        "smith welder forges solders iron steel foundry workshop",
        "teacher tutor explains reads poem essay school college",
    )
]
HELD_OUT = [(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 0, 1), (1, 0, 1, 0)]  # choices of words that no document uses


def _sentence(scene: list[str], choices: tuple[int, ...]) -> str:
    who, does, what, where = (scene[2 * slot + choice] for slot, choice in enumerate(choices))
    return f"The {who} {does} the {what} in the {where}."


def write_domain(folder: Path, documents: int = 32) -> Path:
    """Documents of two paragraphs of six sentences, each paragraph of one scene."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(1)
    allowed = [choices for choices in product((0, 1), repeat=4) if choices not in HELD_OUT]
    for number in range(documents):
        paragraphs = [
            " ".join(_sentence(SCENES[scene], allowed[number]) for number in random.permutation(len(allowed))[:6])
            for scene in random.permutation(len(SCENES))[:2]
        ]
        (folder / f"day-{number:02}.txt").write_text("\n\n".join(paragraphs) + "\n")
    return folder


def paraphrases() -> tuple[list[str], list[str]]:
    """Sentences that no document contains, and paraphrases that share no word with them but "the" and "in"."""
    one, other = ([_sentence(scene, HELD_OUT[way + side]) for scene in SCENES for way in (0, 2)] for side in (0, 1))
    return one, other
