"""What the checksums of blocks cost a search: `python -m benchmarks.checks`.

An index of invented documents, and searches with documents of its kind. The first search of an opened index checks all
that it reads; the later ones only what no search before has read. Processor time, the least of runs that take turns.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from time import process_time

from rprs import Document, Index, Searcher
from rprs.index import Writer

DOCUMENTS, SENTENCES, WORDS = 1500, 150, 30_000
ROUNDS, LATER = 6, 39


def _document(random: Random, id: str, sentences: int) -> Document:
    words = [f"w{int(random.paretovariate(0.7)) % WORDS:x}" for _ in range(14 * sentences)]
    lines = (" ".join(words[start : start + 14]).capitalize() + "." for start in range(0, len(words), 14))
    return Document(id, " ".join(lines))


def _measure(path: Path, queries: list[Document], check: bool) -> tuple[float, float, float]:
    """Processor seconds to open the index, of the first search, and of all searches."""
    start = process_time()
    with Index(path, check=check) as index:
        opened = process_time()
        searcher = Searcher(index)
        times = []
        for query in queries:
            begun = process_time()
            searcher.search(query, 10)
            times.append(process_time() - begun)
    return opened - start, times[0], sum(times)


def main() -> None:
    """Print the times with and without checks, and their ratios."""
    random = Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checks.rprs"
        with Writer(path, create=True, encoder="hashed(dimension=384)") as writer:
            writer.add(_document(random, f"d{number}", SENTENCES) for number in range(DOCUMENTS))
        queries = [_document(random, f"q{number}", SENTENCES) for number in range(1 + LATER)]
        _measure(path, queries, True)  # compile, and read the files into the cache
        rounds = [(_measure(path, queries, True), _measure(path, queries, False)) for _ in range(ROUNDS)]
        for place, name in enumerate(("open", "first search", f"{1 + LATER} searches")):
            checked, plain = (min(each[which][place] for each in rounds) for which in (0, 1))
            print(f"{name}: {checked * 1e3:.1f} ms with checks, {plain * 1e3:.1f} ms without: {checked / plain:.3f}")


if __name__ == "__main__":
    main()
