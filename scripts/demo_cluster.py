"""A cluster on this machine: build the licence collection on two nodes, search, kill one node, search again.

`python scripts/demo_cluster.py FOLDER QUERY [ENCODER]`; the licences are in FOLDER/licences.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from time import perf_counter

import rprs
from rprs.cluster.build import build
from rprs.cluster.connection import connected
from rprs.cluster.local import LocalCluster
from rprs.cluster.settings import Patience
from rprs.cluster.store import open_store
from rprs.progress import as_progress
from rprs.results.hits import Results

SHARDS, HITS = 4, 5


def main(folder: Path, query_file: Path, encoder: str | None = None) -> int:
    """Run the demonstration; the exit code is 1 if the answers differ."""
    documents, store = folder / "licences", folder / "licences-cluster"
    print("Starting a head and two nodes on this machine …", flush=True)
    with LocalCluster(2) as nodes:
        os.environ.update(nodes.environment)
        engine = connected(nodes.address, Patience(replica=5.0))
        try:
            start = perf_counter()
            built = build(store, [documents], SHARDS, encoder=encoder, run=engine.run, progress=as_progress(True))
            state = "built" if built.is_new else "built earlier"
            print(
                f"{built.manifest.documents:,} documents in {SHARDS} shards {state} in {perf_counter() - start:.0f} s"
            )
            engine.start(open_store(store).url, built.manifest, replicas=2)
            print("Each shard is open on both nodes")
            with rprs.Cluster.open(store, address=nodes.address) as cluster:
                before = _search(cluster, query_file)
                print(f"\nKilling the process {nodes.processes[0]} of the first node (SIGKILL)", flush=True)
                os.kill(nodes.processes[0], signal.SIGKILL)
                after = _search(cluster, query_file)
        finally:
            engine.close()  # without its nodes, it would wait for them
    same = tuple(before) == tuple(after)
    print("\nThe same answer, to the last bit" if same else "\nThe answers differ")
    return 0 if same else 1


def _search(cluster: rprs.Cluster, query_file: Path) -> Results:
    start = perf_counter()
    results = cluster.search(rprs.read_one(query_file), HITS)
    print(f"\nThe {HITS} licences most similar to {query_file.name}, after {perf_counter() - start:.2f} s:")
    for hit in results:
        evidence = " ".join(hit.pairs[0].document.split())[:60] if hit.pairs else ""
        print(f"{hit.rank:3}  {hit.score:8.3f}  {hit.id:40}  {evidence}")
    return results


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
