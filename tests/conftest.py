"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import settings

# Two settings of hypothesis: the same cases on every run, and for `HYPOTHESIS_PROFILE=search` new ones each time.
settings.register_profile("default", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
