"""A search of a few small documents: it compiles the functions that searches need, and stores them (`rprs.compiled`).

The first search of an installation compiles for half a minute. While `rprs index` works, `python -m rprs.rehearsal`
does so with the lowest priority, and the search finds what it has stored. What is left then, the search compiles from
its beginning, and a second rehearsal beside it from the end.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, Timer
from typing import TYPE_CHECKING

import numpy as np

from rprs import __version__
from rprs.compiled import mark
from rprs.processes import environment
from rprs.scoring.threads import cores, limit_cores

if TYPE_CHECKING:
    from rprs.alignment.sides import Side

__all__ = ["main", "rehearse", "rehearsing", "show_matches"]

LOWEST = 19  # priority of a process
DELAY = 2.0  # seconds: a command that takes less has compiled nothing
FROM_END = "--from-end"
ENCODER = "hashed"  # needs no model; the compiled functions are those of all encoders

LEASE = (
    "The tenant shall pay the rent on the ﬁrst day of every month to the account that the landlord has named. "
    "The landlord keeps the roof, the walls and the windows of the house in good repair at all times. "
    "Neither party may assign this agreement to a third party without the written consent of the other one. "
    "Either of them may end it with three months' notice in writing.\n\n"
    "The deposit is returned within thirty days after the end of the lease, less the cost of repairs. "
    "Notice is given. The keys of the house are handed over on the last day of the lease."
)
EDITED = (
    "The tenant shall pay the agreed rent on the third day of every month to the account that the landlord named. "
    "The landlord keeps the roof, the walls and the windows of the house in good repair at all times. "
    "Pets are allowed if the neighbours do not complain about them. "
    "The deposit will be returned within sixty days after the end of the lease. It is less the cost of all repairs. "
    "Notice is given. On its last day the lease ends, and keys of the house are handed over."
)
RECIPE = "Whisk two eggs with a pinch of salt. Melt some butter in a pan, and fry the eggs until they are firm."


@contextmanager
def rehearsing(from_end: bool = False) -> Iterator[None]:
    """Rehearse in a process of its own until the end of the block, unless it was done or this is the only core.

    With `from_end`, what a search needs last comes first. Whatever happens to the process, it prints nothing and
    raises no error.
    """
    done = _done()
    if done is None or done.exists() or cores() < 2:
        yield
        return
    started: list[_Process] = []
    timer = Timer(DELAY, _start, (started, from_end))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for process in started:
            process.end()


def _done() -> Path | None:
    """A file that exists if a rehearsal was completed; None if nothing is stored."""
    return mark(f"searches-{__version__}")


def _start(started: list[_Process], from_end: bool) -> None:
    with suppress(OSError):
        started.append(_Process(from_end))


class _Process:
    def __init__(self, from_end: bool) -> None:
        self._folder = TemporaryDirectory(prefix="rprs-", ignore_cleanup_errors=True)
        command = [sys.executable, "-P", "-m", "rprs.rehearsal", self._folder.name, *([FROM_END] if from_end else [])]
        none = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=none, stderr=none, env=environment()
            )
        except OSError:
            self._folder.cleanup()
            raise

    def end(self) -> None:
        """End the process, whatever it is doing; what it has stored is complete."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()


# ---------------------------------------------------------------------------- the process


def main() -> None:
    """Rehearse in a folder, which is deleted if the program that started this one ends first."""
    folder = Path(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that started it decides
    with suppress(OSError):
        os.nice(LOWEST)
    Thread(target=_end_with_input, args=(folder,), daemon=True).start()
    with limit_cores(1):
        rehearse(folder, from_end=FROM_END in sys.argv[2:])
    done = _done()
    if done is not None:
        done.touch()


def _end_with_input(folder: Path) -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def rehearse(folder: Path, from_end: bool = False) -> None:
    """Search and explain with the default system; an index is written to the folder.

    The evidence comes first: it takes longest, and indexing, which compiles its own functions meanwhile, needs none.
    """
    from rprs import Document, Index, Searcher, Writer, align

    if from_end:
        show_matches()
    align(LEASE, EDITED, encoder=ENCODER)
    texts = {"lease": LEASE, "edited": EDITED, "recipe": RECIPE, "copy": LEASE.replace("thirty", "forty")}
    with Writer(folder / "rehearsal.rprs", create=True, encoder=ENCODER) as writer:
        writer.add([Document(id, text) for id, text in texts.items()])
    with Index(folder / "rehearsal.rprs") as index:
        searcher, query = Searcher(index), LEASE.replace("rent", "sum")
        searcher.search(query)
        searcher.explain(query, "edited")


def show_matches() -> None:
    """The second half of the evidence alone, with matches that are given."""
    from rprs.alignment.align import Findings, make_comparison
    from rprs.alignment.calibration import FALLBACK
    from rprs.alignment.ideas import find_partners, same_ideas
    from rprs.alignment.reworded import Edited
    from rprs.alignment.word_matches import WordMatches

    query, document = _side(LEASE), _side(EDITED)
    document.sentences.spans.setflags(write=False)  # as in an index, which is a type of its own
    second, third = query.bounds[1:3].tolist(), document.bounds[1:3].tolist()
    runs = np.array([[*second, *third]], dtype=np.int64)
    blocks = np.array([[0, 0, 4, 0], [5, 6, 4, 0]], dtype=np.int64)
    edited = Edited(np.array([[0, second[0], 0, third[0]]], dtype=np.int64), np.array([0.8]), blocks)
    (partners,) = find_partners(query, [document], FALLBACK)
    assert partners is not None  # both texts have vectors
    ideas = same_ideas(query, document, partners, runs, edited.ranges)
    make_comparison(Findings(query, document, WordMatches(runs, edited, True), ideas)).alignment()


def _side(text: str) -> Side:
    """A text whose sentences end at every period, with vectors that mean nothing."""
    from rprs.alignment.sides import make_side
    from rprs.document import Document, Sentences

    spans = np.array([each.span() for each in re.finditer(r"[^.]+\.", text)], dtype=np.int64)
    vectors = np.eye(len(spans), 2, dtype=np.float16)
    return make_side(Document("", text), Sentences(spans, np.zeros(len(spans), dtype=np.int32), vectors))


if __name__ == "__main__":
    main()
