"""Whole programs: classes of tiles, conflicts from transfers, infeasible and unplaced tiles."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from ipuopt.codegen.lower import lower
from ipuopt.errors import InfeasibleError
from ipuopt.limits import Limits
from ipuopt.models.mapping.peer.read import read_plan
from ipuopt.models.placement import classes, solve_program
from ipuopt.models.placement.check import check, check_program, program_conflict_words
from ipuopt.models.placement.problem import IntArray, Solution
from ipuopt.models.placement.tiles import TILE_REGIONS, conflict_pairs, tile_classes
from ipuopt.program import (
    CopyTable,
    Program,
    ProgramStep,
    Role,
    RunTable,
    ShardTable,
    StepKind,
    TransferTable,
)
from ipuopt.report import SolveStatus

STEPS = ("gather a", "matmul y", "reduce y", "sum y")


def make_program(
    shards: Sequence[tuple[int, int, int, int, int]],
    transfers: Sequence[tuple[int, int, int, Sequence[int]]] = (),
    distinct: Sequence[tuple[int, int]] = (),
    tiles: int = 2,
) -> Program:
    """Shards (tile, bytes, interleaved, start, stop); transfers (step, words, source, receivers)."""
    rows = np.array(shards, dtype=np.int64).reshape(-1, 5).T
    columns = {column.name: np.zeros(len(shards), dtype=np.int64) for column in fields(ShardTable)}
    names = ("tile", "size_bytes", "interleaved", "live_start", "live_stop")
    columns |= dict(zip(names, rows, strict=True))
    columns |= {
        "value": np.arange(len(shards)),
        "alignment": np.full(len(shards), 8),
        "role": np.arange(len(shards)) % len(Role),
    }
    receivers = [list(transfer[3]) for transfer in transfers]
    starts = np.cumsum([0, *(len(entry) for entry in receivers)])
    flat = np.array([shard for entry in receivers for shard in entry], dtype=np.int64)
    empty = np.zeros(0, dtype=np.int64)
    return Program(
        tiles=tiles,
        steps=tuple(ProgramStep(StepKind.PHASE, 0, name) for name in STEPS),
        shards=ShardTable(**columns),
        runs=RunTable(*(empty for _ in fields(RunTable))),
        copies=CopyTable(*(empty for _ in fields(CopyTable))),
        transfers=TransferTable(
            step=np.array([entry[0] for entry in transfers], dtype=np.int64),
            source=np.array([entry[2] for entry in transfers], dtype=np.int64),
            source_offset=np.zeros(len(transfers), dtype=np.int64),
            words=np.array([entry[1] for entry in transfers], dtype=np.int64),
            destination_start=starts,
            destination=flat,
            destination_offset=np.zeros_like(flat),
        ),
        distinct=np.array(distinct, dtype=np.int64).reshape(-1, 2),
    )


def test_conflict_pairs_by_hand() -> None:
    # tile 0: shards 0, 1, 2; tile 1: shards 3, 4
    program = make_program(
        [(0, 64, 0, 0, 4), (0, 64, 0, 0, 4), (0, 64, 0, 0, 4), (1, 64, 0, 0, 4), (1, 64, 0, 0, 4)],
        [
            (0, 10, 0, [3]),
            (0, 4, 3, [1, 2]),  # tile 0 reads 0, writes 1 and 2; tile 1 reads 3 and writes 3
            (2, 6, 0, [4]),
            (2, 8, 4, [1]),  # tile 0 reads 0, writes 1; tile 1 reads 4 and writes 4
        ],
    )
    conflicts = conflict_pairs(program)
    assert conflicts.pair.tolist() == [[0, 1], [0, 2]]
    assert conflicts.words.tolist() == [min(10, 4) + min(6, 8), min(10, 4)]
    # everything in one element: both pairs count
    assert program_conflict_words(program, np.full(5, 0x64000)) == 14


def test_tiles_with_equal_buffers_form_one_class() -> None:
    """Tile 1 lists its buffers in another order; tile 2 has no distinct pair, tile 3 nothing."""
    program = make_program(
        [
            (0, 64, 0, 0, 4),
            (0, 128, 1, 1, 4),
            (1, 128, 1, 1, 4),
            (1, 64, 0, 0, 4),
            (2, 64, 0, 0, 4),
            (2, 128, 1, 1, 4),
        ],
        distinct=[(0, 1), (2, 3)],
        tiles=4,
    )
    found = tile_classes(program)
    assert [entry.shards.tolist() for entry in found] == [[[0, 1], [3, 2]], [[4, 5]]]
    assert [entry.problem.name for entry in found] == ["tile 0", "tile 2"]
    placed, report = solve_program(program, Limits())
    assert placed is not None
    assert placed.address[0] == placed.address[3] and placed.address[1] == placed.address[2]
    assert placed.boundary.tolist() == [0x88000, 0x88000, 0x88000, 0x80000]
    assert report.objective == report.bound == 64 + 128


def test_reads_and_writes_of_a_phase_go_to_different_elements() -> None:
    program = make_program(
        [(0, 4096, 0, 0, 4), (0, 4096, 0, 0, 4), (1, 4096, 0, 0, 4), (1, 4096, 0, 0, 4)],
        [(0, 1000, 0, [3]), (0, 1000, 2, [1])],
    )
    placed, report = solve_program(program, Limits())
    assert placed is not None
    assert program_conflict_words(program, placed.address) == 0
    assert report.run.note == "2 tiles in 1 class; conflict words 0, heuristic 2000"


def random_program(seed: int, tiles: int = 6, each: int = 12) -> Program:
    random = np.random.default_rng(seed)
    count = tiles * each
    start = random.integers(0, 3, count)
    shards = np.stack(
        (
            np.repeat(np.arange(tiles), each),
            random.integers(1, 9000, count) * 4,
            random.integers(0, 2, count),
            start,
            start + random.integers(1, 3, count),
        ),
        axis=1,
    )
    transfers = []
    for step in (0, 2):
        for _ in range(40):
            source = int(random.integers(count))
            others = random.permutation(tiles)[:2]
            receivers = [
                int(tile * each + random.integers(each))
                for tile in others
                if tile != source // each
            ]
            transfers.append((step, int(random.integers(1, 500)), source, receivers))
    distinct = [(tile * each, tile * each + 1) for tile in range(tiles)]
    return make_program([tuple(row) for row in shards.tolist()], transfers, distinct, tiles)


@pytest.mark.parametrize("seed", range(4))
def test_program_report_is_that_of_its_worst_tile(seed: int) -> None:
    program = random_program(seed)
    placed, report = solve_program(program, Limits().within(4.0))
    assert placed is not None
    assert not check_program(program, placed.address, placed.boundary)
    assert report.bound is not None and report.objective is not None
    assert report.bound <= report.objective
    words = program_conflict_words(program, placed.address)
    assert f"conflict words {words}" in report.run.note
    if words == 0 and report.objective == report.bound:
        assert report.status is SolveStatus.OPTIMAL


@pytest.mark.parametrize("seed", range(6))
def test_both_checkers_agree_on_spoiled_placements(seed: int) -> None:
    """Labels and their number, after random addresses and boundaries were changed."""
    program = random_program(seed)
    placed, _ = solve_program(program, Limits(), heuristic_only=True)
    assert placed is not None
    random = np.random.default_rng(seed)
    address, boundary = placed.address.copy(), placed.boundary.copy()
    spoiled = random.permutation(len(address))[:10]
    address[spoiled] += random.choice([-0x20000, -8, 2, 8, 0x4000, 0x60000], len(spoiled))
    boundary[random.integers(program.tiles)] += 0x4000
    labels = sorted(label for label, _ in check_program(program, address, boundary))
    assert labels
    expected = []
    for entry in tile_classes(program):
        for shards in entry.shards:
            solution = Solution(address[shards], int(boundary[program.shards.tile[shards[0]]]))
            expected += [label for label, _ in check(entry.problem, solution)]
    assert labels == sorted(expected)


@pytest.mark.parametrize(
    ("shard", "to", "label"),
    [(0, 0x40000, "A1"), (0, 0x65002, "A2"), (1, 0x64008, "A3"), (2, 0x66000, "A4")],
)
def test_program_check_labels(shard: int, to: int, label: str) -> None:
    program = make_program(
        [(0, 64, 0, 0, 2), (0, 64, 0, 0, 2), (0, 64, 0, 3, 4)], distinct=[(0, 2)]
    )
    address: IntArray = np.array([0x64000, 0x64040, 0x68000])
    boundary: IntArray = np.array([0x80000, 0x80000])
    assert check_program(program, address, boundary) == ()
    address[shard] = to
    assert [found for found, _ in check_program(program, address, boundary)] == [label]


def test_program_check_wants_whole_tables() -> None:
    program = make_program([(0, 64, 0, 0, 2)])
    assert (
        check_program(program, np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64))[0][0]
        == "A1"
    )


def test_full_tile_raises_with_names() -> None:
    program = make_program(
        [(0, 64, 0, 0, 4), (1, 300_000, 0, 1, 4), (1, 300_000, 0, 2, 3)], tiles=2
    )
    with pytest.raises(InfeasibleError) as caught:
        solve_program(program, Limits(), value_names=("a", "b", "y"))
    assert str(caught.value) == (
        "tile 1, step 2 (reduce y): standard buffers and 0 reserved for interleaved ones: "
        "needs 600000 bytes of 539568, exchange buffers 600 000 (largest: b staging 300 000, y partial 300 000); "
        "would fit with: more tiles for the largest values; less interleaved memory"
    )


@pytest.mark.parametrize(("count", "fits"), [(20, True), (21, False)])
def test_search_proves_what_no_load_does(count: int, fits: bool) -> None:
    """Seven elements below 0x80000 and thirteen pairs above it: one shard of a kilobyte for each."""
    program = make_program(
        [(1, 1024, 0, 0, 4)] * count, distinct=list(itertools.combinations(range(count), 2))
    )
    if fits:
        placed, _ = solve_program(program, Limits().within(20.0))
        assert placed is not None
        return
    with pytest.raises(InfeasibleError) as caught:
        solve_program(program, Limits().within(20.0))
    assert str(caught.value).startswith(
        "tile 1: standard buffers, in each of their placements: needs "
    )


def test_tile_that_is_not_placed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither placed nor proven too full: no placement, and the report says where."""
    monkeypatch.setattr(classes, "quick", lambda *_: None)
    monkeypatch.setattr(classes, "search", lambda problem, limits, goal, trials: None)
    placed, report = solve_program(make_program([(1, 64, 0, 2, 4)]), Limits(), heuristic_only=True)
    assert placed is None
    assert report.status is SolveStatus.UNKNOWN and report.objective is None
    assert "tile 1: no placement found, fullest in step 2 (reduce y)" in report.run.note


def test_solver_places_what_heuristics_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "quick", lambda *_: None)
    monkeypatch.setattr(classes, "search", lambda problem, limits, goal, trials: None)
    program = make_program([(1, 64, 0, 2, 4), (1, 64, 1, 2, 4)], distinct=[(0, 1)])
    placed, report = solve_program(program, Limits().within(20.0))
    assert placed is not None and report.status is SolveStatus.OPTIMAL
    assert report.objective == 128


def test_callbacks_hear_of_the_worst_tile() -> None:
    heard: list[tuple[str, int]] = []
    limits = replace(
        Limits(),
        on_solution=lambda stage, value: heard.append((stage, value)),
        on_bound=lambda stage, value: heard.append((stage, value)),
    )
    solve_program(make_program([(0, 64, 0, 0, 4), (1, 128, 0, 0, 4)]), limits)
    assert heard == [("placement", 128), ("placement", 128)]


def test_program_without_shards() -> None:
    placed, report = solve_program(make_program([]), Limits())
    assert placed is not None and len(placed.address) == 0
    assert report.status is SolveStatus.OPTIMAL and report.objective == 0


def test_repeatable_programs_are_placed_alike() -> None:
    limits = Limits(deterministic=True)
    one, _ = solve_program(random_program(3), limits)
    other, _ = solve_program(random_program(3), limits)
    assert one is not None and other is not None
    assert one.address.tobytes() == other.address.tobytes()


def test_seed_plan_without_conflicts_at_the_live_bytes(shared: Path) -> None:
    """The plan of the public compiler: every tile placed, no read and write in one element."""
    program = lower(read_plan(shared / "data" / "seeds" / "plan_siglip_mlp.yaml"))
    placed, report = solve_program(program, Limits().within(30.0))
    assert placed is not None
    assert not check_program(program, placed.address, placed.boundary)
    assert program_conflict_words(program, placed.address) == 0
    assert report.status is SolveStatus.OPTIMAL and report.run.solver == "none"
    assert report.heuristic is not None and report.objective is not None
    assert report.objective < report.heuristic
    assert TILE_REGIONS.low_start + report.objective < TILE_REGIONS.high_stop
