"""Folders that tests read from."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DATA", "ROOT", "SAMPLE", "TESTS"]

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent  # of the repository
DATA = TESTS / "data"
SAMPLE = ROOT / "docs" / "sample"
