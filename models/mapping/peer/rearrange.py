"""Price of a change of layout, under two rules of the public compiler (cost-model.md 3.6).

Rule A is the one that the logged plan was chosen under; rule B that of the last public revision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ipuopt.layout import ROW_MAJOR, IntArray, Layout, OrderKind
from ipuopt.models.mapping.peer.flow import Flow, flow
from ipuopt.models.mapping.peer.runs import Cuts, cut_views
from ipuopt.models.mapping.peer.traffic import row_bytes
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.kernels import COPY_CALL_CYCLES, STANDARD_BYTES_PER_CYCLE, ceil_div

FRAGMENT_CYCLES = 160
"""Charge for a fragment of a logical exchange (cost-model.md 3.1)."""
IMPOSSIBLE = 2**61
"""Cost that stands for "impossible": 2^64/8 (cost-model.md, notation)."""
TRANSFORMED = (OrderKind.LEFT, OrderKind.TRANSPOSED_RIGHT, OrderKind.BLOCK_MAJOR)
"""Orders that a float16 kernel makes from row-major staging (cost-model.md 3.6)."""


class Rule(StrEnum):
    """A: every intersection is one fragment. B: every run of bytes is one."""

    A = "A"
    B = "B"


@dataclass(frozen=True, slots=True)
class RearrangementPrice:
    """Cycles by term, the part of them that is exchange, and bytes of exchange rows."""

    terms: Mapping[str, int]
    row_bytes: int

    @property
    def cycles(self) -> int:
        """All terms."""
        return sum(self.terms.values())

    @property
    def exchange_cycles(self) -> int:
        """The exchange, which is not scaled to the tiles of the chip."""
        return self.terms.get("exchange", 0)


def price_rearrangement(
    source: Layout,
    target: Layout,
    rows: int,
    columns: int,
    element_bytes: int,
    tiles: int,
    rule: Rule,
) -> RearrangementPrice:
    """Price of changing the layout of a ``rows x columns`` value on ``tiles`` tiles."""
    moved = flow(source, target, rows, columns, element_bytes, tiles)
    if rule is Rule.A:
        ways = [_rule_a(moved, source, target)]
    else:
        ways = _rule_b(moved, source, target, element_bytes)
    tiling = (source.tiles, source.replicas, source.axes)
    moves = tiling != (target.tiles, target.replicas, target.axes)
    active = max(source.tiles, target.tiles)
    prices = []
    for way in ways:
        scaled = ceil_div((way.exchange + way.local) * tiles, active)
        terms = {
            "exchange": way.exchange,
            "local copies": way.local,
            "idle tiles": scaled - way.exchange - way.local,
        }
        kept = {name: cycles for name, cycles in terms.items() if cycles}
        prices.append(RearrangementPrice(kept, row_bytes(1, way.chunks) if moves else 0))
    return min(prices, key=lambda price: price.cycles)


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to rearrange: cycles of exchange and local work, chunks of the exchange rows."""

    exchange: int
    local: int
    chunks: int


def _local_cycles(size_bytes: int, calls: int) -> int:
    return ceil_div(size_bytes, STANDARD_BYTES_PER_CYCLE) + COPY_CALL_CYCLES * calls


def _rule_a(moved: Flow, source: Layout, target: Layout) -> _Way:
    """Direct retile between equal orders; else staging, which needs a row-major side."""
    one = np.ones(len(moved.size_bytes), dtype=np.int64)
    traffic = moved.traffic(one)
    held_bytes, pieces = moved.most_local(moved.size_bytes), moved.most(one)
    if source.order == target.order:
        local, extra = _local_cycles(held_bytes, moved.most_local(one)), pieces
    else:
        taken = moved.most(moved.size_bytes)
        local, extra = _local_cycles(2 * taken, pieces), ceil_div(taken - held_bytes, WORD_BYTES)
        if ROW_MAJOR not in (source.order, target.order):
            local = IMPOSSIBLE
    return _Way(traffic.cycles(1), local, max(traffic.chunks(1), extra))


def _rule_b(moved: Flow, source: Layout, target: Layout, element_bytes: int) -> list[_Way]:
    """Direct retile between equal orders; else direct, or staging where a side is row-major."""
    direct = cut_views(moved, source.order, target.order, element_bytes)
    ways = [_direct(moved, direct, logical=source.order != target.order)]
    if source.order != target.order and ROW_MAJOR in (source.order, target.order):
        ways.append(_staged(moved, source, target, element_bytes))
    return ways


def _direct(moved: Flow, cuts: Cuts, logical: bool) -> _Way:
    local = _local_cycles(moved.most_local(moved.size_bytes), moved.most_local(cuts.calls))
    return _routed(moved, cuts, local, FRAGMENT_CYCLES if logical else 0)


def _staged(moved: Flow, source: Layout, target: Layout, element_bytes: int) -> _Way:
    """Everything lands in row-major staging, then one transform or copies build the result."""
    cuts = cut_views(moved, source.order, ROW_MAJOR, element_bytes)
    if element_bytes == 2 and target.order.kind in TRANSFORMED:
        calls = 1
    else:
        whole = flow(target, target, *_shape(moved), element_bytes, moved.tiles)
        calls = whole.most(cut_views(whole, ROW_MAJOR, target.order, element_bytes).runs)
    size = moved.most_local(moved.size_bytes) + moved.most(moved.size_bytes)
    local = _local_cycles(size, moved.most_local(cuts.calls) + calls)
    return _routed(moved, cuts, local, 0)


def _routed(moved: Flow, cuts: Cuts, local: int, fragment_cycles: int) -> _Way:
    """Exchange by runs; impossible if a routed run is no whole number of words."""
    traffic = moved.traffic(cuts.runs)
    received = moved.most_received(cuts.runs)
    exchange = traffic.cycles(1) + fragment_cycles * received
    if not cuts.aligned[_routed_pairs(moved)].all():
        local = IMPOSSIBLE
    return _Way(exchange, local, max(traffic.chunks(1), received))


def _routed_pairs(moved: Flow) -> IntArray:
    return np.unique(moved.pair[~moved.local])


def _shape(moved: Flow) -> tuple[int, int]:
    return int(moved.target.row_end.max()), moved.target.value_columns
