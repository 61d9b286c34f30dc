"""The public compiler's plan of the SigLIP MLP, lowered transfer by transfer as it does.

Figures: lowering.md 6; transfers: data/snapshots/siglip_mlp_seed004_t1472.json.gz.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pytest

from ipuopt.codegen.check import check
from ipuopt.codegen.lower import lower
from ipuopt.models.mapping.peer import read_plan
from ipuopt.plan import Plan
from ipuopt.program import Kernel, Program, Role

IntArray = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def plan(shared: Path) -> Plan:
    return read_plan(shared / "data" / "seeds" / "plan_siglip_mlp.yaml")


@pytest.fixture(scope="module")
def program(plan: Plan) -> Program:
    return lower(plan)


def phase_transfers(program: Program, phase: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Sending tile, words, receivers of each transfer, and the receiving tiles."""
    table, tile = program.transfers, program.shards.tile
    first, last = np.searchsorted(table.step, [program.phases[phase], program.phases[phase] + 1])
    bounds = table.destination_start[first : last + 1]
    receivers = tile[table.destination[bounds[0] : bounds[-1]]]
    return tile[table.source[first:last]], table.words[first:last], np.diff(bounds), receivers


def canonical(
    source: IntArray, words: IntArray, count: IntArray, receiver: IntArray
) -> npt.NDArray[np.uint64]:
    """Sorted rows of source, words and a sum over the receivers that any order of them gives."""
    label = np.random.default_rng(0).integers(0, 2**63, 1472, dtype=np.uint64)
    start = np.cumsum(count) - count
    key = np.add.reduceat(label[receiver], start)
    rows = np.stack((source.astype(np.uint64), words.astype(np.uint64), key), axis=1)
    ordered: npt.NDArray[np.uint64] = rows[np.lexsort(rows.T[::-1])]
    return ordered


def test_shards_are_counted_as_logged(program: Program) -> None:
    """17 485 after the first product, 24 901 in all."""
    shards = program.shards
    assert len(shards) == 24_901
    roles = {role: np.bincount(shards.value[shards.role == role], minlength=8) for role in Role}
    assert sorted(roles[Role.VALUE].tolist()) == sorted(
        [1350, 675, 360, 1350, 2195, 2195, 1440, 1440]
    )
    assert sorted(roles[Role.STAGING].tolist())[-2:] == [675, 1440]
    assert sorted(roles[Role.PARTIAL].tolist())[-2:] == [1350, 1440]
    for role in (Role.ACCUMULATOR, Role.REMOTE, Role.SUM):
        assert sorted(roles[role].tolist())[-2:] == [1485, 1512]


def test_phases_have_the_logged_transfers(program: Program) -> None:
    """Five phases: the weights of the second product travel with its left operand."""
    figures = []
    for phase in range(len(program.phases)):
        _, words, count, _ = phase_transfers(program, phase)
        figures.append((len(words), int(count.sum()), int(words.min()), int(words.max())))
    assert [f[0] for f in figures] == [675, 12_105, 195_361, 196_821, 63_720]
    assert figures[0] == (675, 675, 1920, 3840)
    assert figures[1] == (12_105, 12_105, 32, 592)
    assert figures[2] == (195_361, 195_361, 8, 8)
    assert figures[3][2:] == (8, 4148)
    assert figures[4] == (63_720, 63_720, 16, 112)
    _, words, count, _ = phase_transfers(program, 3)
    assert dict(zip(*np.unique(words, return_counts=True), strict=True)) == {
        8: 196_101,
        2764: 360,
        4148: 360,
    }
    assert set(count[words > 8].tolist()) == {4}
    assert set(count[words == 8].tolist()) == {23, 24}


def test_kernel_runs_are_the_logged_ones(program: Program) -> None:
    """And 96 clears of the last inner part, which the logged program leaves out."""
    kernels, counts = np.unique(program.runs.kernel, return_counts=True)
    assert dict(zip(kernels.tolist(), counts.tolist(), strict=True)) == {
        Kernel.MATMUL: 1350 + 1440,
        Kernel.SUM: 1485 + 1512,
        Kernel.GELU: 2195,
        Kernel.CLEAR: 96,
    }
    # 366 rows instead of 365: 294 + 15 * (366 * 8 + 470)
    assert program.runs.cycles[program.runs.kernel == Kernel.MATMUL].max() == 52_728
    assert 51_264 in program.runs.cycles


def test_one_straddling_root_needs_the_logged_bytes(program: Program) -> None:
    """4 or 5 remote contributors of 70 and 4 rows x 32 columns: 19 200 bytes (lowering.md 6)."""
    shards = program.shards
    remote = (shards.role == Role.REMOTE) & (shards.column_stop <= 4304) & (shards.value == 3)
    per_tile = np.bincount(shards.tile[remote], weights=shards.size_bytes[remote])
    assert per_tile.max() == 4 * 70 * 64 + 4 * 4 * 64  # the far seed lies in the accumulator


def test_check_passes(plan: Plan, program: Program) -> None:
    """All rules hold at full size."""
    assert check(plan, program) == ()


def peer_phases(shared: Path) -> list[tuple[IntArray, IntArray, IntArray, IntArray]]:
    path = shared / "data" / "snapshots" / "siglip_mlp_seed004_t1472.json.gz"
    phases: list[dict[str, Any]] = orjson.loads(gzip.decompress(path.read_bytes()))["phases"]
    return [
        (
            np.array([t["source"] for t in phase["transfers"]]),
            np.array([t["words"] for t in phase["transfers"]]),
            np.array([len(t["destinations"]) for t in phase["transfers"]]),
            np.array([d[0] for t in phase["transfers"] for d in t["destinations"]]),
        )
        for phase in phases
    ]


@pytest.mark.slow
def test_every_transfer_is_the_logged_one(program: Program, shared: Path) -> None:
    """Multisets of source tile, words and set of receiving tiles agree in all five phases."""
    for phase, theirs in enumerate(peer_phases(shared)):
        np.testing.assert_array_equal(
            canonical(*phase_transfers(program, phase)), canonical(*theirs)
        )
