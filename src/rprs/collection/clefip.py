"""CLEF-IP 2011, prior art candidates: which earlier patents could invalidate this application?

    EP/000000/00/00/01/EP-0000001-A1.xml, -B1.xml ...  patent documents, all of a patent in one folder; WO alike
    *topics*.xml or .txt                               <topic><num>EP-1221372-A2</num><file>EP-1221372-A2.xml</file>
    *qrels*                                            EP-1221372-A2 EP-0123456 1, with or without a second column 0
    the files that the topics name, beside the list of topics or in a folder there

**One document a patent.** Judgements are of patents, while an application (A1), its search report (A3) and the granted
text (B1) are files of their own. They become one document, EP-0000001: title, abstract, description and claims, each
from the latest kind of file that has it. So the claims are those that were granted; the abstract, which a granted
patent does not repeat, is that of the application; and what both have is not counted twice.

**The English subset** is the patents of which a file is in English by its attribute `lang`, with their English parts:
a granted European patent has its claims in three languages. The topics are chosen the same way. `language=none` takes
all patents, each part in the language of its file if it has one.

Files are read one patent at a time. They name a DTD and may use entities that only the DTD declares: it is not fetched;
entities of HTML are known, unknown ones become white space, and a file that declares its own is refused, since such
declarations can be made to explode.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.entities import html5
from itertools import chain, groupby
from lzma import LZMAError
from pathlib import Path
from typing import ClassVar, Literal
from xml.parsers import expat

from rprs.collection.source import Report, distinct, document, missing
from rprs.document import Document, Value
from rprs.errors import ReadError, UsageError
from rprs.read import Qrels, Skipped, ignore, read_qrels
from rprs.read.dates import iso_date
from rprs.read.source import opened
from rprs.spec import Component, Kind

__all__ = ["ClefIP"]

_PATENT = re.compile(r"[A-Z]{2}-\d+-[A-Z]\d?\.xml(?:\.gz|\.xz)?")
_NUMBER = re.compile(r"(?<![A-Z])[A-Z]{2}-\d+")
_CORPUS = re.compile(r"\d+|(?:EP|WO)(?:-\w+)?")  # folders that patents are in, and nothing else
_PARTS = {"invention-title": "title", "abstract": "abstract", "description": "description", "claims": "claims"}
_BLOCK = "\f"  # between two paragraphs; XML cannot hold it itself
_AROUND = {
    **dict.fromkeys("p heading claim li row abstract description claims invention-title".split(), _BLOCK),
    **dict.fromkeys("claim-text br entry".split(), " "),
}
_MAKERS = "TU Wien (https://researchdata.tuwien.at, search for CLEF-IP 2011; parts EP and WO, and the PAC topics)"


@dataclass(frozen=True)
class ClefIP(Component):
    """The PAC topics over the patents of one language. `topics` and `judgements` name files that are not found."""

    name: ClassVar[str] = "clefip"
    kinds: ClassVar[tuple[Kind, ...]] = ("collection",)
    paths: ClassVar[tuple[str, ...]] = ("folder", "topics", "judgements")

    folder: str
    split: Literal["train", "test"] = "test"
    language: str | None = "EN"
    topics: str | None = None
    judgements: str | None = None

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """The patents, each from all its files."""
        patents = self._patents()
        first = next(patents, None)
        if first is None:
            raise missing("the patents of CLEF-IP 2011", Path(self.folder), _MAKERS, "its folders EP and WO")
        return distinct((item for patent in chain([first], patents) for item in self._document(*patent)), skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The applications that the topics name, under the number of the topic."""
        files = self._topic_files()
        return distinct((item for num, path in files.items() for item in self._document(num, [path])), skipped)

    def qrels(self) -> Qrels:
        """The judgements of the topics in the language; of several for files of one patent, the highest."""
        foreign = {num for num, path in self._topic_files().items() if not any(self._document(num, [path]))}
        found: Qrels = {}
        for query, grades in read_qrels(self._qrels_file()).items():
            for id, grade in grades.items() if query not in foreign else ():
                patent = _number(id)
                judged = found.setdefault(query, {})
                judged[patent] = max(grade, judged.get(patent, grade))
        return found

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """The patent that a topic is an application for."""
        return {num: frozenset([_number(file)]) for num, file in _topics(self._topics_file())}

    def files(self) -> Sequence[Path]:
        """Topics, judgements and all patent documents: three million files."""
        asked = (path for path in self._topic_files().values() if path.is_file())
        patents = (path for _, paths in self._patents() for path in paths)
        return [self._topics_file(), self._qrels_file(), *asked, *patents]

    # ------------------------------------------------------------------------ finding files

    def _patents(self) -> Iterator[tuple[str, list[Path]]]:
        """The number of each patent, with its files from the earliest kind to the latest."""
        for place, names, files in os.walk(self.folder):
            names.sort()
            if any(map(_CORPUS.fullmatch, Path(place).relative_to(self.folder).parts)):
                for number, group in groupby(sorted(filter(_PATENT.fullmatch, files)), key=_number):
                    yield number, [Path(place, file) for file in group]

    def _present(self, what: str, given: str | None) -> Path | None:
        """A file of topics or judgements of the split: the one that is given, or the one whose name says so."""
        if given:
            return Path(given)
        other = "train" if self.split == "test" else "test"
        found: list[Path] = []
        for place, names, files in os.walk(self.folder):
            names[:] = sorted(name for name in names if not _CORPUS.fullmatch(name))
            paths = (Path(place, file) for file in sorted(files) if what in file.lower())
            found += [path for path in paths if path.suffix in (".xml", ".txt", ".qrels")]
        named = {path: path.relative_to(self.folder).as_posix().lower() for path in found}
        fitting = [path for path in found if self.split in named[path]] or [p for p in found if other not in named[p]]
        if len(fitting) > 1:
            option = "judgements" if what == "qrel" else what
            raise UsageError(f"{self.folder} has both {fitting[0]} and {fitting[1]}: say which with {option}=...")
        return fitting[0] if fitting else None

    def _topics_file(self) -> Path:
        return self._present("topics", self.topics) or self._fail("topics")

    def _qrels_file(self) -> Path:
        return self._present("qrel", self.judgements) or self._fail("qrels")

    def _fail(self, what: str) -> Path:
        put = f"a file with {what} and {self.split} in its name"
        raise missing(f"the {self.split} {what} of CLEF-IP 2011", Path(self.folder), _MAKERS, put)

    def _topic_files(self) -> dict[str, Path]:
        """The file of each topic: beside the list of topics, or in a folder there."""
        topics = self._topics_file()
        there = {path.name: path for pattern in ("*/*.xml", "*.xml") for path in topics.parent.glob(pattern)}
        return {num: there.get(file, topics.parent / file) for num, file in _topics(topics)}

    # ------------------------------------------------------------------------ making documents

    def _document(self, id: str, paths: Sequence[Path]) -> Iterator[Document | Skipped]:
        """The document of a patent's files, later ones over earlier ones; none if they are in another language."""
        files: list[_File] = []
        for path in paths:
            found = _parsed(path)
            if isinstance(found, Skipped):
                yield found
            else:
                files.append(found)
        language = (self.language or "").upper()
        if not files or (language and all(file.language != language for file in files)):
            return
        parts: dict[str, str] = {}
        for file in files:
            parts |= {part: text for part in _PARTS.values() if (text := file.text(part, language))}
        metadata: dict[str, Value] = {"language": language or files[-1].language}
        if date := min(filter(None, (file.date for file in files)), default=""):
            metadata["date"] = date
        title = parts.pop("title", "")
        body = "\n\n".join(parts[part] for part in _PARTS.values() if part in parts)
        yield document(str(paths[0]), id, body or title, title, metadata)


def _number(name: str) -> str:
    """The patent that a file or an id with a kind belongs to: `EP-0000001` of `EP-0000001-B1`."""
    found = _NUMBER.search(name)
    return found[0] if found else name


# ---------------------------------------------------------------------------- one file


@dataclass
class _File:
    """What a patent document holds, while it is being read."""

    language: str = ""
    date: str = ""
    parts: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # pieces of text, by part and language
    within: list[str] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "patent-document":
            self.language = attributes.get("lang", "").upper()
            self.date = iso_date(attributes.get("date", ""))
        if tag in _PARTS and self.within is None:
            key = _PARTS[tag], (attributes.get("lang") or self.language).upper()
            self.within = self.parts.setdefault(key, [])
        self.write(_AROUND.get(tag, ""))

    def end(self, tag: str) -> None:
        self.write(_AROUND.get(tag, ""))
        if tag in _PARTS:
            self.within = None

    def write(self, text: str) -> None:
        if self.within is not None:
            self.within.append(text)

    def entity(self, name: str, _is_parameter: bool) -> None:
        self.write(html5.get(f"{name};", " "))

    def text(self, part: str, language: str) -> str:
        """A part in a language, or else in that of the file or whichever it has."""
        there = [spoken for name, spoken in self.parts if name == part]
        if not language:
            language = self.language if self.language in there else next(iter(there), "")
        blocks = "".join(self.parts.get((part, language), ())).split(_BLOCK)
        return "\n\n".join(text for block in blocks if (text := " ".join(block.split())))


def _refuse(name: str, _is_parameter: bool, value: str | None, *_rest: object) -> None:
    if value is not None:  # one that is a file elsewhere is never opened
        raise ReadError(f"it declares the entity {name!r} itself")


def _parsed(path: Path) -> _File | Skipped:
    found = _File()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = found.start, found.end
    parser.CharacterDataHandler, parser.SkippedEntityHandler = found.write, found.entity
    parser.EntityDeclHandler = _refuse
    parser.UseForeignDTD(True)  # an entity that nobody declares is skipped, not an error
    parser.ExternalEntityRefHandler = lambda *_: 1  # and no DTD is fetched
    try:
        with opened(path) as stream:
            parser.ParseFile(stream)
    except (expat.ExpatError, ReadError, LookupError, ValueError) as error:  # the latter two: unknown encodings
        return Skipped(str(path), f"not XML that can be read: {error}")
    except (OSError, EOFError, LZMAError, zlib.error) as error:
        return Skipped(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}")
    return found


# ---------------------------------------------------------------------------- topics

_TOPIC = re.compile(r"<topic>(.*?)</topic>", re.DOTALL)
_FIELD = re.compile(r"<(num|file)>\s*([^<\s]+)\s*</\1>")


def _topics(path: Path) -> list[tuple[str, str]]:
    """The number and the file of each topic. The released lists are topics one after another, without a root."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ReadError(f"{path}: cannot be read as topics: {error}") from error
    found: list[tuple[str, str]] = []
    for topic in _TOPIC.finditer(text):
        fields: dict[str, str] = dict(_FIELD.findall(topic[1]))
        if "num" not in fields:
            raise ReadError(f"{path}: a topic without <num>: {' '.join(topic[1].split())[:60]}")
        found.append((fields["num"], fields.get("file", f"{fields['num']}.xml")))
    if not found:
        raise ReadError(f"{path}: no topics in it, which are <topic><num>...</num><file>...</file></topic>")
    return found
