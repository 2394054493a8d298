"""An object store for tests: `python -m tests.support.bucket ADDRESS PORT BUCKET...`, until standard input is closed.

It prints its URL once the buckets are there; port 0 takes a free one.
"""

from __future__ import annotations

import sys
import urllib.request

from moto.server import ThreadedMotoServer


def main(address: str, port: str, *buckets: str) -> None:
    """Serve until standard input is closed."""
    server = ThreadedMotoServer(address, int(port), verbose=False)
    server.start()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    place = f"http://{address}:{server.get_host_and_port()[1]}"
    for bucket in buckets:
        opener.open(urllib.request.Request(f"{place}/{bucket}", method="PUT"), timeout=20).close()
    print(place, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
