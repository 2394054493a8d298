"""A node of a Ray cluster as a process that runs until it is stopped, with settings that are safe by default."""

from __future__ import annotations

import ipaddress
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from rprs.cluster.connection import require_token
from rprs.cluster.settings import environment, private_address
from rprs.errors import UsageError

__all__ = ["public_addresses", "run_node"]


def run_node(ip: str, join: str | None, port: int, cores: int | None, folder: Path | None, firewalled: bool) -> int:
    """Run a node until it ends or this process is told to end; the exit code of Ray."""
    private_address(ip)
    if join is not None:
        private_address(join.rsplit(":", 1)[0].strip("[]"))
    if (public := public_addresses()) and not firewalled:
        raise UsageError(
            f"This machine has the public address {public[0]}, and Ray listens on all addresses: protect it by a "
            "firewall, then say so with --firewalled"
        )
    os.environ.update({name: value for name, value in environment(ip).items() if name not in os.environ})
    require_token()
    from rprs.cluster.engine import forget_last_head, node_command

    if join is None:
        forget_last_head(folder)
    process = subprocess.Popen([sys.executable, "-m", *node_command(ip, join, port, cores, folder)])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.terminate())
    return process.wait()


def public_addresses() -> list[str]:
    """The addresses of this machine that the whole internet can reach, as far as Linux lists them."""
    found = []
    trie = Path("/proc/net/fib_trie")
    if trie.exists():
        lines = [line.strip() for line in trie.read_text().splitlines()]
        found += [before.split()[-1] for before, line in pairwise(lines) if "/32 host LOCAL" in line]
    six = Path("/proc/net/if_inet6")
    if six.exists():
        found += [str(ipaddress.IPv6Address(int(line.split()[0], 16))) for line in six.read_text().splitlines()]
    return sorted({each for each in found if ipaddress.ip_address(each).is_global})
