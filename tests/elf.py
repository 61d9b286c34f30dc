"""A writer of small ELF objects, by the System V ABI; it shares nothing with the reader."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PROGBITS, SYMTAB, STRTAB, RELA, NOBITS, REL = 1, 2, 3, 4, 8, 9
ALLOC_EXEC = 2 | 4


@dataclass
class Part:
    """A section; relocations are (offset, type, symbol, addend)."""

    name: str
    content: bytes = b""
    size: int = 0
    kind: int = PROGBITS
    flags: int = ALLOC_EXEC
    alignment: int = 4
    relocations: Sequence[tuple[int, int, str, int]] = field(default_factory=list)


def elf(
    parts: Sequence[Part],
    symbols: Mapping[str, tuple[str | int, int]],
    *,
    info: Mapping[str, int] = {},
    header: Mapping[str, int] = {},
    rela: int = RELA,
) -> bytes:
    """Bytes of an object.

    ``symbols`` are (name of a section or its number, value); ``info`` overrides binding and type of some;
    a relocation may name a section instead of a symbol. ``header`` overrides fields of the file header.
    """
    numbers = {part.name: place + 1 for place, part in enumerate(parts)}
    names, entries = ["", *numbers, *symbols], [(0, 0, 0, 0, 0, 0)]
    strings, at = b"", {}
    for name in names:
        at[name] = len(strings)
        strings += name.encode() + b"\0"
    for number in numbers.values():
        entries.append((0, 0, 0, 3, 0, number))
    for name, (section, value) in symbols.items():
        number = numbers[section] if isinstance(section, str) else section
        entries.append((at[name], value, 0, info.get(name, 0x10), 0, number))
    index = {name: place for place, name in enumerate(names)}
    symtab = b"".join(struct.pack("<IIIBBH", *entry) for entry in entries)
    table = [p for p in parts if p.relocations]
    first = 1 + len(parts) + len(table)
    sections: list[tuple[int, int, int, bytes, int, int, int, int, int]] = []
    for p in parts:
        sections.append(
            (at[p.name], p.kind, p.flags, p.content, p.size or len(p.content), 0, 0, p.alignment, 0)
        )
    for p in table:
        form, size = ("<IIi", 12) if rela == RELA else ("<II", 8)
        rows = [(o, index[s] << 8 | kind, addend) for o, kind, s, addend in p.relocations]
        content = b"".join(struct.pack(form, *row[: size // 4]) for row in rows)
        sections.append(
            (at[p.name], rela, 0, content, len(content), first, numbers[p.name], 4, size)
        )
    sections.append((0, SYMTAB, 0, symtab, len(symtab), first + 1, 1 + len(parts), 4, 16))
    sections.append((0, STRTAB, 0, strings, len(strings), 0, 0, 1, 0))
    body, headers = bytearray(52), [bytes(40)]
    for name_at, kind, flags, content, size, link, of, alignment, entry in sections:
        where = len(body)
        body += content
        headers.append(
            struct.pack("<10I", name_at, kind, flags, 0, where, size, link, of, alignment, entry)
        )
    values: dict[str, Any] = {
        "class": 1,
        "order": 1,
        "type": 1,
        "machine": 0xF8,
        "shoff": len(body),
        "shentsize": 40,
        "shnum": len(headers),
        "shstrndx": len(headers) - 1,
        **header,
    }
    ident = bytes([0x7F, *b"ELF", values["class"], values["order"], 1, *bytes(9)])
    tail = (values["type"], values["machine"], 1, 0, 0, values["shoff"], 0, 52, 0, 0)
    sizes = (values["shentsize"], values["shnum"], values["shstrndx"])
    body[:52] = ident + struct.pack("<HHIIIIIHHHHHH", *tail, *sizes)
    return bytes(body) + b"".join(headers)
