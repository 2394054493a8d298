"""`python -m rprs.cluster.starting start ...` is `ray start` with the password of Redis on no command line."""

from __future__ import annotations

import sys

from rprs.cluster.engine import run_ray

if __name__ == "__main__":
    run_ray(sys.argv[1:])
