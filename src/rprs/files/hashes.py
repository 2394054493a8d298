"""SHA-256 of files and of values."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

__all__ = ["digest", "sha256"]

DIGITS = 20  # hexadecimal digits of a digest: 80 bits


def sha256(file: Path) -> str:
    """The hexadecimal SHA-256 of a file's content."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest(value: Any) -> str:
    """A short hash of a value that JSON can represent."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
