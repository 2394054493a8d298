"""Loading with other libraries: their errors as one line of ours, and without their bars and notes in the midst."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rprs.errors import ModelError, RprsError

__all__ = ["plainly", "quiet"]

SPEAKERS = ("sentence_transformers", "torch.onnx")


@contextmanager
def plainly(what: str) -> Iterator[None]:
    """Whatever goes wrong within is a ModelError of one line: `what`, and the reason."""
    try:
        yield
    except RprsError:
        raise
    except Exception as error:  # of damaged files each library has its own error, and tokenizers no class at all for it
        reason = (str(error).strip().splitlines() or [""])[0] or type(error).__name__
        raise ModelError(f"{what}: {reason}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Without what transformers and its relatives have to say; they must be installed."""
    import transformers

    talk = transformers.utils.logging
    before, bars = talk.get_verbosity(), talk.is_progress_bar_enabled()
    loggers = [logging.getLogger(name) for name in SPEAKERS]
    levels = [logger.level for logger in loggers]
    talk.set_verbosity_error()
    talk.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        talk.set_verbosity(before)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            talk.enable_progress_bar()
