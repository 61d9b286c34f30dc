"""What a rearrangement moves, independent of how its pieces are counted (cost-model.md 3.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray, Layout
from ipuopt.models.mapping.peer.parts import (
    Intersections,
    Parts,
    distinct_parts,
    expand,
    intersect,
)
from ipuopt.models.mapping.peer.traffic import Traffic, collect, total


@dataclass(frozen=True, slots=True)
class Flow:
    """Intersections of two layouts of a value, and the tiles that take them.

    Attributes
    ----------
    tiles
        Tiles of the target chip.
    source, target
        Distinct parts of both layouts.
    pairs
        Intersections of the parts.
    size_bytes
        Logical bytes of each intersection.
    pair, tile
        One entry for every intersection and every tile of its target part.
    local
        Whether that tile holds the source part itself; else it receives from the first owner.
    """

    tiles: int
    source: Parts
    target: Parts
    pairs: Intersections
    size_bytes: IntArray
    pair: IntArray
    tile: IntArray
    local: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def traffic(self, fragments: IntArray) -> Traffic:
        """Traffic with ``fragments`` of each intersection; an intersection is sent at most once."""
        pair, tile = self.pair[~self.local], self.tile[~self.local]
        sent = np.flatnonzero(np.bincount(pair, minlength=len(self.size_bytes)))
        return collect(
            self.tiles,
            self.source.first_owner[self.pairs.source[sent]],
            self.size_bytes[sent],
            fragments[sent],
            tile,
            self.size_bytes[pair],
            fragments[pair],
        )

    def most_local(self, amount: IntArray) -> int:
        """Largest sum over a tile's local intersections of ``amount`` (one an intersection)."""
        held = self.local
        return int(total(self.tile[held], amount[self.pair[held]], self.tiles).max())

    def most_received(self, amount: IntArray) -> int:
        """The same over what a tile receives."""
        far = ~self.local
        return int(total(self.tile[far], amount[self.pair[far]], self.tiles).max())

    def most(self, amount: IntArray) -> int:
        """The same over all that a tile takes, local or not."""
        return int(total(self.tile, amount[self.pair], self.tiles).max())


def flow(
    source_layout: Layout,
    target_layout: Layout,
    rows: int,
    columns: int,
    element_bytes: int,
    tiles: int,
) -> Flow:
    """Intersect two layouts of a ``rows x columns`` value."""
    source = distinct_parts(source_layout, rows, columns)
    target = distinct_parts(target_layout, rows, columns)
    pairs = intersect(source, target)
    pair, member = expand(target.bounds[pairs.target], target.bounds[pairs.target + 1])
    tile = target.owner[member]
    owned = np.repeat(np.arange(len(source), dtype=np.int64), source.owners) * tiles + source.owner
    local = np.isin(pairs.source[pair] * tiles + tile, owned, assume_unique=False)
    return Flow(tiles, source, target, pairs, pairs.elements * element_bytes, pair, tile, local)
