"""What all nodes and clients of a cluster have in common: names, deadlines, and the environment of Ray."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from rprs.errors import UsageError

__all__ = ["NAMESPACE", "RESOURCE", "Patience", "environment", "is_loopback", "own_address", "private_address"]

NAMESPACE = "rprs"
RESOURCE = "rprs"  # which every node has that can hold shards; the head has none
NETWORKS = tuple(
    map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "fc00::/7", "::1/128"))
)  # private, or this machine alone
DIRECT = 4 * 2**20  # bytes of arguments and results that are sent directly; larger ones go through the object store


@dataclass(frozen=True, slots=True)
class Patience:
    """Deadlines in seconds."""

    replica: float = 5.0  # for a sign of life of one replica, before another is asked
    computing: float = 600.0  # for the answer of a replica that is at work
    opening: float = 3600.0  # for a holder to copy and open its shards

    def __post_init__(self) -> None:
        for name in ("replica", "computing", "opening"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"{name} must be a number of seconds. Got {getattr(self, name)!r} instead.")


def environment(address: str) -> dict[str, str]:
    """The environment of every process that uses the Ray cluster at an address, before it imports Ray."""
    # Ray replaces 127.0.0.1 by an address that others can reach, unless this says that there are no others.
    own = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"} if is_loopback(address) else {}
    return {
        **own,
        "RAY_AUTH_MODE": "token",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_memory_monitor_refresh_ms": "0",  # it counts the mapped files of shards as used memory
        "RAY_raylet_start_wait_time_s": "180",  # a busy machine takes longer than the 30 seconds of the default
        "RAY_max_direct_call_object_size": str(DIRECT),
        "RAY_gcs_rpc_server_reconnect_timeout_s": "3600",  # nodes and searches go on while the head is down
        "RAY_worker_niceness": "0",  # at 15, the default, every other program of the machine delays searches
        "RAY_DEDUP_LOGS": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # the present default only warns that this will change
    }


def is_loopback(address: str) -> bool:
    """Whether an address, with or without a port, is of this machine alone."""
    host = address.rsplit(":", 1)[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def own_address(address: str) -> str:
    """The address of this machine in the network of another one; nothing is sent."""
    host, _, port = address.rpartition(":")
    [(family, *_, place), *_] = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(place)
        except OSError:  # no way there, which connecting will report
            return ""
        return str(probe.getsockname()[0])


def private_address(text: str) -> str:
    """An address of a private network or of this machine; others are refused, since Ray must not be reachable there."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise UsageError(f"{text!r:.80} is no IP address: give that of this machine in the private network") from error
    if not any(address in network for network in NETWORKS):
        raise UsageError(
            f"{text} is not an address of a private network: Ray must not be reachable from others. Use one of "
            "10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or fc00::/7"
        )
    return text
