"""The peer compiler's placement on examples worked by hand (lowering.md 5.2, 5.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipuopt.models.placement import peer
from ipuopt.models.placement.problem import Problem, Regions

REGIONS = Regions(0x78000, 0x80000, 0x80000, 0xA0000, 0x8000)


def buffers(
    rows: Sequence[tuple[int, int, int, int]], distinct: Sequence[tuple[int, int]] = ()
) -> Problem:
    """Rows of size, interleaved, first step, stop; alignment 8."""
    size, interleaved, start, stop = np.array(rows).T
    return Problem(
        name="tile 0",
        regions=REGIONS,
        size_bytes=size,
        alignment=np.full(len(rows), 8),
        interleaved=interleaved,
        live_start=start,
        live_stop=stop,
        distinct=np.array(distinct).reshape(-1, 2),
        conflict=np.zeros((0, 2), dtype=np.int64),
        conflict_words=np.zeros(0, dtype=np.int64),
    )


def test_interleaved_lowest_in_order_of_lifetime() -> None:
    # sorted by (first, last): 1, 0, 2; buffer 2 reuses the bytes of 1, which ended
    found = peer.heuristic(buffers([(0x100, 1, 0, 3), (0x200, 1, 0, 2), (0x80, 1, 2, 4)]))
    assert found is not None
    assert found.address.tolist() == [0x80200, 0x80000, 0x80000]
    assert found.boundary == 0x88000


def test_standard_goes_where_the_fewest_bytes_are_left() -> None:
    # free: low 0x8000 bytes, high 0x20000; the first leaves less below, the second fits above only
    found = peer.heuristic(buffers([(0x6000, 0, 0, 2), (0x4000, 0, 0, 3), (0x1000, 0, 1, 3)]))
    assert found is not None
    assert found.address.tolist() == [0x78000, 0x80000, 0x7E000]
    assert found.boundary == 0x80000


def test_best_fit_fills_the_tightest_gap() -> None:
    # 0x1000 at the bottom ends with step 0; what follows returns to that gap, not to the top
    found = peer.heuristic(
        buffers([(0x1000, 0, 0, 1), (0x1000, 0, 0, 4), (0x800, 0, 1, 4), (0x100, 0, 1, 4)])
    )
    assert found is not None
    assert found.address.tolist() == [0x78000, 0x79000, 0x78000, 0x78800]


def test_distinct_buffers_get_whole_elements() -> None:
    # two elements of 16 KiB below; the third buffer finds no byte left there
    found = peer.heuristic(
        buffers([(0x100, 0, 0, 2), (0x100, 0, 0, 3), (0x100, 0, 0, 4)], [(0, 1)])
    )
    assert found is not None
    assert found.address.tolist() == [0x78000, 0x7C000, 0x80000]


def test_distinct_interleaved_buffers_get_pairs() -> None:
    found = peer.heuristic(buffers([(0x100, 1, 0, 2), (0x100, 1, 0, 3)], [(0, 1)]))
    assert found is not None
    assert found.address.tolist() == [0x80000, 0x88000]
    assert found.boundary == 0x90000


def test_first_failure_ends_it() -> None:
    assert peer.heuristic(buffers([(0x20000, 1, 0, 2), (0x8008, 0, 0, 2)])) is None
