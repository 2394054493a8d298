"""LibreOffice's help in one language as two BEIR folders, for the table of languages in docs/method.md.

    python scripts/help_pages.py /usr/share/libreoffice/help de out

reads Debian's packages libreoffice-help-en-us and libreoffice-help-de. In `out/de-links`, the relevant documents of a
page are the pages that it links to; in `out/de-halves`, that of the first half of a page is its second half. Text that
is not translated is left out, and so are paragraphs that consist of links.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

Texts = Mapping[str, str]  # by id
PAGES = 500
SHORT = 500  # characters: a shorter page is left out
SHORT_HALF = 200
DENSE = {"ja", "ko", "zh"}  # two fifths of these lengths for languages that write more in a character
LONG_LIST = 15  # a page with more links is a table of contents
OUTSIDE = "script, style, .howtoget, .relatedtopics, .bug, span.MAC"


def _area(path: Path) -> LexborNode | None:
    return LexborHTMLParser(path.read_text(encoding="utf-8")).css_first("#DisplayArea")


def _text(node: LexborNode) -> str:
    return " ".join(node.text().split())


def _paragraphs(path: Path) -> list[str]:
    page = _area(path)
    if page is None:
        return []
    for node in page.css(OUTSIDE):
        node.decompose()
    linked_characters = {
        _text(node): sum(len(_text(link)) for link in node.css("a[href]")) for node in page.css("p,h1,h2,h3,h4,h5")
    }
    return [each for each, linked in linked_characters.items() if each and linked <= 0.8 * len(each)]


def _links(path: Path) -> set[str]:
    page = _area(path)
    targets = [node.attributes["href"] or "" for node in page.css("a[href]")] if page else []
    return {match[1] for target in targets if (match := re.match(r"[^/]+/text/(.*)\.html", target))}


def _key(id: str) -> str:
    return hashlib.sha1(id.encode()).hexdigest()


def _write(
    folder: Path, corpus: Mapping[str, str], queries: Mapping[str, str], qrels: Mapping[str, Iterable[str]]
) -> None:
    (folder / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", corpus), ("queries", queries)):
        lines = (json.dumps({"_id": id, "text": text}, ensure_ascii=False) for id, text in texts.items())
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [f"{query}\t{id}\t1\n" for query, ids in qrels.items() for id in sorted(ids)]
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), encoding="utf-8")


def _halves(paragraphs: list[str]) -> tuple[str, str]:
    middle, at = sum(map(len, paragraphs)) / 2, 0
    while at < len(paragraphs) and middle > 0:
        middle -= len(paragraphs[at])
        at += 1
    return "\n".join(paragraphs[:at]), "\n".join(paragraphs[at:])


def main(help: Path, language: str, out: Path) -> None:
    """Write both folders."""
    english, own = help / "en-US/text", help / language / "text"
    scale = 0.4 if language[:2] in DENSE else 1
    pages: dict[str, list[str]] = {}
    for path in sorted(english.rglob("*.html")):
        id, file = path.relative_to(english).with_suffix("").as_posix(), own / path.relative_to(english)
        untranslated = set() if language == "en-US" else set(_paragraphs(path))
        kept = [each for each in _paragraphs(file) if each not in untranslated] if file.is_file() else []
        if sum(map(len, kept)) >= SHORT * scale:
            pages[id] = kept
    pages = {id: pages[id] for id in sorted(sorted(pages, key=_key)[:PAGES])}
    texts = {id: "\n".join(kept) for id, kept in pages.items()}
    linked = {id: _links(english / f"{id}.html") - {id} for id in texts}
    qrels = {id: ids & texts.keys() for id, ids in linked.items() if len(ids & texts.keys()) in range(1, LONG_LIST + 1)}
    _write(out / f"{language}-links", texts, {id: texts[id] for id in qrels}, qrels)
    pairs = {id: _halves(kept) for id, kept in pages.items()}
    pairs = {id: pair for id, pair in pairs.items() if min(map(len, pair)) > SHORT_HALF * scale}
    _write(
        out / f"{language}-halves",
        {id: second for id, (_, second) in pairs.items()},
        {f"first/{id}": first for id, (first, _) in pairs.items()},
        {f"first/{id}": [id] for id in pairs},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
