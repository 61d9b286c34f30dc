"""Several objects with one set of names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ipuopt.codegen.link.objects import UNDEFINED, ObjectFile, Symbol, read_object
from ipuopt.errors import InputError


@dataclass(frozen=True, slots=True)
class Library:
    """Objects, and where each name is defined: the place of its object, and the symbol."""

    objects: tuple[ObjectFile, ...]
    names: dict[str, tuple[int, Symbol]]


def read_library(files: Sequence[Path], taken: Collection[str]) -> Library:
    """Read objects.

    Parameters
    ----------
    taken
        Names that are defined elsewhere: those of the runtime.

    Raises
    ------
    InputError
        If a file is no object, or a name is defined twice; local ones count (package.md 4.3).
    """
    objects = tuple(read_object(file) for file in files)
    names: dict[str, tuple[int, Symbol]] = {}
    for place, one in enumerate(objects):
        for symbol in one.symbols:
            if not symbol.name or symbol.section == UNDEFINED:
                continue
            where = f"{one.file}: symbol {symbol.name}"
            if symbol.name in taken:
                raise InputError(f"{where}: found it defined, expected it left to ipuopt's runtime")
            if symbol.name in names:
                first = objects[names[symbol.name][0]].file
                raise InputError(f"{where}: found it in {first} too, expected one definition")
            names[symbol.name] = place, symbol
    return Library(objects, names)
