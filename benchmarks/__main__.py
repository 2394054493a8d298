"""`python -m benchmarks [PART ...] [--quick] [--json FILE] [--markdown] [--corpus PATH]`"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console

from benchmarks.table import Row, as_json, as_markdown, as_table
from benchmarks.timing import Options

PARTS = (
    "kernel",
    "aligned",
    "whole",
    "grid",
    "bm25",
    "phrases",
    "encoders",
    "indexing",
    "search",
    "evidence",
    "coverage",
    "passages",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen parts and print the table; the exit code is 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="the speed of rprs relative to other libraries"
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="smaller collections and fewer rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to a file")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--corpus", metavar="PATH", help="the collection to index and search (RPRS_BENCH_CORPUS)")
    parser.add_argument("--encoder", default="fitted", help="the encoder of indexing and search (default: fitted)")
    options = parser.parse_args(arguments)
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: the parts are {', '.join(PARTS)}")
    run_options = Options(options.quick, options.corpus or os.environ.get("RPRS_BENCH_CORPUS"), options.encoder)
    rows = [row for part in options.parts or PARTS for row in _run(part, run_options)]
    if options.markdown:
        print(as_markdown(rows))
    else:
        Console(width=None if sys.stdout.isatty() else 160).print(as_table(rows))
    if options.json:
        report = {"machine": _machine(), "quick": options.quick, "rows": as_json(rows)}
        options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(any(row.met is False for row in rows))


def _run(part: str, options: Options) -> Iterator[Row]:
    started = perf_counter()
    run: Callable[[Options], Iterator[Row]] = import_module(f"benchmarks.{part}").run
    for row in run(options):
        print(f"{perf_counter() - started:6.1f} s  {part}: {row.what}", file=sys.stderr)
        yield row


def _machine() -> dict[str, str | int]:
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


if __name__ == "__main__":
    sys.exit(main())
