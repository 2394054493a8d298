"""One target under atheris, with the modules of rprs instrumented: `python -m tests.fuzz.inside NAME OPTION ...`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import atheris

SOURCE = Path(__file__).parents[2] / "src"

MODULES = ["rprs.read", "rprs.spec", "rprs.index.where", "rprs.matters", "rprs.studies.plan", "rprs.tuning.settings"]


def compiled_modules() -> list[str]:
    """The modules with functions for Numba, which cannot compile instrumented ones."""
    paths = [path for path in SOURCE.rglob("*.py") if re.search("rprs.compiled|numba", path.read_text("utf-8"))]
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths]


if __name__ == "__main__":
    with atheris.instrument_imports(include=MODULES, exclude=compiled_modules()):  # before anything else imports them
        from tests.fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]])
    atheris.Fuzz()
