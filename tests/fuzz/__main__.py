"""Look for inputs that break a promise: `python -m tests.fuzz [NAME ...] --seconds 60` (per target; needs Linux).

What is found is stored in tests/fuzz/corpus/NAME, where the default tests run it from then on.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.targets import CORPUS, TARGETS, seeds

LONGEST = 2**16  # bytes of an input
TIMEOUT = 20  # seconds: a reader that takes longer for so few bytes is a finding, too
MEMORY = 3000  # megabytes


def main() -> None:
    """Fuzz each target in a process of its own, and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"among {', '.join(TARGETS)}; default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    options = parser.parse_args()
    unknown = set(options.names) - set(TARGETS)
    if unknown:
        parser.error(f"there is no target {sorted(unknown)[0]!r}")
    findings = [line for name in options.names or TARGETS for line in _run(name, options.seconds)]
    print(*findings or ["Nothing was found"], sep="\n")
    sys.exit(bool(findings))


def _run(name: str, seconds: int) -> list[str]:
    kept = CORPUS / name
    kept.mkdir(parents=True, exist_ok=True)
    before = set(kept.iterdir())
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds(name)):
            (Path(folder) / f"seed-{number}").write_bytes(data)
        limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}"]
        command = [sys.executable, "-m", "tests.fuzz.inside", name, *limits, f"-artifact_prefix={kept}/", folder]
        process = subprocess.run(command, capture_output=True, text=True, errors="replace")
        inputs = len(list(Path(folder).iterdir()))
    new = sorted(set(kept.iterdir()) - before)
    counts = re.findall(r"(?m)^#(\d+)\t", process.stderr)
    print(
        f"{name}: {int(counts[-1]) if counts else 0:,} runs, {inputs} inputs that reach other lines, {len(new)} found",
        flush=True,
    )
    if not before and not new:
        kept.rmdir()
    if process.returncode and not new:
        return [f"{name}: {process.stderr.strip().splitlines()[-1:] or process.returncode}"]
    return [f"{name}: {path.name}" for path in new]


if __name__ == "__main__":
    main()
