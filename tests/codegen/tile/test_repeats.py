"""Repeats in tile programs: words of the loop, patched rows, and what comes out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.isa import INSTRUCTIONS, assemble
from ipuopt.codegen.package import Package, Region, load_violations, violations
from ipuopt.codegen.package.listing import PATCH_TABLE, tile_programs
from ipuopt.codegen.tile import build_package, check_package
from ipuopt.codegen.tile.loops import add_patches, close_loop, open_loop
from ipuopt.codegen.tile.pointers import Pointers
from ipuopt.codegen.tile.room import RoomError
from ipuopt.codegen.tile.stream import Stream, add_calls, add_jump
from ipuopt.errors import CheckError, InputError
from ipuopt.layout import LINEAR, ROW_MAJOR, AxisTiling, Layout, MemoryClass
from ipuopt.plan import Origin, Plan, PlannedValue, PointwiseStep
from ipuopt.program import (
    CopyTable,
    Program,
    ProgramStep,
    Repeat,
    Role,
    RunTable,
    ShardTable,
    StepKind,
    TransferTable,
)
from ipuopt.result import Built
from ipuopt.target.fabric import PHYSICAL
from ipuopt.unrolled import unrolled

NONE = np.zeros(0, np.int64)
ZERO = np.zeros(1, np.int64)
FIRST = int(PHYSICAL[0])
SENDER = int(PHYSICAL[2])


@pytest.fixture(scope="module")
def package(repeated: Built) -> Package:
    return build_package(repeated)


def of_tile(stream: Stream, tile: int) -> list[int]:
    words, bounds = stream.finish()
    result: list[int] = words[bounds[tile] : bounds[tile + 1]].tolist()
    return result


def test_the_loop_of_the_vectors(vectors: dict[str, Any]) -> None:
    """A program of three invocations is a loop without pointers (package.md 3.2)."""
    supervisor = vectors["supervisor"][0]
    programs = {program["name"]: program for program in supervisor["programs"]}
    program = programs["three-invocations"]
    (_, kernel, output, inputs, scalars) = program["steps"][0]
    pointers = Pointers(NONE, NONE, NONE, NONE)
    stream = Stream(1472, int(supervisor["code_address"]))
    entry = open_loop(stream, program["invocations"], pointers)
    given = np.zeros((1, 8), np.int64)
    given[0, :3] = [output, *inputs, *scalars]
    add_calls(stream, ZERO, given, np.array([3]), np.array([kernel]))
    close_loop(stream, pointers, entry)
    add_jump(stream, ZERO, dict(supervisor["symbols"])["complete"])
    assert of_tile(stream, 0) == program["words"]


def test_pointers_and_patches() -> None:
    """Two pointers on tile 0, one of them far; operands follow them, one word of a row changes."""
    pointers = Pointers(
        np.array([0, 0, 3]), np.array([0, 1, 0]), np.array([0x64000, 0x80000, 0x70000]),
        np.array([8, 40_000, 4]),
    )  # fmt: skip
    stream = Stream(1472, 0x5C000)
    entry = open_loop(stream, 5, pointers)
    add_patches(stream, ZERO, np.array([0x5D008]), np.array([0x5D100]), 5, 0x4C0CC)
    given, pointer = np.zeros((1, 8), np.int64), np.full((1, 8), -1)
    given[0, :4] = [0, 70_000, 0x90000, 7]
    pointer[0, :2] = [0, 1]
    add_calls(stream, ZERO, given, np.array([4]), np.array([0x4C200]), None, pointer)
    close_loop(stream, pointers, entry)
    text = """
        add $m11, $m11, -16
        setzi $m0, 5
        st32 $m0, $m11, $m15, 0
        setzi $m0, 0x64000
        st32 $m0, $m11, $m15, 1
        setzi $m0, 0x80000
        st32 $m0, $m11, $m15, 2
    body:
        setzi $m2, 0x5d008
        setzi $m3, 0x5d100
        ld32 $m4, $m11, $m15, 0
        setzi $m5, 5
        call $m9, 0x4c0cc
        ld32 $m2, $m11, $m15, 1
        add $m2, $m2, 0
        ld32 $m3, $m11, $m15, 2
        add $m3, $m3, 32767
        add $m3, $m3, 32767
        add $m3, $m3, 4466
        setzi $m4, 0x90000
        setzi $m5, 7
        call $m10, 0x4c200
        ld32 $m0, $m11, $m15, 1
        add $m0, $m0, 8
        st32 $m0, $m11, $m15, 1
        ld32 $m0, $m11, $m15, 2
        add $m0, $m0, 32767
        add $m0, $m0, 7233
        st32 $m0, $m11, $m15, 2
        ld32 $m0, $m11, $m15, 0
        add $m0, $m0, -1
        st32 $m0, $m11, $m15, 0
        brz $m0, done
        setzi $m0, body
        br $m0
    done:
        add $m11, $m11, 16
    """
    assert of_tile(stream, 0) == list(assemble(text, 0x5C000).words)
    assert of_tile(stream, int(PHYSICAL[3]))[0] == 0x22BBFFF8  # a frame of two words
    assert len(of_tile(stream, 1471)) == 3 + 7  # a loop without pointers and body


def test_it_can_be_loaded(repeated: Built, package: Package) -> None:
    assert [*violations(package), *load_violations(package)] == []
    assert check_package(repeated, package) == ()
    assert check_package(repeated, build_package(repeated, profile=True)) == ()


def test_tables_hold_the_sends_of_every_iteration(
    repeated: Built, package: Package, changes: Any, repeating: Any
) -> None:
    (table,) = (r for r in package.regions if r.name == PATCH_TABLE and r.physical_tile == SENDER)
    words = changes.words_of(package, table)
    sends = [INSTRUCTIONS["send"].decode(word) for word in words]
    first = (int(repeated.address[2]) + repeating.SLICE) // 4
    assert [address for _, address, _ in sends] == [
        first + repeating.SLICE // 4 * iteration for iteration in range(repeating.COUNT)
    ]
    assert len({(items, control) for items, _, control in sends}) == 1
    assert {r.physical_tile for r in package.regions if r.name == PATCH_TABLE} == {
        *PHYSICAL[2:4].tolist()
    }


def test_patched_rows_are_not_shared(repeated: Built, repeating: Any, changes: Any) -> None:
    """The row of a phase before the repeat is the same as that of the first iteration."""
    program = repeated.program
    offset = program.transfers.source_offset.copy()
    offset[2:] = 0
    transfers = replace(program.transfers, source_offset=offset, destination=np.array([6, 7] * 4))
    same = replace(program, transfers=transfers)
    built = repeating.scheduled(same, repeated.address, repeated.boundary)
    package = build_package(built)
    rows = [r for r in package.regions if (r.name, r.physical_tile) == ("exchange row", SENDER)]
    one, other = (changes.words_of(package, row) for row in rows)
    assert one == other
    receiver = [r for r in package.regions if (r.name, r.physical_tile) == ("exchange row", FIRST)]
    assert len(receiver) == 1  # nothing of it is patched


def test_results_are_those_of_the_unrolled_program(
    repeated: Built, package: Package, repeating: Any
) -> None:
    """Bit for bit; the unrolled program has no loop. Phases take the same events."""
    output, phases = repeating.outcome(repeated, package)
    program, origin = unrolled(repeated.program)
    plain = repeating.scheduled(program, repeated.address[origin], repeated.boundary)
    expected, events = repeating.outcome(plain, build_package(plain))
    assert output == expected and any(output)
    assert phases == events == [*repeated.horizon[:1], *repeated.horizon[1:].repeat(3)]


def test_an_iteration_less_gives_something_else(
    repeated: Built, package: Package, repeating: Any
) -> None:
    fewer = replace(repeated, program=repeating.program(count=2))
    assert (
        repeating.outcome(fewer, build_package(fewer))[0]
        != (repeating.outcome(repeated, package)[0])
    )


def test_a_repeat_whose_addresses_stay(repeated: Built, repeating: Any) -> None:
    """The same weights three times: no pointers, no patches."""
    program = repeated.program
    runs = replace(program.runs, input0_advance=0 * program.runs.input0_advance)
    transfers = replace(program.transfers, source_advance=0 * program.transfers.source_advance)
    built = replace(repeated, program=replace(program, runs=runs, transfers=transfers))
    package = build_package(built)
    assert check_package(built, package) == ()
    assert not [region for region in package.regions if region.name == PATCH_TABLE]
    program, origin = unrolled(built.program)
    plain = repeating.scheduled(program, repeated.address[origin], repeated.boundary)
    assert repeating.outcome(built, package) == repeating.outcome(plain, build_package(plain))


def test_profile(repeated: Built) -> None:
    """A repeat is one step (package.md 1.3)."""
    sampled = build_package(repeated, profile=True)
    steps = {plan.physical_tile: plan.steps for plan in sampled.profile}
    assert [step.kernel for step in steps[SENDER]] == ["exchange", "repeat"]
    last = steps[FIRST][-1]
    assert (last.kernel, last.kind, last.local_index, last.phase) == ("repeat", "compute", 2, 2)
    assert last.metadata == (("reason", "weights"), ("invocations", "3"))


TABLE, PROGRAM = PATCH_TABLE, "generated tile program"


def region_of(package: Package, name: str, tile: int) -> Region:
    return next(r for r in package.regions if r.name == name and r.physical_tile == tile)


def changed(package: Package, changes: Any, name: str, old: int, new: int) -> Package:
    """A package in which a word of a sender's table or program is another one."""
    region = region_of(package, name, SENDER)
    words = changes.words_of(package, region)
    assert words.count(old) == 1
    result: Package = changes.with_words(package, region, [new if w == old else w for w in words])
    return result


@pytest.mark.parametrize("iteration", range(3))
@pytest.mark.parametrize("by", [8, 1 << 21])
def test_a_wrong_word_in_a_table(
    repeated: Built, package: Package, repeating: Any, changes: Any, iteration: int, by: int
) -> None:
    """Another address, or an item more: the checker names the iteration, and the simulator sees it."""
    word = changes.words_of(package, region_of(package, TABLE, SENDER))[iteration]
    wrong = changed(package, changes, TABLE, word, word + by)
    ((label, message),) = check_package(repeated, wrong)
    assert label == "rows" and f"exchange 1 weights in iteration {iteration}: " in message
    try:
        output, _ = repeating.outcome(repeated, wrong)
    except CheckError:
        return
    assert output != repeating.outcome(repeated, package)[0]


BROKEN = [
    ("setzi $m0, 3", "setzi $m0, 4", "found loops of [4] iterations, expected [3]"),
    ("setzi $m5, 3", "setzi $m5, 2", "found a patch of 2 iterations in a loop of 3"),
    ("add $m11, $m11, 8", "add $m11, $m11, 16", "found another frame at the end of the loop"),
    ("ld32 $m4, $m11, $m15, 0", "ld32 $m4, $m11, $m15, 1", "found a patch without a word"),
    ("ld32 $m0, $m11, $m15, 0", "ld32 $m0, $m11, $m15, 1", "found no end of the loop at 0x5c0"),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN)
def test_loops_and_patches_that_are_wrong(
    repeated: Built, package: Package, changes: Any, old: str, new: str, message: str
) -> None:
    one, other = (assemble(text, 0).words[0] for text in (old, new))
    found = check_package(repeated, changed(package, changes, PROGRAM, one, other))
    assert found[0][0] == "repeat"
    assert found[0][1].startswith(f"tile {SENDER}: {message}")


def test_jumps_and_tables_that_are_wrong(repeated: Built, package: Package, changes: Any) -> None:
    table = region_of(package, TABLE, SENDER)
    program = tile_programs(package)[SENDER]
    words = changes.words_of(package, region_of(package, PROGRAM, SENDER))
    place = words.index(assemble("br $m0", 0).words[0]) - 1
    body = words[place]
    for old, new, message in (
        (body, body + 4, "found another jump at the end of the loop"),
        (assemble(f"setzi $m3, {table.address}", 0).words[0], assemble("setzi $m3, 0x7fff0", 0).words[0],
         "found a patch with a table at 0x7fff0, expected it in a segment"),
        (assemble(f"setzi $m2, {_row(package).address + 4}", 0).words[0],
         assemble(f"setzi $m2, {program.start}", 0).words[0],
         f"found a patch of {program.start:#x}, expected it in the next row"),
    ):  # fmt: skip
        found = check_package(repeated, changed(package, changes, PROGRAM, old, new))
        assert found[0] == ("repeat", found[0][1])
        assert found[0][1].startswith(f"tile {SENDER}: {message}")


def _row(package: Package) -> Region:
    """The row of the sender in the repeat: the later one."""
    rows = [r for r in package.regions if (r.name, r.physical_tile) == ("exchange row", SENDER)]
    return max(rows, key=lambda row: row.address)


def test_a_loop_on_an_unused_tile(repeated: Built, package: Package, changes: Any) -> None:
    """It has no row, and takes part in every phase of the loop all the same."""
    words = changes.words_of(package, region_of(package, PROGRAM, 1471))
    count = assemble("setzi $m0, 3", 0).words[0]
    assert words.count(count) == 1
    region = region_of(package, PROGRAM, 1471)
    other = [count + 1 if word == count else word for word in words]
    found = check_package(repeated, changes.with_words(package, region, other))
    assert found == (("repeat", "tile 1471: found loops of [4] iterations, expected [3]"),)


def test_rows_that_find_no_room(repeated: Built, repeating: Any) -> None:
    """A value an iteration and word: 40 000 of them are too many."""
    program = repeating.program(count=40_000)
    transfers = replace(program.transfers, source_advance=np.array([0, 0, 4, 4]))
    runs = replace(program.runs, input0_advance=0 * program.runs.input0_advance)
    long = replace(program, transfers=transfers, runs=runs)
    built = repeating.scheduled(long, repeated.address, repeated.boundary)
    with pytest.raises(RoomError, match=rf"^step 2 weights, tile {SENDER}: found 160000 bytes"):
        build_package(built)


def test_operands_that_leave_the_memory(repeated: Built, repeating: Any) -> None:
    program = repeating.program(count=2000)
    transfers = replace(program.transfers, source_advance=np.zeros(4))
    built = replace(repeated, program=replace(program, transfers=transfers))
    where = (
        "step 3 product, tile 0: found an operand at 0x64000 that moves by 2048 bytes 1999 times"
    )
    with pytest.raises(InputError, match=where):
        build_package(built)


def copying(copies: list[tuple[int, int, int, int]], count: int, size: int) -> Built:
    """A vector copied in pieces of 64 bytes, in a repeat on one tile.

    A piece is offset and advance in the input, and offset and advance in the output.
    """
    axis = AxisTiling(axis=LINEAR, partitions=1, block=1, padding_multiple=1)
    layout = Layout(ROW_MAJOR, 1, 1, (axis,), MemoryClass.STANDARD)
    x = PlannedValue("x", "x", 1, size // 2, "float16", layout, Origin.INPUT)
    y = replace(x, name="y", tensor="y", origin=Origin.COMPUTED, is_output=True)
    box = (0, 1, 1, 0, size // 2, size // 2)
    shards = [(0, v, Role.VALUE, 0, 0, 0, *box, size, 8, 0, 1) for v in range(2)]
    table = replace(
        CopyTable(*np.array([(0, 0, 0, a, 1, b, 64, 1, 64, 64, 8) for a, _, b, _ in copies]).T),
        source_advance=np.array([moved for _, moved, _, _ in copies]),
        destination_advance=np.array([moved for *_, moved in copies]),
    )
    nothing = TransferTable(*(NONE,) * 4, ZERO, NONE, NONE)
    program = Program(
        tiles=1,
        steps=(ProgramStep(StepKind.COPY, 0, "pieces"),),
        shards=ShardTable(*np.array(shards, dtype=np.int64).T),
        runs=RunTable(*np.zeros((14, 0), dtype=np.int64)),
        copies=table,
        transfers=nothing,
        distinct=np.zeros((0, 2), dtype=np.int64),
        repeats=(Repeat(0, 1, count),),
    )
    step = PointwiseStep(name="y", kind="Cast", inputs=(0,), result=1, terms={})
    plan = Plan(tiles=1, values=(x, y), steps=(step,))
    address = np.array([0x80000, 0xB0000])
    return Built(
        plan=plan, program=program, address=address, boundary=ZERO, start=NONE, horizon=NONE
    )


def test_copies_that_move_far(repeating: Any) -> None:
    """Offsets and strides above what one addition holds, and a side that stays."""
    built = copying([(40_000, 40_000, 64, 4096), (0, 0, 70_000, 33_000), (8, 4, 8, 4)], 3, 180_000)
    package = build_package(built)
    assert check_package(built, package) == ()
    given = np.random.default_rng(1).integers(0, 256, 180_000, dtype=np.uint8)
    output = repeating.run(package, b"", given.tobytes())
    expected = np.zeros(180_000, np.uint8)
    for turn in range(3):
        for at, by, to, further in (
            (40_000, 40_000, 64, 4096),
            (0, 0, 70_000, 33_000),
            (8, 4, 8, 4),
        ):
            source, destination = at + by * turn, to + further * turn
            expected[destination : destination + 64] = given[source : source + 64]
    np.testing.assert_array_equal(np.frombuffer(output[:180_000], np.uint8), expected)


def test_more_pointers_than_fit() -> None:
    pieces = [(0, 8 * (n + 1), 0, 0) for n in range(56)]
    with pytest.raises(
        InputError, match=r"^step 0 pieces, tile 0: found 56 pointers in the repeat"
    ):
        build_package(copying(pieces, 2, 4096))
    words = build_package(copying(pieces[:55], 2, 4096))
    assert check_package(copying(pieces[:55], 2, 4096), words) == ()
