"""Text files of columns separated by white space, such as TREC runs and qrels; also .gz and .xz."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path, PurePath

from rprs.errors import ReadError, UsageError
from rprs.read.source import opened

__all__ = ["read_columns"]


def read_columns(path: str | PurePath, kind: str) -> Iterator[tuple[str, list[str]]]:
    """The location (`file:line`) and the columns of each line that is not blank; `kind` is for messages: "run"."""
    if not isinstance(path, str | PurePath):
        raise UsageError(f"Expected the path of a {kind} file. Got {path!r:.80}")
    try:
        with opened(Path(path)) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{path}:{number}", line.split()
    except FileNotFoundError as error:
        raise ReadError(f"{path}: no such {kind} file") from error
    except (OSError, EOFError, ValueError, LZMAError, zlib.error) as error:
        raise ReadError(f"{path}: cannot be read as a {kind} file: {error}") from error
