"""Files of the kinds that offices use, written by the libraries and programs that people use."""

from __future__ import annotations

import bz2
import io
import tarfile
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import openpyxl
import pptx

from tests.support.outlook import compound_file, message

FIXTURES = Path(__file__).parents[1] / "read" / "fixtures"  # written by LibreOffice 7.4 from the files in `sources`
RENT = "The tenant shall pay the rent on the first day of each month."
ASSIGN = "Neither party may assign this agreement without consent."


def mail(
    body: str = RENT,
    *,
    subject: str = "Rent due — café",
    attachments: Mapping[str, bytes] | None = None,
    html: str = "",
    number: int = 1,
) -> EmailMessage:
    """A message with a plain or HTML body and attached files."""
    letter = EmailMessage()
    letter["From"], letter["To"] = "Anna Clerk <anna@example.org>", "ben@example.org"
    letter["Subject"], letter["Date"] = subject, "Mon, 09 Mar 2015 10:00:00 +0100"
    letter["Message-ID"] = f"<{number}@example.org>"
    if html:
        letter.set_content(html, subtype="html")
    else:
        letter.set_content(body)
    for name, data in (attachments or {}).items():
        letter.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return letter


def mailbox(*messages: EmailMessage) -> bytes:
    """The messages as a file of Thunderbird or Unix."""
    start = b"From - Mon Mar 09 10:00:00 2015\n"
    return b"".join(start + bytes(one).replace(b"\nFrom ", b"\n>From ") + b"\n" for one in messages)


def outlook(subject: str = "Rent due", body: str = RENT, **attachments: bytes) -> bytes:
    """A message of Outlook, to which files and another message are attached."""
    inner = message("Earlier message", ASSIGN, sender="Ben Moss")
    files = {name.replace("_", "."): data for name, data in attachments.items()}
    sent = datetime(2015, 3, 9, 9, tzinfo=UTC)
    return compound_file(
        message(subject, body, sender="Anna Clerk", sent=sent, attachments=files, embedded=inner if files else None)
    )


def workbook(rows: list[list[object]], name: str = "Rents") -> bytes:
    """An Excel workbook of one sheet."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = name
    for row in rows:
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def presentation(*slides: tuple[str, str, str]) -> bytes:
    """A PowerPoint presentation: title, text and notes of each slide."""
    show = pptx.Presentation()
    for title, text, notes in slides:
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


def archive(members: Mapping[str, bytes]) -> bytes:
    """A ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return out.getvalue()


def tar(members: Mapping[str, bytes], mode: str = "w") -> bytes:
    """A tar archive, compressed as in `w:gz`."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as packed:  # type: ignore[call-overload]  # the mode is a variable
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            packed.addfile(entry, io.BytesIO(data))
    return out.getvalue()


_BODY = (
    '<abstract lang="en"><p>A lock is described.</p></abstract><description lang="en"><heading>Field</heading>'
    "<p>The lock has a bolt &amp; a key.</p></description>"
    '<claims lang="en"><claim num="1"><claim-text>1. A lock comprising <claim-text>a bolt.</claim-text></claim-text>'
    '</claim></claims><claims lang="de"><claim num="1"><claim-text>1. Ein Schloss.</claim-text></claim></claims>'
)
ST36 = (
    '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE ep-patent-document SYSTEM "ep-patent-document-v1-4.dtd">'
    '<ep-patent-document id="EP1" lang="en" country="EP" doc-number="1000001" kind="B1" date-publ="20010131">'
    "<SDOBI><B000/></SDOBI><bibliographic-data><application-reference><document-id><date>19990304</date></document-id>"
    "</application-reference><classifications-ipcr><classification-ipcr><text>E05B  65/08        20060101AFI</text>"
    "</classification-ipcr></classifications-ipcr></bibliographic-data>"
    f'<invention-title lang="en">Lock for a door</invention-title>{_BODY}</ep-patent-document>'
).encode()
RED_BOOK = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE us-patent-grant SYSTEM "us-patent-grant-v45.dtd" [ ]>\n'
    '<us-patent-grant lang="EN" country="US"><us-bibliographic-data-grant><publication-reference><document-id>'
    "<country>US</country><doc-number>{number}</doc-number><kind>B2</kind><date>20150310</date></document-id>"
    "</publication-reference><application-reference><document-id><country>US</country><doc-number>13123456</doc-number>"
    "<date>20120402</date></document-id></application-reference><classifications-cpc><main-cpc><classification-cpc>"
    "<section>E</section><class>05</class><subclass>B</subclass><main-group>65</main-group><subgroup>08</subgroup>"
    "</classification-cpc></main-cpc></classifications-cpc><invention-title>Lock for a door</invention-title>"
    "<us-parties><inventors><inventor><addressbook><last-name>Moss</last-name><first-name>Anna</first-name></addressbook>"
    "</inventor></inventors></us-parties></us-bibliographic-data-grant>"
    + _BODY.replace(' lang="en"', "").split('<claims lang="de"')[0]
    + "</us-patent-grant>\n"
)
ST96 = b"""<?xml version="1.0" encoding="UTF-8"?>
<pat:PatentPublication xmlns:pat="http://www.wipo.int/standards/XMLSchema/ST96/Patent"
 xmlns:com="http://www.wipo.int/standards/XMLSchema/ST96/Common" com:languageCode="en"><pat:BibliographicData>
<pat:PatentPublicationIdentification><com:IPOfficeCode>US</com:IPOfficeCode>
<pat:PublicationNumber>20150000001</pat:PublicationNumber><com:PatentDocumentKindCode>A1</com:PatentDocumentKindCode>
<com:PublicationDate>2015-01-01</com:PublicationDate></pat:PatentPublicationIdentification>
<pat:InventionTitle>Lock for a door</pat:InventionTitle></pat:BibliographicData>
<pat:Abstract><com:P>A lock is described.</com:P></pat:Abstract>
<pat:Description><pat:Heading>Field</pat:Heading><com:P>The lock has a bolt.</com:P></pat:Description>
<pat:Claims><pat:Claim><pat:ClaimText>1. A lock.</pat:ClaimText></pat:Claim></pat:Claims></pat:PatentPublication>"""
JATS = b"""<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS v1.2//EN" "JATS.dtd">
<article><front><journal-meta><journal-title-group>
<journal-title>Journal of Leases</journal-title></journal-title-group>
</journal-meta><article-meta><article-id pub-id-type="doi">10.1/x</article-id><title-group>
<article-title>Rent and <italic>law</italic></article-title></title-group><contrib-group><contrib
contrib-type="author"><name><surname>Moss</surname><given-names>Anna</given-names></name></contrib></contrib-group>
<pub-date><day>9</day><month>3</month><year>2015</year></pub-date><abstract><p>We study rent.</p></abstract>
</article-meta></front><body><sec><title>Methods</title><p>We read leases<xref>1</xref>.</p></sec></body>
<back><ref-list><ref><mixed-citation>Not read.</mixed-citation></ref></ref-list></back></article>"""


def bzip2_tar(members: Mapping[str, bytes]) -> bytes:
    """A tar archive compressed with bzip2."""
    return bz2.compress(tar(members))
