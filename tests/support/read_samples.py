"""Valid files of every format, created for the tests."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import re
from collections.abc import Callable, Sequence

import docx
import pypdfium2
from pypdf import PdfReader, PdfWriter

PROSE = [
    "The tenant shall pay the rent on the first day of each month.",
    "If the rent is late, the landlord may charge interest at the statutory rate.",
    "Neither party may assign this agreement without consent.",
]


def pdf(pages: list[list[str]], **properties: str) -> bytes:
    """A PDF whose pages contain lines of text, one below the other."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        drawing = " ".join(f"({re.sub(r'[()]', '', line)}) Tj T*" for line in lines)
        content = f"BT /F1 11 Tf 14 TL 72 760 Td {drawing} ET" if lines else ""
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects) + 2} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    info = ""
    if properties:
        objects.append("<< " + " ".join(f"/{key} ({value})" for key, value in properties.items()) + " >>")
        info = f"/Info {len(objects)} 0 R"
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    trailer = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R {info} >>\n"
    return out + f"{trailer}startxref\n{len(out)}\n%%EOF\n".encode()


def scanned_pages(pages: Sequence[Sequence[str] | None], dpi: int = 150) -> bytes:
    """A PDF whose pages are lines of text, or pictures: `None` is a grey picture, `Picture` lines are drawn in it."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    out = io.BytesIO()
    canvas = Canvas(out, (595, 842), invariant=True)
    for lines in pages:
        if lines is None or isinstance(lines, Picture):
            picture = pypdfium2.PdfDocument(pdf([list(lines or [])]))[0].render(scale=dpi / 72).to_pil().convert("L")
            canvas.drawImage(ImageReader(picture), 0, 0, 595, 842)
        else:
            for number, line in enumerate(lines):
                canvas.drawString(72, 760 - 14 * number, line)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


class Picture(list[str]):
    """Lines of text that are to be drawn as a picture."""


def encrypted(data: bytes, password: str) -> bytes:
    """The same PDF, encrypted with a password."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(password, "owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def word(*paragraphs: str, title: str = "", rows: list[list[str]] | None = None) -> bytes:
    """A Word document of paragraphs, followed by a table."""
    document = docx.Document()
    document.core_properties.title = title
    document.core_properties.author = "A. Clerk"
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if rows:
        table = document.add_table(len(rows), len(rows[0]))
        for number, row in enumerate(rows):
            for cell, text in zip(table.rows[number].cells, row, strict=True):
                cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


RTF = rb"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss\fcharset0 Arial;}}
{\info{\title Lease of a caf\'e9}{\author A. Clerk}{\creatim\yr2015\mo3\dy9\hr10\min2}}
\pard\b Lease\b0\par The tenant pays.\line He pays on time.\par\pard Caf\'e9, na\u239?ve \{sic\} \\par none.\par
\trowd\cellx100\cellx200 Rent\cell 100|month\cell\row
{\field{\*\fldinst{HYPERLINK "http://example.org"}}{\fldrslt{the statute}}}\u-10179?\u-8704?\par}"""

HTML = """<!doctype html><html><head><title>Lease &amp; rent</title><meta name="DC.date" content="2015-03-09T10:00Z">
<meta name=author content="A. Clerk"><style>p{color:red}</style><script>track("me")</script></head><body>
<nav><a href=/>Home</a></nav><h1>Lease</h1><p>The tenant
shall <b>pay</b>&nbsp;rent.<p>No dogs.<br>No cats.<br><br>No fish.
<ul><li>one</li><li>two</li></ul><table><tr><th>Rent</th><th>Due</th></tr><tr><td>100</td><td>monthly</td></tr></table>
<pre>Signed   here
and there</pre><div hidden>not shown</div><footer>© a website</footer></body></html>""".encode()

RECORDS = [
    {"_id": "a1", "title": "Lease", "text": PROSE[0], "metadata": {"year": 1999, "court": {"name": "High"}}},
    {"_id": "a2", "title": "Interest", "text": PROSE[1], "metadata": {"year": 2001, "court": None}},
]
JSONL = "\n".join(json.dumps(record) for record in RECORDS).encode()

SAMPLES: dict[str, bytes] = {
    "txt": "\n\n".join(PROSE).encode(),
    "md": ("# Lease\n" + "\n- ".join(PROSE)).encode(),
    "license": b"---\nkey: lease-1\nname: Lease 1\n---\n\n" + PROSE[0].encode(),
    "html": HTML,
    "pdf": pdf([PROSE, PROSE[:1]], Title="Lease", CreationDate="D:20150309100000Z"),
    "docx": word(*PROSE, title="Lease", rows=[["Rent", "Due"], ["100", "monthly"]]),
    "rtf": RTF,
    "jsonl": JSONL,
    "json": json.dumps(RECORDS).encode(),
    "csv": f'id,title,text,year\n1,Lease,"{PROSE[0]}\n\nSigned.",1999\n2,,{PROSE[2]},\n'.encode(),
    "tsv": f"id\ttext\n1\t{PROSE[0]}\n2\t{PROSE[1]}\n".encode(),
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "xz": lzma.compress}
