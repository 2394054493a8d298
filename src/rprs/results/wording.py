"""Sentences that every surface shows in the same words."""

from __future__ import annotations

from collections.abc import Mapping

from rprs.alignment.values import Relation

__all__ = ["CAUTION", "NOTHING_SHARED", "RELATIONS"]

CAUTION = "Scores help you prioritise; they are not legal conclusions."
NOTHING_SHARED = "No document here shares any words with yours."
RELATIONS: Mapping[Relation, str] = {"identical": "Identical text", "near duplicate": "Near duplicate"}
