"""Programs with repeats: what they may be, what they mean, and their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.check import check
from ipuopt.codegen.phases import exchange_problem
from ipuopt.errors import InputError
from ipuopt.program import Program, Repeat
from ipuopt.program_arrays import load_arrays
from ipuopt.repeats import executed_steps
from ipuopt.result import Built
from ipuopt.tables import load_built, save_arrays, save_built
from ipuopt.target.constants import SYNC_CYCLES
from ipuopt.unrolled import unrolled


def changed(program: Program, table: str, column: str, entry: int, value: int) -> Program:
    """The program with one number replaced."""
    old = getattr(program, table)
    numbers = getattr(old, column).copy()
    numbers[entry] = value
    return replace(program, **{table: replace(old, **{column: numbers})})


WRONG = [
    (
        (Repeat(0, 5, 2),),
        "repeat of steps 0..4: found steps [0, 5), expected some of the program's 4",
    ),
    ((Repeat(2, 2, 2),), "repeat of steps 2..1: found steps [2, 2), expected some"),
    ((Repeat(2, 4, 0),), "repeat of steps 2..3: found 0 iterations, expected 1..1048575"),
    (
        (Repeat(2, 4, 1 << 20),),
        "repeat of steps 2..3: found 1048576 iterations, expected 1..1048575",
    ),
    (
        (Repeat(0, 4, 2), Repeat(2, 4, 2)),
        "repeat of steps 2..3: found step 2 in another repeat or before it, expected one level",
    ),
    ((Repeat(3, 4, 2), Repeat(0, 1, 2)), "repeat of steps 0..0: found step 0 in another repeat"),
    ((), "step 3, tile 0: input0 of run 2: found it moving by 2048 bytes an iteration, expected"),
]


@pytest.mark.parametrize(("repeats", "message"), WRONG)
def test_repeats_that_cannot_be(repeated: Built, repeats: tuple[Repeat, ...], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        replace(repeated.program, repeats=repeats)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("table", "column", "entry", "value", "message"),
    [
        (
            "transfers",
            "source_advance",
            2,
            6,
            "step 2, tile 2: source of transfer 2: found it moving",
        ),
        (
            "transfers",
            "source_advance",
            1,
            8,
            "step 0, tile 3: source of transfer 1: found it moving",
        ),
        ("runs", "input1_advance", 3, -4, "step 3, tile 1: input1 of run 3: found it moving by -4"),
    ],
)
def test_operands_that_cannot_move(
    repeated: Built, table: str, column: str, entry: int, value: int, message: str
) -> None:
    """By parts of words, outside a repeat, backwards."""
    with pytest.raises(ValueError) as caught:
        changed(repeated.program, table, column, entry, value)
    assert str(caught.value).startswith(message)


def test_an_operand_that_is_none(repeated: Built) -> None:
    program = changed(repeated.program, "runs", "input1", 2, -1)
    with pytest.raises(ValueError, match=r"^step 3: input1 of run 2: found it moving by 8 bytes"):
        changed(program, "runs", "input1_advance", 2, 8)


def test_executed_steps() -> None:
    step, iteration = executed_steps((Repeat(1, 3, 2), Repeat(3, 4, 3)), 5)
    assert step.tolist() == [0, 1, 2, 1, 2, 3, 3, 3, 4]
    assert iteration.tolist() == [0, 0, 0, 1, 1, 0, 1, 2, 0]


def test_cycles_of_all_iterations(repeated: Built) -> None:
    program, horizon = repeated.program, repeated.horizon
    cycles = int(program.runs.cycles[0])
    phases = [int(events) + SYNC_CYCLES for events in horizon]
    expected = [phases[0], cycles, 3 * phases[1], 3 * cycles]
    assert program.cycles_with(horizon).tolist() == expected
    plain = unrolled(program)[0]
    assert plain.cycles_with(horizon[[0, 1, 1, 1]]).sum() == sum(expected)


def test_unrolled(repeated: Built, repeating: Any) -> None:
    """Staging is another shard in each iteration, of the next rectangle; results are carried."""
    program = repeated.program
    plain, origin = unrolled(program)
    assert plain.repeats == () and len(plain.steps) == 8
    assert origin.tolist() == [*range(10), 8, 9, 8, 9]
    starts = plain.shards.row_start[[8, 10, 12]].tolist()
    assert starts == [repeating.BLOCK * part for part in (1, 2, 3)]
    assert plain.runs.input1.tolist() == [6, 7, 8, 9, 10, 11, 12, 13]
    assert plain.runs.output.tolist() == [4, 5] * 4
    assert plain.runs.input0_offset[::2].tolist() == [repeating.PANELS * n for n in range(4)]
    assert plain.transfers.source_offset[::2].tolist() == [repeating.SLICE * n for n in range(4)]
    assert plain.transfers.destination[-4:].tolist() == [12, 13, 12, 13]
    lives = plain.shards.live_start[[8, 10, 12]], plain.shards.live_stop[[8, 10, 12]]
    assert [part.tolist() for part in lives] == [[2, 4, 6], [4, 6, 8]]


def test_sends_of_all_iterations(repeated: Built, repeating: Any) -> None:
    """The schedule is held against all addresses (lowering.md 2.8)."""
    problem = exchange_problem(repeated.program, repeated.address, 1)
    base = repeated.address[2]
    assert problem.source_address[0].tolist() == [base + repeating.SLICE * n for n in (1, 2, 3)]
    assert exchange_problem(repeated.program, repeated.address, 0).source_address.shape == (2, 1)


def test_a_sound_program(repeated: Built) -> None:
    assert check(repeated.plan, repeated.program) == ()


def lives_too_short(p: Program) -> Program:
    """Staging is filled anew before its last read, but another buffer may lie there in between."""
    return changed(p, "shards", "live_stop", 8, 3)


def too_many_iterations(p: Program) -> Program:
    return replace(p, repeats=(Repeat(2, 4, 4),))


def too_few_iterations(p: Program) -> Program:
    return replace(p, repeats=(Repeat(2, 4, 2),))


def carried_rectangle(p: Program) -> Program:
    return changed(p, "shards", "row_advance", 6, 64)


def staging_that_stays(p: Program) -> Program:
    return changed(p, "shards", "row_advance", 8, 0)


def other_slice(p: Program) -> Program:
    return changed(p, "transfers", "source_advance", 2, 1024)


def operand_that_stays(p: Program) -> Program:
    return changed(p, "runs", "input0_advance", 2, 0)


def result_that_starts_again(p: Program) -> Program:
    return changed(p, "runs", "accumulate", 3, 0)


@pytest.mark.parametrize(
    ("broken", "label", "message"),
    [
        (lives_too_short, "L5", "step 2 uses shard 8 (w, tile 0, role 1), which lives 2..3"),
        (too_many_iterations, "L1", "last transfer source 2: 2048 bytes at offset 8192"),
        (too_few_iterations, "L3", "y: inner range 128..192"),
        (carried_rectangle, "L1", "shard 6 (w, tile 0, role 1) moves by 64 rows and 0 columns"),
        (staging_that_stays, "L3", "y: run 4 multiplies"),
        (other_slice, "L6", "transfer: 2048 bytes from offset 3072"),
        (operand_that_stays, "L3", "y: run 4 multiplies"),
        (result_that_starts_again, "L3", "y: run 3 of shard 5"),
    ],
)
def test_broken_programs(
    repeated: Built, broken: Callable[[Program], Program], label: str, message: str
) -> None:
    """Each is found by its rule, in the iteration where it breaks."""
    found = dict(check(repeated.plan, broken(repeated.program)))
    assert found[label].startswith(message), found


def test_files(repeated: Built, tmp_path: Path) -> None:
    """The tables come back as they were, and equal ones give equal bytes."""
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    save_built(one, repeated)
    back = load_built(one, repeated.plan)
    assert back.program.repeats == repeated.program.repeats
    assert np.array_equal(back.program.transfers.source_advance, [0, 0, 2048, 2048])
    save_built(other, back)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[2, 4, 0]], "repeat of steps 2..3: found 0 iterations, expected 1..1048575"),
        ([[1, 4, 2], [2, 3, 2]], "repeat of steps 2..2: found step 2 in another repeat"),
        ([[2, 4]], "repeats of int64 [1, 2], expected first step, stop and count of each"),
        ([[2.0, 4.0, 3.0]], "repeats of float64 [1, 3], expected first step"),
    ],
)
def test_files_with_repeats_that_cannot_be(
    repeated: Built, tmp_path: Path, rows: list[Any], message: str
) -> None:
    path = tmp_path / "program.npz"
    save_built(path, repeated)
    save_arrays(path, load_arrays(path) | {"repeats": np.array(rows)})
    with pytest.raises(InputError) as caught:
        load_built(path, repeated.plan)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_files_without_repeats_have_no_word_of_them(repeated: Built, tmp_path: Path) -> None:
    """Those of older versions are read, and theirs read what has no repeats."""
    path = tmp_path / "program.npz"
    save_built(path, replace(repeated, program=unrolled(repeated.program)[0]))
    arrays = load_arrays(path)
    assert arrays["schema_version"].tolist() == [1]
    assert not [name for name in arrays if "advance" in name or "repeat" in name]
