"""Load bounds: bytes that live together need as many addresses; proof that a tile is too full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.errors import MOST_OWNERS, Infeasibility, memory_parts
from ipuopt.models.placement.problem import BoolArray, IntArray, Problem


@dataclass(frozen=True, slots=True)
class Load:
    """Bytes of one class that live together, at the step where they need most.

    Attributes
    ----------
    step
        First such step; 0 without buffers.
    demand
        Bytes of address space that they need at least.
    buffers
        Their indices.
    """

    step: int
    demand: int
    buffers: IntArray


def stacked(size: IntArray, step: int | IntArray, extents: int = 1) -> IntArray:
    """Least address space of buffers of ``size``, shape ``(..., buffers)``, stacked in extents.

    Every address is a multiple of ``step``, so all but the topmost buffer of each extent count
    with their size rounded up.
    """
    slack = -size % step
    topmost = np.sort(slack, axis=-1)[..., -extents:]
    demand: IntArray = size.sum(axis=-1) + slack.sum(axis=-1) - topmost.sum(axis=-1)
    return demand


def reserving(problem: Problem) -> BoolArray:
    """Which buffers are not empty, shape ``(buffers,)``."""
    real: BoolArray = (problem.size_bytes > 0) & (problem.live_start < problem.live_stop)
    return real


def counted(problem: Problem) -> BoolArray:
    """Buffers that the loads count, shape ``(buffers,)``: none that is empty, of aliases the largest.

    What bounds a part of the buffers bounds them all.
    """
    real = reserving(problem)
    alone = problem.alias < 0
    group = np.where(alone, -1 - np.arange(len(problem)), problem.alias)
    order = np.lexsort((-problem.reserved_bytes * real, group))
    largest = np.zeros(len(problem), dtype=bool)
    largest[order[np.unique(group[order], return_index=True)[1]]] = True
    return real & largest


def load(problem: Problem, interleaved: int) -> Load:
    """Largest load of a class.

    In one step, let ``g`` be the least alignment of the live buffers. Every address is a multiple
    of ``g``, so the next buffer starts no earlier than ``g``-rounded size after a start; only the
    last buffer of an extent counts with its own bytes. Interleaved buffers form one extent,
    standard ones at most two. The most live bytes occur in a step in which a buffer starts.
    """
    chosen = np.flatnonzero((problem.interleaved == interleaved) & counted(problem))
    if not len(chosen):
        return Load(0, 0, chosen)
    size, alignment = problem.reserved_bytes[chosen], problem.alignment[chosen]
    start, stop = problem.live_start[chosen], problem.live_stop[chosen]
    steps = np.unique(start)
    live = (start <= steps[:, None]) & (steps[:, None] < stop)
    unit = np.where(live, alignment, np.iinfo(np.int64).max).min(axis=1)[:, None]
    demand = stacked(np.where(live, size, 0), unit, extents=1 if interleaved else 2)
    worst = int(np.argmax(demand))
    return Load(int(steps[worst]), int(demand[worst]), chosen[live[worst]])


def footprint_bound(problem: Problem) -> int:
    """Least footprint in bytes: the largest loads of both classes, whose ranges are disjoint."""
    return load(problem, 1).demand + load(problem, 0).demand


@dataclass(frozen=True, slots=True)
class _Proof:
    what: str
    step: int
    demand: int
    capacity: int
    buffers: IntArray
    levers: tuple[str, ...]


def _prove(problem: Problem) -> _Proof | None:
    regions = problem.regions
    interleaved, standard = load(problem, 1), load(problem, 0)
    high = regions.high_stop - regions.high_start
    low = regions.low_stop - regions.low_start
    if interleaved.demand > high:
        return _Proof(
            "interleaved buffers",
            interleaved.step,
            interleaved.demand,
            high,
            interleaved.buffers,
            ("more tiles for this step", "smaller blocks of the inner axis"),
        )
    granules = -(-interleaved.demand // regions.granule)
    above = max(0, high - granules * regions.granule)
    if standard.demand > low + above:
        return _Proof(
            f"standard buffers and {high - above} reserved for interleaved ones",
            standard.step,
            standard.demand + high - above,
            low + high,
            np.concatenate((standard.buffers, interleaved.buffers)),
            ("more tiles for the largest values", "less interleaved memory"),
        )
    sizes = np.where((problem.interleaved == 0) & counted(problem), problem.reserved_bytes, 0)
    largest = int(np.argmax(sizes)) if len(sizes) else 0
    if len(sizes) and sizes[largest] > max(low, above):
        return _Proof(
            "largest standard buffer, in one piece",
            int(problem.live_start[largest]),
            int(sizes[largest]),
            max(low, above),
            np.array([largest]),
            ("more tiles for this value",),
        )
    return _whole_buffers(problem, low, above)


def _whole_buffers(problem: Problem, low: int, above: int) -> _Proof | None:
    """Standard buffers that live together, each in one of two ranges: largest sum in the lower."""
    standard = np.flatnonzero((problem.interleaved == 0) & counted(problem))
    start, stop = problem.live_start[standard], problem.live_stop[standard]
    for step in np.unique(start).tolist():
        live = standard[(start <= step) & (step < stop)]
        sizes = problem.reserved_bytes[live].tolist()
        demand = sum(sizes)
        if demand <= above:
            continue
        sums = 1  # bit s: some of the buffers have s bytes together
        for size in sizes:
            sums |= sums << size & (2 << low) - 1
        most = sums.bit_length() - 1
        if demand - most > above:
            return _Proof(
                f"standard buffers, each in one piece in {low} or {above} bytes",
                step,
                demand,
                most + above,
                live,
                ("more tiles for the largest values",),
            )
    return None


def owners_of(
    problem: Problem, buffers: IntArray, names: Sequence[str]
) -> tuple[tuple[str, int], ...]:
    """Names and bytes of the largest of some buffers, for messages."""
    size = problem.reserved_bytes[buffers]
    largest = buffers[np.lexsort((buffers, -size))[:MOST_OWNERS]]
    return tuple((names[buffer], int(problem.reserved_bytes[buffer])) for buffer in largest)


def explain(
    problem: Problem,
    names: Sequence[str],
    steps: Sequence[str] = (),
    exchanged: Sequence[bool] = (),
) -> Infeasibility | None:
    """Proof by load that no placement exists; None if the load leaves that open.

    Parameters
    ----------
    names
        Name of every buffer, for the owners.
    steps
        Names of the steps; numbers alone without them.
    exchanged
        Whether each buffer serves phases alone; the demand is not split into parts without it.

    Notes
    -----
    The boundary is fixed for all steps, so standard buffers must do with what the largest
    interleaved load leaves, whenever that occurs; the same holds for a single standard buffer,
    which must fit below ``low_stop`` or above the boundary. Of the standard buffers of a step, the
    lower range holds at most their largest subset sum that fits; the others must fit above.
    """
    proof = _prove(problem)
    if proof is None:
        return None
    size = problem.reserved_bytes[proof.buffers]
    step = f"step {proof.step}"
    if proof.step < len(steps):
        step += f" ({steps[proof.step]})"
    parts: tuple[tuple[str, int], ...] = ()
    if len(exchanged):
        buffers = int(size[np.asarray(exchanged)[proof.buffers]].sum())
        parts = memory_parts(proof.demand, int(size.sum()) - buffers, buffers)
    return Infeasibility(
        where=f"{problem.name}, {step}: {proof.what}",
        demand=proof.demand,
        capacity=proof.capacity,
        unit="bytes",
        owners=owners_of(problem, proof.buffers, names),
        levers=proof.levers,
        parts=parts,
    )
