"""Draw the output of `rprs search` as docs/images/search.svg: `python scripts/picture.py`, after `make demo`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

COMMAND = "rprs search demo/licences.rprs demo/licences/facebook-patent-rights-2.LICENSE -k 5"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "search.svg"
WIDTH = 96  # columns: readable at a width of about 800 pixels


def main() -> None:
    """Run the command with the settings of a terminal, and draw its output."""
    program = [sys.executable, "-m", "rprs", *shlex.split(COMMAND)[1:], "--quiet"]
    environment = {**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    printed = subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout
    console = Console(record=True, width=WIDTH, file=StringIO())
    console.print(Text.assemble(("$ ", "bold green"), (COMMAND, "bold")), "", Text.from_ansi(printed), sep="\n")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(
        console.export_svg(title="Which agreements are like this patent grant, and why?"), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
