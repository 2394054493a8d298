"""E-mail (.eml, .mbox) → a document for each message, and one for each attachment.

The text of a message is its subject and its body; sender, recipients, date and subject are metadata. An attachment has
the id of its message, a slash and its name, and names the message in its metadata (`attached_to`). Pictures in the
body, such as logos in signatures, are passed over.
"""

from __future__ import annotations

import email
import email.message
import email.policy
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rprs.document import Document, Value
from rprs.errors import ReadError
from rprs.progress import counted
from rprs.read import source as limits
from rprs.read.dates import iso_date
from rprs.read.encoding import decode
from rprs.read.html import html_text
from rprs.read.members import ATTACHED, Names, read_member
from rprs.read.source import Skipped, Source
from rprs.read.storable import reason

__all__ = ["Attachment", "message_items", "read_eml", "read_mbox"]

_PARTS = 1_000  # of one message: more are an attack, not a message
_HEADER = 10_000  # characters of a header
_HEADERS = {"sender": "from", "recipients": "to", "copies": "cc", "subject": "subject"}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that is attached to a message."""

    name: str
    data: bytes


def message_items(
    source: Source, facts: dict[str, str], body: str, attachments: list[Attachment]
) -> Iterator[Document | Skipped]:
    """The document of a message, followed by those of its attachments. `facts` has its headers."""
    names = Names()
    named = [(names.unique(attachment.name, "attachment"), attachment.data) for attachment in attachments]
    metadata: dict[str, Value] = {key: value for key, value in facts.items() if value}
    if named:
        metadata["attachments"] = "; ".join(name for name, _ in named)
    subject = facts.get("subject", "")
    text = "\n\n".join(filter(None, (subject, body.strip())))
    yield Document(source.id, text, subject, metadata) if text else Skipped(source.path, "a message without text")
    linked: dict[str, Value] = {key: facts[key] for key in ("sender", "date") if facts.get(key)}
    for name, data in named:
        yield from read_member(source, name, data, {**linked, "path": f"{source.path}/{name}", ATTACHED: source.id})


# ---------------------------------------------------------------------------- one message


def read_eml(source: Source) -> Iterator[Document | Skipped]:
    """A message and its attachments."""
    yield from _read_message(source, source.data())


def _read_message(source: Source, data: bytes) -> Iterator[Document | Skipped]:
    message = email.message_from_bytes(data, policy=email.policy.compat32)
    if not message.keys():
        raise ReadError("not an e-mail message: it has no headers")
    facts = {key: _header(message, name) for key, name in _HEADERS.items()}
    facts["date"] = iso_date(_header(message, "date"))
    facts["message_id"] = _header(message, "message-id").strip("<> ")
    body, attachments = _contents(message)
    yield from message_items(source, facts, body, attachments)


def _header(message: email.message.Message, name: str) -> str:
    """A header as text; an encoding that does not exist leaves it as it is."""
    from email.header import decode_header, make_header

    value = str(message.get(name, ""))[:_HEADER]
    try:
        text = str(make_header(decode_header(value)))
    except (LookupError, ValueError, UnicodeError):
        text = str(value)
    return " ".join(text.split())


def _contents(message: email.message.Message) -> tuple[str, list[Attachment]]:
    """The body of a message, as plain text where it has one, and its attachments."""
    plain: list[str] = []
    markup: list[str] = []
    attachments: list[Attachment] = []
    stack = [message]
    for _ in range(_PARTS):
        if not stack:
            break
        part = stack.pop()
        kind, name = part.get_content_type(), _file_name(part)
        if kind == "message/rfc822":
            attachments += [
                Attachment(f"{_header(each, 'subject')[:80] or 'message'}.eml", each.as_bytes())
                for each in part.get_payload()
                if not isinstance(each, str)
            ]
        elif part.is_multipart():
            parts: Any = part.get_payload()
            stack.extend(each for each in reversed(parts) if not isinstance(each, str))
        elif kind in ("text/plain", "text/html") and not name and part.get_content_disposition() != "attachment":
            (markup if kind == "text/html" else plain).append(_text(part))
        elif not (part.get("content-id") or part.get_content_disposition() == "inline") or not kind.startswith("image"):
            attachments.append(Attachment(name or f"attachment.{part.get_content_subtype()}", _payload(part)))
    body = "\n\n".join(filter(str.strip, plain))
    return body or "\n\n".join(html_text(page) for page in markup), attachments


def _file_name(part: email.message.Message) -> str:
    from email.header import decode_header, make_header

    try:
        return str(make_header(decode_header((part.get_filename("") or "")[:_HEADER])))
    except (LookupError, ValueError, UnicodeError, TypeError):
        return "attachment"


def _payload(part: email.message.Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(part: email.message.Message) -> str:
    charset = part.get_content_charset() or ""
    try:
        return re.sub("\r\n?", "\n", decode(_payload(part), charset))
    except ReadError:
        return ""


# ---------------------------------------------------------------------------- mailboxes


def read_mbox(source: Source) -> Iterator[Document | Skipped]:
    """The messages of a mailbox. Each has the id of the file, a slash and its Message-ID, or else its number."""
    used: set[str] = set()
    for number, data in enumerate(counted(_messages(source), source.path, "messages"), 1):
        name = _message_id(data)
        name = name if name and name not in used else str(number)
        used.add(name)
        inner = replace(source, id=f"{source.id}/{name}", path=f"{source.path}/{name}", budget=source.budget)
        try:
            yield from _read_message(inner, data)
        except Exception as error:  # as for files: one damaged message must not stop the reading of the others
            yield Skipped(inner.path, reason(error))


def _messages(source: Source) -> Iterator[bytes]:
    """The messages of a mailbox: each begins with a line "From …" after a blank line."""
    lines: list[bytes] = []
    size, blank = 0, True
    for line in iter(lambda: source.stream.readline(limits.LIMIT + 1), b""):
        if blank and line.startswith(b"From "):
            if lines:
                yield b"".join(lines)
            lines, size, blank = [], 0, False
            continue
        blank = not line.strip()
        size += len(line)
        if size > limits.LIMIT:
            raise ReadError(f"a message larger than {limits.LIMIT / 2**20:.0f} MB")
        lines.append(line[1:] if re.match(rb">+From ", line) else line)
    if any(line.strip() for line in lines):
        yield b"".join(lines)


def _message_id(data: bytes) -> str:
    match = re.search(rb"^message-id:\s*<([^<>\s]{1,200})>", data[: 2**16], re.IGNORECASE | re.MULTILINE)
    return match[1].decode("ascii", "replace") if match else ""
