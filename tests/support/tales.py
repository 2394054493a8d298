"""Invented texts of a few words, with repeated sentences."""

from __future__ import annotations

import random

from rprs.document import Document

VOCABULARY = """anchor beacon buoy channel chart cliff compass current deck dusk ebb ferry flag fog gale harbour hull
keel kelp lamp ledge mast moor oar pier pilot quay reef rope rudder sail sand shoal shore signal swell tide wake
wharf wreck""".split()


def tale(chance: random.Random, sentences: int) -> str:
    """Sentences of a few words each, some of them repeated, in paragraphs of about four."""
    lines = [" ".join(chance.choices(VOCABULARY, k=chance.randint(3, 9))).capitalize() + "." for _ in range(sentences)]
    lines += chance.choices(lines, k=sentences // 5)
    return "".join(sentence + chance.choice(["\n\n", " ", " ", " "]) for sentence in lines)


def tales(count: int, seed: int = 0) -> list[Document]:
    chance = random.Random(seed)
    years = [1980 + number for number in range(count)]
    return [
        Document(f"t{number:02d}", tale(chance, chance.randint(1, 14)), f"Tale {number}", {"year": years[number]})
        for number in range(count)
    ]


TALES = tales(30)
QUERY = Document("query", tale(random.Random(99), 9))
