"""Compiles the functions of a search and stores them: `python -m tests.support.compile_first`.

Otherwise, where nothing is stored yet, each of several test processes would compile them at the same time.
"""

from __future__ import annotations

from rprs import Index, Searcher
from rprs.rank import System

TEXT = "The lessee pays the rent on the first day of each month. The lessor repairs the roof, and keeps it in repair."
OTHER = "The tenant shall pay the rent on the first day of the month. Notice is given in writing; nothing else counts."


def main() -> None:
    """Search with the default system and with that of the paper, and explain a hit."""
    index = Index.in_memory([TEXT, OTHER, f"{OTHER} {TEXT}"], encoder="hashed")
    for system in (System(), "paper"):
        searcher = Searcher(index, system)
        for hit in searcher.search(TEXT):
            searcher.explain(TEXT, hit.id)


if __name__ == "__main__":
    main()
