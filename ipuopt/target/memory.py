"""Memory of a tile: regions, elements, and what data may use.

::

    0x4c000      0x50000        0x58000       0x64000        0x80000            0xe7bb0  0xe8000
    | runtime    | host window  | support     | DATA_LOW     | DATA_HIGH        | loader |
    |            executable, elements of 16 KiB              | pairs of 32 KiB           |
"""

from __future__ import annotations

import numpy as np

from ipuopt.layout import IntArray

BASE = 0x4C000
"""First byte of tile memory (ipu21.md 2)."""
SIZE = 624 * 1024
"""Bytes of tile memory; it ends at 0xe8000 (ipu21.md 2)."""
STOP = BASE + SIZE
"""First address after tile memory."""
STANDARD_ELEMENT = 16 * 1024
"""Bytes of an SRAM element, counted from address 0 (ipu21.md 2)."""
INTERLEAVED_BASE = 0x80000
"""Start of the region whose elements work in pairs (ipu21.md 2)."""
INTERLEAVED_ELEMENT = 32 * 1024
"""Bytes of a pair of elements, counted from ``INTERLEAVED_BASE`` (ipu21.md 2)."""
EXECUTABLE_END = INTERLEAVED_BASE
"""Instructions are fetched only below this address (ipu21.md 2)."""
LOOKAHEAD = 64
"""Bytes past an instruction that are fetched too (ipu21.md 2)."""
LOADABLE_END = 0xE7BB0
"""A loader fills memory only below this address (ipu21.md 2)."""
HOST_WINDOW = (0x50000, 0x58000)
"""Half-open range of the host exchange aperture (ipu21.md 2)."""
RUNTIME_END = 0x586E0
"""End of the completion word and the stacks behind the host window (lowering.md 5.1)."""

SUPPORT_END = 0x64000
"""First byte that data may use, unless the rows of a tile need more than this leaves.

Below it lie the runtime, the host window, the stacks, and about 48 KiB from ``RUNTIME_END`` for
tile code and exchange rows: the reservation of the public compiler is 49152 bytes (cost-model.md
4.1), which ends at 0x646e0. It is rounded down to the start of a memory element, so that no
exchange row shares an element with data that its phase reads or writes (ipu21.md 2).
"""
ROW_ROOM = HOST_WINDOW[0] - BASE + EXECUTABLE_END - LOOKAHEAD - RUNTIME_END
"""Bytes that exchange rows have at most, code aside, if data leave all executable memory to them."""
DATA_LOW = (SUPPORT_END, INTERLEAVED_BASE)
"""Half-open range of standard memory that data may use (lowering.md 5.1)."""
DATA_HIGH = (INTERLEAVED_BASE, LOADABLE_END)
"""Half-open range of the interleaved region; standard data may use its upper part as well, beyond
the last interleaved buffer rounded up to a pair (lowering.md 5.3)."""

_STANDARD_ELEMENTS = INTERLEAVED_BASE // STANDARD_ELEMENT


def element_of(address: IntArray) -> IntArray:
    """Number of the memory element that holds each byte address, same shape.

    Standard elements count from 0 at address 0, interleaved pairs follow them, so the two kinds
    never share a number. The class of the buffer does not matter: above ``INTERLEAVED_BASE``
    standard buffers, too, live in pairs (lowering.md 5.1).
    """
    pair = _STANDARD_ELEMENTS + (address - INTERLEAVED_BASE) // INTERLEAVED_ELEMENT
    return np.where(address < INTERLEAVED_BASE, address // STANDARD_ELEMENT, pair)


def element_range(address: IntArray, size_bytes: IntArray) -> tuple[IntArray, IntArray]:
    """First and last element (inclusive) that each span of bytes touches.

    Parameters
    ----------
    address
        Byte addresses.
    size_bytes
        Bytes of each span, at least 1; must broadcast against ``address``.
    """
    return element_of(address), element_of(address + size_bytes - 1)
