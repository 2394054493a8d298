"""Which of the titles that programs store in files are titles of documents.

The property "title" of a PDF or Word file is often that of a template, the name of a print job, or a placeholder. It
replaces the name of the file only if it looks like a title and agrees with the name of the file or with the beginning
of the text.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath

from rprs.read.source import Source, stem_of

__all__ = ["embedded_title"]

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


def embedded_title(title: str, source: Source, text: str) -> str:
    """A title from the properties of a file, or nothing if the name of the file says more.

    Rejected are placeholders (`untitled`, `Document1`), names of files and of print jobs (`Microsoft Word - …`), and
    titles most of whose words are neither in the name of the file nor in the beginning of the text.
    """
    line = " ".join(title.split())
    bare = line.strip(" .-–—_*()[]{}<>\"'")
    if not bare or _PRINT_JOB.match(bare) or _FILE.fullmatch(line) or _PLACEHOLDER.fullmatch(bare):
        return ""
    return line if _agrees(line, f"{stem_of(PurePath(source.id))} {text[:BEGINNING]}") else ""


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
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))
