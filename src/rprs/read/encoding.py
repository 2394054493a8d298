"""Bytes → text: which encoding a file is in, and what a text must not contain."""

from __future__ import annotations

import codecs
import io
import re
from typing import Final

from rprs.errors import ReadError

__all__ = ["clean", "decode", "detect", "lines"]

_MARKS = {  # UTF-32 first: its little-endian mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LEGACY = [  # what a file that is not Unicode is likely to be; a longer list makes more mistakes, not fewer
    *("cp1252", "cp932", "gb18030", "big5", "cp949", "euc_jp"),
    *("cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257"),
]
_WIDER = {  # as browsers do: the old names stand for the encodings that grew out of them
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
    """What is not UTF-8 in a UTF-8 file was pasted from Windows; elsewhere it is damage."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return bad.decode("cp1252", "replace") if error.encoding == "utf-8" else "\ufffd", error.end


STRAY: Final = "rprs.stray"
codecs.register_error(STRAY, _stray)


def detect(data: bytes, declared: str = "") -> str:
    """The name of the encoding of some bytes, which may be the head of a longer file.

    A byte order mark decides; then UTF-8 if the bytes are that; then what the file declares, if it is true;
    then statistics. Bytes that are no text in any encoding are a `ReadError`.
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
    """Zero bytes in every other place are UTF-16 without its mark; any others are not text."""
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
            return ""  # UTF-8 does not come about by chance, whatever is declared
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


def _legacy(data: bytes) -> str:
    from charset_normalizer import from_bytes

    first = re.search(rb"[\x80-\xff]", data)
    sample = data[first.start() :][:_SAMPLE] if first else data
    high = len(sample) - len(sample.decode("ascii", "ignore"))
    if high < len(data) / 100:
        return "cp1252"  # too little to count on: typographic quotes and the odd accent
    for cut in range(4):  # the sample may end inside a character
        matches = from_bytes(sample[: len(sample) - cut], cp_isolation=_LEGACY)
        if best := matches.best():
            # Its statistics often cannot tell these from Western European, which is by far the most common.
            western = best.encoding in ("cp1250", "cp1254", "cp1257") and any(
                "cp1252" in match.could_be_from_charset and match.coherence >= best.coherence for match in matches
            )
            return "cp1252" if western else str(best.encoding)
    raise ReadError(BINARY)


_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd]")


def decode(data: bytes, declared: str = "") -> str:
    """The text of a whole file; bytes that are no text are a `ReadError`."""
    text = data.decode(detect(data, declared), STRAY)
    sample = text[:_SAMPLE]
    if len(_CONTROL.findall(sample)) > len(sample) / 50:
        raise ReadError(BINARY)
    return text


def lines(stream: io.BufferedReader) -> io.TextIOWrapper:
    """The text of a long file as a stream, in the encoding that its head shows."""
    return io.TextIOWrapper(stream, encoding=detect(stream.peek()), errors=STRAY, newline="")


_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u2028\u2029\ufeff]")
_MEANT = {
    **{"\x0b": "\n", "\x0c": "\n", "\u2028": "\n", "\u2029": "\n\n"},
    **{chr(byte): bytes([byte]).decode("cp1252", "ignore") for byte in range(0x80, 0xA0)},  # as browsers do
}


def clean(text: str) -> str:
    r"""The text with `\n` for every line end, and without what cannot be stored or seen.

    NUL and other control characters and soft hyphens go; dashes and quotes of Windows that were taken for control
    characters become what they are; halves of surrogate pairs are joined, or replaced.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _ODD.sub(lambda match: _MEANT.get(match[0], ""), text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
