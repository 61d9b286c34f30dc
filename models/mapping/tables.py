"""Nodes of the mapping problem: cycles of their labels, and bytes while each step runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.models.mapping.candidates.labels import Choice
from ipuopt.models.mapping.candidates.request import Source
from ipuopt.models.mapping.dominance import BoolArray
from ipuopt.models.mapping.graph import Graph, Operand
from ipuopt.models.mapping.memory import Timeline, large_part
from ipuopt.models.mapping.parts import HOST, MADE, TAKEN, Part, Reading
from ipuopt.models.mapping.problem import Node


def node_of(part: Part, graph: Graph, low: int) -> Node:
    """Cost and memory over steps of every label.

    Values that the host loads are held from step 0. A value is held to the conversion step of its
    last reader, or to the end; a reader holds what it reads from its own kernel step on, and a
    conversion's result during the conversion through the edge. Thus a buffer is counted once at
    every step, but for an interleaved operand of a pointwise operation during its conversion step,
    where the kernel step needs as much. The access tail of a result that a product reads as it lies
    (16 bytes) is counted from that product on only; the margin of the capacity covers it.
    """
    table = Timeline(len(part.cost), len(graph.steps))
    value = Held.of(part.value, low)
    if part.visit is None or part.labels is None:
        _hold_value(table, part, graph, 0, value)
        return Node(part.key[0], part.cost, table.standard, table.interleaved, table.large)
    run, labels = part.visit.run, part.labels
    for index, (operand, choice) in enumerate(
        zip(part.visit.operands, labels.operands, strict=True)
    ):
        held, reading = Held.of(choice, low), part.reading(index)
        if operand.source is Source.LOADED:
            held.hold(table, 0, run)
        elif reading is None:
            _hold_made(table, operand.step, run, held)
        else:
            _hold_shared(table, operand, reading, graph, run, held)
    buffers = labels.run
    table.hold(run, run, buffers.standard, buffers.interleaved, buffers.large)
    if labels.finish is None:
        _hold_value(table, part, graph, run, value)
    else:
        buffers = labels.finish
        table.hold(run + 1, run + 1, buffers.standard, buffers.interleaved, buffers.large)
        value.where(~labels.late).hold(table, run, run)
        _hold_value(table, part, graph, run + 1, value)
    name = part.visit.operation.name
    return Node(name, part.cost, table.standard, table.interleaved, table.large)


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of one buffer of every label: standard, interleaved, large standard ones."""

    standard: IntArray
    interleaved: IntArray
    large: IntArray

    @classmethod
    def of(cls, choice: Choice, low: int) -> Held:
        """The buffer of an operand or a result."""
        return cls(choice.standard, choice.interleaved, large_part(choice.piece, low))

    def where(self, labels: BoolArray) -> Held:
        """The buffer of some labels only."""
        return Held(self.standard * labels, self.interleaved * labels, self.large * labels)

    def hold(self, table: Timeline, first: int, last: int) -> None:
        """Count the buffer from step ``first`` to step ``last``."""
        table.hold(first, last, self.standard, self.interleaved, self.large)


def _hold_value(table: Timeline, part: Part, graph: Graph, first: int, value: Held) -> None:
    """Count a value from step ``first`` to its last reader, at least in that step."""
    readers = graph.readers.get(part.key, ())
    end = len(graph.steps) - 1
    if part.until is None:
        last = end if part.key[0] in graph.outputs else -1
        value.hold(table, first, max(first, last, *(reader.step for reader in readers)))
        return
    for until in np.unique(part.until).tolist():
        last = readers[until].step if until < len(readers) else end
        value.where(part.until == until).hold(table, first, max(first, last))


def _hold_made(table: Timeline, step: int, run: int, held: Held) -> None:
    """Count what a conversion makes at ``step``, where its edge counts the standard bytes."""
    table.hold(step, step, np.zeros_like(held.standard), held.interleaved, held.large * 0)
    held.hold(table, step + 1, run)


def _hold_shared(
    table: Timeline, operand: Operand, reading: Reading, graph: Graph, run: int, held: Held
) -> None:
    """Count what a reader of a shared value reads, and what it keeps for others."""
    readers = graph.readers[operand.key]
    loaded = reading.source == HOST
    held.where(loaded).hold(table, 0, run)
    _hold_made(table, operand.step, run, held.where((reading.mode == MADE) & ~loaded))
    held.where(reading.mode == TAKEN).hold(table, operand.step + 1, run)
    for until, reader in enumerate(readers):
        if reader.step > run:
            held.where(reading.until == until).hold(table, run + 1, reader.step)
