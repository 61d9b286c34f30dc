"""What stands behind the nodes of the mapping problem: operations and inputs with their choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ipuopt.layout import IntArray, Layout
from ipuopt.models.mapping.candidates.labels import Choice, Labels
from ipuopt.models.mapping.candidates.request import Request
from ipuopt.models.mapping.graph import Key, Visit

ORIGINAL, HOST = -1, -2
"""Sources of a reader: the value as it was made or loaded; a layout of its own, loaded by the host.
The numbers from 0 on are readers before it."""

MADE, TAKEN, STAYS = range(3)
"""How a reader comes to the buffer that its kernel reads. ``MADE``: by a conversion; or the source
lies in that layout already and has no later reader. ``TAKEN``: the latter alone, for interleaved
memory, of which a conversion needs two buffers. ``STAYS``: the source lies in that layout and has
later readers, which its memory is counted for."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How one operand of a shared value is read under every label, shape ``(labels,)`` each.

    Attributes
    ----------
    source
        ``ORIGINAL``, ``HOST``, or the number of the reader whose buffer is read.
    mode
        ``MADE``, ``TAKEN`` or ``STAYS``.
    until
        Last reader that reads the buffer of this one; its own number where none does.
    """

    source: IntArray
    mode: IntArray
    until: IntArray

    def select(self, labels: IntArray) -> Reading:
        """The given labels."""
        return Reading(self.source[labels], self.mode[labels], self.until[labels])


@dataclass(frozen=True, slots=True)
class Part:
    """What stands behind one node of the problem.

    Attributes
    ----------
    key
        The value that the node makes or loads.
    value
        Its layout under every label.
    visit, request, labels
        The operation; None for an input that several operations share.
    readings
        How each operand is read; None for one that no other operation reads.
    until
        Last reader of the value itself under every label, as many as there are readers where it
        stays to the end; None where only one operation reads it, or none.
    base
        Number of every label before it was told apart by how shared values are read and kept; None
        where there are none.
    """

    key: Key
    value: Choice
    visit: Visit | None = None
    request: Request | None = None
    labels: Labels | None = None
    readings: tuple[Reading | None, ...] = ()
    until: IntArray | None = None
    base: IntArray | None = None

    @property
    def cost(self) -> IntArray:
        """Cycles of each label."""
        if self.labels is None:
            return np.zeros(len(self.value.index), dtype=np.int64)
        return self.labels.cost

    def reading(self, operand: int) -> Reading | None:
        """How an operand is read; None for one that no other operation reads."""
        return self.readings[operand] if self.readings else None

    def select(self, labels: IntArray) -> Part:
        """The given labels."""
        return replace(
            self,
            value=self.value.select(labels),
            labels=None if self.labels is None else self.labels.select(labels),
            readings=tuple(r if r is None else r.select(labels) for r in self.readings),
            until=None if self.until is None else self.until[labels],
            base=None if self.base is None else self.base[labels],
        )


def shared_input(key: Key, readers: Sequence[Choice]) -> Part:
    """An input that several operations read: loaded in the layout that one of them wants."""
    size: dict[Layout, tuple[int, int, int]] = {}
    for choice in readers:
        for label, index in enumerate(choice.index):
            layout = choice.layouts[index]
            seen = size.get(layout, (0, 0, 0))
            here = (choice.standard[label], choice.interleaved[label], choice.piece[label])
            size[layout] = (
                max(seen[0], int(here[0])),
                max(seen[1], int(here[1])),
                max(seen[2], int(here[2])),
            )
    standard, interleaved, piece = np.array(list(size.values()), dtype=np.int64).T
    index = np.arange(len(size), dtype=np.int64)
    return Part(key, Choice(tuple(size), index, standard, interleaved, piece))
