"""One target under atheris, with the modules of rprs instrumented: `python -m tests.fuzz.inside NAME OPTION ...`."""

from __future__ import annotations

import sys

import atheris

MODULES = ["rprs.read", "rprs.spec", "rprs.index.where", "rprs.matters", "rprs.studies.plan", "rprs.tuning.settings"]

if __name__ == "__main__":
    with atheris.instrument_imports(include=MODULES):  # before anything else imports them
        from tests.fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]])
    atheris.Fuzz()
