"""Every rule of the check, by one program that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.check import check
from ipuopt.codegen.lower import lower
from ipuopt.layout import ROW_MAJOR
from ipuopt.plan import Epochs, Origin, Plan
from ipuopt.program import Kernel, Program, Role


@pytest.fixture(scope="module")
def built(tools: Any) -> tuple[Plan, Program]:
    """Streamed and complete reductions, remote weights, staging, padding, cleared panels."""
    plan = tools.mlp(
        (23, 72, 104, 40),
        tools.Grid(rows=3, columns=2, inner=3, row_factor=3),
        tools.Grid(rows=4, columns=2, inner=3, epochs=Epochs.STREAMED),
        gelu_layout=tools.linear(60, 8, ROW_MAJOR),
    )
    return plan, lower(plan)


def changed(program: Program, table: str, column: str, entry: int, value: int) -> Program:
    """The program with one number replaced."""
    old = getattr(program, table)
    numbers = getattr(old, column).copy()
    numbers[entry] = value
    return replace(program, **{table: replace(old, **{column: numbers})})


def without(program: Program, table: str, entries: np.ndarray[Any, Any]) -> Program:
    """The program without entries of a table of runs or copies."""
    old = getattr(program, table)
    columns = {c.name: np.delete(getattr(old, c.name), entries) for c in fields(old)}
    return replace(program, **{table: replace(old, **columns)})


def entry(condition: np.ndarray[Any, Any], number: int = 0) -> int:
    """Position of one entry that meets the condition."""
    return int(np.flatnonzero(condition)[number])


def beyond_shard(p: Program) -> Program:
    shard = p.transfers.source[0]
    return changed(p, "transfers", "source_offset", 0, int(p.shards.size_bytes[shard]))


def odd_offset(p: Program) -> Program:
    return changed(p, "transfers", "source_offset", 0, int(p.transfers.source_offset[0]) + 2)


def too_many_words(p: Program) -> Program:
    return changed(p, "transfers", "words", 0, 4149)


def sends_to_itself(p: Program) -> Program:
    receiver = p.transfers.destination[0]
    own = p.shards.tile[p.transfers.source[0]]
    return changed(p, "shards", "tile", int(receiver), int(own))


def two_receivers_on_a_tile(p: Program) -> Program:
    wide = entry(np.diff(p.transfers.destination_start) > 1)
    first = int(p.transfers.destination_start[wide])
    return changed(p, "transfers", "destination", first + 1, int(p.transfers.destination[first]))


def copy_between_tiles(p: Program) -> Program:
    return changed(p, "copies", "tile", 0, int(p.copies.tile[0]) + 1)


def run_in_a_phase(p: Program) -> Program:
    return changed(p, "runs", "step", 0, p.phases[0])


def no_such_shard(p: Program) -> Program:
    return changed(p, "runs", "input0", 0, len(p.shards))


def written_twice(p: Program) -> Program:
    """The second transfer into a staging shard lands on the first."""
    table = p.transfers
    into = np.flatnonzero(table.destination == np.bincount(table.destination).argmax())
    offset = int(table.destination_offset[into[0]])
    return changed(p, "transfers", "destination_offset", int(into[1]), offset)


def never_written(p: Program) -> Program:
    """The last words of a panel do not travel."""
    long = entry(p.transfers.words > 16)
    return changed(p, "transfers", "words", long, int(p.transfers.words[long]) - 1)


def never_copied(p: Program) -> Program:
    """What lies on the own tile does not reach the staging shard that phases fill besides."""
    sent = np.isin(p.copies.destination, p.transfers.destination)
    staged = p.shards.role[p.copies.destination] == Role.STAGING
    return without(p, "copies", np.array([entry(sent & staged)]))


def wrong_rows(p: Program) -> Program:
    return changed(p, "runs", "rows", 0, int(p.runs.rows[0]) - 2)


def other_inner_part(p: Program) -> Program:
    """A tile multiplies with the weight panel of its neighbour."""
    first, second = np.flatnonzero(p.runs.kernel == Kernel.MATMUL)[[0, 2]]
    one, other = p.runs.input1[first], p.runs.input1[second]
    moved = changed(p, "shards", "row_start", int(one), int(p.shards.row_start[other]))
    return changed(moved, "shards", "row_stop", int(one), int(p.shards.row_stop[other]))


def never_initialised(p: Program) -> Program:
    return changed(p, "runs", "accumulate", entry(p.runs.kernel == Kernel.MATMUL), 1)


def missing_product(p: Program) -> Program:
    return without(p, "runs", np.array([entry(p.runs.kernel == Kernel.MATMUL)]))


def missing_sum(p: Program) -> Program:
    return without(p, "runs", np.array([entry(p.runs.kernel == Kernel.SUM, -1)]))


def same_partial_twice(p: Program) -> Program:
    """A root receives one inner part twice and another one not at all."""
    table, shards = p.transfers, p.shards
    step = p.phases[entry(np.array(["reduce" in p.steps[s].name for s in p.phases]))]
    first = entry(table.step == step)
    source = int(table.source[first])
    same = [getattr(shards, name) for name in ("row_start", "column_start", "value")]
    alike = shards.role == Role.PARTIAL
    for column in same:
        alike &= column == column[source]
    receiver = shards.tile[table.destination[table.destination_start[first]]]
    other = entry(alike & (np.arange(len(shards)) != source) & (shards.tile != receiver))
    return changed(p, "transfers", "source", first, other)


def partial_result(p: Program) -> Program:
    """The accumulator is copied into the result instead of the sum."""
    last = entry(p.shards.role[p.copies.source] >= Role.ACCUMULATOR, -1)
    source = int(p.copies.source[last])
    run = entry(p.runs.output == source)
    return changed(p, "copies", "source", last, int(p.runs.input0[run]))


def missing_gelu(p: Program) -> Program:
    return without(p, "runs", np.array([entry(p.runs.kernel == Kernel.GELU)]))


def wrong_run_cycles(p: Program) -> Program:
    return changed(p, "runs", "cycles", 0, int(p.runs.cycles[0]) + 1)


def wrong_copy_cycles(p: Program) -> Program:
    return changed(p, "copies", "cycles", 0, int(p.copies.cycles[0]) + 1)


def dies_early(p: Program) -> Program:
    shard = int(p.runs.input0[-1])
    return changed(p, "shards", "live_stop", shard, int(p.shards.live_stop[shard]) - 1)


def output_dies(p: Program) -> Program:
    output = entry(p.shards.live_stop == len(p.steps))
    return changed(p, "shards", "live_stop", output, len(p.steps) - 1)


def input_born_late(p: Program) -> Program:
    return changed(p, "shards", "live_start", 0, 1)


def read_before_written(p: Program) -> Program:
    """A sum starts from a buffer that no phase or copy has filled."""
    return without(p, "copies", np.flatnonzero(p.shards.role[p.copies.source] == Role.PARTIAL)[:1])


def other_elements(p: Program) -> Program:
    """Two transfers of one source and length exchange their source offsets."""
    table = p.transfers
    a, b = next(
        (i, i + 1)
        for i in range(len(table) - 1)
        if table.source[i] == table.source[i + 1]
        and table.words[i] == table.words[i + 1]
        and table.source_offset[i] != table.source_offset[i + 1]
    )
    one, other = int(table.source_offset[a]), int(table.source_offset[b])
    return changed(
        changed(p, "transfers", "source_offset", a, other), "transfers", "source_offset", b, one
    )


def other_tile(p: Program) -> Program:
    """An unused replica of an input is on another tile than the layout says."""
    shards = [getattr(p.shards, c.name) for c in fields(p.shards)]
    grown = type(p.shards)(*(np.append(column, column[:1]) for column in shards))
    return replace(p, shards=grown)


def too_small(p: Program) -> Program:
    left = int(p.runs.input0[0])
    return changed(p, "shards", "size_bytes", left, int(p.shards.size_bytes[left]) - 16)


def misaligned(p: Program) -> Program:
    return changed(p, "shards", "alignment", int(p.runs.input0[0]), 8)


def shares_elements(p: Program) -> Program:
    return replace(p, distinct=p.distinct[:-1])


def no_block(p: Program) -> Program:
    return changed(p, "shards", "order_block", entry(p.shards.order_block > 0), 0)


def odd_block(p: Program) -> Program:
    return changed(p, "shards", "order_block", entry(p.shards.order_block > 0), 3)


def block_without_panels(p: Program) -> Program:
    return changed(p, "shards", "order_block", entry(p.shards.order_block == 0), 16)


def no_role(p: Program) -> Program:
    return changed(p, "shards", "role", 0, len(Role))


def no_class(p: Program) -> Program:
    return changed(p, "shards", "interleaved", 0, 2)


def no_alignment(p: Program) -> Program:
    return changed(p, "shards", "alignment", 0, 0)


def alignment_of_three_words(p: Program) -> Program:
    return changed(p, "shards", "alignment", 0, 12)


def no_bytes(p: Program) -> Program:
    return changed(p, "shards", "size_bytes", 0, 0)


def ends_before_it_starts(p: Program) -> Program:
    return changed(p, "shards", "row_end", 0, -1)


def padding_below_the_end(p: Program) -> Program:
    return changed(p, "shards", "column_stop", 0, int(p.shards.column_end[0]) - 1)


def endless_sum(p: Program) -> Program:
    return changed(p, "runs", "inner", entry(p.runs.kernel == Kernel.SUM), 2**40)


def adds_twice(p: Program) -> Program:
    return changed(p, "runs", "accumulate", 0, 2)


OUT_OF_RANGE = (
    no_block,
    odd_block,
    block_without_panels,
    no_role,
    no_class,
    no_alignment,
    alignment_of_three_words,
    no_bytes,
    ends_before_it_starts,
    padding_below_the_end,
    endless_sum,
    adds_twice,
)

BROKEN: list[tuple[str, Callable[[Program], Program]]] = [
    ("L1", beyond_shard),
    ("L1", odd_offset),
    ("L1", too_many_words),
    ("L1", sends_to_itself),
    ("L1", two_receivers_on_a_tile),
    ("L1", copy_between_tiles),
    ("L1", run_in_a_phase),
    ("L1", no_such_shard),
    ("L2", written_twice),
    ("L2", never_written),
    ("L2", never_copied),
    ("L3", wrong_rows),
    ("L3", other_inner_part),
    ("L3", never_initialised),
    ("L3", missing_product),
    ("L3", missing_sum),
    ("L3", same_partial_twice),
    ("L3", partial_result),
    ("L3", missing_gelu),
    ("L4", wrong_run_cycles),
    ("L4", wrong_copy_cycles),
    ("L5", dies_early),
    ("L5", output_dies),
    ("L5", input_born_late),
    ("L5", read_before_written),
    ("L6", other_elements),
    ("L7", other_tile),
    ("L7", too_small),
    ("L7", misaligned),
    ("L7", shares_elements),
]


def test_the_program_itself_is_right(built: tuple[Plan, Program]) -> None:
    plan, program = built
    assert check(plan, program) == ()


@pytest.mark.parametrize(("label", "spoil"), BROKEN, ids=[s.__name__ for _, s in BROKEN])
def test_each_rule_finds_its_violation(
    built: tuple[Plan, Program], label: str, spoil: Callable[[Program], Program]
) -> None:
    """Other rules may find the same fault as well; this one must."""
    plan, program = built
    found = check(plan, spoil(program))
    assert label in {name for name, _ in found}, found
    assert all("\n" not in message for _, message in found)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("spoil", OUT_OF_RANGE)
def test_number_out_of_range_is_one_violation(
    built: tuple[Plan, Program], spoil: Callable[[Program], Program]
) -> None:
    """No warning, no other rule: they would divide by it, or take the memory it asks for."""
    plan, program = built
    assert [label for label, _ in check(plan, spoil(program))] == ["L1"]


def test_cleared_panels_are_needed(tools: Any) -> None:
    """Without the clear kernel the last panel of the padded inner axis is never written."""
    plan = tools.mlp(
        (8, 32, 112, 32),
        tools.Grid(rows=1, columns=2, inner=1),
        tools.Grid(rows=2, columns=2, inner=3),
    )
    program = lower(plan)
    clears = np.flatnonzero(program.runs.kernel == Kernel.CLEAR)
    kept = without(program, "runs", clears[1:])
    assert [label for label, _ in check(plan, kept)] == ["L2"]


def test_cast_of_panels(tools: Any) -> None:
    """(L3): a plan whose result grows to float32, and with it the sequence of its elements."""
    planner = tools.Planner(64)
    grid = tools.Grid(rows=2, columns=2, inner=2)
    x = planner.value("x", (12, 32), grid.left(32), Origin.INPUT)
    plan = planner.plan(planner.pointwise("c", "Cast", x))
    program = lower(plan)
    assert check(plan, program) == ()
    wide = replace(plan.values[1], dtype="float32")
    found = check(replace(plan, values=(plan.values[0], wide)), program)
    assert any(label == "L3" and "of CAST" in message for label, message in found)
