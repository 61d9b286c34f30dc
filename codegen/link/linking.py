"""Bytes of the kept sections, with all relocations written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ipuopt.codegen.link.layout import Layout, Place, Range, resolved
from ipuopt.codegen.link.objects import ABSOLUTE, UNDEFINED, Relocation
from ipuopt.codegen.link.relocations import NONE, write
from ipuopt.codegen.runtime import SEED_STEP
from ipuopt.errors import InputError
from ipuopt.target.constants import TILES


@dataclass(frozen=True, slots=True)
class _Patch:
    """A relocation whose value grows with the tile: part, offset there, type, value on tile 0."""

    part: int
    offset: int
    kind: int
    value: int


@dataclass(frozen=True, slots=True)
class Linked:
    """Linked code.

    Attributes
    ----------
    used
        Range of addresses of each part.
    parts
        Bytes of logical tile 0.
    """

    used: tuple[Range, ...]
    parts: tuple[bytes, ...]
    patches: tuple[_Patch, ...]

    def of_tile(self, tile: int) -> tuple[bytes, ...]:
        """Bytes of a logical tile."""
        if not self.patches:
            return self.parts
        parts = [bytearray(part) for part in self.parts]
        for patch in self.patches:
            write(parts[patch.part], patch.offset, patch.kind, patch.value + SEED_STEP * tile)
        return tuple(map(bytes, parts))


def link(layout: Layout, outside: Mapping[str, int], own: Mapping[str, int]) -> Linked:
    """Write all relocations of the kept sections.

    Parameters
    ----------
    outside
        Values of names that no object defines: helpers of the runtime, places of the program.
    own
        Likewise, values on logical tile 0 of those that are a tile's own.

    Raises
    ------
    InputError
        With file, section and symbol: a name without definition, an unknown type, a value that does
        not fit.
    """
    parts = [bytearray(stop - start) for start, stop in layout.used]
    patches = []
    for place, address in layout.address.items():
        section = layout.section(place)
        content = bytearray(section.content) + bytes(section.size - len(section.content))
        part = next(n for n, (start, stop) in enumerate(layout.used) if start <= address <= stop)
        base = address - layout.used[part][0]
        for relocation in section.relocations:
            if relocation.kind == NONE:
                continue
            name, value, grows = _value(layout, place, relocation, outside, own)
            kind, offset = relocation.kind, relocation.offset
            try:
                if grows:
                    write(content, offset, kind, value + SEED_STEP * (TILES - 1))
                    patches.append(_Patch(part, base + offset, kind, value))
                write(content, offset, kind, value)
            except ValueError as error:
                where = f"{_where(layout, place, relocation)}: {name or 'a section'}"
                raise InputError(f"{where}: {error}") from None
        parts[part][base : base + len(content)] = content
    return Linked(layout.used, tuple(map(bytes, parts)), tuple(patches))


def _where(layout: Layout, place: Place, relocation: Relocation) -> str:
    one = layout.library.objects[place[0]]
    return f"{one.file}: {layout.section(place).name}+{relocation.offset:#x}"


def _value(
    layout: Layout,
    place: Place,
    relocation: Relocation,
    outside: Mapping[str, int],
    own: Mapping[str, int],
) -> tuple[str, int, bool]:
    """Name, symbol + addend on tile 0, and whether that grows with the tile."""
    of, symbol = resolved(layout.library, place[0], relocation.symbol)
    if symbol.section == ABSOLUTE or (of, symbol.section) in layout.address:
        return symbol.name, layout.value(of, symbol) + relocation.addend, False
    if symbol.section == UNDEFINED and symbol.name in own:
        return symbol.name, own[symbol.name] + relocation.addend, True
    if symbol.section == UNDEFINED and symbol.name in outside:
        return symbol.name, outside[symbol.name] + relocation.addend, False
    if symbol.section == UNDEFINED and not symbol.name:
        return "", relocation.addend, False
    found = "found no definition" if symbol.section == UNDEFINED else "found it off the tile"
    where = f"{_where(layout, place, relocation)}: {symbol.name or 'a section'}"
    raise InputError(f"{where}: {found}, expected one in an object or in ipuopt's runtime")
