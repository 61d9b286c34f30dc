"""Memory map: numbers of lowering.md 5.1 and cost-model.md 4.1, elements of ipu21.md 2."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.target import memory

ADDRESS = st.integers(memory.BASE, memory.STOP - 1)


def _reference(address: int) -> tuple[str, int]:
    if address < 0x80000:
        return "standard", address // 16384
    return "pair", (address - 0x80000) // 32768


def test_map() -> None:
    """Sizes that the planner of the public compiler prints (cost-model.md 4.1)."""
    assert memory.STOP == 0xE8000
    assert memory.INTERLEAVED_BASE - memory.RUNTIME_END == 162080
    assert memory.DATA_HIGH[1] - memory.DATA_HIGH[0] == 424880
    assert memory.DATA_LOW[1] == memory.DATA_HIGH[0] == memory.EXECUTABLE_END
    assert memory.HOST_WINDOW[1] <= memory.RUNTIME_END < memory.SUPPORT_END
    assert memory.DATA_HIGH[1] == memory.LOADABLE_END < memory.STOP


def test_support_keeps_its_room_and_its_elements() -> None:
    """About the reservation of 49152 bytes, less than the part of an element; none is shared."""
    room = memory.SUPPORT_END - memory.RUNTIME_END
    assert 49152 - memory.STANDARD_ELEMENT < room <= 49152
    assert memory.SUPPORT_END % memory.STANDARD_ELEMENT == 0
    last, first = memory.element_of(np.array([memory.SUPPORT_END - 1, memory.SUPPORT_END]))
    assert last != first


@given(ADDRESS, ADDRESS)
def test_two_addresses_share_an_element_exactly_by_the_rule(one: int, other: int) -> None:
    ids = memory.element_of(np.array([one, other]))
    assert (ids[0] == ids[1]) == (_reference(one) == _reference(other))


def test_elements_of_the_whole_memory() -> None:
    """Thirteen standard elements and a pair for each 32 KiB, numbered without a gap."""
    ids = memory.element_of(np.arange(memory.BASE, memory.STOP, dtype=np.int64))
    numbers, sizes = np.unique(ids, return_counts=True)
    assert np.array_equal(numbers, np.arange(19, 45))
    assert sizes[:13].tolist() == [memory.STANDARD_ELEMENT] * 13
    assert sizes[13:].tolist() == [memory.INTERLEAVED_ELEMENT] * 13
    assert np.all(np.diff(ids) >= 0)


@given(ADDRESS, st.integers(1, 70000))
def test_range_is_that_of_the_first_and_last_byte(address: int, size_bytes: int) -> None:
    size_bytes = min(size_bytes, memory.STOP - address)
    first, last = memory.element_range(np.array([address]), np.array([size_bytes]))
    touched = memory.element_of(np.arange(address, address + size_bytes, dtype=np.int64))
    assert (first[0], last[0]) == (touched.min(), touched.max())


def test_shape_is_kept() -> None:
    address = np.full((3, 4), 0x80000, dtype=np.int64)
    first, last = memory.element_range(address, np.array([1, 32768, 32769, 65536]))
    assert first.shape == last.shape == (3, 4)
    assert (last - first)[0].tolist() == [0, 0, 1, 1]
