"""Least cycles of the rest of a chain, by the layout that it finds: bounds for the search.

A conversion costs at least what its fullest destination cannot have at home, and between different
orders at least the copies out of its staging (cost-model.md 3.6, rule A). Everything else is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.errors import LimitError
from ipuopt.layout import ROW_MAJOR, IntArray, Layout
from ipuopt.limits import Limits
from ipuopt.models.mapping.peer.chain import Choice, Link
from ipuopt.models.mapping.peer.memory import RESERVED_BYTES, TOTAL_BYTES
from ipuopt.models.mapping.peer.rearrange import IMPOSSIBLE
from ipuopt.models.mapping.peer.traffic import CHUNK_WORDS, total
from ipuopt.rectangles import max_shard_elements, rectangles
from ipuopt.target.constants import EXCHANGE_BYTES_PER_CYCLE, SYNC_CYCLES, WORD_BYTES
from ipuopt.target.kernels import COPY_CALL_CYCLES, STANDARD_BYTES_PER_CYCLE
from ipuopt.workload.model import Tensor

ELEMENT_BYTES = 2
"""Chains are float16."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Choices of an operation for one layout of its activation, those of least cycles first.

    ``least`` bounds the cycles from that operation on: its conversion, itself and the rest.
    """

    choices: tuple[Choice, ...]
    least: IntArray


class Rest:
    """Bounds of what the operations of a chain cost from one of them on."""

    def __init__(self, links: Sequence[Link], limits: Limits) -> None:
        self._links, self._limits = links, limits
        self._rankings: dict[tuple[int, Layout | None], Ranking] = {}
        self._most: dict[tuple[str, Layout], int] = {}

    def least(self, depth: int, current: Layout | None) -> int:
        """Least cycles from operation ``depth`` on, which finds its activation in ``current``."""
        if depth == len(self._links):
            return 0
        least = self.ranking(depth, current).least
        return int(least[0]) if len(least) else IMPOSSIBLE

    def ranking(self, depth: int, current: Layout | None) -> Ranking:
        """Choices of operation ``depth`` that can be reached from ``current``.

        Raises
        ------
        LimitError
            If the time is over; what is known already is always answered.
        """
        key = (depth, current)
        if key not in self._rankings:
            if self._limits.expired():
                raise LimitError("the limit came before the rest of a chain was bounded")
            self._rankings[key] = self._rank(depth, current)
        return self._rankings[key]

    def _rank(self, depth: int, current: Layout | None) -> Ranking:
        link = self._links[depth]
        choices = link.offered(current)
        least = np.array(
            [choice.priced.cycles + self.least(depth + 1, choice.makes) for choice in choices],
            dtype=np.int64,
        )
        if current is not None:
            arrival = self._arrival(link.activation, current, [c.reads for c in choices])
            least = np.where(arrival < IMPOSSIBLE, least + arrival, IMPOSSIBLE)
        order = np.argsort(least, kind="stable")
        order = order[least[order] < IMPOSSIBLE]
        return Ranking(tuple(choices[i] for i in order.tolist()), least[order])

    def _arrival(self, tensor: Tensor, source: Layout, targets: Sequence[Layout]) -> IntArray:
        """Least cycles of the conversion of ``source`` into each target."""
        held = max_shard_elements(source, tensor.rows, tensor.columns) * ELEMENT_BYTES
        taken = np.array([self._most_bytes(tensor, t) for t in targets], dtype=np.int64)
        same = np.array([t == source for t in targets])
        direct = np.array([t.order == source.order for t in targets])
        staged = np.array([ROW_MAJOR in (t.order, source.order) for t in targets])
        active = np.array([max(t.tiles, source.tiles) for t in targets], dtype=np.int64)
        missing = np.maximum(taken - held, 0)
        words = -(-missing // WORD_BYTES)
        exchange = -(-missing // EXCHANGE_BYTES_PER_CYCLE) + SYNC_CYCLES * (missing > 0)
        local = -(-2 * taken // STANDARD_BYTES_PER_CYCLE) + COPY_CALL_CYCLES
        cycles = exchange + np.where(direct, 0, local)
        cycles = np.where(same, 0, -(-cycles * self._links[0].tiles // active))
        rows = WORD_BYTES * CHUNK_WORDS * np.where(direct, 0, words)
        possible = (direct | staged) & (rows <= TOTAL_BYTES - RESERVED_BYTES)
        return np.where(possible, cycles, IMPOSSIBLE)

    def _most_bytes(self, tensor: Tensor, layout: Layout) -> int:
        """Most logical bytes of a value on one tile."""
        key = (tensor.name, layout)
        if key not in self._most:
            shards = rectangles(layout, tensor.rows, tensor.columns)
            held = total(shards.tile, shards.logical_elements, layout.tiles)
            self._most[key] = int(held.max()) * ELEMENT_BYTES
        return self._most[key]
