"""Loading models with other libraries: their errors become one-line errors, their progress bars and logs are off."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rprs.errors import ModelError, RprsError

__all__ = ["plainly", "quiet"]

LOGGERS = ("sentence_transformers", "torch.onnx")


@contextmanager
def plainly(problem: str) -> Iterator[None]:
    """Turn any error into a one-line ModelError: `problem` and the reason."""
    try:
        yield
    except RprsError:
        raise
    except Exception as error:  # libraries raise all kinds of errors on damaged files, and tokenizers a bare Exception
        reason = (str(error).strip().splitlines() or [""])[0] or type(error).__name__
        raise ModelError(f"{problem}: {reason}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the log and the progress bars of transformers and related packages, which must be installed."""
    import transformers

    transformers_logging = transformers.utils.logging
    before, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            transformers_logging.enable_progress_bar()
