"""A small judged collection of invented rulings: those on the subject of a query that were granted are relevant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rprs.document import Document
from rprs.index import Writer

__all__ = ["QRELS", "QUERIES", "RULINGS", "write_queries_and_qrels", "write_rulings_index"]

SUBJECTS = {
    "ferry": "the ferry left the harbour without lights",
    "orchard": "the orchard was sold with all its apple trees",
    "tower": "the tower cast its shade on the garden next door",
    "mill": "the mill took more water than the river could give",
    "bridge": "the bridge was closed to carts during the flood",
}
OUTCOMES = {"granted": "The appeal was granted and the fine was lifted.", "denied": "The appeal was denied with costs."}


def _rulings() -> Iterator[Document]:
    for subject, story in SUBJECTS.items():
        for outcome, words in OUTCOMES.items():
            for number, place in enumerate(("In the county court", "Before the full bench")):
                text = f"{place}, {story}. Both sides spoke of the {subject}. {words}"
                yield Document(f"{subject}-{outcome}-{number}", text)


RULINGS = tuple(_rulings())
QUERIES = tuple(
    Document(f"q-{subject}", f"In court we speak of the {subject}: {story}. May we appeal?")
    for subject, story in SUBJECTS.items()
)
QRELS = {f"q-{subject}": {f"{subject}-granted-{number}": 1 for number in (0, 1)} for subject in SUBJECTS}


def write_rulings_index(folder: Path) -> Path:
    """Build an index of the rulings and return its path."""
    with Writer(folder / "rulings.rprs", create=True, encoder="hashed(dimension=32)") as writer:
        writer.add(RULINGS)
    return folder / "rulings.rprs"


def write_queries_and_qrels(folder: Path) -> tuple[Path, Path]:
    """Write the queries and the judgements, and return the two paths."""
    queries, qrels = folder / "queries.jsonl", folder / "qrels.txt"
    queries.write_text("".join(json.dumps({"id": query.id, "text": query.text}) + "\n" for query in QUERIES))
    lines = [f"{query} 0 {document} {grade}\n" for query, grades in QRELS.items() for document, grade in grades.items()]
    qrels.write_text("".join(lines))
    return queries, qrels
