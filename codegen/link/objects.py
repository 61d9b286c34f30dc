"""Object files: ELF32, little-endian, relocatable, of machine 0xf8 (``package.md`` 4.3).

The headers are read by pyelftools; tables of symbols and relocations, which may be damaged and long,
are arrays over the bytes of the file, so that no entry can lead outside it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.elf.elffile import ELFFile

from ipuopt.errors import InputError

MACHINE = 0xF8
MOST_BYTES = 1 << 24
"""Of a file, and of the names in it. Tiles have 624 KiB; the rest is for debuggers."""
UNDEFINED, ABSOLUTE, RESERVED, COMMON = 0, 0xFFF1, 0xFF00, 0xFFF2
"""Sections that symbols name instead of one of the file (System V ABI, symbol table)."""
_ALLOCATED, _COMPRESSED = 2, 0x800
_SECTION, _FILE = 3, 4
"""Types of symbols that are no names of code or data."""
_SYMBOL = np.dtype(
    {
        "names": ["name", "value", "size", "info", "other", "section"],
        "formats": ["<u4", "<u4", "<u4", "u1", "u1", "<u2"],
    }
)
_RELOCATION = np.dtype([("offset", "<u4"), ("info", "<u4"), ("addend", "<i4")])
Header = Any


@dataclass(frozen=True, slots=True)
class Relocation:
    """A field that is written when addresses are known.

    Attributes
    ----------
    offset
        In the section.
    kind
        Type, a number.
    symbol
        Index of the symbol in its file.
    addend
        Added to the symbol's value.
    """

    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(frozen=True, slots=True)
class Section:
    """Bytes that lie in the memory of a tile if anything refers to them; zeros behind ``content``."""

    name: str
    alignment: int
    size: int
    content: memoryview
    relocations: tuple[Relocation, ...]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name for a place of a section, or for a number.

    Attributes
    ----------
    name
        Empty for those of whole sections.
    section
        Number in the file, or :data:`UNDEFINED`, :data:`ABSOLUTE`.
    value
        Offset in the section, or the number.
    """

    name: str
    section: int
    value: int


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """What a file holds for a tile: sections by their number, symbols."""

    file: str
    sections: dict[int, Section]
    symbols: tuple[Symbol, ...]


def read_object(path: Path) -> ObjectFile:
    """Read an object file.

    Raises
    ------
    InputError
        If it cannot be read, is damaged, or no object for this chip; names file, and section or
        symbol where there is one.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise _wrong(path, f"found {size} bytes", f"at most {MOST_BYTES}")
        content = path.read_bytes()
    except OSError as error:
        raise _wrong(path, f"found {error.strerror or error}", "an ELF object") from None
    try:
        return _Reader(path, content).read()
    except ELFError as error:
        found = str(error).partition("\n")[0] or "a damaged file"
        raise _wrong(path, f"found {found}", "an ELF object") from None


def _wrong(where: object, found: str, expected: str) -> InputError:
    return InputError(f"{where}: {found}, expected {expected}")


class _Reader:
    """Headers and tables of one file."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path, self._content, self._held = path, content, 0
        self._elf = ELFFile(io.BytesIO(content))
        self._check_header()
        self._headers = self._section_headers()
        self._names = self._table(self._elf["e_shstrndx"], "SHT_STRTAB", "names of sections")

    def _check_header(self) -> None:
        elf = self._elf
        machine = int.from_bytes(self._content[18:20], "little")
        order = "little" if elf.little_endian else "big"
        for found, expected, unit in (
            (elf.elfclass, 32, "bits"),
            (order, "little", "end first"),
            (f"machine {machine:#x}", f"machine {MACHINE:#x}", "(IPU)"),
            (elf["e_type"], "ET_REL", "(a relocatable object)"),
        ):
            if found != expected:
                raise _wrong(self._path, f"found {found}", f"{expected} {unit}")

    def _section_headers(self) -> list[Header]:
        elf, form = self._elf, self._elf.structs.Elf_Shdr
        size, start, count = form.sizeof(), elf["e_shoff"], elf["e_shnum"]
        if not count or elf["e_shentsize"] != size:
            found = f"found {count} section headers of {elf['e_shentsize']} bytes"
            raise _wrong(self._path, found, f"some of {size}")
        if start + count * size > len(self._content):
            found = f"found {len(self._content)} bytes"
            raise _wrong(self._path, found, f"section headers to {start + count * size:#x}")
        return [struct_parse(form, elf.stream, start + size * place) for place in range(count)]

    def read(self) -> ObjectFile:
        """Sections that may lie on a tile, and all symbols."""
        tables = [n for n, h in enumerate(self._headers) if h["sh_type"] == "SHT_SYMTAB"]
        if len(tables) != 1:
            raise _wrong(self._path, f"found {len(tables)} tables of symbols", "1")
        kept = {n: h for n, h in enumerate(self._headers) if n and h["sh_flags"] & _ALLOCATED}
        relocations = self._relocations(kept, tables[0])
        sections = {n: self._section(n, relocations.get(n, ())) for n in kept}
        symbols = self._symbols(tables[0], sections)
        for section in sections.values():
            for relocation in section.relocations:
                if relocation.symbol >= len(symbols):
                    where = f"{self._path}: {section.name}+{relocation.offset:#x}"
                    raise _wrong(
                        where, f"found symbol {relocation.symbol}", f"one of {len(symbols)}"
                    )
        return ObjectFile(str(self._path), sections, symbols)

    def _name(self, header: Header) -> str:
        return self._text(self._names, header["sh_name"], "the name of a section")

    def _text(self, table: bytes, start: int, what: str) -> str:
        stop = table.find(b"\0", start)
        if stop < 0:
            raise _wrong(self._path, f"found {what} at {start:#x}", f"it within {len(table)} bytes")
        self._held += stop - start  # names may share their bytes
        if self._held > MOST_BYTES:
            raise _wrong(self._path, "found more names", f"at most {MOST_BYTES} bytes of them")
        try:
            return table[start:stop].decode()
        except UnicodeDecodeError:
            raise _wrong(self._path, f"found {what} at {start:#x}", "UTF-8") from None

    def _bytes(self, header: Header, where: str) -> memoryview:
        start, size = header["sh_offset"], header["sh_size"]
        if start + size > len(self._content):
            found = f"found {size} bytes at {start:#x} of a file of {len(self._content)}"
            raise _wrong(where, found, "them inside it")
        return memoryview(self._content)[start : start + size]

    def _table(self, number: int, kind: str, what: str) -> bytes:
        if number >= len(self._headers) or self._headers[number]["sh_type"] != kind:
            raise _wrong(self._path, f"found section {number} as {what}", f"one of type {kind}")
        return bytes(self._bytes(self._headers[number], f"{self._path}: {what}"))

    def _records(self, number: int, form: np.dtype[Any], where: str) -> npt.NDArray[Any]:
        header = self._headers[number]
        content = self._bytes(header, where)
        if header["sh_entsize"] != form.itemsize or len(content) % form.itemsize:
            found = f"found {len(content)} bytes in entries of {header['sh_entsize']}"
            raise _wrong(where, found, f"entries of {form.itemsize}")
        return np.frombuffer(content, form)

    def _section(self, number: int, relocations: tuple[Relocation, ...]) -> Section:
        header = self._headers[number]
        name, alignment, size = self._name(header), header["sh_addralign"], header["sh_size"]
        where = f"{self._path}: {name}"
        if header["sh_flags"] & _COMPRESSED:
            raise _wrong(where, "found it compressed", "it as it lies on a tile")
        if alignment & (alignment - 1):
            raise _wrong(where, f"found alignment {alignment}", "a power of 2")
        content = memoryview(b"")
        if header["sh_type"] != "SHT_NOBITS":
            content = self._bytes(header, where)
        return Section(name, max(1, alignment), size, content, relocations)

    def _relocations(
        self, kept: dict[int, Header], symbols: int
    ) -> dict[int, tuple[Relocation, ...]]:
        """Of the sections of ``kept``, by their number."""
        result: dict[int, tuple[Relocation, ...]] = {}
        count = 0
        for number, header in enumerate(self._headers):
            of = header["sh_info"]
            if header["sh_type"] not in ("SHT_RELA", "SHT_REL") or of not in kept:
                continue
            where = f"{self._path}: {self._name(header)}"
            if header["sh_type"] == "SHT_REL":
                raise _wrong(where, "found relocations without addends (REL)", "RELA")
            if header["sh_link"] != symbols:
                raise _wrong(where, f"found symbols in section {header['sh_link']}", f"{symbols}")
            if of in result:
                raise _wrong(where, f"found a second table for section {of}", "one")
            table = self._records(number, _RELOCATION, where)
            columns = (
                table["offset"],
                table["info"] & 0xFF,
                table["info"] >> 8,
                table["addend"],
            )
            rows = zip(*(column.tolist() for column in columns), strict=True)
            result[of] = tuple(Relocation(*row) for row in rows)
            count += len(table)
            if count * _RELOCATION.itemsize > len(self._content):
                raise _wrong(where, "found tables that share entries", "one of its own")
        return result

    def _symbols(self, number: int, sections: dict[int, Section]) -> tuple[Symbol, ...]:
        header = self._headers[number]
        names = self._table(header["sh_link"], "SHT_STRTAB", "names of symbols")
        table = self._records(number, _SYMBOL, f"{self._path}: symbols")
        result: list[Symbol] = []
        for start, value, _, info, _, section in table.tolist():
            kind = info & 0xF
            name = "" if kind in (_SECTION, _FILE) else self._text(names, start, "a symbol")
            where = f"{self._path}: symbol {name or len(result)}"
            if section == COMMON:
                raise _wrong(where, "found it common", "it in a section (-fno-common)")
            if kind == _FILE:
                section = UNDEFINED
            elif section != ABSOLUTE and section >= min(RESERVED, len(self._headers)):
                raise _wrong(where, f"found section {section}", f"one of {len(self._headers)}")
            elif section in sections and value > sections[section].size:
                found = f"found it at {value:#x} of {sections[section].name}"
                raise _wrong(where, found, f"it within {sections[section].size} bytes")
            result.append(Symbol(name, section, value))
        return tuple(result)
