"""Documents for the tests of the web interface: long ones, one as long as a book, and hostile ones."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, NameObject, NumberObject, StreamObject

from rprs import Document, Writer
from tests.support.cli import ENCODER

LAST = "Here ends the book of the harbour, and nothing is left to tell."
HARBOUR = [
    words.split()
    for words in (
        "pilot captain sailor merchant widow notary smuggler warden cooper fisher",
        "bought sold painted mended stole counted weighed buried forgot described",
        "rusty blue heavy narrow ancient borrowed silver broken foreign quiet",
        "anchor ledger barrel lantern compass sail bell chart rope crate",
        "quay lighthouse tavern customs-house shipyard chapel bridge warehouse market mole",
    )
]
ORCHARD = [
    words.split()
    for words in (
        "gardener beekeeper shepherd miller hermit teacher carter weaver midwife tinker",
        "planted pruned watered measured sketched gathered traded guarded praised named",
        "sour early crooked sheltered golden grafted wild ripe stony terraced",
        "pear hive fence ladder hedge well basket meadow plough mill",
        "hillside stream cottage crossroads valley vineyard barn terrace spring ford",
    )
]


def invent_sentences(words: Sequence[Sequence[str]], count: int, seed: int = 1) -> list[str]:
    """Distinct sentences of a dozen words."""
    choices = np.random.default_rng(seed).integers(0, 10, (count, len(words)))
    return [
        "In the year {} the {} {} the {} {} beside the {}.".format(
            1000 + number, *(some[choice] for some, choice in zip(words, row, strict=True))
        )
        for number, row in enumerate(choices.tolist())
    ]


def paragraphs(sentences: Sequence[str], each: int = 5) -> str:
    """A text of paragraphs."""
    return "\n\n".join(" ".join(sentences[first : first + each]) for first in range(0, len(sentences), each))


def book(seed: int = 1, words: int = 100_000) -> str:
    """A text of at least this many words, with a distinctive last sentence."""
    return paragraphs([*invent_sentences(HARBOUR, words // 12 + 1, seed), LAST])


def write_index(path: Path, documents: Sequence[Document]) -> Path:
    """Write an index of documents and return its path."""
    with Writer(path, create=True, encoder=ENCODER) as writer:
        writer.add(documents)
    return path


# ---------------------------------------------------------------------------- cases with common wording and duplicates

COMMON = "This matter came before the full bench of the province on a petition for review of the judgment."
COPIED = "The keeper of the lighthouse must repair the lantern before the first storm of every winter."
EDITED = "The owner of the ferry pays the harbour dues on the first working day of each month."
REWRITTEN = "The owner of the ferry pays the harbour fees on the last working day of each month."


def cases() -> list[Document]:
    """Cases that all begin with the same sentence; two more have the text of the first, one of them but for a word."""
    texts = [
        paragraphs([COMMON, *invent_sentences(HARBOUR, 12, seed)[:6], *invent_sentences(ORCHARD, 12, seed)[:6]])
        for seed in range(1, 10)
    ]
    texts[0] = f"{texts[0]}\n\n{COPIED} {REWRITTEN}"
    documents = [
        Document(f"case-{number}", text, f"Case {number}", {"date": f"{1990 + number}-05-04"})
        for number, text in enumerate(texts, 1)
    ]
    near = texts[0].replace("lantern", "lamp")
    return [*documents, Document("copy", texts[0], "A copy"), Document("near", near, "A revised copy")]


def case_query() -> str:
    """A text with the common sentence, a copied one, an edited one, and others that nothing is like."""
    foreign = [f"Quarks {word} through seventeen indigo manifolds." for word in ("tunnel", "drift", "spin")]
    return paragraphs([COMMON, foreign[0], COPIED, *foreign[1:], EDITED], 3)


def scan() -> bytes:
    """A PDF whose only page is a picture."""
    writer = PdfWriter()
    page = writer.add_blank_page(595, 842)
    picture, drawing = StreamObject(), StreamObject()
    picture.set_data(bytes(range(256)) * 16)
    facts = {"/Type": "/XObject", "/Subtype": "/Image", "/ColorSpace": "/DeviceGray"}
    picture.update({NameObject(key): NameObject(value) for key, value in facts.items()})
    sizes = {"/Width": 64, "/Height": 64, "/BitsPerComponent": 8}
    picture.update({NameObject(key): NumberObject(value) for key, value in sizes.items()})
    drawing.set_data(b"q 400 0 0 400 90 300 cm /Scan Do Q")
    images = DictionaryObject({NameObject("/Scan"): writer._add_object(picture)})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): images})
    page[NameObject("/Contents")] = writer._add_object(drawing)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


# ---------------------------------------------------------------------------- hostile

RUN = "window.ran=1;alert(1)"
MARKUP = [
    f"<script>{RUN}</script>",
    f'"><img src=x onerror="{RUN}">',
    f"</textarea></title></style></script><svg onload='{RUN}'>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<a href='javascript:{RUN}'>here</a>",
    f"javascript:{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    f"{{{{constructor.constructor('{RUN}')()}}}} ${{{RUN}}}",
]


def hostile() -> list[Document]:
    """Documents with markup in their ids, titles, texts, and in names and values of their metadata."""
    prose = " ".join(f"The {number}th clause of the deed reads {one} and no more." for number, one in enumerate(MARKUP))
    return [
        Document(
            f"{one}/../{number}",
            f"{prose} This is the copy of {ORCHARD[0][number]} number {number}.",
            one,
            {"url": one, "link": f" JavaScript:{RUN}//https://example.org", f"field {one}": one, "kind": one},
        )
        for number, one in enumerate(MARKUP)
    ]
