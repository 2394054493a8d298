"""Flip a bit in every byte of a small index, and see who notices: `python -m tests.support.flips`.

Prints a table: how many flips `verify` finds, how many a search reports, how many change nothing, and how many change
an answer without a word, of which there must be none. Forked children do the work, since damage may end a process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path

from rprs.errors import RprsError
from rprs.index import Index, Writer, verify
from rprs.rank import BM25
from rprs.search import Searcher
from tests.support.crash import QUERIES, invented, memory_folder, plug_in

PART = 250  # flips by one child
PAGE = 512  # bytes of a page of the catalog: the least that SQLite knows, so that the index is small


@dataclass(frozen=True)
class Flip:
    """One bit of a file."""

    file: str
    position: int
    bit: int


@dataclass(frozen=True)
class Finding:
    """What became of a flip: whether `verify` found it, and whether a search reported it, or gave the same answers."""

    flip: Flip
    verified: bool
    search: str  # "reported", "same", "different", "crash", or an error that is not of rprs


def small_index(path: Path) -> None:
    """An index of few bytes with all kinds of files: two segments, a fitted encoder, norms."""
    plug_in()
    with Writer(path, create=True, encoder="learned(sample=2)") as writer:
        writer.add([invented("d1", sentences=2), invented("d2", sentences=2)])
        writer.add([invented("d3", sentences=1)])
    with closing(sqlite3.connect(path / "catalog.sqlite", isolation_level=None)) as connection:
        for statement in ("journal_mode = DELETE", f"page_size = {PAGE}"):
            connection.execute(f"PRAGMA {statement}").fetchall()
        connection.execute("VACUUM")
        connection.execute("PRAGMA journal_mode = WAL").fetchall()


def flips_of(path: Path, step: int = 1) -> list[Flip]:
    """A bit of every byte, or of every `step`-th, of all files; which one depends on its place."""
    sizes = {file.relative_to(path).as_posix(): file.stat().st_size for file in path.rglob("*") if file.is_file()}
    places = ((name, position) for name in sorted(sizes) for position in range(sizes[name]))
    flips = [Flip(name, position, (position * 5 + position // 8) % 8) for name, position in places]
    return flips[::step]


def campaign(path: Path, flips: Sequence[Flip]) -> Iterator[Finding]:
    """Try each flip on a copy of the index."""
    before = answers(path)
    waiting = list(flips)
    while waiting:
        done = list(_in_child(path, waiting[:PART], before))
        yield from done
        if len(done) < len(waiting[:PART]):  # the child died of the next one
            yield Finding(waiting[len(done)], False, "crash")
            done.append(Finding(waiting[len(done)], False, "crash"))
        waiting = waiting[len(done) :]


def answers(path: Path) -> str:
    """What searches of the index return: documents, scores, and a ranking."""
    with Index(path) as index:
        documents = [astuple(index.document(id)) for id in index.ids]
        ranking = Searcher(index, depth=20).rank(QUERIES[0])
        scores = BM25().scores(QUERIES[0], index).tolist()
        return repr((documents, scores, ranking.ids, ranking.scores.tolist()))


def _in_child(path: Path, flips: Iterable[Flip], before: str) -> Iterator[Finding]:
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:  # whatever happens, this process does not go on as its parent does
            os.close(receive)
            with memory_folder() as folder, os.fdopen(send, "w") as stream:
                broken = shutil.copytree(path, folder / "broken.rprs")
                for flip in flips:
                    print(json.dumps(_try(broken, flip, before)), file=stream, flush=True)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as stream:
        for flip, line in zip(flips, stream, strict=False):
            yield Finding(flip, *json.loads(line))
    os.waitpid(child, 0)


def _try(broken: Path, flip: Flip, before: str) -> tuple[bool, str]:
    file = broken / flip.file
    content = file.read_bytes()
    damaged = bytearray(content)
    damaged[flip.position] ^= 1 << flip.bit
    file.write_bytes(damaged)
    try:
        return _is_found(broken), _search(broken, before)
    finally:
        for leftover in broken.glob("catalog.sqlite-*"):
            leftover.unlink()
        file.write_bytes(content)


def _is_found(broken: Path) -> bool:
    try:
        return bool(verify(broken))
    except RprsError:  # such as an unknown format
        return True


def _search(broken: Path, before: str) -> str:
    try:
        return "same" if answers(broken) == before else "different"
    except RprsError as error:
        return "reported" if "\n" not in str(error) else "an error of several lines"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# ---------------------------------------------------------------------------- the table


def kind_of(file: str) -> str:
    """A group of files for the table."""
    return {"segments": "arrays", "norms": "norms", "encoders": "encoder"}.get(file.split("/")[0], file)


def table(findings: Sequence[Finding]) -> str:
    """The counts as a table in Markdown."""
    columns = ("flips", "found by `verify`", "reported by a search", "harmless", "answers silently different")
    rows: dict[str, Counter[str]] = {}
    for finding in findings:
        for row in (kind_of(finding.flip.file), "all"):
            counts = rows.setdefault(row, Counter())
            counts["flips"] += 1
            counts[columns[1]] += finding.verified
            counts[columns[2]] += finding.search == "reported"
            counts[columns[3]] += finding.search == "same"
            counts[columns[4]] += finding.search not in ("reported", "same")
    order = [*sorted(rows.keys() - {"all"}), "all"]
    lines = ["| files | " + " | ".join(columns) + " |", "|---" * (1 + len(columns)) + "|"]
    lines += [f"| {row} | " + " | ".join(f"{rows[row][column]:,}" for column in columns) + " |" for row in order]
    return "\n".join(lines)


def main() -> None:
    """Print the table; the exit code is 1 if an answer changed silently."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.flips", description=__doc__)
    parser.add_argument("--step", type=int, default=1, help="flip a bit of every byte, or of every STEP-th")
    options = parser.parse_args()
    with memory_folder() as folder:
        small_index(folder / "a.rprs")
        findings = list(campaign(folder / "a.rprs", flips_of(folder / "a.rprs", options.step)))
    print(table(findings))
    bad = [finding for finding in findings if finding.search not in ("reported", "same")]
    print(*bad[:50], sep="\n")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
