"""What the responses of the API are described with."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Described"]


class Described(BaseModel):
    """A value that the API returns; nothing is checked with it, so its validator is built only for the schema."""

    model_config = ConfigDict(defer_build=True)
