"""Reduction of partial sums into the result (lowering.md 2.3, steps 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.lower.assembly import Assembler, Runs
from ipuopt.codegen.lower.boxes import meeting, physical, select
from ipuopt.codegen.lower.copies import Pricing
from ipuopt.codegen.lower.moves import concatenate, single
from ipuopt.codegen.lower.values import MATMUL_ALIGNMENT, Shards
from ipuopt.layout import IntArray, MemoryClass
from ipuopt.plan import Epochs, MatMulStep
from ipuopt.program import Kernel, Role
from ipuopt.rectangles import Rectangles
from ipuopt.target.kernels import sum_cycles


@dataclass(frozen=True, slots=True)
class Roots:
    """One root for every result shard and group of partials that meet, one entry a root.

    Attributes
    ----------
    boxes
        What the root sums, padding of both sides included, on the tile of the result shard.
    result
        Number of the result shard.
    partials
        Numbers of the contributing partials in the order in which they are received, the seed
        first, shape ``(roots, inner)``.
    seed_is_local
        Whether the seed lies on the root's tile.
    """

    boxes: Rectangles
    result: IntArray
    partials: IntArray
    seed_is_local: npt.NDArray[np.bool_]


def find_roots(
    partials: Shards, group: IntArray, inner: IntArray, result: Shards, *, streamed: bool
) -> Roots:
    """Roots in the order of their groups.

    Parameters
    ----------
    group, inner
        Group of each partial (its row and column part) and its inner part.
    streamed
        Whether contributors arrive one a phase. Then each root begins after its seed, and roots
        whose seed is far begin one after another, so that every phase has all tiles send; in one
        order for all, the first tile of a group would send to all other roots at once.
    """
    parts = int(inner.max()) + 1
    members = np.zeros((int(group.max()) + 1, parts), dtype=np.int64)
    members[group, inner] = np.arange(len(partials))
    lead = members[:, 0]
    shared_by, shard, box = meeting(select(physical(partials.boxes), lead), physical(result.boxes))
    contributors = members[shared_by]
    tile = result.boxes.tile[shard]
    local = partials.boxes.tile[contributors] == tile[:, None]
    seed = local.argmax(axis=1)  # the first contributor where none is local
    turn = np.full_like(seed, -1)  # all in the order of the inner parts
    if streamed:
        within = np.arange(len(tile)) - np.searchsorted(shared_by, shared_by)
        turn = np.where(local.any(axis=1), seed, within % (parts - 1))
    rank = (np.arange(parts)[None, :] - turn[:, None] - 1) % parts
    rank[np.arange(len(tile)), seed] = -1
    others = np.argsort(rank, axis=1, kind="stable")
    row_start, row_stop, column_start, column_stop = box
    return Roots(
        Rectangles(
            tile,
            row_start,
            np.minimum(row_stop, result.boxes.row_end[shard]),
            row_stop,
            column_start,
            np.minimum(column_stop, result.boxes.column_end[shard]),
            column_stop,
        ),
        result.number[shard],
        partials.number[np.take_along_axis(contributors, others, axis=1)],
        local.any(axis=1),
    )


def reduce_partials(
    assembler: Assembler,
    number: int,
    step: MatMulStep,
    partials: Shards,
    group: IntArray,
    inner: IntArray,
    shards: tuple[Shards, ...],
) -> None:
    """Add the phases, sums and copies that turn partials into the result.

    Buffers of a root are packed in the order of the partials, so equal rectangles have equal
    bytes on both sides.
    """
    value = assembler.plan.values[step.result]
    streamed = step.epochs is Epochs.STREAMED
    roots = find_roots(partials, group, inner, shards[step.result], streamed=streamed)
    together = 1 if streamed else step.inner - 1
    size = roots.boxes.elements * value.element_bytes
    accumulator, remote, total = (
        assembler.shards(
            roots.boxes,
            value=step.result,
            role=role,
            order=value.layout.order,
            memory_class=MemoryClass.STANDARD,
            size_bytes=size * copies,
            alignment=MATMUL_ALIGNMENT,
        )
        for role, copies in ((Role.ACCUMULATOR, 1), (Role.REMOTE, together), (Role.SUM, 1))
    )
    assembler.keep_apart(accumulator, total)
    box = physical(roots.boxes)
    seed, far = roots.partials[:, 0], ~roots.seed_is_local
    far_seeds, near_seeds = (
        single(seed[at], accumulator[at], select(box, at)) for at in (far, roots.seed_is_local)
    )
    for first in range(1, step.inner, together):
        moves = [
            single(roots.partials[:, first + slot], remote, box, size * slot)
            for slot in range(together)
        ]
        if first == 1:
            moves.append(far_seeds)
        assembler.phase(concatenate(moves), number, f"reduce {value.name}")
        if first == 1:
            assembler.copy(near_seeds, Pricing.FREE, number, f"seed {value.name}")
        runs = Runs(
            tile=roots.boxes.tile,
            kernel=Kernel.SUM,
            output=total,
            input0=accumulator,
            input1=remote,
            rows=roots.boxes.elements,
            inner=together + 1,
            cycles=sum_cycles(size, together + 1),
        )
        assembler.run(runs, number, f"sum {value.name}")
        accumulator, total = total, accumulator
    assembler.copy(
        single(accumulator, roots.result, box), Pricing.PACED, number, f"result {value.name}"
    )
