"""The verb that serves an index: the web interface and the HTTP API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.cluster_options import PANEL, Address, Deadline
from rprs.cli.groups import SystemGroup, with_groups
from rprs.cli.messages import Messages, counted
from rprs.cli.options import OcrModes
from rprs.cli.system import selected_system
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.rank import System
    from rprs.serve.app import Options
    from rprs.serve.collections import Collections
    from rprs.serve.limits import Limits
    from rprs.serve.workers import Workers

LIMITS = "Limits"

Host = Annotated[
    str, typer.Option(help="The address to listen on; one that other computers can reach requires a token.")
]
Port = Annotated[int, typer.Option(help="The port; 0 selects a free one.", min=0, max=65535)]
Indexes = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="INDEX...", help="The folders of indexes, or a folder that contains some.", show_default=False
    ),
]
ClusterUrl = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Serve a cluster instead of indexes: a folder, or s3://BUCKET/PATH.",
        metavar="URL",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--files",
        help="A folder whose files may be added to collections in the browser. May be repeated.",
        metavar="FOLDER",
        show_default="none",
    ),
]
UploadOcr = Annotated[
    OcrModes,
    typer.Option(
        "--ocr",
        help="Recognise the text of scanned pages in uploads: auto if Tesseract or the extra ocr is installed, never, "
        "or always, also for pages that have text.",
    ),
]
OpenBrowser = Annotated[bool, typer.Option("--open/--no-open", help="Open the web interface in the browser.")]
TokenFile = Annotated[
    Path | None, typer.Option(help="A file (mode 600) with the token that every request must contain.", metavar="FILE")
]
AllowWrite = Annotated[
    bool, typer.Option("--allow-write", help="Allow the API to add and remove documents without a token.")
]
MattersFolder = Annotated[
    Path | None,
    typer.Option(
        "--matters",
        help="A folder to open matters from and save them to. Without it, the web interface saves them as downloads.",
        metavar="FOLDER",
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(help="Another host name of the server. May be repeated.", show_default=False),
]
RootPathOption = Annotated[
    str,
    typer.Option(
        "--root-path",
        help="The path of the server behind a proxy (/search), whether the proxy removes it or not.",
        metavar="PATH",
        show_default="none",
    ),
]
MaxUpload = Annotated[int, typer.Option(help="Maximum size of a request in megabytes.", min=1, rich_help_panel=LIMITS)]
MaxCharacters = Annotated[
    int, typer.Option(help="Maximum number of characters of a query.", min=1, rich_help_panel=LIMITS)
]
MaxSeconds = Annotated[
    float, typer.Option(help="Maximum duration of a request in seconds.", min=0.1, rich_help_panel=LIMITS)
]
AtOnce = Annotated[
    int | None,
    typer.Option(
        help="Requests processed at the same time.",
        min=1,
        rich_help_panel=LIMITS,
        show_default="the number of processors or, if larger, of workers",
    ),
]
WorkerNumber = Annotated[
    int,
    typer.Option(
        "--workers",
        help="Processes that search beside the server, for many users at once; 0: the server itself searches.",
        min=0,
        rich_help_panel=LIMITS,
    ),
]
Waiting = Annotated[
    int,
    typer.Option(
        help="Requests that may wait; further ones are rejected and can be repeated later.",
        min=0,
        rich_help_panel=LIMITS,
    ),
]


@with_groups
def serve(
    context: typer.Context,
    *,
    paths: Indexes = None,
    host: Host = "127.0.0.1",
    port: Port = 8017,
    open_browser: OpenBrowser = True,
    token_file: TokenFile = None,
    allow_write: AllowWrite = False,
    allow_host: AllowHost = None,
    root_path: RootPathOption = "",
    matters: MattersFolder = None,
    files: Folders = None,
    cluster: ClusterUrl = None,
    address: Address = None,
    deadline: Deadline = 5.0,
    ocr: UploadOcr = OcrModes.auto,
    ranking: SystemGroup,
    max_upload: MaxUpload = 64,
    max_characters: MaxCharacters = 20_000_000,
    max_seconds: MaxSeconds = 120.0,
    at_once: AtOnce = None,
    workers: WorkerNumber = 0,
    waiting: Waiting = 32,
) -> None:
    """Start the web interface, where you search with a document and read why each hit is similar, and the HTTP API.

    Everything runs on this computer and no data leaves it. /docs describes the API, and /metrics has metrics for
    Prometheus. Without a token, only this computer has access.

    Example: rprs serve cases.rprs

    Example: rprs serve cases.rprs contracts.rprs

    Example: rprs serve collections/ --allow-write --files documents/

    Example: rprs serve cases.rprs --settings tuned.toml --port 9000 --no-open

    Example: rprs serve cases.rprs --root-path /search --allow-host office.example.org --no-open

    Example: rprs serve --cluster s3://archive/cases --address 10.0.0.1:6379

    Example: rprs serve cases.rprs --host 0.0.0.0 --token-file token --allow-host search.example.org
    """
    from rprs.scoring.threads import cores
    from rprs.serve.limits import Limits

    limits = Limits(
        upload_bytes=max_upload * 2**20,
        text_characters=max_characters,
        seconds=max_seconds,
        at_once=at_once or max(cores(), workers),
        waiting=waiting,
        ocr=ocr.value,
    )
    _listen(context, _options(context, limits), open_browser)


def _options(context: typer.Context, limits: Limits) -> Options:
    """Who has access and to what; errors come before any index is opened."""
    from rprs.serve.adding import check_folders
    from rprs.serve.app import Options
    from rprs.serve.guard import is_loopback, read_token
    from rprs.serve.log import stamped
    from rprs.serve.prefix import as_root_path

    values, messages = context.params, context.obj
    prefix = as_root_path(values["root_path"])
    token = None if values["token_file"] is None else read_token(values["token_file"])
    if token is None and not is_loopback(values["host"]):
        raise UsageError(
            f"Other computers can reach {values['host']}: give a token with --token-file, or leave out --host"
        )
    matters = values["matters"]
    if matters is not None and not matters.is_dir():
        raise UsageError(f"There is no folder {matters} for matters: create it first")
    return Options(
        hosts=set(),
        token=token,
        writable=values["allow_write"],
        limits=limits,
        log=stamped(messages.log),
        root_path=prefix,
        matters=matters,
        folders=check_folders(values["files"] or ()),
    )


def _listen(context: typer.Context, options: Options, open_browser: bool) -> None:
    """Open the indexes and serve them until the end."""
    from rprs.scoring.threads import one_blas_thread
    from rprs.serve.app import make_app
    from rprs.serve.connection import serve as listen

    values, messages = context.params, context.obj
    with ExitStack() as stack:
        service = _service(context, options)
        stack.callback(service.close)
        workers = _workers(values["workers"], service, options)
        if workers is not None:
            stack.callback(workers.close)
        ready = _ready(service, options, values["allow_host"] or (), messages, open_browser)
        app = make_app(service, options, workers)
        with one_blas_thread():  # requests share the processors; BLAS changing its threads for each costs far more
            listen(app, values["host"], values["port"], options.limits, ready, options.log)


def _workers(number: int, service: Collections, options: Options) -> Workers | None:
    from rprs.scoring.threads import cores
    from rprs.serve.workers import Settings, Workers

    if not number:
        return None
    settings = Settings(tuple(service.paths), service.system, options.limits, max(1, cores() // number))
    return Workers(number, service, settings, options.log)


def _service(context: typer.Context, options: Options) -> Collections:
    """The indexes or the cluster to serve."""
    from rprs.serve.collections import Collections, find_indexes

    values, messages, system = context.params, context.obj, selected_system(context)
    cluster, paths = values["cluster"], values["paths"]
    if (cluster is None) == (not paths):
        raise UsageError("Name the indexes to serve, or a cluster with --cluster URL")
    if cluster is not None:
        if values["workers"]:
            raise UsageError("--workers is for indexes: a cluster searches in its own processes")
        return _cluster_service(cluster, values["address"], values["deadline"], system, messages)
    found, home = find_indexes(paths)
    if not found and not (home and (options.writable or options.token)):
        raise UsageError(f"{paths[0]} contains no index (a folder *.rprs): create one with rprs index")
    return Collections(found, system, home, messages.progress, options.log)


def _cluster_service(url: str, address: str | None, deadline: float, system: System, messages: Messages) -> Collections:
    from rprs.cluster.cluster import Cluster
    from rprs.serve.clusters import ClusterService
    from rprs.serve.collections import Collections

    cluster = Cluster.open(url, system, address=address, deadline=deadline)
    try:
        return Collections.of(ClusterService(cluster, messages.progress))
    except BaseException:
        cluster.close()
        raise


def _ready(
    service: Collections, options: Options, allowed: Sequence[str], messages: Messages, open_browser: bool
) -> Callable[[str, int], None]:
    """When the server listens: accept its host names, print its address, and open the browser."""
    from rprs.serve.guard import hosts_of

    def ready(address: str, port: int) -> None:
        options.hosts.update(hosts_of(address, port, allowed))
        host = address.strip("[]")
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}{options.root_path}/"
        paths = service.paths
        name = paths[0].name if len(paths) == 1 else counted(len(paths), "collection")
        typer.echo(f"{name}, {counted(service.documents, 'document')}: {url}")
        messages.print("Press Ctrl-C to stop")
        if open_browser:
            typer.launch(url)

    return ready
