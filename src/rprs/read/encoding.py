"""Bytes → text: detect the encoding of a file, and remove characters that a text must not contain."""

from __future__ import annotations

import codecs
import io
import re
from typing import Final

from rprs.errors import ReadError

__all__ = ["clean", "decode", "detect", "is_doubtful", "lines"]

_MARKS = {  # UTF-32 first: its little-endian mark begins with the mark of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LEGACY = [  # likely encodings of a file that is not Unicode; a longer list causes more mistakes, not fewer
    *("cp1252", "cp932", "gb18030", "big5", "cp949", "euc_jp"),
    *("cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257"),
]
_WIDER = {  # as in browsers, an old name means the larger encoding that replaced it
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_DECLARABLE = re.compile(r"utf-(8|16|32)|cp\d|iso|koi8|big5|gb|euc|shift|mac|ascii|hz|tis|johab")
_SAMPLE = 2**16
BINARY: Final = "a binary file, not text"


def _stray(error: UnicodeError) -> tuple[str, int]:
    """Decode invalid bytes: in a UTF-8 file they were pasted from Windows; elsewhere they are damage."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    invalid = error.object[error.start : error.end]
    return invalid.decode("cp1252", "replace") if error.encoding == "utf-8" else "\ufffd", error.end


STRAY: Final = "rprs.stray"
codecs.register_error(STRAY, _stray)


def detect(data: bytes, declared: str = "") -> str:
    """The name of the encoding of some bytes, which may be the beginning of a longer file.

    In this order: a byte order mark; UTF-8 if the bytes are valid UTF-8; the declared encoding if the bytes are valid
    in it; statistics. Bytes that are not text in any encoding are a `ReadError`.
    """
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return name
    if 0 in data:
        return _wide(data)
    if declared and (name := _declared(data, declared)):
        return name
    return "utf-8" if _is_utf8(data) else _legacy(data)


def _wide(data: bytes) -> str:
    """UTF-16 without a mark has zero bytes at every other position; any other zero bytes are not text."""
    even, odd = data[0:_SAMPLE:2], data[1:_SAMPLE:2]
    for name, high, low in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if high.count(0) > len(high) // 2 and not low.count(0):
            return name
    raise ReadError(BINARY)


def _declared(data: bytes, declared: str) -> str:
    try:
        name = codecs.lookup(declared.strip()).name
        name = _WIDER.get(name, name)
        if not _DECLARABLE.match(name) or (not data.isascii() and _is_utf8(data)):
            return ""  # valid UTF-8 is never a coincidence, whatever is declared
        codecs.getincrementaldecoder(name)().decode(data)
    except (LookupError, ValueError):
        return ""
    return name


def _is_utf8(data: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError as error:
        around = data[max(0, error.start - _SAMPLE) : error.start + _SAMPLE].decode("utf-8", "replace")
        return sum(not char.isascii() for char in around) > 5 * around.count("\ufffd")
    return True


_WESTERN = ("cp1252", "cp850", "mac_roman")  # of Windows, DOS and old Macintosh; the first wins a tie
_COMMON = frozenset("éèêëàâäáãåæçíìîïñóòôöõøœúùûüßýÉÈÀÂÄÁÅÆÇÍÑÓÖØÚÜ’‘“”–—…§€£«»„°•¿¡ªº")
_WORDS = re.compile(r"[^\W\d_]*[^\x00-\x7f]+[^\W\d_]*")


def _doubts(text: str) -> float:
    """How implausible the letters beyond ASCII of a Western text are: 0 to 1 for each of them, on average.

    Capitals after small letters and signs inside of words come from the wrong encoding, and so do rare letters.
    """
    beyond = doubts = 0
    for match in _WORDS.finditer(text):
        word = match[0]
        for place, char in enumerate(word):
            if char.isascii():
                continue
            before, after = word[place - 1 : place], word[place + 1 : place + 2]
            inside = before.isalpha() and after.isalpha()
            beyond += 1
            if char.isalpha():
                doubts += (char.isupper() and before.islower()) or char not in _COMMON
            else:
                doubts += char not in _COMMON or (inside and char != "’")
    return doubts / beyond if beyond else 0.0


def _western(sample: bytes) -> str:
    """One of the Western encodings other than Windows, if it is clearly more plausible; otherwise nothing."""
    doubts = {name: _doubts(sample.decode(name, "replace")) for name in _WESTERN}
    best = min(_WESTERN, key=doubts.__getitem__)
    return best if best != _WESTERN[0] and doubts[best] <= 0.1 and doubts[_WESTERN[0]] >= 0.5 else ""


def is_doubtful(text: str) -> bool:
    """Whether most letters beyond ASCII of a text in Latin script are implausible: its encoding was guessed wrongly."""
    sample = text[:_SAMPLE]
    beyond: list[str] = _BEYOND.findall(sample)
    latin = sum("\x80" <= char <= "\u024f" or "\u2000" <= char <= "\u25ff" for char in beyond)
    if len(beyond) < 3 or latin < len(beyond):
        return False
    # Letters of other languages in Latin script are not in the list, but they are neither capitals nor signs.
    strange = (
        match.start()
        for match in _BEYOND.finditer(sample)
        if match[0] not in _BETWEEN and (match[0].isupper() or not match[0].isalpha())
    )
    return sum(_is_inside(sample, place) for place in strange) > len(beyond) / 3


def _is_inside(text: str, place: int) -> bool:
    """Whether a character is between letters, none of them A to Z."""
    return place > 0 and all(_LETTER.match(text, beside) is not None for beside in (place - 1, place + 1))


_BETWEEN = "’‘·‐‑‒–—―…•\xa0\xad"  # signs that stand between two words without a space
_BEYOND = re.compile(r"[^\x00-\x7f]")
_LETTER = re.compile(r"[^\W\d_A-Z]")


def _legacy(data: bytes) -> str:
    from charset_normalizer import from_bytes

    first = re.search(rb"[\x80-\xff]", data)
    sample = data[first.start() :][:_SAMPLE] if first else data
    if western := _western(data[max(0, first.start() - 40) if first else 0 :][:_SAMPLE]):
        return western
    high = len(sample) - len(sample.decode("ascii", "ignore"))
    if high < len(data) / 100:
        return "cp1252"  # too few for statistics: typographic quotes and a few accents
    for cut in range(4):  # the sample may end inside a character
        matches = from_bytes(sample[: len(sample) - cut], cp_isolation=_LEGACY)
        if best := matches.best():
            # Statistics often confuse these with Western European, which is by far the most common.
            is_western = best.encoding in ("cp1250", "cp1254", "cp1257") and any(
                "cp1252" in match.could_be_from_charset and match.coherence >= best.coherence for match in matches
            )
            return "cp1252" if is_western else str(best.encoding)
    raise ReadError(BINARY)


_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]")


def decode(data: bytes, declared: str = "") -> str:
    """The text of a complete file; bytes that are not text are a `ReadError`."""
    text = data.decode(detect(data, declared), STRAY)
    sample = text[:_SAMPLE]
    if len(_CONTROL.findall(sample)) > len(sample) / 50:
        raise ReadError(BINARY)
    return text


def lines(stream: io.BufferedReader) -> io.TextIOWrapper:
    """The text of a long file as a stream, in the encoding detected from its beginning."""
    return io.TextIOWrapper(stream, encoding=detect(stream.peek()), errors=STRAY, newline="")


PIECE = 2**18  # characters: a longer search would keep all other threads of a server waiting
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u2028\u2029\ufeff]")
_REPLACEMENTS = {
    **{"\x0b": "\n", "\x0c": "\n", "\u2028": "\n", "\u2029": "\n\n"},
    **{chr(byte): bytes([byte]).decode("cp1252", "ignore") for byte in range(0x80, 0xA0)},  # as in browsers
}


def clean(text: str) -> str:
    r"""The text with `\n` line ends, and without characters that cannot be stored or displayed.

    NUL, other control characters and soft hyphens are removed; Windows dashes and quotes that were decoded as control
    characters are restored; surrogate pairs are joined, and single surrogates replaced.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    pieces = (text[start : start + PIECE] for start in range(0, len(text), PIECE))
    text = "".join(_ODD.sub(lambda match: _REPLACEMENTS.get(match[0], ""), piece) for piece in pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
