"""Which of the titles that programs store in files are titles of documents, and which first lines are headings.

The property "title" of a PDF or Word file is often that of a template, the name of a print job, or a placeholder. It
replaces the name of the file only if it looks like a title and agrees with the name of the file or with the beginning
of the text.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath

from rprs.read.source import Source, stem_of

__all__ = ["HEADING_STYLE", "embedded_title", "plain_heading", "slide_heading", "styled_heading"]

BEGINNING = 3_000  # characters of the text in which a title is expected
AGREEMENT = 0.5  # of the words of a title, in the name of the file or the beginning of the text

_PRINT_JOB = re.compile(
    r"(?:microsoft (?:office )?(?:word|excel|powerpoint|publisher|outlook)|powerpoint presentation|adobe \w+"
    r"|wordperfect|(?:open|libre)office(?: \w+)?) *[-–—:]",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"(?:file:|[a-z]:[\\/]|\\\\|/).*|.*\.(?:docx?|dotx?|odt|rtf|wpd|wps|pages|txt|tex|dvi|e?ps|pdf|html?|xlsx?|pptx?"
    r"|indd|qxd|qxp|pmd|p65|fm|cdr|ai|psd|vsd|tiff?|jpe?g|png)",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?:new |blank )?(?:untitled|unnamed|no ?name|document|doc|dokument|documento|sans (?:titre|nom)|sin título"
    r"|unbenannt|ohne titel|microsoft (?:word|excel|powerpoint)(?: document)?|(?:powerpoint )?presentation"
    r"|(?:no )?title|titel|titre|unknown|anonymous|none|null|n/?a|book|sheet|worksheet|slide|layout|page|print"
    r"|scan|scanned|image|img|fax|full page fax print|cover|template|draft|temp|tmp|test|home|index|about:blank)"
    r"(?: (?:document|page|image|file|copy|job))?[ _#-]*\d*(?: *\(\d+\))?",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_UNDERLINE = re.compile(r"[ \t]*([=*~_-])\1{2,}[ \t]*")
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_NO_HEADING = re.compile(
    r"(?:strictly |private (?:and|&) )?(?:confidential|privileged)\b.*|without prejudice\b.*"
    r"|draft\b.*|by (?:e-?mail|fax|hand)\b.*|attorney.client\b.*|page \d.*|do not \w+.*"
    r"|for (?:internal use|immediate release)\b.*",
    re.IGNORECASE,
)
LONGEST, FEWEST, MOST = 120, 2, 16  # characters of a heading; words of it
LONGEST_STYLED = 300  # characters of a paragraph in a heading style that is a heading
HEADING_STYLE = re.compile(r" ?(?:title|heading [1-3]) ?(?:[,;]|$)", re.IGNORECASE)  # in files of all languages
PROSE = 60  # characters of the paragraph after a heading, at least


def embedded_title(title: str, source: Source, text: str) -> str:
    """A title from the properties of a file, or nothing if the name of the file says more.

    Rejected are placeholders (`untitled`, `Document1`), names of files and of print jobs (`Microsoft Word - …`), and
    titles most of whose words are neither in the name of the file nor in the beginning of the text.
    """
    line = " ".join(title.split())
    if not _says_something(line):
        return ""
    return line if _agrees(line, f"{stem_of(PurePath(source.id))} {text[:BEGINNING]}") else ""


def styled_heading(text: str) -> str:
    """A paragraph in a heading style as a title, or nothing if it is a placeholder or too long for a heading."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_STYLED and _says_something(line) else ""


def plain_heading(text: str) -> str:
    """The heading at the beginning of a text without styles, or nothing where it might be anything else.

    It is one line, in capitals or underlined, that does not end like a sentence, with a paragraph of prose below it:
    the name of a firm in capitals is followed by an address.
    """
    first, *rest = _BLANK.split(text[:BEGINNING].strip("\ufeff\n \t"), maxsplit=2)
    line, *below = first.split("\n")
    line = " ".join(line.split())
    underlined = len(below) == 1 and _UNDERLINE.fullmatch(below[0]) is not None
    alone = not below or underlined
    if (
        not alone
        or not rest
        or len(rest[0]) < PROSE
        or not rest[0].rstrip().endswith((".", ":", ";", "?", "!", "”", '"'))
    ):
        return ""
    return line if (underlined or line.isupper()) and _looks_like_a_heading(line) else ""


def slide_heading(text: str) -> str:
    """The first line of a talk whose slides have no titles by their layout, or nothing if it does not look like one."""
    line = " ".join(text[:BEGINNING].strip().partition("\n")[0].split())
    return line if line and _looks_like_a_heading(line) and _says_something(line) else ""


def _looks_like_a_heading(line: str) -> bool:
    """Whether a line is as long as headings are, does not end like a sentence and is no note such as "Confidential"."""
    bounded = len(line) <= LONGEST and FEWEST <= len(_WORD.findall(line)) <= MOST and line[-1] not in ".,;:?!"
    return bounded and not _NO_HEADING.fullmatch(line)


def _says_something(line: str) -> bool:
    """Whether a line is neither empty nor a placeholder, the name of a file or that of a print job."""
    bare = line.strip(" .-–—_*()[]{}<>\"'")
    return bool(bare) and not (_PRINT_JOB.match(bare) or _FILE.fullmatch(line) or _PLACEHOLDER.fullmatch(bare))


def _agrees(title: str, context: str) -> bool:
    """Whether at least half of the letters and digits of a title are in words that the context has."""
    words = _words(title)
    folded = _folded(context)
    known = {*_words(context)}
    # scripts without spaces have no words to look up, so a long word may also be a part of the context
    shared = [word for word in words if word in known or (len(word) > 3 and word in folded)]
    return bool(words) and sum(map(len, shared)) >= AGREEMENT * sum(map(len, words))


def _words(text: str) -> list[str]:
    return _WORD.findall(_folded(text).replace("_", " "))


def _folded(text: str) -> str:
    """The text in one case and without accents, since names of files often have none."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    decomposed = unicodedata.normalize("NFKD", folded)
    return "".join(character for character in decomposed if not unicodedata.combining(character))
