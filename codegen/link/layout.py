"""Which sections are kept, and where they lie (``package.md`` 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ipuopt.codegen.link.library import Library
from ipuopt.codegen.link.objects import ABSOLUTE, UNDEFINED, Section, Symbol
from ipuopt.errors import InputError
from ipuopt.layout import round_up

Place = tuple[int, int]
"""An object of the library and the number of a section in it."""
Range = tuple[int, int]
"""First address and first address behind."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Addresses of the kept sections, ascending, and the used part of each range."""

    library: Library
    address: dict[Place, int]
    used: tuple[Range, ...]

    def section(self, place: Place) -> Section:
        """A section of the library."""
        return self.library.objects[place[0]].sections[place[1]]

    def value(self, of: int, symbol: Symbol) -> int:
        """Value of a defined symbol of object ``of``."""
        if symbol.section == ABSOLUTE:
            return symbol.value
        return self.address[of, symbol.section] + symbol.value

    @property
    def symbols(self) -> dict[str, int]:
        """Addresses of all names in kept sections."""
        return {
            name: self.value(of, symbol)
            for name, (of, symbol) in self.library.names.items()
            if (of, symbol.section) in self.address
        }


def lay_out(library: Library, names: Iterable[str], ranges: Sequence[Range]) -> Layout:
    """Keep what the definitions of ``names`` reach and give it addresses.

    Parameters
    ----------
    names
        Of called kernels; the library defines them.
    ranges
        Executable memory, ascending.

    Raises
    ------
    InputError
        If a section finds no room or a name stands for no place in one, with file and section.
    """
    stops = [start for start, _ in ranges]
    address: dict[Place, int] = {}
    current = 0
    for place in sorted(_reached(library, names)):
        one = library.objects[place[0]]
        section = one.sections[place[1]]
        at = round_up(stops[current], section.alignment)
        while at + section.size > ranges[current][1]:
            current += 1
            if current == len(ranges):
                found = f"found {section.size} bytes with alignment {section.alignment}"
                left = max(0, ranges[-1][1] - stops[-1])
                where = f"{one.file}: {section.name}"
                raise InputError(f"{where}: {found}, expected at most {left} behind the others")
            at = round_up(stops[current], section.alignment)
        address[place] = at
        stops[current] = at + section.size
    used = [(start, stop) for (start, _), stop in zip(ranges, stops, strict=True)]
    return Layout(library, address, tuple(used))


def _reached(library: Library, names: Iterable[str]) -> set[Place]:
    """Sections of the definitions, and those that their relocations lead to."""
    reached: set[Place] = set()
    waiting = []
    for name in names:
        of, symbol = library.names[name]
        one = library.objects[of]
        if symbol.section not in one.sections:
            found = f"found it outside the sections of a tile ({symbol.section:#x})"
            raise InputError(f"{one.file}: symbol {name}: {found}, expected it in code")
        waiting.append((of, symbol.section))
    while waiting:
        place = waiting.pop()
        if place in reached:
            continue
        reached.add(place)
        of, number = place
        one = library.objects[of]
        for relocation in one.sections[number].relocations:
            target_of, target = resolved(library, of, relocation.symbol)
            if target.section in library.objects[target_of].sections:
                waiting.append((target_of, target.section))
    return reached


def resolved(library: Library, of: int, number: int) -> tuple[int, Symbol]:
    """Symbol ``number`` of object ``of``: itself, or its definition in another object if any."""
    symbol = library.objects[of].symbols[number]
    if symbol.section != UNDEFINED:
        return of, symbol
    return library.names.get(symbol.name, (of, symbol))
