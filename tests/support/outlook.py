"""Writes Outlook messages (.msg): a compound file with a stream for each property."""

from __future__ import annotations

import struct
from datetime import UTC, datetime

SECTOR, MINI = 512, 64
FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
Tree = dict[str, "bytes | Tree"]
_PROPERTIES = "__properties_version1.0"


def message(
    subject: str,
    body: str,
    *,
    sender: str = "",
    sent: datetime | None = None,
    attachments: dict[str, bytes] | None = None,
    embedded: Tree | None = None,
) -> Tree:
    """The streams of a message, with attached files and an attached message."""
    tree: Tree = {
        _PROPERTIES: bytes(32) + (_date(0x0039, sent) if sent else b""),
        "__substg1.0_0037001F": subject.encode("utf-16-le"),
        "__substg1.0_1000001F": body.encode("utf-16-le"),
        "__substg1.0_0C1A001F": sender.encode("utf-16-le"),
    }
    for number, (name, data) in enumerate((attachments or {}).items()):
        tree[f"__attach_version1.0_#{number:08X}"] = {
            _PROPERTIES: bytes(8),
            "__substg1.0_3707001F": name.encode("utf-16-le"),
            "__substg1.0_37010102": data,
        }
    if embedded:
        inner = {**embedded, _PROPERTIES: bytes(24)}
        tree["__attach_version1.0_#000000FF"] = {
            _PROPERTIES: bytes(8),
            "__substg1.0_3001001F": "Forwarded".encode("utf-16-le"),
            "__substg1.0_3701000D": inner,
        }
    return tree


def _date(code: int, moment: datetime) -> bytes:
    ticks = int((moment - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10**7
    return struct.pack("<HHIQ", 0x0040, code, 6, ticks)


def compound_file(tree: Tree) -> bytes:
    """The bytes of a compound file with these storages and streams, of which small ones share sectors."""
    names, contents, links = ["Root Entry"], [b""], [[FREE, FREE, FREE]]
    kinds = [5]

    def add(parent: int, folder: Tree) -> None:
        previous = FREE
        for name, content in sorted(folder.items(), key=lambda item: (len(item[0]), item[0].upper())):
            number = len(names)
            names.append(name)
            kinds.append(2 if isinstance(content, bytes) else 1)
            contents.append(content if isinstance(content, bytes) else b"")
            links.append([FREE, FREE, FREE])
            if previous == FREE:
                links[parent][2] = number
            else:
                links[previous][1] = number
            previous = number
            if not isinstance(content, bytes):
                add(number, content)

    add(0, tree)
    mini_fat: list[int] = []
    mini, starts = b"", [END] * len(names)
    for number, content in enumerate(contents):
        if kinds[number] == 2 and 0 < len(content) < 4096:
            starts[number] = len(mini_fat)
            count = -(-len(content) // MINI)
            mini_fat += [*range(len(mini_fat) + 1, len(mini_fat) + count), END]
            mini += content.ljust(count * MINI, b"\0")
    fat: list[int] = []
    body = b""

    def place(data: bytes) -> int:
        nonlocal body
        if not data:
            return END
        first, count = len(fat), -(-len(data) // SECTOR)
        fat.extend([*range(first + 1, first + count), END])
        body += data.ljust(count * SECTOR, b"\0")
        return first

    contents[0], starts[0] = mini, place(mini)
    for number, content in enumerate(contents):
        if kinds[number] == 2 and len(content) >= 4096:
            starts[number] = place(content)
    mini_start = place(struct.pack(f"<{len(mini_fat)}I", *mini_fat).ljust(-(-len(mini_fat) // 128) * SECTOR, b"\xff"))
    directory = b"".join(
        name.encode("utf-16-le").ljust(64, b"\0")
        + struct.pack("<HBB3I", 2 * len(name) + 2, kind, 1, *link)
        + bytes(36)
        + struct.pack("<IQ", start if content or number == 0 else END, len(content))
        for number, (name, kind, link, start, content) in enumerate(
            zip(names, kinds, links, starts, contents, strict=True)
        )
    )
    directory_start = place(directory)
    count = next(number for number in range(1, 100) if (len(fat) + number) * 4 <= number * SECTOR)
    fat_start = len(fat)
    fat += [FAT] * count
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(count * SECTOR, b"\xff")
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(10)
    header += struct.pack("<4I", count, directory_start, 0, 4096)
    header += struct.pack("<4I", mini_start, -(-len(mini_fat) // 128), END, 0)
    header += struct.pack("<109I", *range(fat_start, fat_start + count), *[FREE] * (109 - count))
    return header + body + table
