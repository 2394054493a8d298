"""Crashes while indexing: jobs on an index, in processes that are killed with SIGKILL at a chosen step or moment.

A step is any operation that changes or commits something: creating, renaming, deleting or syncing a file or folder of
the index, or an SQL statement. Statements that only read are one step if they follow each other, since they leave the
same files. `python -m tests.support.crash` is a server that forks a child for each job, so that a kill costs
milliseconds; `Crasher` is its client.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rprs import spec
from rprs.document import Document, Value
from rprs.encode.hashed import Hashed
from rprs.index import Index, Writer, upgrade
from rprs.index.backup import backup
from rprs.index.catalog import Catalog
from rprs.progress import Advance, Progress, silent
from rprs.spec import Component, Kind
from tests.support.paths import ROOT

HASHED = "hashed(dimension=16)"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # syncing thousands of small files to disk takes minutes

# ---------------------------------------------------------------------------- documents

WORDS = """harbour pilot tide beacon licence vessel cargo owner court appeal judge claim patent valve piston rotor river
bridge toll statute notice damage breach contract wheat barley mill grain miller ferry anchor mooring channel""".split()


def invented(id: str, version: int = 0, sentences: int | None = None) -> Document:
    """A document that depends on its id and version alone; some have no sentences at all."""
    random = Random(f"{id}/{version}")
    count = random.choice([0, 1, 3, 5, 8]) if sentences is None else sentences
    words = [" ".join(random.choices(WORDS, k=random.randint(3, 9))).capitalize() + "." for _ in range(count)]
    metadata: dict[str, Value] = {"version": version, "date": f"20{10 + version}-01-02"}
    return Document(id, " ".join(words), f"Title {id} {version}", metadata)


def invented_to_build(number: int) -> list[Document]:
    """Documents long enough that a build has a middle: a process that starts meanwhile still finds work."""
    return [invented(f"d{each:03d}", sentences=1500 + each % 7) for each in range(number)]


COLLECTION = [invented(f"d{number:02d}", sentences=2 + number % 5) for number in range(9)]
CHANGED = [invented("d01", 1), COLLECTION[2], invented("d05", 1), *(invented(f"e{number}") for number in range(4))]
REMOVED = ["d00", "d04"]
QUERIES = [invented(f"query {number}", sentences=4) for number in range(3)]


def rankings(path: Path, *, norms: bool = True) -> bytes:
    """Everything that a search of the index can return, to the last bit; `norms`: also with scores of the cosine."""
    from rprs.rank import BM25
    from rprs.rank.cosine import Cosine
    from rprs.search import Searcher

    with Index(path) as index:
        sizes = [index.lengths.tolist(), index.sentence_counts.tolist(), index.mean_sentences]
        parts = [repr((index.ids, sizes)).encode()]
        parts += [repr(astuple(index.document(id))).encode() for id in index.ids]
        for query in QUERIES:
            parts += [BM25().scores(query, index).tobytes(), BM25(kli=0.4).scores(query, index).tobytes()]
            cosine = Cosine() if index.has_phrases else Cosine(ngrams=1)
            parts += [cosine.scores(query, index).tobytes()] if norms else []
            ranking = Searcher(index, "default" if norms else "paper", depth=20).rank(query)
            parts += [repr(ranking.ids).encode(), ranking.scores.tobytes()]
            parts += [values.tobytes() for values in ranking.parts.values()]
    return b"\n".join(parts)


def listed_files(path: Path) -> dict[str, tuple[int, int]]:
    """The files that the catalog lists, with inode and time, which show whether they were written again."""
    if not (path / "catalog.sqlite").exists():
        return {}
    catalog = Catalog(path, write=False)
    try:
        stats = {file.path: (path / file.path).stat() for file in catalog.files()}
        return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in stats.items()}
    finally:
        catalog.close()


def files_on_disk(path: Path) -> set[str]:
    """The files of segments, encoders and norms."""
    groups = (path / "segments", path / "encoders", path / "norms")
    return {file.relative_to(path).as_posix() for group in groups for file in group.rglob("*") if file.is_file()}


@contextmanager
def memory_folder() -> Iterator[Path]:
    """A folder for a test, in memory where the system has such a folder."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


# ---------------------------------------------------------------------------- an encoder that is fitted


@dataclass(frozen=True)
class Learned(Component):
    """Hashed words with weights that fall with their frequency in the sample: a minimal fitted encoder."""

    sample: int = 12
    teacher: Hashed = field(default_factory=lambda: Hashed(16))
    name: ClassVar[str] = "learned"
    kinds: ClassVar[tuple[Kind, ...]] = ("encoder",)

    def fit(self, sentences: Sequence[str], progress: Progress = silent) -> LearnedTable:
        """Count the sentences that have each word."""
        counts: dict[str, int] = {}
        for sentence in sentences:
            for word in set(sentence.casefold().strip(".").split()):
                counts[word] = counts.get(word, 0) + 1
        return LearnedTable(counts, {"sentences": len(sentences)})

    def open(self, folder: Path) -> LearnedTable:
        """Open what `LearnedTable.save` wrote."""
        return LearnedTable(json.loads((folder / "counts.json").read_text()), {})


@dataclass(frozen=True)
class LearnedTable:
    """A fitted `Learned`."""

    counts: dict[str, int]
    report: dict[str, Any] = field(compare=False)
    dimension: ClassVar[int] = 16

    @property
    def fingerprint(self) -> str:
        """A hash of the counts."""
        return hashlib.sha256(json.dumps(self.counts, sort_keys=True).encode()).hexdigest()[:16]

    def encode(self, sentences: Sequence[str], advance: Advance = lambda _: None) -> NDArray[np.float32]:
        """The weighted mean of the words."""
        rows: NDArray[np.float32] = np.zeros((len(sentences), 16), dtype=np.float32)
        for row, sentence in zip(rows, sentences, strict=True):
            for word in sentence.casefold().strip(".").split():
                row += Hashed(16).encode([word])[0] / (1 + self.counts.get(word, 0))
            row /= max(float(np.linalg.norm(row)), 1e-9)
        return rows

    def save(self, folder: Path) -> None:
        """Write counts.json."""
        (folder / "counts.json").write_text(json.dumps(self.counts))


def plug_in() -> None:
    """Register `learned`, as an entry point would."""
    spec.BUILT_IN["encoder"]["learned"] = "tests.support.crash:Learned"
    spec._targets.cache_clear()


# ---------------------------------------------------------------------------- jobs


def _index(encoder: str) -> Callable[[Path], None]:
    def job(path: Path) -> None:
        with Writer(path, create=True, encoder=encoder, batch=200) as writer:
            writer.add(COLLECTION)

    return job


def _index_without_phrases(path: Path) -> None:
    with Writer(path, create=True, encoder=HASHED, batch=200, phrases=False) as writer:
        writer.add(COLLECTION)
        writer.remove(REMOVED)


def _upgrade(path: Path) -> None:
    upgrade.PART = 90  # characters: several parts in a segment
    with Writer(path) as writer:
        writer.upgrade()


def _add(path: Path) -> None:
    with Writer(path, batch=200) as writer:
        writer.remove(REMOVED)
        writer.add(CHANGED)


def _compact(path: Path) -> None:
    with Writer(path) as writer:
        writer.compact()


def _refit(path: Path) -> None:
    with Writer(path) as writer:
        writer.refit()


JOBS: dict[str, Callable[[Path], None]] = {
    "index": _index(HASHED),
    "index-learned": _index("learned"),
    "add": _add,
    "compact": _compact,
    "refit": _refit,
    "index-plain": _index_without_phrases,
    "upgrade": _upgrade,
}


def _backup(path: Path) -> None:
    backup(path.with_name("source.rprs"), path)


def _sync(path: Path, source: Path | None = None) -> None:
    from rprs.index import writer
    from rprs.syncing import sync

    vars(writer).update(SLOW_BATCH=500, FAST_BATCH=500)  # characters: several commits
    sync(source or os.environ[SOURCE], path, encoder=HASHED)


SOURCE = "RPRS_TEST_SOURCE"
FROM_OTHERS: dict[str, Callable[[Path], None]] = {
    "backup": _backup,  # of the index source.rprs beside the copy
    "sync": _sync,  # with the folder that is named in the environment
}


# ---------------------------------------------------------------------------- killing


@dataclass(frozen=True)
class Outcome:
    """How a job ended: killed, with an error, or after a number of steps."""

    killed: bool
    error: str
    steps: int


class Crasher:
    """Runs jobs in separate processes, and kills them."""

    def __init__(self) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "tests.support.crash"]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
        )

    def __enter__(self) -> Crasher:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def run(self, job: str, path: Path, *, at_step: int | None = None, after: float | None = None) -> Outcome:
        """Run a job to its end, or kill it before a step or after a number of seconds."""
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps([job, str(path), at_step, after]) + "\n")
        self._server.stdin.flush()
        return Outcome(*json.loads(self._server.stdout.readline()))


READING = ("SELECT", "PRAGMA busy_timeout", "--")  # how such statements begin
CHANGES = frozenset(["os.mkdir", "os.rename", "os.remove", "os.rmdir"])  # events of the audit hook
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class _Steps:
    """Counts the steps of a process on the files of an index, and kills it before step `last`."""

    def __init__(self, path: Path, last: int | None) -> None:
        self.path, self.last, self.count = str(path), last, 0
        self.reading = False
        sync, connect = os.fsync, sqlite3.connect

        def fsync(fd: Any) -> None:
            self.step()
            sync(fd)

        def traced(*args: Any, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*args, **options)
            connection.set_trace_callback(lambda statement: self.step(reads=statement.startswith(READING)))
            return connection

        os.fsync = fsync
        sqlite3.connect = traced  # type: ignore[assignment]
        sys.addaudithook(self.hook)

    def step(self, *, reads: bool = False) -> None:
        if reads and self.reading:
            return
        self.reading = reads
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        changes = event in CHANGES or (event == "open" and args[2] & WRITING)
        if changes and self.path in str(args[0]):
            self.step()


def _serve() -> None:
    plug_in()
    for job in JOBS:  # lazy imports happen once, here
        with memory_folder() as folder:
            if job.startswith("index"):
                JOBS[job](folder / "warm.rprs")
    with memory_folder() as folder:
        (folder / "a.txt").write_text(invented("a", sentences=4).text)
        _sync(folder / "warm.rprs", folder)
    for line in sys.stdin:
        job, path, at_step, after = json.loads(line)
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(receive)
            _work(job, Path(path), at_step, send)
        os.close(send)
        if after is not None:
            time.sleep(after)
            os.kill(child, signal.SIGKILL)
        with os.fdopen(receive) as stream:
            answer = stream.read()
        _, status = os.waitpid(child, 0)
        error, steps = json.loads(answer) if answer else ["", 0]
        print(json.dumps([os.WIFSIGNALED(status), error, steps]), flush=True)


def _work(job: str, path: Path, at_step: int | None, send: int) -> None:
    steps = _Steps(path, at_step)
    error = ""
    try:
        (JOBS | FROM_OTHERS)[job](path)
    except BaseException as problem:  # reported to the test
        error = f"{type(problem).__name__}: {problem}"
    os.write(send, json.dumps([error, steps.count]).encode())
    os._exit(0)


if __name__ == "__main__":
    _serve()
