"""The processes of a soak. Each repeats its work, with rests, until it is killed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rprs.errors import IndexLocked, ServiceError
from rprs.index import Index, Writer
from rprs.index.backup import backup
from rprs.search import Searcher
from rprs.serve.client import Client
from tests.soak.history import ABSENT, GROUPS, Change, History, check, check_groups, documents, ids
from tests.support.crash import QUERIES


@dataclass(frozen=True)
class Soak:
    """What all processes share."""

    index: Path
    copy: Path
    history: History
    url: str
    rest: float  # seconds after each piece of work, on average


def _next_change(soak: Soak, owner: str, random: Random) -> Change:
    number = soak.history.next_number(owner)
    version = ABSENT if random.random() < 0.2 else number
    return Change(owner, random.randrange(GROUPS), number, version)


def writer(soak: Soak, owner: str, random: Random) -> None:
    """Add, change or remove a group."""
    change = _next_change(soak, owner, random)
    try:
        with Writer(soak.index) as opened:
            soak.history.note("begin", change)
            if change.version == ABSENT:
                opened.remove(ids(owner, change.group))
            else:
                opened.add(documents(owner, change.group, change.version))
            soak.history.note("done", change)
    except IndexLocked:
        soak.history.count("found the index locked")


def client(soak: Soak, owner: str, random: Random) -> None:
    """Search through the server, and add a group."""
    change = _next_change(soak, owner, random)
    change = Change(owner, change.group, change.number, change.number)
    try:
        with Client(soak.url) as server:
            server.search(random.choice(QUERIES).text, 5)
            soak.history.count("searches of the server")
            soak.history.note("begin", change)
            server.add(documents(owner, change.group, change.version))
            soak.history.note("done", change)
    except IndexLocked:
        soak.history.count("found the index locked")
    except ServiceError:
        soak.history.count("requests without an answer")
        time.sleep(1)


def reader(soak: Soak, _owner: str, random: Random) -> None:
    """Search, and compare the documents with what the writers did."""
    problems = check(soak.index, soak.history)
    if problems:
        raise AssertionError("; ".join(problems))
    with Index(soak.index) as index:
        Searcher(index, depth=20).search(random.choice(QUERIES), 5)
    soak.history.count("searches")


def compactor(soak: Soak, _owner: str, random: Random) -> None:
    """Merge all segments."""
    time.sleep(random.uniform(0, 8 * soak.rest))
    try:
        with Writer(soak.index) as opened:
            opened.compact()
        soak.history.count("compactions")
    except IndexLocked:
        soak.history.count("found the index locked")


def copier(soak: Soak, _owner: str, random: Random) -> None:
    """Back the index up; `backup` verifies the copy."""
    time.sleep(random.uniform(0, 8 * soak.rest))
    backup(soak.index, soak.copy)
    problems = check_groups(soak.copy)
    if problems:
        raise AssertionError("; ".join(problems))
    soak.history.count("backups")


ROLES: dict[str, Callable[[Soak, str, Random], None]] = {
    "first": writer,
    "second": writer,
    "client": client,
    "reader": reader,
    "compactor": compactor,
    "copier": copier,
}


def work(soak: Soak, role: str, seed: int) -> None:
    """Repeat the work of a role."""
    random = Random(f"{role}/{seed}")
    while True:
        ROLES[role](soak, role, random)
        time.sleep(random.uniform(0.2, 1.8) * soak.rest)
