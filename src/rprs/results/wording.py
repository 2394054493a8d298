"""Sentences that every surface shows in the same words."""

from __future__ import annotations

__all__ = ["CAUTION", "NOTHING_SHARED"]

CAUTION = "Scores help you prioritise; they are not legal conclusions."
NOTHING_SHARED = "No document here shares any words with yours."
