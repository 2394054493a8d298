"""French sentences in English collections: find them, drop them, or pass them to a translator.

The Federal Court of Canada publishes in English and French, so some cases of COLIEE are partly French. Each sentence is
classified on its own, and only as English or French, since among all languages a sentence of names and citations could
be classified as anything. Sentences of fewer than five words are too short to classify and count as English.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Literal, cast

from rprs.errors import MissingExtra, UsageError
from rprs.text.split import SentenceSplitter

__all__ = ["French", "Translator", "french_spans", "load_translator", "replace_french", "treatment"]

French = Literal["keep", "drop", "translate"]
Translator = Callable[[list[str]], list[str]]  # as many texts out as in, in the same order

_WORD = re.compile(r"[^\W\d_]{2,}")
_PLACEHOLDER = re.compile(r"\b[A-Z]+_SUPPRESSED\b")
_FEWEST = 5  # words


@cache
def _identifier() -> Any:
    try:
        import py3langid
    except ImportError as error:
        raise MissingExtra("Detecting French sentences", "py3langid", "collections") from error
    return py3langid


def _is_french(sentence: str) -> bool:
    bare = _PLACEHOLDER.sub(" ", sentence)
    if len(_WORD.findall(bare)) < _FEWEST:
        return False
    scores = dict(_identifier().rank(bare))
    return bool(scores["fr"] > scores["en"])


def french_spans(text: str) -> list[tuple[int, int]]:
    """The spans of the French sentences of a text: `text[start:end]` is a sentence."""
    spans = SentenceSplitter().split(text).spans.tolist()
    return [(start, end) for start, end in spans if _is_french(text[start:end])]


def replace_french(text: str, translate: Translator) -> str:
    """The text with its French sentences replaced in place, so that paragraphs stay the same."""
    spans = french_spans(text)
    if not spans:
        return text
    translations = list(translate([text[start:end] for start, end in spans]))
    if len(translations) != len(spans) or not all(isinstance(sentence, str) for sentence in translations):
        raise UsageError(
            f"The translator returned {len(translations)} texts for {len(spans)} sentences: it must return one for each"
        )
    pieces, after = [], 0
    for (start, end), sentence in zip(spans, translations, strict=True):
        pieces += [text[after:start], sentence]
        after = end
    return "".join([*pieces, text[after:]])


def load_translator(name: str) -> Translator:
    """The callable with the name `package.module:function`."""
    module, colon, attribute = name.partition(":")
    try:
        translator = getattr(import_module(module), attribute) if module and colon else None
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The translator {name!r} cannot be loaded: {error}") from error
    if not callable(translator):
        raise UsageError(f"The translator {name!r} must be a callable named as package.module:function")
    return cast("Translator", translator)


def treatment(french: French, translator: str | None) -> Callable[[str], str]:
    """A function that applies the option `french` to a text."""
    if french == "keep":
        return lambda text: text
    _identifier()  # report a missing package at once, not at the first French sentence
    if french == "drop":
        return lambda text: replace_french(text, lambda sentences: [""] * len(sentences))
    translate = load_translator(translator or "")
    return lambda text: replace_french(text, translate)
