"""What a kind of operation is asked for its candidates, and what it answers with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ipuopt.layout import IntArray, Layout
from ipuopt.models.mapping.candidates.labels import Labels
from ipuopt.models.mapping.candidates.retain import capped
from ipuopt.models.mapping.problem import Capacity
from ipuopt.plan import PlanStep
from ipuopt.workload.model import Operation, Tensor


class Source(Enum):
    """Where an operand comes from."""

    LOADED = "loaded"  # by the host, for this operation alone, in the layout it wants
    SHARED = "shared"  # loaded once for several operations
    COMPUTED = "computed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An operation in its surroundings.

    Attributes
    ----------
    operation, inputs, result
        The operation and its tensors, one input an operand.
    sources
        Where each operand comes from.
    tiles, capacity
        Of the target.
    retained
        Most candidates to keep beside those that ``spare`` keeps.
    spare
        Candidates of at most so many cycles are all kept; None where nothing is known of them.
    offered
        Layouts in which a neighbour makes or takes a tensor of the operation: keeping to one of
        them saves a conversion.
    """

    operation: Operation
    inputs: tuple[Tensor, ...]
    result: Tensor
    sources: tuple[Source, ...]
    tiles: int
    capacity: Capacity
    retained: int
    offered: tuple[Layout, ...] = ()
    spare: int | None = None

    def keep(self, score: IntArray, memory: IntArray, cost: IntArray) -> IntArray:
        """Candidates to keep, ascending: the first by score and memory, and those within ``spare``."""
        kept = capped(self.operation.name, score, memory, self.retained)
        if self.spare is None:
            return kept
        return np.union1d(kept, np.flatnonzero(cost <= self.spare))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of operation.

    Attributes
    ----------
    candidates
        Candidates of a request; at least one. Where none fits the memory of a tile, the smallest.
    step
        Plan step of a label: request, labels, label, values of the operands, value of the result.
    keeps_layout
        Whether operands and result share one layout, which is then worth offering to neighbours.
    """

    candidates: Callable[[Request], Labels]
    step: Callable[[Request, Labels, int, tuple[int, ...], int], PlanStep]
    keeps_layout: bool
