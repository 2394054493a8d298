"""Patents in XML → documents: ST.36 (EPO, WIPO, CLEF-IP), ST.96, and the red book of the USPTO.

The text is the title, the abstract, the description and the claims, in the language of the patent. Number, dates,
classes, applicants and inventors are metadata. The red book uses the names of ST.36; those of ST.96 are translated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.read.dates import iso_date
from rprs.read.paragraphs import Paragraphs, walk
from rprs.read.source import Source
from rprs.read.xml_tree import Element, inline, local

__all__ = ["is_patent", "markup_text", "read_patent"]

_ROOTS = re.compile(
    r"(us|ep|wo|de|fr|jp|kr|cn)-(patent|published|application|international)[\w-]*"
    r"|patent-document|exchange-document|application-body|fulltext-document"
    r"|PatentPublication|PatentGrant|ApplicationBody|PatentApplication\w*|PatentDocument"
)
_PARTS = ("invention-title", "abstract", "description", "claims")
_NAMES = {  # ST.96 → ST.36
    "InventionTitle": "invention-title",
    "Abstract": "abstract",
    "Description": "description",
    "Claims": "claims",
    "Claim": "claim",
    "ClaimText": "claim-text",
    "P": "p",
    "Heading": "heading",
    "LI": "li",
    "Row": "row",
    "Entry": "entry",
    "PatentPublicationIdentification": "publication-reference",
    "PatentGrantIdentification": "publication-reference",
    "ApplicationIdentification": "application-reference",
    "PriorityClaim": "priority-claim",
    "IPOfficeCode": "country",
    "PublicationNumber": "doc-number",
    "PatentNumber": "doc-number",
    "PatentDocumentKindCode": "kind",
    "PublicationDate": "date",
    "GrantDate": "date",
    "FilingDate": "date",
    "ApplicationDate": "date",
    "IPCRClassification": "classification-ipcr",
    "IPCClassification": "classification-ipc",
    "CPCClassification": "classification-cpc",
    "Section": "section",
    "Class": "class",
    "Subclass": "subclass",
    "MainGroup": "main-group",
    "Subgroup": "subgroup",
    "Inventor": "inventor",
    "Applicant": "applicant",
    "LastName": "last-name",
    "FirstName": "first-name",
    "OrganizationStandardName": "orgname",
    "EntityName": "orgname",
    "PersonFullName": "name",
}
_BLOCKS = frozenset(
    "p heading claim li row abstract description claims invention-title title sec list list-item disp-quote caption "
    "table-wrap fig boxed-text abstract-problem abstract-solution tr verse-line def-item".split()
)
_CELLS = frozenset("entry td th".split())
_DROPPED = frozenset("img graphic inline-graphic sequence-list us-sequence-list-doc tex-math object-id".split())
_CLASS = ("section", "class", "subclass", "main-group", "subgroup")


def is_patent(root: Element) -> bool:
    """Whether an XML document is a patent, by its root element and its parts."""
    if _ROOTS.fullmatch(local(root)):
        return True
    names = {_name(element) for element in root.iter()}
    return "invention-title" in names and bool(names & {"description", "claims", "abstract"})


def read_patent(source: Source, root: Element) -> Document:
    """The document of a patent."""
    parts: dict[str, dict[str, list[str]]] = {name: {} for name in _PARTS}
    for element in _outermost(root, frozenset(_PARTS)):
        parts[_name(element)].setdefault(_language(element), []).append(markup_text(element))
    language = _language(root) or _of_file(parts)
    texts = {name: "\n\n".join(filter(None, _chosen(found, language))) for name, found in parts.items()}
    title = " ".join(texts["invention-title"].split())
    text = "\n\n".join(filter(None, (title, *(texts[name] for name in _PARTS[1:]))))
    if not text:
        raise ReadError("a patent without title, abstract, description and claims")
    return Document(source.id, text, title, _metadata(root, language))


def _name(element: Element) -> str:
    name = local(element)
    return _NAMES.get(name, name)


def _language(element: Element) -> str:
    values = (value for key, value in element.attrib.items() if key.rpartition("}")[2] in ("lang", "languageCode"))
    return str(next(values, "")).lower()


def _of_file(parts: dict[str, dict[str, list[str]]]) -> str:
    """The language of the description: only one is published in full."""
    return next(iter(parts["description"]), "") or next(iter(parts["claims"]), "")


def _chosen(found: dict[str, list[str]], language: str) -> list[str]:
    return found.get(language) or found.get("") or next(iter(found.values()), [])


def _outermost(root: Element, names: frozenset[str]) -> Iterator[Element]:
    """The elements with one of some names that are not inside of another such element."""
    stack = [root]
    while stack:
        element = stack.pop()
        if _name(element) in names:
            yield element
        else:
            stack.extend(reversed(list(element)))


def _children(element: Element) -> Iterable[Element]:
    return () if local(element) in _DROPPED else element


def markup_text(root: Element) -> str:
    """The paragraphs of an element of a patent or an article."""
    text = Paragraphs()
    for element, entering in walk(root, _children):
        name = _name(element)
        if name in _BLOCKS:
            text.end()
        elif name in _CELLS and not entering:
            text.cell()
        elif name in ("claim-text", "br", "break"):
            text.write(" ")
        if (element is not root or entering) and not (entering and name in _DROPPED):
            for piece in inline(element, entering):
                text.write(piece)
    return str(text)


# ---------------------------------------------------------------------------- metadata


def _metadata(root: Element, language: str) -> dict[str, Value]:
    publication = _first(root, "publication-reference")
    own = root.attrib
    country = _value(publication, "country") or own.get("country", "")
    number = _value(publication, "doc-number") or own.get("doc-number", "")
    kind = _value(publication, "kind") or own.get("kind", "")
    facts = {
        "number": "-".join(filter(None, (country, number, kind))) if number else own.get("ucid", ""),
        "date": iso_date(_value(publication, "date") or own.get("date", "") or own.get("date-publ", "")),
        "filing_date": iso_date(_value(_first(root, "application-reference"), "date")),
        "priority_date": min(filter(None, map(iso_date, _values(root, "priority-claim", ("date",)))), default=""),
        "classes": "; ".join(dict.fromkeys(_classes(root))),
        "applicant": "; ".join(dict.fromkeys(_people(root, ("applicant", "assignee", "us-applicant")))),
        "inventor": "; ".join(dict.fromkeys(_people(root, ("inventor",)))),
        "language": language,
    }
    return {key: value for key, value in facts.items() if value}


def _first(root: Element, name: str) -> Element | None:
    return next((element for element in root.iter() if _name(element) == name), None)


def _value(element: Element | None, name: str) -> str:
    """The text of the first element inside of another with some name."""
    inner = None if element is None else _first(element, name)
    return "" if inner is None else " ".join("".join(inner.itertext()).split())


def _values(root: Element, outer: str, names: tuple[str, ...]) -> Iterator[str]:
    for element in root.iter():
        if _name(element) == outer:
            yield from (_value(element, name) for name in names)


def _classes(root: Element) -> Iterator[str]:
    """Classes such as `H01L 21/336`, of the IPC and the CPC."""
    for element in root.iter():
        if not re.fullmatch(r"classification-(ipcr?|cpc)", _name(element)):
            continue
        section, number, subclass, group, subgroup = (_value(element, name) for name in _CLASS)
        if section:
            yield f"{section}{number}{subclass} {group}{f'/{subgroup}' if subgroup else ''}".strip()
        elif match := re.match(r"([A-H]\d\d[A-Z])\s*(\d+)\s*/\s*(\d+)", "".join(element.itertext()).strip()):
            yield f"{match[1]} {match[2]}/{match[3]}"


def _people(root: Element, roles: tuple[str, ...]) -> Iterator[str]:
    for element in _outermost(root, frozenset(roles)):
        last, first = _value(element, "last-name"), _value(element, "first-name")
        name = _value(element, "orgname") or ", ".join(filter(None, (last, first))) or _value(element, "name")
        if name:
            yield name
