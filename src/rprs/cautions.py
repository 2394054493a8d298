"""Warnings that rprs gives; what it cannot do is an error."""

from __future__ import annotations

__all__ = ["NetworkStorage", "SlowStart"]


class NetworkStorage(UserWarning):
    """An index is written on a network file system, where only one machine may open it."""


class SlowStart(UserWarning):
    """Compiled functions cannot be stored, and every process compiles them again."""
