"""A folder in which the finished pieces of a long computation wait, so that it can be stopped and go on.

A piece is named by a hash of everything that it depends on, and is there when it is whole: whatever is found can be
used, and a changed setting finds only what it did not change.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from rprs import __version__
from rprs.document import Document, Ranking
from rprs.errors import ReadError
from rprs.index import Index
from rprs.pools import NEAREST, Pool, Run, at_depths, load_pools, save_pools
from rprs.progress import Progress, silent
from rprs.rank import Mask, Ranker
from rprs.scoring.threads import cores
from rprs.whole import write_whole

__all__ = ["NOTHING", "Remembered", "Work", "in_turn", "kept", "model_files", "pools_at_depths"]

Arrays = dict[str, NDArray[Any]]
Item = TypeVar("Item")
Made = TypeVar("Made")

NOTHING = Ranking((), np.empty(0, dtype=np.float64))  # what a query without an answer gets


@dataclass(frozen=True)
class Work:
    """The folder; made if it is not there."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, kind: str, *key: object) -> Path:
        """Where a piece is kept that depends on the key alone."""
        told = json.dumps([__version__, kind, *map(str, key)]).encode()
        return self.folder / f"{kind}-{hashlib.sha256(told).hexdigest()[:32]}.npz"

    def arrays(self, compute: Callable[[], Mapping[str, NDArray[Any]]], kind: str, *key: object) -> Arrays:
        """The arrays of a piece: found, or computed and kept."""
        path = self.path(kind, *key)
        if not path.exists():
            packed = io.BytesIO()
            np.savez(packed, **compute())  # type: ignore[arg-type]
            write_whole(path, packed.getvalue())
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
            raise ReadError(f"{path}: not a whole piece of work: delete it, and it is made again ({error})") from error


def kept(work: Work | None, compute: Callable[[], Mapping[str, NDArray[Any]]], kind: str, *key: object) -> Arrays:
    """The arrays of a piece: found or computed; kept if there is a folder for it."""
    return dict(compute()) if work is None else work.arrays(compute, kind, *key)


def model_files(component: Any) -> dict[str, list[Path]]:
    """The files of the folders of models that a component and its parts read: a model may be trained anew."""
    found: dict[str, list[Path]] = {}
    for each in fields(component):
        part = getattr(component, each.name)
        if is_dataclass(part):
            found |= model_files(part)
        elif each.name == "model" and part and (config := Path(part).expanduser() / "config.json").is_file():
            found[part] = sorted(path for path in config.parent.rglob("*") if path.suffix in _MODEL_FILES)
    return found


_MODEL_FILES = (".bin", ".json", ".onnx", ".safetensors", ".txt")


def in_turn(
    make: Callable[[Item], Made], items: Sequence[Item], progress: Progress, what: str, unit: str = "queries"
) -> Iterator[Made]:
    """What is made of each item, on all cores, in the order of the items."""
    with ThreadPoolExecutor(cores()) as threads, progress(what, len(items), unit) as advance:
        for made in threads.map(make, items):
            yield made
            advance(1)


@dataclass(frozen=True)
class Remembered:
    """A first stage whose rankings are kept."""

    ranker: Ranker
    work: Work
    fingerprint: str  # of the index

    def rank(self, query: Document, index: Index, depth: int, allowed: Mask) -> Ranking:
        """The ranking of the first stage itself."""

        def compute() -> Arrays:
            ranking = self.ranker.rank(query, index, depth, allowed)
            told = json.dumps({"ids": ranking.ids, "notes": ranking.notes}).encode()
            return {"told": np.frombuffer(told, dtype=np.uint8), "scores": ranking.scores}

        mask = hashlib.sha256(np.packbits(allowed).tobytes()).hexdigest()
        key = (self.fingerprint, self.ranker, depth, query.id, query.content_hash, mask)
        found = self.work.arrays(compute, "ranking", *key)
        told = json.loads(found["told"].tobytes())
        return Ranking(tuple(told["ids"]), found["scores"], notes=tuple(told["notes"]))


# ---------------------------------------------------------------------------- pools


def pools_at_depths(
    index: Index,
    queries: Sequence[Document],
    run: Run,
    depths: Sequence[int],
    *,
    n: int = NEAREST,
    mean_sentences: float | None = None,
    work: Work | None = None,
    progress: Progress = silent,
) -> dict[int, Sequence[Pool]]:
    """For each depth the pools of all queries; with a work folder they stay there, and are read when they are used."""
    depths = sorted(set(depths))
    made: list[Sequence[Pool] | Path] = []
    fingerprint = index.fingerprint if work else ""
    with progress("neighbours", len(queries), "queries") as advance:
        for query in queries:
            ranking = run.get(query.id, NOTHING)
            if work is None:
                found = at_depths(index, query, ranking, depths, n=n, mean_sentences=mean_sentences)
                made.append(list(found.values()))
            else:
                ranked = hashlib.sha256(json.dumps([ranking.ids, ranking.scores.tolist()]).encode()).hexdigest()
                path = work.path("pools", fingerprint, query.id, query.content_hash, ranked, depths, n, mean_sentences)
                if not path.exists():
                    found = at_depths(index, query, ranking, depths, n=n, mean_sentences=mean_sentences)
                    save_pools(path, found.values())
                made.append(path)
            advance(1)
    return {depth: _AtDepth(made, place) for place, depth in enumerate(depths)}


@lru_cache(maxsize=8)
def _loaded(path: Path) -> list[Pool]:
    return load_pools(path)


@dataclass(frozen=True)
class _AtDepth(Sequence[Pool]):
    """One depth of all queries, each of which has its pools at hand or in a file."""

    queries: Sequence[Sequence[Pool] | Path]
    place: int

    def __len__(self) -> int:
        return len(self.queries)

    @overload
    def __getitem__(self, query: int) -> Pool: ...
    @overload
    def __getitem__(self, query: slice) -> Sequence[Pool]: ...
    def __getitem__(self, query: int | slice) -> Pool | Sequence[Pool]:
        if isinstance(query, slice):
            return [self[number] for number in range(len(self))[query]]
        made = self.queries[query]
        return (_loaded(made) if isinstance(made, Path) else made)[self.place]
