"""Each helper does what the program of a tile expects of it, word by word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ipuopt.codegen.runtime import (
    COMPLETION,
    HOST_PACKETS,
    HOST_STAGING,
    WORKER_STACK_BASE,
    Runtime,
    runtime,
)

PROGRAM = 0x5C000
BACK = 0  # where the interpreter stops


@pytest.fixture
def code() -> Runtime:
    return runtime(0x4C018, PROGRAM)


@pytest.fixture
def tile(code: Runtime, make_tile: Callable[[], Any]) -> Any:
    tile = make_tile()
    tile.store(code.address, code.of_tile(5).tolist())
    tile.store(PROGRAM, [0x43F00000])  # br $m15: the interpreter stops
    return tile


def test_start(code: Runtime, tile: Any) -> None:
    registers = tile.run(code.symbols["start"], {})
    assert tile.syncs == ["sync 3", "sync 1", "sync 1", "sync 7"]
    assert registers[11] == WORKER_STACK_BASE + 0x600
    bases = {0x21 + worker: WORKER_STACK_BASE + 0x100 * worker for worker in range(6)}
    assert tile.specials == {0xA0: 0x640, 0xA7: 0, **bases}
    assert tile.seeds == [8 * t | worker for worker in range(6) for t in (5, 6)]
    assert tile.draws == 6 * 16


def test_complete(code: Runtime, tile: Any) -> None:
    tile.run(code.symbols["complete"], {})
    assert tile.load(COMPLETION, 1) == [1]


def test_barrier_keeps_all_but_m0(code: Runtime, tile: Any) -> None:
    given = {number: 100 + number for number in range(1, 15)} | {7: BACK}
    registers = tile.run(code.symbols["worker_barrier"], given)
    assert {n: registers[n] for n in given} == given
    assert tile.syncs == ["sync 1"]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_patch_row(code: Runtime, tile: Any, count: int) -> None:
    row, offsets, values = 0x60000, 0x60100, 0x60200
    tile.store(row, [7] * 8)
    tile.store(offsets, [4, 12, 28][:count])
    tile.store(values, [11, 12, 13][:count])
    tile.run(code.symbols["patch_row"], {2: row, 3: offsets, 4: values, 5: count, 9: BACK})
    expected = [7] * 8
    for place, value in zip((1, 3, 7)[:count], (11, 12, 13), strict=False):
        expected[place] = value
    assert tile.load(row, 8) == expected


def test_patch_word(code: Runtime, tile: Any) -> None:
    """The first iteration, with all of them remaining, stores the first word."""
    tile.store(0x60000, [21, 22, 23])
    stored = []
    for remaining in (3, 2, 1):
        tile.run(code.symbols["patch_word"], {2: 0x60100, 3: 0x60000, 4: remaining, 5: 3, 9: BACK})
        stored += tile.load(0x60100, 1)
    assert stored == [21, 22, 23]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_copy_u32(code: Runtime, tile: Any, count: int) -> None:
    tile.store(0x60000, [1, 2, 3, 4, 5, 6])
    tile.store(0x60100, [0] * 6)
    tile.run(code.symbols["copy_u32"], {2: 0x60100, 3: 0x60000, 4: count, 10: BACK})
    assert tile.load(0x60100, 6) == [1, 2, 3, 4, 5][:count] + [0] * (6 - count)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_repeat_call(code: Runtime, tile: Any, count: int) -> None:
    registers = {2: count, 3: code.symbols["idle_batch"], 9: BACK}
    tile.run(code.symbols["repeat_call"], registers)
    assert tile.syncs == ["sans 1", "sync 1"] * count


@pytest.mark.parametrize(("behind_bitmap", "packets"), [(False, 2), (True, 3), (False, 0)])
def test_host_run(code: Runtime, tile: Any, behind_bitmap: bool, packets: int) -> None:
    descriptor, words, body = 0x60000, 0x60100, 0x60200
    tile.store(descriptor, [0x70000, 3 | behind_bitmap << 23 | packets << 24, words])
    tile.store(words, [31, 32, 33])
    tile.store(body, [0x4180000F, 0x43A00000])  # sync 15, back
    tile.store(HOST_STAGING, [41, 42, 43, 44])
    tile.store(0x70000, [0] * 4)
    tile.run(code.symbols["host_run"], {2: 1, 3: descriptor, 4: body, 9: BACK})
    start = HOST_PACKETS + 8 * behind_bitmap
    assert tile.load(start, packets) == [31, 32, 33][:packets]
    assert start + 4 * packets not in tile.memory
    assert tile.load(0x70000, 4) == [41, 42, 43, 0]
    assert tile.syncs == ["sync 0xf"]


def test_sample_cycle(code: Runtime, tile: Any) -> None:
    for worker in range(6):
        tile.specials[0x21 + worker] = WORKER_STACK_BASE + 0x100 * worker
    tile.run(code.symbols["sample_cycle"], {2: 0x58004, 10: BACK})
    first = tile.load(0x58004, 1)[0]
    tile.run(code.symbols["sample_cycle"], {2: 0x58008, 10: BACK})
    assert tile.load(0x58008, 1)[0] > first > 0


def test_tiles_differ_in_their_seeds_only(code: Runtime) -> None:
    differ = (code.of_tile(0) != code.of_tile(1471)).nonzero()[0].tolist()
    places = [code.symbols[name] - code.address for name in ("context_seed", "next_seed")]
    assert differ == [place // 4 for place in places]
