"""Where sentences begin within a paragraph, as nupunkt decides it, with most of its decisions remembered.

nupunkt (0.8) decides from little text whether a sentence ends at a full stop. Its candidates are the last full stop,
question or exclamation mark or ellipsis of a chunk (the text between white space) that white space or certain
punctuation follows. It looks at the tokens of this chunk, closing quotes and brackets left out, and at the first such
token of the next chunk, of which it uses no more than: whether it is a word that often starts a sentence, or the second
word of a known pair; whether it is "I", a number or a punctuation mark; and whether it begins in upper or lower case.
Longer contexts are those with spaced ellipses (". . ."), and with chunks of closing punctuation. A number or a letter
with a full stop at the start of a text ends no sentence.

So nupunkt gets each context once, as a text of its own, and its answers are kept by what they depend on. Tests compare
them with those for whole paragraphs.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from rprs.text.scan import FIRST, SIMPLE

if TYPE_CHECKING:
    from rprs.text.scan import Ints

__all__ = ["Boundaries", "boundaries"]

_STOPS = ".?!…"
_CLOSERS = "\"')]}”’»*"
_TERMINAL = re.compile(r"[.?!…]([\"')\]}”’»*]*)\Z")
_NOTE = re.compile(r"(.*[.?!…])([\"')\]}”’»*]*)\[\d+\]")
_WHOLE_NUMBER = re.compile(r"\d+\.[\"')\]}”’»*]*\Z")
_ENUMERATOR = re.compile(r"\(?(?:\d+|[A-Za-z]|[ivxlcdmIVXLCDM]+)\)?\.")
_WITHOUT_STOP = re.compile(r"[^.?!…]+")
_SPACED_STOPS = re.compile(r"\.\s+\.")
_ELLIPSIS = re.compile(r"\.\.|…")
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*\.?")
_BEFORE = "x "  # begins a text so that a context does not
_ALWAYS, _UNLESS_LOWER = -1, -2  # whether a sentence ends after a chunk, whatever follows, or by its first letter
_LONGEST = 200  # characters of a context that is remembered
_MOST = 2**17  # entries of each table; then it starts again

Key = tuple[str, bool]
Rule = int | dict[Key, bool]  # where in a chunk a sentence begins, 0 if nowhere; or the answers by what follows


class Boundaries:
    """nupunkt with additional abbreviations; threads may share it, since its tables never change a result."""

    def __init__(self, abbreviations: frozenset[str]) -> None:
        from nupunkt.core.language_vars import PunktLanguageVars
        from nupunkt.models import load_default_model

        self._punkt: Any = load_default_model()
        for abbreviation in abbreviations:
            self._punkt.add_abbreviation(abbreviation)
        parameters = self._punkt.parameters
        self._tokenize: Any = PunktLanguageVars().word_tokenize
        self._first_words = frozenset(first for first, _ in parameters.collocations)
        self._next_words = frozenset(second for _, second in parameters.collocations).union(
            parameters.sent_starters, parameters.ortho_context
        )
        self._rules: dict[str, Rule] = {}  # by the chunk with the full stop
        self._keys: dict[str, Key] = {}  # by the next chunk
        self._longer: dict[tuple[str, Key], list[int]] = {}  # by other contexts, and what follows

    def begins(self, text: str, contexts: Ints) -> list[int]:
        """Where sentences begin, in contexts found by `scan.contexts`."""
        rules, keys, begins = self._rules, self._keys, []
        for start, end, last, stop, flags in contexts.tolist():
            chunk = text[start:end]
            if flags != SIMPLE and (flags != FIRST | SIMPLE or _ENUMERATOR.match(chunk)):
                begins += self._in_longer(text, start, end, last, stop, flags & FIRST)
                continue
            rule = rules.get(chunk)
            if rule is None:
                rule = self._rule(chunk)
            if isinstance(rule, dict):
                following = text[last:stop]
                key = keys.get(following)
                if key is None:
                    key = self._key(following)
                answer = rule.get(key)
                if answer is None:
                    answer = rule[key] = bool(self._ask(f"{_BEFORE}{chunk} {following}", len(_BEFORE), len(chunk) + 1))
                if answer:
                    begins.append(last)
            elif rule == _ALWAYS or (rule == _UNLESS_LOWER and not text[last].islower()):
                begins.append(last)
            elif rule > 0:
                begins.append(start + rule)
        return begins

    def _in_longer(self, text: str, start: int, end: int, last: int, stop: int, first: int) -> list[int]:
        """Where sentences begin in a context that is not two chunks within a block."""
        if end == last and not first and text[end - 1] not in _STOPS:  # nothing follows, also not a last full stop
            rule = self._rules.get(text[start:end])
            rule = self._rule(text[start:end]) if rule is None else rule
            return [start + rule] if isinstance(rule, int) and rule > 0 else []
        begin, before = start, "" if first else _BEFORE
        word = _WITHOUT_STOP.match(text, start, end)
        if word and _is_before_ellipsis(text, word.end(), end, last):  # any word is the same there
            begin, before = word.end(), _BEFORE + "x"
        context, following = text[begin:last].replace("\n", " "), text[last:stop]
        key = before + context, (self._keys.get(following) or self._key(following)) if following else ("", False)
        places = self._longer.get(key)
        if places is None:
            places = self._ask(before + context + following, len(before), len(context))
            if len(context) <= _LONGEST:
                _keep(self._longer, key, places)
        return [begin + place for place in places]

    def _rule(self, chunk: str) -> Rule:
        """What is known about the end of a chunk without the next one."""
        rule: Rule
        terminal, note = _TERMINAL.search(chunk), _NOTE.fullmatch(chunk)
        if note and self._is_certain(note[1] + note[2]):
            rule = len(note[1])
        elif terminal is None:  # nupunkt looks at the rest of the chunk instead of the next one
            rule = next(iter(self._ask(f"{_BEFORE}{chunk} x", len(_BEFORE), len(chunk) - 1)), 0)
        elif self._is_certain(chunk):
            rule = _UNLESS_LOWER if terminal[1] else _ALWAYS
        elif _WHOLE_NUMBER.match(chunk) and chunk != (any_number := f"1.{terminal[1][:1] and ')'}"):
            known = self._rules.get(any_number)
            rule = self._rule(any_number) if known is None else known
        else:
            rule = {}
        _keep(self._rules, chunk, rule)
        return rule

    def _is_certain(self, chunk: str) -> bool:
        """Whether a sentence ends with a chunk that ends with a full stop: no abbreviation, number or known pair."""
        from nupunkt.core.base import is_abbreviation

        token = [token for token in self._tokenize(chunk) if token.strip(_CLOSERS)][-1]
        if token in ("!", "?", "."):
            return token not in self._first_words
        word = token[:-1].lower()
        if len(word) < 2 or not token.endswith(".") or _ELLIPSIS.search(token) or any(map(str.isdigit, word)):
            return False
        return not (word in self._first_words or is_abbreviation(self._punkt.parameters.abbrev_types, word))

    def _key(self, chunk: str) -> Key:
        """What nupunkt uses of the chunk behind a full stop."""
        token = next((token for token in self._tokenize(chunk) if token.strip(_CLOSERS)), "")
        word = token.lower()
        if _NUMBER.fullmatch(token):
            token = "0"
        elif not ({word, word.removesuffix(".")} & self._next_words or token.startswith("I") or len(token) < 2):
            token = " A" if token[0].isupper() else " a" if token[0].islower() else " -"
        key = token, chunk[0].islower()
        _keep(self._keys, chunk, key)
        return key

    def _ask(self, text: str, start: int, width: int) -> list[int]:
        """Where nupunkt begins sentences in a text, from one to `width` characters behind `start`."""
        begins = [begin - start for begin, _ in self._punkt.span_tokenize(text)][1:]
        return [begin for begin in begins if 0 < begin <= width]


def _is_before_ellipsis(text: str, word_end: int, end: int, last: int) -> bool:
    """Whether the first full stop of a context belongs to a spaced ellipsis, of which the word is no part."""
    if end == last:
        return False
    return word_end == end or (word_end == end - 1 and _SPACED_STOPS.match(text, word_end) is not None)


def _keep(table: dict[Any, Any], key: Any, value: Any) -> None:
    if len(table) >= _MOST:
        table.clear()
    table[key] = value


@cache
def boundaries(abbreviations: frozenset[str]) -> Boundaries:
    """One for the process."""
    return Boundaries(abbreviations)
