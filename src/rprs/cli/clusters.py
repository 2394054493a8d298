"""The verbs that build, change, start and describe a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rprs.cli.cluster_options import PANEL, Address, Url
from rprs.cli.messages import Messages, counted
from rprs.cli.options import (
    Analyzer,
    DocumentFormat,
    Encoder,
    Ocr,
    OcrModes,
    Sources,
    Splitter,
    VectorTypes,
    Verbose,
)
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.cluster.build import Built
    from rprs.cluster.engine import Engine
    from rprs.cluster.job import Tasks
    from rprs.cluster.manifest import Manifest
    from rprs.cluster.placement import HolderState

Local = Annotated[
    int | None,
    typer.Option(
        help="Start this number of nodes on this machine, to try a cluster; only this machine can reach them.",
        min=1,
        rich_help_panel=PANEL,
        show_default="none",
    ),
]


def cluster() -> None:
    """One collection on many machines, with the same answers as from one index.

    A cluster is a folder or a bucket with shards, each an ordinary index. Ray (extra: cluster) builds them on several
    nodes and keeps them open for searches.
    """


def build(
    context: typer.Context,
    sources: Sources,
    to: Annotated[str, typer.Option("--to", help="A folder, or s3://BUCKET/PATH.", metavar="URL", show_default=False)],
    shards: Annotated[
        int,
        typer.Option(help="The number of shards, fixed for the cluster: at least one for each core.", min=1),
    ],
    encoder: Encoder = None,
    splitter: Splitter = None,
    analyzer: Analyzer = None,
    phrases: Annotated[
        bool, typer.Option("--phrases/--no-phrases", help="Whether to index phrases of two and three words.")
    ] = True,
    vectors: Annotated[VectorTypes, typer.Option(help="The type of the stored vectors.")] = VectorTypes.float16,
    ocr: Ocr = OcrModes.auto,
    verbose: Verbose = False,
    address: Address = None,
    local: Local = None,
) -> None:
    """Build a cluster from files and folders, or a new generation of it, and publish it when it is complete.

    Every node must have the sources under the same path. An interrupted build continues when the command is run again;
    shards have the same bytes whoever builds them.

    Example: rprs cluster build /srv/cases --to /srv/cluster --shards 8

    Example: rprs cluster build /srv/cases --to s3://archive/cases --shards 64 --address 10.0.0.1:6379
    """
    from rprs.cluster.build import build as build_cluster
    from rprs.index.arguments import require_vector_type

    settings: dict[str, Any] = {
        "encoder": encoder,
        "splitter": splitter,
        "analyzer": analyzer,
        "phrases": phrases,
        "vectors": require_vector_type(vectors.value),
        "ocr": ocr.value,
    }
    _change(context, address, local, verbose, lambda **run: build_cluster(to, sources, shards, **settings, **run))


def add(
    context: typer.Context,
    url: Url,
    sources: Sources,
    ocr: Ocr = OcrModes.auto,
    verbose: Verbose = False,
    address: Address = None,
    local: Local = None,
) -> None:
    """Publish a new generation with new and changed documents.

    Shards that do not change are shared with the last generation. Searches use it once it is started.

    Example: rprs cluster add /srv/cluster /srv/new-cases
    """
    from rprs.cluster.build import add as add_documents

    _change(context, address, local, verbose, lambda **run: add_documents(url, sources, ocr=ocr.value, **run))


def remove(
    context: typer.Context,
    url: Url,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids of documents.", show_default=False)],
    address: Address = None,
    local: Local = None,
) -> None:
    """Publish a new generation without some documents.

    Earlier generations keep them until they are swept.

    Example: rprs cluster remove /srv/cluster 2016/brown.txt
    """
    from rprs.cluster.build import remove as remove_documents

    def change(**run: Any) -> Built:
        del run["skipped"]
        return remove_documents(url, ids, **run)

    _change(context, address, local, False, change)


def _change(
    context: typer.Context, address: str | None, local: int | None, verbose: bool, change: Callable[..., Built]
) -> None:
    """Publish a change, and print what it did."""
    from rprs.cli.outcome import Outcome

    messages: Messages = context.obj
    started, outcome = perf_counter(), Outcome(messages, verbose)
    with _tasks(address, local) as run:
        built = change(run=run, skipped=outcome, progress=messages.progress)
    outcome.print_table()
    for note in built.notes:
        messages.print(note)
    counts = (
        f"{counted(built.added, 'document')} added, {built.changed:,} changed, {built.unchanged:,} unchanged, "
        f"{built.removed:,} removed, {outcome.skipped:,} skipped in {perf_counter() - started:.1f} s"
    )
    messages.print(counts)
    state = "published" if built.is_new else "unchanged"
    shards = counted(len(built.manifest.shards), "shard")
    messages.print(
        f"Generation {built.generation} {state}: {counted(built.manifest.documents, 'document')} in {shards}"
    )


@contextmanager
def _tasks(address: str | None, local: int | None) -> Iterator[Tasks]:
    """Where the steps of a build run: on a Ray cluster, on nodes of this machine, or in this process."""
    from rprs.cluster.job import in_this_process

    if address is None and local is None:
        yield in_this_process
        return
    with _engine(address, local) as engine:
        yield engine.run


@contextmanager
def _engine(address: str | None, local: int | None) -> Iterator[Engine]:
    from rprs.cluster.connection import connected, local_engine

    if address is not None and local is not None:
        raise UsageError("Choose the nodes by --address or by --local, not by both")
    if local is not None:
        with local_engine(local) as engine:
            yield engine
        return
    if address is None:
        raise UsageError("Name the head of the Ray cluster with --address HOST:PORT, or start nodes with --local 2")
    engine = connected(address)
    try:
        yield engine
    finally:
        engine.close()


# ---------------------------------------------------------------------------- the store


def verify(
    context: typer.Context,
    url: Url,
    generation: Annotated[
        int | None, typer.Option(help="The generation to verify.", min=1, show_default="all of them")
    ] = None,
    address: Address = None,
    local: Local = None,
) -> None:
    """Check that all files of a cluster are there and have their SHA-256.

    Example: rprs cluster verify s3://archive/cases
    """
    from rprs.cluster.generations import generations, load, require_newest, verify_files
    from rprs.cluster.store import open_store

    messages: Messages = context.obj
    store = open_store(url)
    require_newest(store)
    manifests = [load(store, each) for each in ([generation] if generation else generations(store))]
    files = {file.sha256: file for manifest in manifests for file in manifest.files}
    tasks = [(store.url, (file,)) for _, file in sorted(files.items())]
    problems: list[str] = []
    with messages.progress("verifying", len(tasks), "files") as advance, _tasks(address, local) as run:
        for _, lines in run(verify_files, tasks):
            problems += lines
            advance(1)
    for line in sorted(problems):
        typer.echo(line)
    if problems:
        messages.print(f"{counted(len(problems), 'problem')}: restore the files from a backup, or build again")
        raise typer.Exit(1)
    size = sum(file.bytes for file in files.values()) / 2**20
    messages.print(
        f"OK: no problems found in {counted(len(files), 'file')} ({size:,.1f} MB) of "
        f"{counted(len(manifests), 'generation')}"
    )


def sweep(
    context: typer.Context,
    url: Url,
    keep: Annotated[int, typer.Option(help="The number of generations to keep.", min=1)] = 2,
) -> None:
    """Delete old generations, and the files that no other one needs.

    Files that were written within the last day stay, because a build under way may need them.

    Example: rprs cluster sweep /srv/cluster --keep 3
    """
    from rprs.cluster.generations import sweep as sweep_store

    messages: Messages = context.obj
    swept = sweep_store(url, keep, progress=messages.progress)
    numbers = ", ".join(map(str, swept.generations)) or "none"
    messages.print(
        f"Generations deleted: {numbers}; {counted(swept.files, 'file')} with {swept.bytes / 2**20:,.1f} MB deleted"
    )


def status(
    context: typer.Context,
    url: Url,
    address: Address = None,
    format: Annotated[DocumentFormat, typer.Option("--format", help="The format of the status.")] = (
        DocumentFormat.table
    ),
) -> None:
    """Describe a cluster: its generations, shards and, with --address, which nodes hold them.

    Example: rprs cluster status /srv/cluster

    Example: rprs cluster status s3://archive/cases --address 10.0.0.1:6379 --format json
    """
    from dataclasses import asdict

    from rprs.cli.output import print_object, print_rows
    from rprs.cluster.generations import generations, require_newest
    from rprs.cluster.store import open_store

    store = open_store(url)
    manifest = require_newest(store)
    holders: list[HolderState] | None = None
    if address is not None:
        with _engine(address, None) as engine:
            holders = engine.status(store.url)
    if format is not DocumentFormat.table:
        value = {
            "url": store.url,
            "generations": generations(store),
            "newest": _facts(manifest),
            "holders": None if holders is None else [asdict(each) for each in holders],
        }
        return print_object(value, lines=format is DocumentFormat.jsonl)
    rows = [("cluster", store.url), ("generations", ", ".join(map(str, generations(store))))]
    rows += [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in _facts(manifest).items()]
    for each in holders or ():
        state = f"on node {each.node[:8]}, process {each.process}" if each.alive else "does not answer"
        shards = ", ".join(map(str, each.shards))
        rows.append((f"generation {each.generation}", f"replica {each.replica} of shards {shards}: {state}"))
    if holders == []:
        rows.append(("holders", "none: run `rprs cluster start`"))
    return print_rows(rows)


def _facts(manifest: Manifest) -> dict[str, Any]:
    return {
        "generation": manifest.generation,
        "shards": len(manifest.shards),
        "documents": manifest.documents,
        "sentences": manifest.sentences,
        "words": manifest.words,
        "bytes": sum(file.bytes for file in manifest.files),
        "splitter": manifest.splitter,
        "analyzer": manifest.analyzer,
        "encoder": manifest.encoder_used,
    }


# ---------------------------------------------------------------------------- nodes


def start(
    context: typer.Context,
    url: Url,
    replicas: Annotated[
        int, typer.Option(help="How many nodes hold each shard; with two, one node may fail.", min=1)
    ] = 2,
    processes: Annotated[
        int | None,
        typer.Option(
            help="The number of processes that share the shards, for each replica.",
            min=1,
            show_default="as before; at first one for each core",
        ),
    ] = None,
    address: Address = None,
    local: Local = None,
    switching: Annotated[
        float, typer.Option(help="Seconds until the holders of an earlier generation are stopped.", min=0)
    ] = 30.0,
) -> None:
    """Let the nodes open the newest generation for searches; then stop those of earlier ones.

    Searches go on meanwhile. What is open already stays, except a replica that shares a node with another one while a
    node is free, as after a machine came back: it moves there. With --local, the command runs until Ctrl-C.

    Example: rprs cluster start s3://archive/cases --address 10.0.0.1:6379 --replicas 2

    Example: rprs cluster start /srv/cluster --local 2
    """
    from rprs.cluster.generations import require_newest
    from rprs.cluster.store import open_store

    messages: Messages = context.obj
    store = open_store(url)
    manifest = require_newest(store)
    with _engine(address, local) as engine:
        with messages.progress("opening shards"):
            engine.start(store.url, manifest, replicas, processes)
        held = f"generation {manifest.generation}, {counted(len(manifest.shards), 'shard')}"
        messages.print(f"Started: {held}, {counted(replicas, 'replica')} on {counted(len(engine.nodes()), 'node')}")
        if any(each != manifest.generation for each in engine.serving(store.url)):
            sleep(switching)
            stopped = engine.stop(store.url, but=manifest.generation)
            messages.print(f"{counted(stopped, 'holder')} of earlier generations stopped")
        if local is not None:
            _wait(messages, url, engine.address)


def _wait(messages: Messages, url: str, address: str) -> None:
    """Print how to search from elsewhere on this machine, and wait for Ctrl-C."""
    import os

    token = os.environ["RAY_AUTH_TOKEN_PATH"]
    typer.echo(f"RAY_AUTH_TOKEN_PATH={token} rprs cluster search {url} QUERYFILE --address {address}")
    messages.print("Press Ctrl-C to stop")
    while True:
        sleep(3600)


def stop(context: typer.Context, url: Url, address: Address = None) -> None:
    """Stop the holders of a cluster; its files stay.

    Example: rprs cluster stop /srv/cluster --address 10.0.0.1:6379
    """
    from rprs.cluster.store import store_url

    with _engine(address, None) as engine:
        stopped = engine.stop(store_url(url))
    context.obj.print(f"{counted(stopped, 'holder')} stopped")


def node(
    ip: Annotated[
        str,
        typer.Option("--ip", help="The address of this machine in the private network.", show_default=False),
    ],
    join: Annotated[
        str | None,
        typer.Option(
            help="The head to join, as HOST:PORT.", metavar="HOST:PORT", show_default="this machine is the head"
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="The port of the head.", min=1, max=65535)] = 6379,
    cores: Annotated[
        int | None, typer.Option(help="Cores for building and holding shards.", min=1, show_default="all")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="The folder for logs and sockets of Ray.", metavar="FOLDER", show_default="that of Ray"),
    ] = None,
    firewalled: Annotated[
        bool, typer.Option("--firewalled", help="This machine has a public address that a firewall protects.")
    ] = False,
) -> None:
    """Run a node of a Ray cluster, with a token and without a dashboard, until it is stopped.

    Ray listens on all addresses of a machine. The command therefore refuses one that has a public address, unless a
    firewall protects it. The head coordinates and holds no shards: the other machines do. To be started again, it
    needs a Redis: RAY_REDIS_ADDRESS is its HOST:PORT, RAY_REDIS_PASSWORD its password.

    Example: rprs cluster node --ip 10.0.0.1

    Example: rprs cluster node --ip 10.0.0.2 --join 10.0.0.1:6379
    """
    from rprs.cluster.node import run_node

    raise typer.Exit(run_node(ip, join, port, cores, folder, firewalled))
