"""Caselaw: decisions of the US Supreme Court with human judgements (Locke, Zuccon and Scells 2017).

    airs2017-collection/topic/1.json ... 100.json    topics: id, case_id, case_title, date_filed, html, plain_text,
                                                     citing_sentence, citing_paragraph, relevant_keywords
    airs2017-collection/qrel.txt                     judgements: 1 relevant, 3 cited in the sentence of the topic
    opinions/*.json  or a tar of them                CourtListener's bulk data
    clusters/*.json  or a tar of them, optional      the names and dates of the cases

The first two are in the repository `ielab/ussc-caselaw-collection`, of which the folder may contain a clone. The id of
an opinion is the number in its file name. Its text is `plain_text`, or else the first non-empty HTML field without
markup; the name of the case is prepended.

Two topics share a query case, which the assessors judged as relevant to itself. Every system would rank it first, so
it is excluded for both topics, together with its judgement, unless `itself="keep"` restores the original judgements.

A topic asks for what one sentence of its case cites, so two topics with the same case have different relevant
documents. By default, the query is the whole opinion; `query` selects the citing sentence, the paragraph around it, or
the keywords that the makers of the topics chose for it. All three are metadata of the query in any case.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path, PurePath
from typing import Any, ClassVar, Literal

from rprs.collection.source import Report, distinct, document, loaded, missing, queries_from
from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read import Qrels, Skipped, Source, ignore, read_qrels
from rprs.read.html import read_html
from rprs.spec import Component, Kind

__all__ = ["Caselaw"]

_TEXTS = "plain_text html_with_citations html html_lawbox html_columbia html_anon_2020 xml_harvard".split()
_INLINE = re.compile(r"<pre class=\"inline\">|</pre>")
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
_REPOSITORY = "https://github.com/ielab/ussc-caselaw-collection"
_FIELDS = {"sentence": "citing_sentence", "paragraph": "citing_paragraph", "keywords": "relevant_keywords"}
_BULK = "CourtListener (https://www.courtlistener.com/help/api/bulk-data/)"


@dataclass(frozen=True)
class Caselaw(Component):
    """The 100 topics over all opinions.

    `itself` decides whether a query's own case is excluded or kept, `query` which text of a topic is the query.
    """

    name: ClassVar[str] = "caselaw"
    kinds: ClassVar[tuple[Kind, ...]] = ("collection",)

    folder: str
    itself: Literal["exclude", "keep"] = "exclude"
    query: Literal["opinion", "sentence", "paragraph", "keywords"] = "opinion"

    def documents(self, skipped: Report = ignore) -> Iterator[Document]:
        """The opinions, with the date of the case if its cluster is available."""
        return distinct(_documents(self._opinions(), _place(Path(self.folder), "clusters")), skipped)

    def queries(self, skipped: Report = ignore) -> Iterator[Document]:
        """The query of each topic, with the number of the topic as id."""
        queries = distinct((_query(path, _topic(path)) for path in self._topics()), skipped)
        return queries if self.query == "opinion" else queries_from(_FIELDS[self.query], queries, skipped)

    def qrels(self) -> Qrels:
        """The judgements, without those of a query's own case unless `itself` is "keep"."""
        own = self.excluded()
        return {
            query: {id: grade for id, grade in grades.items() if id not in own.get(query, ())}
            for query, grades in read_qrels(self._judgements()).items()
        }

    def excluded(self) -> Mapping[str, frozenset[str]]:
        """The query's own case, unless `itself` is "keep"."""
        if self.itself == "keep":
            return {}
        topics = (_topic(path) for path in self._topics())
        return {str(topic["id"]): frozenset([str(topic["case_id"])]) for topic in topics}

    def files(self) -> Sequence[Path]:
        """Topics, judgements, opinions and clusters."""
        places = [self._opinions(), *filter(None, [_place(Path(self.folder), "clusters")])]
        bulk = [path for place in places for path in (_json_files(place) if place.is_dir() else [place])]
        return [*self._topics(), self._judgements(), *bulk]

    def _topics(self) -> list[Path]:
        root = Path(self.folder)
        folders = (place for pattern in ("topic", "*/topic", "*/*/topic") for place in sorted(root.glob(pattern)))
        topics = [path for path in next(folders, root).glob("*.json") if path.stem.isdecimal()]
        if not topics:
            raise missing("the topics of Caselaw", Path(self.folder), _REPOSITORY, "a clone of it")
        return sorted(topics, key=lambda path: int(path.stem))

    def _judgements(self) -> Path:
        path = self._topics()[0].parent.parent / "qrel.txt"
        if not path.is_file():
            raise missing("the qrel.txt of Caselaw", path.parent, _REPOSITORY, "it")
        return path

    def _opinions(self) -> Path:
        place = _place(Path(self.folder), "opinions")
        if place is None:
            raise missing(
                "the opinions of Caselaw", Path(self.folder), _BULK, "opinions/*.json or opinions/scotus.tar.gz"
            )
        return place


# ---------------------------------------------------------------------------- bulk data


def _place(folder: Path, what: str) -> Path | None:
    """The location of the opinions or clusters: a folder of JSON files, or a tar file in it or beside it."""
    inside, beside = folder / what, [folder / f"{what}{end}" for end in _TARS]
    tars = [path for path in sorted(inside.glob("*")) if path.name.endswith(_TARS)] if inside.is_dir() else []
    if inside.is_dir() and not tars and next(inside.glob("*.json"), None):
        return inside
    return next((path for path in [*tars, *beside] if path.is_file()), None)


def _json_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"), key=lambda path: (len(path.name), path.name))


def _records(place: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a folder or a tar file, which is read as a stream and never unpacked or loaded as a whole."""
    if place.is_dir():
        for path in _json_files(place):
            yield str(path), path.read_bytes()
        return
    try:
        with tarfile.open(place, "r|*") as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() and member.name.endswith(".json") else None
                if stream:
                    yield f"{place}/{member.name}", stream.read()
    except (tarfile.TarError, EOFError, OSError, LZMAError, zlib.error) as error:
        raise ReadError(f"{place}: not a valid tar file: {error}") from error


def _parsed(content: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


# ---------------------------------------------------------------------------- one document


def _documents(opinions: Path, clusters: Path | None) -> Iterator[Document | Skipped]:
    """The opinions, with names and dates from their clusters."""
    cases = {
        PurePath(name).stem: (_string(record, "case_name"), _string(record, "date_filed"))
        for name, content in (_records(clusters) if clusters else ())
        if (record := _parsed(content))
    }
    for name, content in _records(opinions):
        yield _opinion(name, content, cases)


def _opinion(name: str, content: bytes, cases: Mapping[str, tuple[str, str]]) -> Document | Skipped:
    record = _parsed(content)
    if record is None:
        return Skipped(name, "not an opinion as JSON")
    cluster = str(record.get("cluster") or "").rstrip("/").rpartition("/")[2]
    title, date = cases.get(cluster, ("", ""))
    title = title or _string(record, "case_name") or _string(record, "title")
    metadata: dict[str, Value] = {"date": day} if (day := date or _string(record, "date_filed")) else {}
    return document(name, PurePath(name).stem, _text(record), title, metadata)


def _topic(path: Path) -> dict[str, Any]:
    topic = loaded(lambda: json.loads(path.read_bytes()), str(path))
    if not isinstance(topic, dict) or not {"id", "case_id"} <= topic.keys():
        raise ReadError(f"{path}: not a topic, which has an id and a case_id")
    return topic


def _query(path: Path, topic: dict[str, Any]) -> Document | Skipped:
    metadata: dict[str, Value] = {"case_id": str(topic["case_id"])}
    if date := _string(topic, "date_filed"):
        metadata["date"] = date
    for field in ("citing_sentence", "citing_paragraph"):
        if text := _string(topic, field):
            metadata[field] = text
    if keywords := topic.get("relevant_keywords"):
        metadata["relevant_keywords"] = json.dumps(keywords, ensure_ascii=False)
    return document(str(path), str(topic["id"]), _text(topic), _string(topic, "case_title"), metadata)


def _string(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _text(record: Mapping[str, Any]) -> str:
    """The plain text, or the first non-empty HTML field without its markup."""
    field = next((field for field in _TEXTS if _string(record, field).strip()), "")
    if field in ("", "plain_text"):
        return _string(record, field)
    markup = _string(record, field)
    if _INLINE.match(markup.lstrip()):  # citations interrupt the preformatted text, which is one block to readers
        markup = f"<pre>{_INLINE.sub('', markup)}</pre>"
    page: Any = io.BytesIO(f'<meta charset="utf-8">{markup}'.encode("utf-8", "replace"))
    source = Source("", "", io.BufferedReader(page))
    return "".join(item.text for item in read_html(source) if isinstance(item, Document))
