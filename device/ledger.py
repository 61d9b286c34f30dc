"""Kernel calls as they happened, and what each costs by its own arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ipuopt.codegen.kernels.table import charge


@dataclass(slots=True)
class Ledger:
    """One entry a call, those of each tile in its order.

    Attributes
    ----------
    tile
        Physical tiles.
    name
        Symbols.
    cycles
        By the formulas of :mod:`ipuopt.codegen.kernels.charges`.
    """

    tile: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)

    def enter(self, tile: int, name: str, arguments: Sequence[int]) -> int:
        """Note a call and return its cycles; ``arguments`` are $m2 and the registers behind it."""
        self.tile.append(tile)
        self.name.append(name)
        self.cycles.append(charge(name, arguments))
        return self.cycles[-1]
