"""The verb that serves an index: the page, and the API behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rprs.cli.options import FIRST, RERANK, Depth, First, IndexPath, Rerank, SettingsFile
from rprs.cli.searching import chosen
from rprs.cli.talk import Talk, counted
from rprs.errors import UsageError
from rprs.spec import DEPTH

if TYPE_CHECKING:
    from rprs.serve.service import Service

LIMITS = "Limits"

Host = Annotated[str, typer.Option(help="The address to listen on; one that others can reach needs a token.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes one that is free.", min=0, max=65535)]
OpenPage = Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")]
TokenFile = Annotated[
    Path | None, typer.Option(help="A file with the token that every request must bring (mode 600).", metavar="FILE")
]
AllowWrite = Annotated[
    bool, typer.Option("--allow-write", help="Let the API add and remove documents without a token.")
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(help="A further name under which the server is reached. May be repeated.", show_default=False),
]
MaxUpload = Annotated[int, typer.Option(help="Megabytes that a request may bring.", min=1, rich_help_panel=LIMITS)]
MaxCharacters = Annotated[int, typer.Option(help="Characters that a query may have.", min=1, rich_help_panel=LIMITS)]
MaxSeconds = Annotated[float, typer.Option(help="Seconds that a request may take.", min=0.1, rich_help_panel=LIMITS)]
AtOnce = Annotated[
    int | None,
    typer.Option(
        help="Requests at work at the same time.", min=1, rich_help_panel=LIMITS, show_default="as many as processors"
    ),
]
Waiting = Annotated[
    int, typer.Option(help="Requests that may wait; more are told to come back.", min=0, rich_help_panel=LIMITS)
]


def serve(
    context: typer.Context,
    path: IndexPath,
    host: Host = "127.0.0.1",
    port: Port = 8017,
    open_page: OpenPage = True,
    token_file: TokenFile = None,
    allow_write: AllowWrite = False,
    allow_host: AllowHost = None,
    first: First = FIRST,
    rerank: Rerank = RERANK,
    depth: Depth = DEPTH,
    settings: SettingsFile = None,
    max_upload: MaxUpload = 64,
    max_characters: MaxCharacters = 20_000_000,
    max_seconds: MaxSeconds = 120.0,
    at_once: AtOnce = None,
    waiting: Waiting = 32,
) -> None:
    """Open a page on which a person drops a document and reads why each result is like it; also an HTTP API.

    Everything runs on this computer and nothing leaves it. The API is described at /docs, and /metrics has numbers for
    Prometheus. Without a token only this computer can ask.

    Example: rprs serve cases.rprs

    Example: rprs serve cases.rprs --settings tuned.toml --port 9000 --no-open

    Example: rprs serve cases.rprs --host 0.0.0.0 --token-file token --allow-host search.example.org
    """
    from rprs.scoring.threads import cores, one_blas_thread
    from rprs.serve.app import Options, make_app
    from rprs.serve.connection import serve as listen
    from rprs.serve.guard import is_loopback, read_token
    from rprs.serve.limits import Limits
    from rprs.serve.service import Service

    talk: Talk = context.obj
    token = None if token_file is None else read_token(token_file)
    if token is None and not is_loopback(host):
        raise UsageError(f"{host} can be reached from outside: give a token by --token-file, or leave --host out")
    limits = Limits(
        upload_bytes=max_upload * 2**20,
        text_characters=max_characters,
        seconds=max_seconds,
        at_once=at_once or cores(),
        waiting=waiting,
    )
    service = Service(path, chosen(context, settings), talk.progress)
    try:
        hosts: set[str] = set()
        app = make_app(service, Options(hosts, token, allow_write, limits, talk.say))
        with one_blas_thread():  # requests share the processors; BLAS changing its threads for each costs far more
            listen(app, host, port, limits, _ready(service, hosts, allow_host or (), talk, open_page), talk.say)
    finally:
        service.close()


def _ready(
    service: Service, hosts: set[str], allowed: Sequence[str], talk: Talk, open_page: bool
) -> Callable[[str, int], None]:
    """What to do when it listens: fill in under which names, say where, and show the page."""
    from rprs.serve.guard import hosts_of

    def ready(address: str, number: int) -> None:
        hosts.update(hosts_of(address, number, allowed))
        name = address.strip("[]")
        url = f"http://{f'[{name}]' if ':' in name else name}:{number}/"
        typer.echo(f"{service.path.name}, {counted(service.documents, 'document')}: {url}")
        talk.say("Ctrl-C stops it")
        if open_page:
            typer.launch(url)

    return ready
