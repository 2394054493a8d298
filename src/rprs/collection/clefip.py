"""CLEF-IP 2011, prior art candidates: which earlier patents could invalidate this application?

    EP/000000/00/00/01/EP-0000001-A1.xml, -B1.xml ...  patent documents, one folder per patent; the same for WO
    *topics*.xml or .txt                               <topic><num>EP-1221372-A2</num><file>EP-1221372-A2.xml</file>
    *qrels*                                            EP-1221372-A2 EP-0123456 1, with or without a second column 0
    the files of the topics, beside the list of topics or in a folder there

**One document per patent.** Judgements are about patents, while an application (A1), its search report (A3) and the
granted text (B1) are separate files. They become one document, EP-0000001: title, abstract, description and claims,
each from the latest kind of file that has it. So the claims are the granted ones; the abstract, which a granted patent
does not repeat, is that of the application; and parts in both files are not duplicated.

**The English subset** consists of the patents with a file in English (attribute `lang`), with their English parts: a
granted European patent has its claims in three languages. Topics are selected in the same way. `language=none` selects
all patents, with each part in the language of its file if available.

Files are read one patent at a time. They refer to a DTD, which is not downloaded, and may use entities declared there:
HTML entities are resolved, unknown ones become white space, and a file with its own entity declarations is rejected,
since entities can be defined to expand without limit.
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
_CORPUS = re.compile(r"\d+|(?:EP|WO)(?:-\w+)?")  # folders that contain only patents
_PARTS = {"invention-title": "title", "abstract": "abstract", "description": "description", "claims": "claims"}
_BLOCK = "\f"  # between two paragraphs; it cannot occur in XML
_AROUND = {
    **dict.fromkeys("p heading claim li row abstract description claims invention-title".split(), _BLOCK),
    **dict.fromkeys("claim-text br entry".split(), " "),
}
_MAKERS = "TU Wien (https://researchdata.tuwien.at, search for CLEF-IP 2011; parts EP and WO, and the PAC topics)"


@dataclass(frozen=True)
class ClefIP(Component):
    """The PAC topics over the patents of one language. `topics` and `judgements` name files in other places."""

    name: ClassVar[str] = "clefip"
    kinds: ClassVar[tuple[Kind, ...]] = ("collection",)
    paths: ClassVar[tuple[str, ...]] = ("folder", "topics", "judgements")

    folder: str
    split: Literal["train", "test"] = "test"
    language: str | None = "EN"
    topics: str | None = None
    judgements: str | None = None

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """The patents, each combined from all its files."""
        patents = self._patents()
        first = next(patents, None)
        if first is None:
            raise missing("the patents of CLEF-IP 2011", Path(self.folder), _MAKERS, "its folders EP and WO")
        return distinct((item for patent in chain([first], patents) for item in self._document(*patent)), skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The applications of the topics, with the number of the topic as id."""
        files = self._topic_files()
        return distinct((item for num, path in files.items() for item in self._document(num, [path])), skipped)

    def qrels(self) -> Qrels:
        """The judgements of the topics in the language; a patent with several judged files has the highest grade."""
        foreign = {num for num, path in self._topic_files().items() if not any(self._document(num, [path]))}
        qrels: Qrels = {}
        for query, grades in read_qrels(self._qrels_file()).items():
            for id, grade in grades.items() if query not in foreign else ():
                patent = _number(id)
                judged = qrels.setdefault(query, {})
                judged[patent] = max(grade, judged.get(patent, grade))
        return qrels

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """The patent to which the application of a topic belongs."""
        return {num: frozenset([_number(file)]) for num, file in _topics(self._topics_file())}

    def files(self) -> Sequence[Path]:
        """Topics, judgements and all patent documents: three million files."""
        applications = (path for path in self._topic_files().values() if path.is_file())
        patents = (path for _, paths in self._patents() for path in paths)
        return [self._topics_file(), self._qrels_file(), *applications, *patents]

    # ------------------------------------------------------------------------ finding files

    def _patents(self) -> Iterator[tuple[str, list[Path]]]:
        """The number of each patent, with its files from the earliest kind to the latest."""
        for place, names, files in os.walk(self.folder):
            names.sort()
            if any(map(_CORPUS.fullmatch, Path(place).relative_to(self.folder).parts)):
                for number, group in groupby(sorted(filter(_PATENT.fullmatch, files)), key=_number):
                    yield number, [Path(place, file) for file in group]

    def _find(self, what: str, path: str | None) -> Path | None:
        """The file of topics or judgements of the split: `path`, or else the file with a matching name."""
        if path:
            return Path(path)
        other = "train" if self.split == "test" else "test"
        candidates: list[Path] = []
        for place, names, files in os.walk(self.folder):
            names[:] = sorted(name for name in names if not _CORPUS.fullmatch(name))
            paths = (Path(place, file) for file in sorted(files) if what in file.lower())
            candidates += [file for file in paths if file.suffix in (".xml", ".txt", ".qrels")]
        names_of = {file: file.relative_to(self.folder).as_posix().lower() for file in candidates}
        matches = [file for file in candidates if self.split in names_of[file]]
        matches = matches or [file for file in candidates if other not in names_of[file]]
        if len(matches) > 1:
            option = "judgements" if what == "qrel" else what
            raise UsageError(f"{self.folder} has both {matches[0]} and {matches[1]}: choose one with {option}=...")
        return matches[0] if matches else None

    def _topics_file(self) -> Path:
        return self._find("topics", self.topics) or self._fail("topics")

    def _qrels_file(self) -> Path:
        return self._find("qrel", self.judgements) or self._fail("qrels")

    def _fail(self, what: str) -> Path:
        put = f"a file with {what} and {self.split} in its name"
        raise missing(f"the {self.split} {what} of CLEF-IP 2011", Path(self.folder), _MAKERS, put)

    def _topic_files(self) -> dict[str, Path]:
        """The file of each topic, beside the list of topics or in a folder there."""
        topics = self._topics_file()
        paths = {path.name: path for pattern in ("*/*.xml", "*.xml") for path in topics.parent.glob(pattern)}
        return {num: paths.get(file, topics.parent / file) for num, file in _topics(topics)}

    # ------------------------------------------------------------------------ making documents

    def _document(self, id: str, paths: Sequence[Path]) -> Iterator[Document | Skipped]:
        """The document of a patent's files, where later files take precedence; none if all are in another language."""
        files: list[_File] = []
        for path in paths:
            item = _parse(path)
            if isinstance(item, Skipped):
                yield item
            else:
                files.append(item)
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
    """The patent of a file name or an id with a kind: `EP-0000001` for `EP-0000001-B1`."""
    match = _NUMBER.search(name)
    return match[0] if match else name


# ---------------------------------------------------------------------------- one file


@dataclass
class _File:
    """The content of a patent file, collected while it is parsed."""

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
        """A part in a language; without a language, in that of the file or any other."""
        languages = [code for name, code in self.parts if name == part]
        if not language:
            language = self.language if self.language in languages else next(iter(languages), "")
        blocks = "".join(self.parts.get((part, language), ())).split(_BLOCK)
        return "\n\n".join(text for block in blocks if (text := " ".join(block.split())))


def _reject_entity(name: str, _is_parameter: bool, value: str | None, *_rest: object) -> None:
    if value is not None:  # an external entity is never opened
        raise ReadError(f"it declares the entity {name!r} itself")


def _parse(path: Path) -> _File | Skipped:
    content = _File()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = content.start, content.end
    parser.CharacterDataHandler, parser.SkippedEntityHandler = content.write, content.entity
    parser.EntityDeclHandler = _reject_entity
    parser.UseForeignDTD(True)  # an undeclared entity is skipped, not an error
    parser.ExternalEntityRefHandler = lambda *_: 1  # no DTD is downloaded
    try:
        with opened(path) as stream:
            parser.ParseFile(stream)
    except (expat.ExpatError, ReadError, LookupError, ValueError) as error:  # the latter two: unknown encodings
        return Skipped(str(path), f"not readable XML: {error}")
    except (OSError, EOFError, LZMAError, zlib.error) as error:
        return Skipped(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}")
    return content


# ---------------------------------------------------------------------------- topics

_TOPIC = re.compile(r"<topic>(.*?)</topic>", re.DOTALL)
_FIELD = re.compile(r"<(num|file)>\s*([^<\s]+)\s*</\1>")


def _topics(path: Path) -> list[tuple[str, str]]:
    """The number and the file of each topic. The released lists have no root element."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ReadError(f"{path}: cannot be read as topics: {error}") from error
    topics: list[tuple[str, str]] = []
    for topic in _TOPIC.finditer(text):
        fields: dict[str, str] = dict(_FIELD.findall(topic[1]))
        if "num" not in fields:
            raise ReadError(f"{path}: a topic without <num>: {' '.join(topic[1].split())[:60]}")
        topics.append((fields["num"], fields.get("file", f"{fields['num']}.xml")))
    if not topics:
        raise ReadError(f"{path}: contains no topics such as <topic><num>...</num><file>...</file></topic>")
    return topics
