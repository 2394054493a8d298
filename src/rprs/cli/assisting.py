"""The verb that offers an index to an assistant on the same computer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rprs.cli.groups import SystemGroup, with_groups
from rprs.cli.messages import Messages
from rprs.cli.options import IndexPath
from rprs.cli.system import selected_system

Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--files",
        help="A folder whose files the assistant may use as queries. May be repeated.",
        metavar="FOLDER",
        show_default="none",
    ),
]


@with_groups
def mcp(
    context: typer.Context,
    *,
    path: IndexPath,
    files: Folders = None,
    ranking: SystemGroup,
) -> None:
    """Offer an index to an assistant on this computer, as a server of the Model Context Protocol (extra: mcp).

    The assistant starts this command and speaks with it over standard input and output; it can search, see why a
    document is similar, and read documents of the index, so that it can cite evidence. This command opens no
    connection. What an assistant reads leaves this computer if the assistant itself sends it elsewhere.

    Example: rprs mcp cases.rprs

    Example: rprs mcp cases.rprs --files briefs
    """
    from rprs.mcp import Tools, make_server
    from rprs.scoring.threads import one_blas_thread
    from rprs.serve.service import Service

    messages: Messages = context.obj
    service = Service(path, selected_system(context), messages.progress, messages.print)
    try:
        server = make_server(Tools(service, files or ()))
        with one_blas_thread():
            server.run("stdio")
    finally:
        service.close()
