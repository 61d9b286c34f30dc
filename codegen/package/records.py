"""What a package holds, as records; the names are those of the schema (``package.md`` 1).

What exists once a shard is an array, not a record.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

OffsetArray = npt.NDArray[np.uint64]

ALL_TILES = 0xFFFFFFFF
"""Physical tile of a debug region that all tiles have (package.md 1.1)."""

STEP_KINDS = ("exchange", "compute", "synchronization", "idle")
"""Kinds of steps, by their number in the schema."""
ACTIVITY_KINDS = ("send", "receive", "partnerBusy")
"""Kinds of activities, by their number in the schema."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes of a tile's memory from ``address`` on; what ``data`` leaves of ``memory_size`` is 0."""

    address: int
    memory_size: int
    data: bytes
    flags: int

    @property
    def stop(self) -> int:
        """First address behind it."""
        return self.address + self.memory_size


@dataclass(frozen=True, slots=True)
class TileImage:
    """Memory of one tile before the start; only the segments matter to a loader."""

    physical_tile: int
    segments: tuple[Segment, ...]
    entry_point: int
    command_address: int
    diagnostic_address: int


@dataclass(frozen=True, slots=True, eq=False)
class Slices:
    """Places of a tensor, shape ``(slices,)`` each.

    Attributes
    ----------
    tile
        Physical tile, or page of the host.
    address
        Byte address on the tile, or offset in the page.
    file_offset, size
        Bytes in the file of the host.
    """

    tile: OffsetArray
    address: OffsetArray
    file_offset: OffsetArray
    size: OffsetArray

    def __len__(self) -> int:
        return len(self.tile)

    @property
    def file_bytes(self) -> int:
        """Bytes of the host's file up to the last slice."""
        return int((self.file_offset + self.size).max(initial=0))


def no_slices() -> Slices:
    """Nothing."""
    return Slices(*np.zeros((4, 0), dtype=np.uint64))


@dataclass(frozen=True, slots=True)
class Binding:
    """A tensor and where its shards lie; the host's file is the row of packed shards."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    slices: Slices


@dataclass(frozen=True, slots=True)
class HostCall:
    """Transfers between the pages of the host and the tiles, in batches of slices."""

    name: str
    command: int
    phases: int
    inputs: Slices
    outputs: Slices
    input_batch_ends: tuple[int, ...]
    output_batch_ends: tuple[int, ...]
    invocations: int = 1


@dataclass(frozen=True, slots=True)
class HostExchange:
    """Pages of the host, each ``(index, size in bytes)``, and the calls that use them."""

    startup_mark: int = 0
    command_page: int = 0
    command_offset: int = 0
    pages: tuple[tuple[int, int], ...] = ()
    attach_order: tuple[int, ...] = ()
    calls: tuple[HostCall, ...] = ()


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Named start; not used by the driver."""

    name: str
    command: int
    external_syncs: int


@dataclass(frozen=True, slots=True)
class Activity:
    """A span of an exchange phase on one tile, of one of :data:`ACTIVITY_KINDS`."""

    kind: str
    start_cycle: int
    end_cycle: int


@dataclass(frozen=True, slots=True)
class Step:
    """What a tile does between two cycle samples, of one of :data:`STEP_KINDS`."""

    kind: str
    operation: str
    kernel: str
    local_index: int
    phase: int
    epoch: int = 0
    event_cycles: int = 0
    metadata: tuple[tuple[str, str], ...] = ()
    activities: tuple[Activity, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """Steps of one tile."""

    physical_tile: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A named range of a tile's memory; see :data:`ALL_TILES`."""

    physical_tile: int
    address: int
    size: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A program for all tiles with what the host needs.

    Attributes
    ----------
    producer
        Version of what made it, free text.
    tiles
        In the order in which they are loaded.
    inputs, outputs, weights
        Tensors.
    host
        Calls of the host.
    entry_points, config_writes
        Not used by the driver; registers ``(offset, value)`` to write after the load.
    profile
        Steps between cycle samples, one plan a tile that has any.
    symbols
        Addresses by name, ``(name, address)``.
    regions
        Named ranges.
    """

    producer: str
    tiles: tuple[TileImage, ...]
    inputs: tuple[Binding, ...] = ()
    outputs: tuple[Binding, ...] = ()
    weights: tuple[Binding, ...] = ()
    host: HostExchange = field(default_factory=HostExchange)
    entry_points: tuple[EntryPoint, ...] = ()
    config_writes: tuple[tuple[int, int], ...] = ()
    profile: tuple[ProfilePlan, ...] = ()
    symbols: tuple[tuple[str, int], ...] = ()
    regions: tuple[Region, ...] = ()

    @property
    def stored_bytes(self) -> int:
        """Bytes of all segments' data."""
        return sum(len(s.data) for tile in self.tiles for s in tile.segments)
