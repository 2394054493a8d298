"""Options of the verbs that use a cluster."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["PANEL", "Address", "Deadline", "Generation", "Url"]

PANEL = "Cluster"
Url = Annotated[
    str,
    typer.Argument(metavar="URL", help="The cluster: a folder, or s3://BUCKET/PATH.", show_default=False),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="The head of the Ray cluster, as HOST:PORT; this machine must be one of its nodes. "
        "Without it, all work is done in this process.",
        metavar="HOST:PORT",
        envvar="RAY_ADDRESS",
        rich_help_panel=PANEL,
        show_default="this process",
    ),
]
Generation = Annotated[
    int | None,
    typer.Option(help="An earlier generation of the cluster.", min=1, rich_help_panel=PANEL, show_default="the newest"),
]
Deadline = Annotated[
    float,
    typer.Option(
        help="Seconds that a replica may be silent before another one is asked; one that is at work is waited for.",
        min=0.1,
        rich_help_panel=PANEL,
    ),
]
