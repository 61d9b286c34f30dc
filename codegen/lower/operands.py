"""Weight panels: the part of the physical right that each compute tile multiplies with (2.3, step 2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ipuopt.codegen.lower.assembly import Assembler
from ipuopt.codegen.lower.boxes import choose, distinct, physical, select, take
from ipuopt.codegen.lower.copies import Pricing
from ipuopt.codegen.lower.moves import Moves, bounds_of, single
from ipuopt.codegen.lower.values import MATMUL_ALIGNMENT, Shards, physical_right
from ipuopt.layout import LayoutError, MemoryClass
from ipuopt.plan import MatMulStep
from ipuopt.program import Role
from ipuopt.rectangles import Rectangles

BoolArray = npt.NDArray[np.bool_]


def fetch_panels(
    assembler: Assembler,
    number: int,
    step: MatMulStep,
    needed: Rectangles,
    held: Shards,
    join: int | None,
) -> tuple[Shards, BoolArray]:
    """Bring every compute tile its panel; one that lies on the tile is used in place, or copied.

    Parameters
    ----------
    needed
        Panel of each compute tile, in coordinates of the weight value.
    held
        Shards of that value.
    join
        Plan step whose phase the panels may travel in; None for a phase of their own.

    Returns
    -------
    tuple
        Shard that each compute tile reads, and whether it is interleaved.

    Raises
    ------
    LayoutError
        If no shard holds a whole panel.
    """
    value_index = physical_right(step)
    value = assembler.plan.values[value_index]
    inside = replace(needed, row_end=needed.row_stop, column_end=needed.column_stop)
    wanted = distinct(inside)
    panels = take(inside, wanted.first)
    covering = _covers(held.boxes, panels)
    if not np.all(covering.any(axis=1)):
        raise LayoutError(f"{step.name}: no shard of {value.name} holds a whole weight panel")
    source = covering.argmax(axis=1)

    by_tile = np.full(assembler.plan.tiles, -1, dtype=np.int64)
    by_tile[held.boxes.tile[::-1]] = np.arange(len(held))[::-1]
    own = by_tile[needed.tile]
    resident = (own >= 0) & covering[wanted.of, own]
    in_place = resident & (not step.stages_weights)
    far, near = np.flatnonzero(~resident), np.flatnonzero(resident & ~in_place)
    fetched = np.concatenate((far, near))
    staged = take(inside, fetched)
    numbers = assembler.shards(
        staged,
        value=value_index,
        role=Role.STAGING,
        order=value.layout.order,
        memory_class=MemoryClass.INTERLEAVED,
        size_bytes=staged.elements * value.element_bytes,
        alignment=MATMUL_ALIGNMENT,
    )
    by_panel = np.argsort(wanted.of[far], kind="stable")
    count = np.bincount(wanted.of[far], minlength=len(panels))
    sent = np.flatnonzero(count)
    moves = Moves(
        held.number[source[sent]],
        select(physical(panels), sent),
        bounds_of(count[sent]),
        numbers[by_panel],
        np.zeros(len(far), dtype=np.int64),
    )
    if join is None or not assembler.join(moves, join):
        assembler.phase(moves, number, f"gather {value.name}")
    copies = single(held.number[own[near]], numbers[len(far) :], physical(take(inside, near)))
    assembler.copy(copies, Pricing.PACED, number, f"stage {value.name}")

    shard = held.number[own]
    shard[fetched] = numbers
    boxes = choose(in_place, take(held.boxes, own), inside)
    return Shards(shard, boxes), ~in_place | (value.layout.memory_class is MemoryClass.INTERLEAVED)


def _covers(held: Rectangles, panels: Rectangles) -> BoolArray:
    """Whether shard ``h`` holds panel ``p`` physically, shape ``(panels, shards)``."""
    low_row, high_row, low_column, high_column = (bound[:, None] for bound in physical(panels))
    row_start, row_stop, column_start, column_stop = (b[None, :] for b in physical(held))
    rows = (row_start <= low_row) & (row_stop >= high_row)
    columns = (column_start <= low_column) & (column_stop >= high_column)
    covered: BoolArray = rows & columns
    return covered
