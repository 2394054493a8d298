"""Run the commands and the Python on the pages of the documentation, and compare what they print.

A comment before a block changes how it is treated: `<!-- not run: reason -->` skips it, and `<!-- file: name -->` marks
it as the content of a file. `python -m tests.support.docs docs/tutorial.md ...` runs pages and updates their output.
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
PORT = "8017"  # the default port of `rprs serve`, as the pages show it

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!-- (not run|file): (\S.*) -->\n\n?\Z")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")
_SHELL = re.compile(r"[|<>;&$`*\n]|^\w+=")  # characters that, outside quotes, need a shell


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, and the position of the text in the page."""

    language: str
    text: str
    start: int
    reason: str = ""  # why it is not run
    file: str = ""  # the file that it is the content of

    @property
    def session(self) -> bool:
        """Whether the block shows commands."""
        return self.language in ("console", "sh")

    @property
    def steps(self) -> list[tuple[str, list[str]]]:
        """The commands of a session, each with the output lines that the page shows."""
        steps: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                steps.append((line.removeprefix("$ "), []))
            elif steps and steps[-1][0].endswith("\\"):
                steps[-1] = (f"{steps[-1][0]}\n{line}", [])
            elif steps:
                steps[-1][1].append(line)
        return steps


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for fence in _FENCE.finditer(page):
        comment = _COMMENT.search(page[: fence.start()])
        kind, value = comment.groups() if comment else ("", "")
        reason, file = value if kind == "not run" else "", value if kind == "file" else ""
        yield Block(fence[1], fence[2], fence.start(2), reason, file)


# ---------------------------------------------------------------------------- running


class Reader:
    """Follows a page step by step in the current folder, which is laid out like a clone of the repository."""

    def __init__(self) -> None:
        shutil.copytree(DOCS / "sample", Path("docs", "sample"))
        self.exported: dict[str, str] = {}
        self.server: subprocess.Popen[str] | None = None
        self.port = PORT
        self.module = ModuleType("page")
        sys.modules["page"] = self.module  # where a dataclass defined on a page looks up its annotations

    def run(self, command: str) -> tuple[int, str]:
        """Run a command and return its exit code and output: in this process where no shell is needed, for speed."""
        command = command.replace(PORT, self.port)
        words = shlex.split(command)
        if words[:2] == ["rprs", "serve"] and words[-1] == "&":
            return 0, self._serve(words[2:-1])
        if words[0] == "export":
            self.exported |= dict(word.split("=", 1) for word in words[1:])
            return 0, ""
        if words == ["pip", "install", "."]:
            return 0, _install()
        plugins = any(Path().glob("*.dist-info"))
        if words[0] == "rprs" and not plugins and not _SHELL.search(_QUOTED.sub("", command)):
            with patch.dict("os.environ", self.exported):
                outcome = rprs(*words[1:], width=WIDTH)
            return outcome.code, outcome.out + outcome.err
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        environment = {**os.environ, **self.exported, "COLUMNS": str(WIDTH), "PYTHONPATH": ".", "PATH": path}
        shell, pipe = ["bash", "-c", command], subprocess.PIPE
        process = subprocess.run(shell, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True, check=False)
        return process.returncode, process.stdout

    def _serve(self, words: list[str]) -> str:
        """Start a server that runs until the end of the page, on a free port instead of the default one."""
        program = [sys.executable, "-m", "rprs", "serve", *words, "--port", "0"]
        self.server = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        address = cast("IO[str]", self.server.stdout).readline()
        self.port = address.rstrip("/\n").rpartition(":")[2]
        return address.replace(self.port, PORT)

    def execute(self, source: str) -> str:
        """Run a Python block and return what it prints; later blocks of the page can use its names."""
        output = io.StringIO()
        with redirect_stdout(output):
            exec(compile(source.replace(PORT, self.port), "page", "exec"), self.module.__dict__)
        return output.getvalue()

    def close(self) -> None:
        """Stop the server, if one is running."""
        if self.server is not None:
            self.server.terminate()
            self.server.wait()
            cast("IO[str]", self.server.stdout).close()

    def write(self, block: Block) -> None:
        """Write the file that a block is the content of."""
        path = Path(block.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")


def _install() -> str:
    """Register the entry points of the project here, as `pip install .` would, without touching the environment."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [f"Name: {project['name']}", f"Version: {project['version']}"]
    points = [
        line
        for group, names in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in names.items()))
    ]
    folder = Path(f"{project['name']}-{project['version']}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines, ""]), encoding="utf-8")
    (folder / "entry_points.txt").write_text("\n".join([*points, ""]), encoding="utf-8")
    return ""


# ---------------------------------------------------------------------------- comparing

_SECONDS = re.compile(r"\b\d+(?:\.\d+)? s\b")
_STAGES = re.compile(r"\S+ → \S+ in |\S+ → \S+: .* evidence ")
_BAR = re.compile("[▏▎▍▌▋▊▉█]+")
_NUMBER = re.compile(r"-?\d+\.\d+")


def alike(expected: str, printed: str) -> bool:
    """Whether two lines agree, apart from times and the last digits of decimal numbers; … stands for anything."""
    left, right = _plain(expected), _plain(printed)
    pattern = ".*".join(map(re.escape, _NUMBER.sub("#", left).split("…")))
    if not re.fullmatch(pattern, _NUMBER.sub("#", right)):
        return False
    pairs = zip(_NUMBER.findall(left), _NUMBER.findall(right), strict=False)
    return all(abs(float(one) - float(other)) <= 0.02 for one, other in pairs)


def _plain(line: str) -> str:
    shares = re.sub(r"\b(\d+) ?%", lambda share: f"{int(share[1]) / 100:.2f}%", line)
    return " ".join(_BAR.sub(" ", _SECONDS.sub("… s", shares)).split())


def missing(expected: list[str], printed: str) -> list[str]:
    """The expected lines that the output lacks, in this order; a line with … alone skips any number of lines."""
    rest = iter(line for line in printed.splitlines() if line.strip())
    lines = [line for line in expected if line.strip() and line.strip() != "…"]
    return [line for line in lines if not any(alike(line, candidate) for candidate in rest)]


# ---------------------------------------------------------------------------- writing


def updated(page: str) -> str:
    """The page with what its commands print now; output that has a line with … alone is left unchanged."""
    reader, result, end = Reader(), "", 0
    for block in blocks(page):
        text = block.text
        if block.file:
            reader.write(block)
        elif block.session and not block.reason:
            text = "".join(_session(reader, *step) for step in block.steps)
        elif block.language == "python" and not block.reason:
            reader.execute(block.text)
        result += page[end : block.start] + text
        end = block.start + len(block.text)
    reader.close()
    return result + page[end:]


def _session(reader: Reader, command: str, expected: list[str]) -> str:
    _, printed = reader.run(command)
    lines = expected
    if expected and "…" not in map(str.strip, expected):  # times vary: the lines of stages go, other times become …
        lines = [_SECONDS.sub("… s", line) for line in printed.splitlines() if not _STAGES.match(line)]
    return "\n".join([f"$ {command}", *(line.rstrip() for line in lines)]).rstrip() + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
