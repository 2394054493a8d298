"""The pages of the documentation as what they promise: commands with their output, and Python.

A comment before a block says what is special about it: `<!-- not run: why -->`, or `<!-- file: name -->` if it is the
content of a file. `python -m tests.support.docs docs/tutorial.md ...` runs pages and writes anew what they print.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, cast
from unittest.mock import patch

from tests.support.cli import rprs
from tests.support.paths import ROOT

DOCS = ROOT / "docs"
PAGES = sorted({ROOT / "README.md", *DOCS.rglob("*.md")} - {*(DOCS / "sample").rglob("*.md")})
WIDTH = 100
PORT = "8017"  # of a server, where a page does not name another

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!-- (not run|file): (\S.*) -->\n\n?\Z")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")
_SHELL = re.compile(r"[|<>;&$`*\n]|^\w+=")  # what, outside of quotes, only a shell understands


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, and where that begins in the page."""

    language: str
    text: str
    start: int
    reason: str = ""  # why it is not run
    file: str = ""  # what it is the content of

    @property
    def session(self) -> bool:
        """Whether it shows commands."""
        return self.language in ("console", "sh")

    @property
    def steps(self) -> list[tuple[str, list[str]]]:
        """The commands of a session, each with the lines that the page shows of its output."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            elif found and found[-1][0].endswith("\\"):
                found[-1] = (f"{found[-1][0]}\n{line}", [])
            elif found:
                found[-1][1].append(line)
        return found


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in its order."""
    for fence in _FENCE.finditer(page):
        comment = _COMMENT.search(page[: fence.start()])
        kind, said = comment.groups() if comment else ("", "")
        reason, file = said if kind == "not run" else "", said if kind == "file" else ""
        yield Block(fence[1], fence[2], fence.start(2), reason, file)


# ---------------------------------------------------------------------------- running


class Reader:
    """Somebody who follows a page step by step in the folder at hand, which is laid out like a clone."""

    def __init__(self) -> None:
        shutil.copytree(DOCS / "sample", Path("docs", "sample"))
        self.exported: dict[str, str] = {}
        self.server: subprocess.Popen[str] | None = None
        self.port = PORT
        self.module = ModuleType("page")
        sys.modules["page"] = self.module  # where a dataclass of the page looks for the names in its annotations

    def run(self, command: str) -> tuple[int, str]:
        """A command's exit code and all that it prints: in this process where no shell is needed, for speed."""
        command = command.replace(PORT, self.port)
        words = shlex.split(command)
        if words[:2] == ["rprs", "serve"] and words[-1] == "&":
            return 0, self._serve(words[2:-1])
        if words[0] == "export":
            self.exported |= dict(word.split("=", 1) for word in words[1:])
            return 0, ""
        if words == ["pip", "install", "."]:
            return 0, _install()
        plugged = any(Path().glob("*.dist-info"))
        if words[0] == "rprs" and not plugged and not _SHELL.search(_QUOTED.sub("", command)):
            with patch.dict("os.environ", self.exported):
                outcome = rprs(*words[1:], width=WIDTH)
            return outcome.code, outcome.out + outcome.err
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        surroundings = {**os.environ, **self.exported, "COLUMNS": str(WIDTH), "PYTHONPATH": ".", "PATH": path}
        shell, pipe = ["bash", "-c", command], subprocess.PIPE
        done = subprocess.run(shell, env=surroundings, stdout=pipe, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def _serve(self, words: list[str]) -> str:
        """Start a server that runs until the end of the page, on a free port in the place of the usual one."""
        program = [sys.executable, "-m", "rprs", "serve", *words, "--port", "0"]
        self.server = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        said = cast("IO[str]", self.server.stdout).readline()
        self.port = said.rstrip("/\n").rpartition(":")[2]
        return said.replace(self.port, PORT)

    def execute(self, source: str) -> str:
        """What a piece of Python prints; later pieces of the page know its names."""
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(source.replace(PORT, self.port), "page", "exec"), self.module.__dict__)
        return printed.getvalue()

    def close(self) -> None:
        """End what is still running."""
        if self.server is not None:
            self.server.terminate()
            self.server.wait()
            cast("IO[str]", self.server.stdout).close()

    def write(self, block: Block) -> None:
        """The file whose content a block is."""
        path = Path(block.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")


def _install() -> str:
    """What `pip install .` does as far as entry points go, in this folder and not in the environment."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [f"Name: {project['name']}", f"Version: {project['version']}"]
    points = [
        line
        for group, names in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in names.items()))
    ]
    place = Path(f"{project['name']}-{project['version']}.dist-info")
    place.mkdir()
    (place / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines, ""]), encoding="utf-8")
    (place / "entry_points.txt").write_text("\n".join([*points, ""]), encoding="utf-8")
    return ""


# ---------------------------------------------------------------------------- comparing

_SECONDS = re.compile(r"\b\d+(?:\.\d+)? s\b")
_STAGES = re.compile(r"\S+ → \S+ in |\S+ → \S+: .* evidence ")
_BAR = re.compile("[▏▎▍▌▋▊▉█]+")
_NUMBER = re.compile(r"-?\d+\.\d+")


def alike(shown: str, printed: str) -> bool:
    """Whether a line says the same, times and the last digits of decimal numbers aside; … stands for anything."""
    left, right = _plain(shown), _plain(printed)
    pattern = ".*".join(map(re.escape, _NUMBER.sub("#", left).split("…")))
    if not re.fullmatch(pattern, _NUMBER.sub("#", right)):
        return False
    pairs = zip(_NUMBER.findall(left), _NUMBER.findall(right), strict=False)
    return all(abs(float(one) - float(other)) <= 0.02 for one, other in pairs)


def _plain(line: str) -> str:
    shares = re.sub(r"\b(\d+) %", lambda share: f"{int(share[1]) / 100:.2f} %", line)
    return " ".join(_BAR.sub(" ", _SECONDS.sub("… s", shares)).split())


def missing(shown: list[str], printed: str) -> list[str]:
    """The lines of a page that are not in the output, in that order; a lone … skips lines."""
    rest = iter(line for line in printed.splitlines() if line.strip())
    wanted = [line for line in shown if line.strip() and line.strip() != "…"]
    return [line for line in wanted if not any(alike(line, candidate) for candidate in rest)]


# ---------------------------------------------------------------------------- writing


def rewritten(page: str) -> str:
    """A page with what its commands print now; an output with a line that is a lone … stays as it is."""
    reader, done, end = Reader(), "", 0
    for block in blocks(page):
        text = block.text
        if block.file:
            reader.write(block)
        elif block.session and not block.reason:
            text = "".join(_session(reader, *step) for step in block.steps)
        elif block.language == "python" and not block.reason:
            reader.execute(block.text)
        done += page[end : block.start] + text
        end = block.start + len(block.text)
    reader.close()
    return done + page[end:]


def _session(reader: Reader, command: str, shown: list[str]) -> str:
    _, printed = reader.run(command)
    kept = shown
    if shown and "…" not in map(str.strip, shown):  # times are of the moment: the stages' go, others are left open
        kept = [_SECONDS.sub("… s", line) for line in printed.splitlines() if not _STAGES.match(line)]
    return "\n".join([f"$ {command}", *(line.rstrip() for line in kept)]).rstrip() + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
