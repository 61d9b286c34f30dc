"""What a kind of operation is asked for its candidates, and what it answers with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ipuopt.layout import Layout
from ipuopt.models.mapping.candidates.labels import Labels
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
        Most candidates to keep.
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
