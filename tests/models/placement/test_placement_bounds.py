"""Load bounds by hand, and the words of an explanation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ipuopt.models.placement.bounds import explain, footprint_bound, load
from ipuopt.models.placement.problem import Problem, Regions


def loaded_tile(rows: Sequence[tuple[int, int, int, int, int]]) -> Problem:
    """Rows of size, alignment, interleaved, first step, stop."""
    size, alignment, interleaved, start, stop = np.array(rows).T
    return Problem(
        name="tile 17",
        regions=Regions(0x78000, 0x80000, 0x80000, 0xE7BB0, 0x8000),
        size_bytes=size,
        alignment=alignment,
        interleaved=interleaved,
        live_start=start,
        live_stop=stop,
        distinct=np.zeros((0, 2), dtype=np.int64),
        conflict=np.zeros((0, 2), dtype=np.int64),
        conflict_words=np.zeros(0, dtype=np.int64),
    )


NAMES = [f"value {index}" for index in range(8)]


def test_load_is_the_largest_sum_over_steps() -> None:
    tile = loaded_tile([(100, 4, 1, 0, 2), (200, 4, 1, 1, 3), (250, 4, 1, 2, 3), (8, 4, 0, 0, 3)])
    assert load(tile, 1).demand == 450
    assert load(tile, 1).step == 2
    assert load(tile, 1).buffers.tolist() == [1, 2]
    assert footprint_bound(tile) == 458


def test_sizes_are_rounded_but_for_the_last_of_an_extent() -> None:
    # 33, 40, 70 at multiples of 32: slacks 31, 24, 26; one extent keeps 31 of them, two 31 + 26
    interleaved = loaded_tile([(33, 32, 1, 0, 1), (40, 32, 1, 0, 1), (70, 32, 1, 0, 1)])
    assert load(interleaved, 1).demand == 33 + 64 + 96
    standard = loaded_tile([(33, 32, 0, 0, 1), (40, 32, 0, 0, 1), (70, 32, 0, 0, 1)])
    assert load(standard, 0).demand == 33 + 64 + 70


def test_no_explanation_where_the_load_fits() -> None:
    assert explain(loaded_tile([(424_880, 4, 1, 0, 1), (0x8000, 4, 0, 0, 1)]), NAMES) is None


def test_too_many_interleaved_bytes() -> None:
    tile = loaded_tile([(300_000, 8, 1, 0, 9), (124_888, 8, 1, 3, 5)])
    assert str(explain(tile, NAMES, ["", "", "", "reduce y"])) == (
        "tile 17, step 3 (reduce y): interleaved buffers: needs 424888 bytes of 424880 "
        "(largest: value 0 300 000, value 1 124 888); would fit with: more tiles for this step; "
        "smaller blocks of the inner axis"
    )


def test_too_many_standard_bytes_beside_the_interleaved_pairs() -> None:
    # 1000 interleaved bytes reserve a pair: 0x8000 + 424880 - 32768 = 424880 are left
    tile = loaded_tile([(1000, 8, 1, 0, 1), (24_888, 8, 0, 4, 5), (400_000, 8, 0, 4, 6)])
    assert str(explain(tile, NAMES)) == (
        "tile 17, step 4: standard buffers and 32768 reserved for interleaved ones: "
        "needs 457656 bytes of 457648 "
        "(largest: value 2 400 000, value 1 24 888, value 0 1 000); "
        "would fit with: more tiles for the largest values; less interleaved memory"
    )


def test_a_buffer_larger_than_any_free_range() -> None:
    # 12 pairs reserved: 31664 above, 32768 below
    tile = loaded_tile([(12 * 0x8000, 8, 1, 0, 1), (32_776, 8, 0, 2, 3)])
    assert str(explain(tile, NAMES)) == (
        "tile 17, step 2: largest standard buffer, in one piece: needs 32776 bytes of 32768 "
        "(largest: value 1 32 776); would fit with: more tiles for this value"
    )


def test_at_most_five_owners() -> None:
    proof = explain(loaded_tile([(100_000 - index, 8, 1, 0, 1) for index in range(7)]), NAMES)
    assert proof is not None
    assert [name for name, _ in proof.owners] == NAMES[:5]


def test_standard_buffers_in_one_piece() -> None:
    # 457648 bytes are free in both ranges, but of 220000 + 220000 none fits below
    tile = loaded_tile([(220_000, 8, 0, 0, 1), (220_000, 8, 0, 0, 2)])
    assert str(explain(tile, NAMES)) == (
        "tile 17, step 0: standard buffers, each in one piece in 32768 or 424880 bytes: "
        "needs 440000 bytes of 424880 (largest: value 0 220 000, value 1 220 000); "
        "would fit with: more tiles for the largest values"
    )


def test_pieces_that_fill_the_lower_range_exactly() -> None:
    # 20000 + 12768 fill it and leave 424880; in other pieces the same bytes do not
    pieces = [(size, 8, 0, 0, 1) for size in (20_000, 12_768, 212_440, 212_440)]
    assert explain(loaded_tile(pieces), NAMES) is None
    pieces = [(size, 8, 0, 0, 1) for size in (20_008, 12_768, 212_440, 212_432)]
    proof = explain(loaded_tile(pieces), NAMES)
    assert proof is not None
    assert (proof.demand, proof.capacity) == (457_648, 20_008 + 424_880)
