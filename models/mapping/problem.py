"""The mapping problem: choose one label per node so that costs are least and memory fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

FORBIDDEN = -1
"""Cost of a pair of groups that may not be chosen together."""


@dataclass(frozen=True, slots=True)
class Node:
    """One choice: an operation's candidate, or the layout in which a shared input is loaded.

    Attributes
    ----------
    name
        For people.
    cost
        Cycles of each label, shape ``(labels,)``, non-negative.
    standard, interleaved
        Bytes that a label needs on its fullest tile while each step runs, shape
        ``(labels, steps)``.
    large
        Those of the standard bytes that lie in buffers larger than ``Capacity.low``, same shape.
    """

    name: str
    cost: IntArray
    standard: IntArray
    interleaved: IntArray
    large: IntArray

    def __post_init__(self) -> None:
        labels = len(self.cost)
        if labels == 0 or self.standard.shape != self.interleaved.shape:
            raise ValueError(f"node {self.name}: no label, or memory tables of different shape")
        if len(self.standard) != labels or self.large.shape != self.standard.shape:
            raise ValueError(f"node {self.name}: tables do not have {labels} labels")
        if min(self.cost.min(), self.standard.min(initial=0), self.interleaved.min(initial=0)) < 0:
            raise ValueError(f"node {self.name}: negative cost or memory")


@dataclass(frozen=True, slots=True)
class Edge:
    """Cost of a pair of labels; labels with the same layout form one group.

    Attributes
    ----------
    tail, head
        Nodes, ``tail < head``.
    tail_group, head_group
        Group of every label, shape ``(labels,)`` of the node, values ``0..groups-1``.
    cost
        Cycles of each pair of groups, shape ``(tail groups, head groups)``; ``FORBIDDEN`` where
        the pair is not allowed.
    staging
        Standard bytes that the pair needs while step ``step`` runs, same shape as ``cost``.
    large
        Those of them that lie in buffers larger than ``Capacity.low``, same shape.
    step
        Step of the conversion.
    """

    tail: int
    head: int
    tail_group: IntArray
    head_group: IntArray
    cost: IntArray
    staging: IntArray
    large: IntArray
    step: int

    def __post_init__(self) -> None:
        if not self.tail < self.head:
            raise ValueError(f"edge {self.tail}-{self.head}: tail must come before head")
        shapes = {self.cost.shape, self.staging.shape, self.large.shape}
        if len(shapes) > 1 or self.cost.min() < FORBIDDEN:
            raise ValueError(f"edge {self.tail}-{self.head}: bad cost or staging table")
        groups = (int(self.tail_group.max()) + 1, int(self.head_group.max()) + 1)
        if groups[0] > self.cost.shape[0] or groups[1] > self.cost.shape[1]:
            raise ValueError(f"edge {self.tail}-{self.head}: groups outside the table")


@dataclass(frozen=True, slots=True)
class Capacity:
    """Memory of one tile in bytes.

    Attributes
    ----------
    interleaved
        Most interleaved bytes at any step.
    total
        Most standard bytes of a step plus the interleaved peak over all steps rounded up to
        ``granule``: the boundary between the classes is fixed for the whole program.
    low
        Standard bytes that fit below the interleaved region; larger buffers lie above the boundary.
    high
        Most bytes of those buffers at any step is ``high`` minus the rounded peak.
    granule
        Grain of the boundary.
    """

    interleaved: int
    total: int
    low: int
    high: int
    granule: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Nodes in topological order, edges between them, names of the steps, memory of a tile."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    steps: tuple[str, ...]
    capacity: Capacity

    def __post_init__(self) -> None:
        for node in self.nodes:
            if node.standard.shape[1] != len(self.steps):
                raise ValueError(f"node {node.name}: not {len(self.steps)} steps")
        for edge in self.edges:
            tail, head = self.nodes[edge.tail], self.nodes[edge.head]
            if len(edge.tail_group) != len(tail.cost) or len(edge.head_group) != len(head.cost):
                raise ValueError(f"edge {edge.tail}-{edge.head}: groups do not match the labels")
            if not 0 <= edge.step < len(self.steps):
                raise ValueError(f"edge {edge.tail}-{edge.head}: step {edge.step} does not exist")


@dataclass(frozen=True, slots=True)
class Solution:
    """Chosen label of every node."""

    labels: tuple[int, ...]
