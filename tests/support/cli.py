"""The command line in tests: run in this process, on a small collection of invented documents."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rprs.cli import app

ENCODER = "hashed(dimension=64)"

TEXTS = {
    "lease.txt": """The tenant pays the rent of nine hundred crowns on the first day of every month.
The landlord keeps the roof, the walls and the drains of the house in good repair.
Either party may end this lease with three months of written notice.
The deposit is returned within thirty days after the keys are handed back.
Pets are allowed in the house only with the written consent of the landlord.""",
    "sublease.txt": """The subtenant pays the rent of four hundred crowns to the tenant on the first day of every month.
The subtenant may not keep pets in the rooms without the written consent of the tenant.
This sublease ends when the lease of the tenant ends.
The deposit of the subtenant is returned within ten days after the keys are handed back.""",
    "licence.txt": """The licensor grants the licensee a licence to copy and to change the program.
The licensee keeps the notice of copyright in every copy of the program.
The program comes without any warranty, and the licensor is not liable for damages.
Either party may end this licence with three months of written notice.""",
    "loan.txt": """The bank lends the borrower forty thousand crowns for the purchase of a boat.
The borrower pays the loan back in sixty equal parts on the first day of every month.
The boat is the security of the bank until the loan is paid back.""",
}
RECORDS: list[dict[str, Any]] = [
    {
        "id": "moss-v-reed",
        "title": "Moss v. Reed",
        "date": "1998-03-02",
        "court": "harbour",
        "text": "The tenant withheld the rent because the landlord had not kept the roof in good repair. "
        "The court held that a tenant may withhold rent while the roof leaks. "
        "The landlord was ordered to return the deposit. The appeal of the landlord was dismissed with costs.",
    },
    {
        "id": "finch-v-crane",
        "title": "Finch v. Crane",
        "date": "2011-09-14",
        "court": "harbour",
        "text": "The buyer of a boat refused to pay the bank because the engine had failed on the first day. "
        "The court held that the loan must be paid back whatever the state of the boat. "
        "The appeal of the buyer was dismissed with costs.",
    },
    {
        "id": "pike-v-vole",
        "title": "Pike v. Vole",
        "date": "2019-05-30",
        "court": "hill",
        "text": "The licensee had removed the notice of copyright from every copy of the program. "
        "The court held that the licence had ended by that breach. The licensor was awarded damages of ten crowns.",
    },
    {
        "id": "heron-v-otter",
        "title": "Heron v. Otter",
        "date": "2020-01-08",
        "court": "hill",
        "text": "The subtenant kept two pets in the rooms without the consent of the tenant. "
        "The court held that the sublease had ended by that breach. The deposit was not returned.",
    },
    {
        "id": "patent-roof",
        "title": "Roof tile with a drain",
        "date": "2003-07-01",
        "text": "The invention concerns a roof tile with a drain that keeps the walls of a house dry. "
        "A tile has a groove along its upper edge. The groove leads the rain into the drain of the next tile.",
    },
    {
        "id": "patent-boat",
        "title": "Boat engine with two pumps",
        "date": "2008-11-20",
        "text": "The invention concerns a boat engine with a first pump and a second pump. "
        "The second pump starts when the first pump fails. A valve keeps the rain out of the engine.",
    },
    {
        "id": "patent-lock",
        "title": "Lock without keys",
        "date": "2015-02-17",
        "text": "The invention concerns a lock for the door of a house that opens without keys. "
        "A reader in the door compares the hand of the tenant with a stored picture.",
    },
    {
        "id": "patent-copy",
        "title": "Machine for copies",
        "date": "2001-12-05",
        "text": "The invention concerns a machine that makes a copy of every page of a book. "
        "An arm turns the page when the copy is made.",
    },
]
QUERY = """My tenant did not pay the rent on the first day of the month.
The roof of the house is in good repair, and so are the walls and the drains.
I want to end the lease with three months of written notice.
Nobody has ever seen the purple dragon that lives beneath the lighthouse.
It guards seven golden spoons.
May I keep the deposit after the keys are handed back?
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def rprs(*words: object, stdin: bytes = b"", width: int = 100) -> Outcome:
    """Run a command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        patch.dict("os.environ", {"COLUMNS": str(width)}),
    ):
        try:
            app([str(word) for word in words])
        except SystemExit as exit:
            code = exit.code
    assert isinstance(code, int)
    return Outcome(code, out.getvalue(), err.getvalue())


def rprs_ok(*words: object, stdin: bytes = b"", width: int = 100) -> Outcome:
    """Run a command line that must succeed."""
    outcome = rprs(*words, stdin=stdin, width=width)
    assert outcome.code == 0, outcome.err
    return outcome


def rprs_error(*words: object, stdin: bytes = b"") -> str:
    """Run a command line that must fail with exit code 2; returns the one line of its error."""
    outcome = rprs("--quiet", *words, stdin=stdin)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith("rprs: ")
    return line.removeprefix("rprs: ")


def collection(folder: Path) -> Path:
    """The invented documents: four files of text and a file of eight records."""
    sources = folder / "sources"
    sources.mkdir()
    for name, text in TEXTS.items():
        (sources / name).write_text(text)
    (sources / "cases.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return sources


def sample_index(folder: Path) -> Path:
    """An index of the invented documents, with query.txt beside it."""
    rprs_ok("index", collection(folder), "--to", folder / "made.rprs", "--encoder", ENCODER)
    (folder / "query.txt").write_text(QUERY)
    return folder / "made.rprs"


def queries(folder: Path, records: Sequence[dict[str, str]]) -> Path:
    """A file of queries."""
    path = folder / "queries.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
