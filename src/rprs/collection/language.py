"""French sentences in English collections: found, dropped, or handed to a translator.

The Federal Court of Canada publishes in English and French, so some cases of COLIEE are French in part. Each sentence
is judged on its own, English against French and nothing else, since over all languages a sentence of names and
citations can come out as anything. Sentences of fewer than five words are never judged: they tell too little.
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
        raise MissingExtra("Telling French from English", "py3langid", "collections") from error
    return py3langid


def _is_french(sentence: str) -> bool:
    bare = _PLACEHOLDER.sub(" ", sentence)
    if len(_WORD.findall(bare)) < _FEWEST:
        return False
    scores = dict(_identifier().rank(bare))
    return bool(scores["fr"] > scores["en"])


def french_spans(text: str) -> list[tuple[int, int]]:
    """Where the French sentences of a text are: `text[start:end]` is one."""
    spans = SentenceSplitter().split(text).spans.tolist()
    return [(start, end) for start, end in spans if _is_french(text[start:end])]


def replace_french(text: str, translate: Translator) -> str:
    """The text with its French sentences replaced where they stand, so that paragraphs stay what they are."""
    spans = french_spans(text)
    if not spans:
        return text
    given = list(translate([text[start:end] for start, end in spans]))
    if len(given) != len(spans) or not all(isinstance(sentence, str) for sentence in given):
        raise UsageError(
            f"The translator gave {len(given)} texts for {len(spans)} sentences: it must give one for each"
        )
    pieces, after = [], 0
    for (start, end), sentence in zip(spans, given, strict=True):
        pieces += [text[after:start], sentence]
        after = end
    return "".join([*pieces, text[after:]])


def load_translator(name: str) -> Translator:
    """The callable that `package.module:function` names."""
    module, colon, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute) if module and colon else None
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The translator {name!r} cannot be loaded: {error}") from error
    if not callable(found):
        raise UsageError(f"The translator {name!r} must be a callable named as package.module:function")
    return cast("Translator", found)


def treatment(french: French, translator: str | None) -> Callable[[str], str]:
    """What to do with each text: nothing, or something to its French sentences."""
    if french == "keep":
        return lambda text: text
    _identifier()  # what is not installed is said at once, not at the first French sentence
    if french == "drop":
        return lambda text: replace_french(text, lambda sentences: [""] * len(sentences))
    translate = load_translator(translator or "")
    return lambda text: replace_french(text, translate)
