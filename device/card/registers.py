"""Registers of a card's configuration space, and what is stored there (``device.md`` 1, 2, 3, 5)."""

from __future__ import annotations

SPACE_BYTES = 0x80000
"""Size of the configuration space, the only one that is mapped."""
CONTROL = 0x2000
NO_SNOOP, LINK_CHECKSUM = 1 << 1, 1 << 10
"""Bits of :data:`CONTROL` that are clear while a program is loaded."""
AUTOLOADER, AUTOLOADER_TARGET, AUTOLOADER_DATA = 0x2068, 0x206C, 0x2070
GS1, GS2 = 0x302C, 0x3030
"""Syncs that the host grants to the device, which counts them off."""
MARK_MASK = 0xFFFF
"""Bits of :data:`GS1` and :data:`GS2` that hold the mark."""
WINDOW, DRIVER_MAPPING = 0x3044, 0x800
"""Window of the exchange, and its value for the driver's mapping of pages."""
ROUTING = (
    *(0x5404 + 0x400 * block for block in range(8)),
    *(0x1B804 + 0x400 * block for block in range(8)),
)
"""Routing of the requests of the 16 exchange blocks."""
OPEN_ROUTE, OTHER_ROUTE, CLOSED_ROUTE = 2, 0x20820A, 0x7FFFFFA
"""Values of :data:`ROUTING`: of the first eight, of the last eight, and of all that are closed."""


def tile_register(tile: int, number: int) -> int:
    """Register of the debug window of a physical tile (``device.md`` 5)."""
    return 0x30000 + 0x40 * tile + 4 * number
