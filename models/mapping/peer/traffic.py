"""Endpoint traffic of an exchange phase and its price (cost-model.md 3.2, 3.9).

Two neighbouring tiles 2j, 2j+1 share sending bus j; every tile receives on its own. Sending and
receiving overlap completely; neither latency nor overhead of a transfer is charged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.target.constants import EXCHANGE_BYTES_PER_CYCLE, MAX_WORDS, SYNC_CYCLES, WORD_BYTES
from ipuopt.target.kernels import ceil_div

MAX_BYTES = MAX_WORDS * WORD_BYTES
"""Longest transfer in bytes (cost-model.md 3.1)."""
CHUNK_WORDS = 7 * 6
"""Words of an exchange row that the model reserves for one chunk (cost-model.md 3.9)."""
TILES_A_BUS = 2
"""Neighbouring tiles that share a sending bus (cost-model.md 3.2)."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes and fragments of every sending bus and every receiving tile.

    Attributes
    ----------
    sent_bytes, sent_fragments
        Shape ``(buses,)``.
    received_bytes, received_fragments
        Shape ``(tiles,)``.
    """

    sent_bytes: IntArray
    sent_fragments: IntArray
    received_bytes: IntArray
    received_fragments: IntArray

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.sent_bytes + other.sent_bytes,
            self.sent_fragments + other.sent_fragments,
            self.received_bytes + other.received_bytes,
            self.received_fragments + other.received_fragments,
        )

    @property
    def peak_bytes(self) -> int:
        """Most bytes of a bus or tile."""
        return int(max(self.sent_bytes.max(), self.received_bytes.max()))

    @property
    def fragments(self) -> int:
        """Most fragments of a bus or tile."""
        return int(max(self.sent_fragments.max(), self.received_fragments.max()))

    def cycles(self, phases: int) -> int:
        """``E(traffic, phases)`` of cost-model.md 3.2."""
        return exchange_cycles(self.peak_bytes, phases)

    def chunks(self, phases: int) -> int:
        """Chunks of the exchange rows; 0 without traffic (cost-model.md 3.2)."""
        if not self.peak_bytes:
            return 0
        return max(ceil_div(self.peak_bytes, MAX_BYTES), self.fragments, phases)


def collect(
    tiles: int,
    sender: IntArray,
    sent_bytes: IntArray,
    sent_fragments: IntArray,
    receiver: IntArray,
    received_bytes: IntArray,
    received_fragments: IntArray,
) -> Traffic:
    """Sum sends by bus and receipts by tile; the first three columns and the last three match."""
    buses = ceil_div(tiles, TILES_A_BUS)
    return Traffic(
        total(sender // TILES_A_BUS, sent_bytes, buses),
        total(sender // TILES_A_BUS, sent_fragments, buses),
        total(receiver, received_bytes, tiles),
        total(receiver, received_fragments, tiles),
    )


def nothing(tiles: int) -> Traffic:
    """No traffic."""
    none = np.zeros(0, dtype=np.int64)
    return collect(tiles, none, none, none, none, none, none)


def total(group: IntArray, amount: IntArray, groups: int) -> IntArray:
    """Sum of ``amount`` in each group, shape ``(groups,)``, exact."""
    sums = np.zeros(groups, dtype=np.int64)
    np.add.at(sums, group, amount)
    return sums


def exchange_cycles(peak_bytes: int, phases: int) -> int:
    """Payload of the busiest endpoint and one synchronisation a phase; 0 without payload."""
    if not peak_bytes or not phases:
        return 0
    return ceil_div(peak_bytes, EXCHANGE_BYTES_PER_CYCLE) + SYNC_CYCLES * phases


def row_bytes(phases: int, chunks: int) -> int:
    """Bytes of the exchange rows of one operation on a tile (cost-model.md 3.9)."""
    return WORD_BYTES * (phases + chunks * CHUNK_WORDS) if phases else 0
