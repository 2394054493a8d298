"""A coordinator in a network namespace: `python -m tests.cluster.coordinator STORE ADDRESS`, driven by lines on stdin.

It starts the holders of the newest generation, then answers each line with one of JSON and the seconds that it took:
`ask` with what searches found, `build NAME` with the files of a build, `holders` with the processes that hold shards.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from time import monotonic
from typing import Any

from rprs.cluster.build import build
from rprs.cluster.cluster import Cluster
from rprs.cluster.connection import connected
from rprs.cluster.generations import require_newest
from rprs.cluster.settings import Patience
from rprs.cluster.store import open_store
from tests.support.crash import QUERIES, invented_to_build

DEADLINE = 2.0
SHARDS = 8  # of a build: more than run at the same time, so that it has a middle
TO_BUILD = invented_to_build(40)


def digest(searcher: Any) -> str:
    """Everything that some searches find, to the last bit."""
    parts = []
    for query in QUERIES:
        hits = searcher.search(query, 5)
        parts += [
            repr([(hit.id, hit.score, hit.pairs) for hit in hits]).encode(),
            searcher.rank(query).scores.tobytes(),
        ]
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def answer(folder: str, line: str, engine: Any, cluster: Cluster) -> dict[str, Any]:
    """The answer to a line."""
    verb, *words = line.split()
    if verb == "build":
        manifest = build(f"{folder}-{words[0]}", TO_BUILD, SHARDS, encoder="hashed", run=engine.run).manifest
        return {"files": [file.sha256 for file in manifest.files]}
    if verb == "holders":
        states = engine.status(open_store(folder).url)
        return {"processes": sorted(each.process for each in states if each.alive)}
    return {"digest": digest(cluster)}


def main(folder: str, address: str) -> None:
    """Answer until standard input ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    engine = connected(address, Patience(replica=DEADLINE))
    store = open_store(folder)
    engine.start(store.url, require_newest(store), 2, 1)
    with Cluster.open(folder, address=address, deadline=DEADLINE) as cluster:
        print(json.dumps({"nodes": len(engine.nodes())}), file=out, flush=True)
        for line in sys.stdin:
            start = monotonic()
            try:
                given = answer(folder, line, engine, cluster)
            except Exception as error:
                given = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps({**given, "seconds": monotonic() - start}), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
