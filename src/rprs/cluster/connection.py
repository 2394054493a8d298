"""Connect to a Ray cluster: its environment is set before Ray is imported."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rprs.cluster.settings import Patience, environment
from rprs.errors import UsageError

if TYPE_CHECKING:
    from rprs.cluster.engine import Engine

__all__ = ["connected", "local_engine", "require_token"]


def connected(address: str, patience: Patience | None = None) -> Engine:
    """The engine of the Ray cluster at an address."""
    values = environment(address)
    os.environ.update({name: value for name, value in values.items() if name not in os.environ})
    require_token()
    from rprs.cluster.engine import Engine

    return Engine(address, patience)


@contextmanager
def local_engine(nodes: int, patience: Patience | None = None) -> Iterator[Engine]:
    """The engine of a new Ray cluster on this machine, whose processes end with the block."""
    from rprs.cluster.local import LocalCluster

    with LocalCluster(nodes) as started:
        os.environ.update(started.environment)
        engine = connected(started.address, patience)
        try:
            yield engine
        finally:
            engine.close()


def require_token() -> None:
    """Raise an error unless token authentication is on and there is a token that nobody else can read."""
    if os.environ.get("RAY_AUTH_MODE") != "token":
        raise UsageError("Token authentication is off (RAY_AUTH_MODE): unset that variable, or set it to token")
    if os.environ.get("RAY_AUTH_TOKEN"):
        return
    file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    try:
        mode = file.stat().st_mode
        present = bool(file.read_text(encoding="utf-8").strip())
    except OSError as error:
        raise UsageError(
            f"The token of the cluster cannot be read from {file}: write the same token (at least 32 characters) to a "
            "file on every node, and name it in RAY_AUTH_TOKEN_PATH"
        ) from error
    if not present:
        raise UsageError(f"{file} is empty: write the token of the cluster to it")
    if mode & 0o077:
        raise UsageError(f"Others can read the token in {file}: run `chmod 600 {file}`")
