"""Rules of packages: those of the format, and those of a loader (``package.md`` 1.1).

Rules 1 and 8 concern the message alone and are checked where it is read. Numbers in the messages are
those of the rules; L marks what only a loader needs, and O what the format's own reader lets pass
although nothing good can come of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeVar

import numpy as np

from ipuopt.codegen.package.records import (
    ALL_TILES,
    Binding,
    HostCall,
    HostExchange,
    Package,
    Region,
    Slices,
    TileImage,
)
from ipuopt.target.constants import TILES
from ipuopt.target.fabric import BoolArray
from ipuopt.target.memory import BASE, LOADABLE_END, STOP

WORD_LIMIT = 1 << 32
LOAD_BATCH = 64
"""A loader sends that many tiles at a time (device.md 3.3)."""
LOAD_START = BASE + 0x10
"""Lowest address of every tile's image; the loader uses the bytes below (package.md 2)."""

T = TypeVar("T", int, str)


def violations(package: Package) -> Iterator[str]:
    """What breaks the format, in the order in which its reader looks: found and expected."""
    if not package.tiles:
        yield "found no tiles, expected at least 1 (rule 2)"
    offsets = [offset for offset, _ in package.config_writes]
    for offset in offsets:
        if offset % 4:
            yield f"found a register at {offset:#x}, expected a multiple of 4 (rule 3)"
    for offset in _repeated(offsets):
        yield f"found register {offset:#x} twice, expected it once (rule 3)"
    yield from _tiles(package.tiles)
    tiles = {tile.physical_tile for tile in package.tiles}
    yield from _profile(package, tiles)
    for name, address in package.symbols:
        if not name:
            yield f"found a symbol at {address:#x} without a name, expected one (rule 5)"
    for region in package.regions:
        yield from _region(region, tiles)
    yield from _bindings(package.inputs + package.outputs + package.weights, tiles)
    yield from _host(package.host)


def load_violations(package: Package) -> Iterator[str]:
    """What keeps a package that breaks no other rule from being loaded."""
    count = len(package.tiles)
    if count % LOAD_BATCH:
        yield f"found {count} tiles, expected a multiple of {LOAD_BATCH} (rule L)"
    for tile in package.tiles:
        where = f"tile {tile.physical_tile}"
        used = [segment for segment in tile.segments if segment.memory_size]
        if not used:
            yield f"{where}: found no segments, expected its program (rule L)"
            continue
        low, high = min(s.address for s in used), max(s.stop for s in used)
        if low != LOAD_START:
            yield f"{where}: found memory from {low:#x}, expected from {LOAD_START:#x} (rule L)"
        if high > LOADABLE_END:
            yield f"{where}: found memory to {high:#x}, expected to {LOADABLE_END:#x} (rule L)"


def _repeated(items: list[T]) -> Iterator[T]:
    return (item for item, count in Counter(items).items() if count > 1)


def _tiles(tiles: tuple[TileImage, ...]) -> Iterator[str]:
    for number in _repeated([tile.physical_tile for tile in tiles]):
        yield f"found tile {number} twice, expected it once (rule 2)"
    for tile in tiles:
        where = f"tile {tile.physical_tile}"
        if tile.physical_tile >= TILES:
            yield f"found {where}, expected 0..{TILES - 1} (rule O)"
        for segment in tile.segments:
            span = f"{where}: found a segment {segment.address:#x}..{segment.stop:#x}"
            if segment.address < BASE or segment.stop > STOP:
                yield f"{span}, expected it inside {BASE:#x}..{STOP:#x} (rule 2)"
            if len(segment.data) > segment.memory_size:
                yield f"{span} with {len(segment.data)} bytes of data, expected no more (rule 2)"
        used = [segment for segment in tile.segments if segment.memory_size]
        for one, other in pairwise(sorted(used, key=lambda segment: segment.address)):
            if one.stop > other.address:
                yield (
                    f"{where}: found segments that overlap at {other.address:#x}, expected"
                    " them apart (rule 2)"
                )


def _profile(package: Package, tiles: set[int]) -> Iterator[str]:
    for number in _repeated([plan.physical_tile for plan in package.profile]):
        yield f"found two profile plans of tile {number}, expected one (rule 4)"
    for plan in package.profile:
        where = f"profile plan of tile {plan.physical_tile}"
        if plan.physical_tile not in tiles:
            yield f"found a {where}, expected a tile of the package (rule 4)"
        for place, step in enumerate(plan.steps):
            if step.local_index != place:
                found = f"found local index {step.local_index} of step {place}"
                yield f"{where}: {found}, expected {place} (rule 4)"


def _region(region: Region, tiles: set[int]) -> Iterator[str]:
    where = f"region {region.name!r} at {region.address:#x}"
    if not region.name:
        yield f"found a {where}, expected a name (rule 5)"
    if not region.size or region.address + region.size >= WORD_LIMIT:
        yield f"{where}: found {region.size} bytes, expected some below {WORD_LIMIT:#x} (rule 5)"
    if region.physical_tile not in tiles and region.physical_tile != ALL_TILES:
        yield f"{where}: found tile {region.physical_tile}, expected one of the package (rule 5)"


def _bindings(bindings: tuple[Binding, ...], tiles: set[int]) -> Iterator[str]:
    for name in _repeated([binding.name for binding in bindings]):
        yield f"found two bindings {name!r}, expected different names (rule 6)"
    known = np.array(sorted(tiles), dtype=np.uint64)
    for binding in bindings:
        if not binding.name:
            yield "found a binding without a name, expected one (rule 6)"
        slices = binding.slices
        outside = ~np.isin(slices.tile, known)
        # Differences, so that no sum can overflow.
        limit = np.uint64(STOP) - np.minimum(slices.address, np.uint64(STOP))
        outside |= (slices.address < BASE) | (slices.address > STOP) | (slices.size > limit)
        yield from _first(
            f"binding {binding.name!r}", outside, slices, "memory of a tile of the package (rule 6)"
        )


def _first(where: str, wrong: BoolArray, slices: Slices, right: str) -> Iterator[str]:
    if wrong.any():
        at = int(np.argmax(wrong))
        span = f"{int(slices.size[at])} bytes at {int(slices.address[at]):#x}"
        found = f"slice {at} of {span} in {int(slices.tile[at])}"
        yield f"{where}: found {found}, expected {right}"


def _host(host: HostExchange) -> Iterator[str]:
    for index in _repeated([index for index, _ in host.pages]):
        yield f"found page {index} twice, expected it once (rule 7)"
    pages = dict(host.pages)
    for index in host.attach_order:
        if index not in pages:
            yield f"found page {index} in the attach order, expected an existing one (rule 7)"
    if host.calls:
        size = pages.get(host.command_page)
        if size is None or host.command_offset > size - 4 or size < 4:
            found = f"found the command word at {host.command_offset:#x} of {host.command_page}"
            yield f"{found}, expected it inside a page (rule 7)"
    for name in _repeated([call.name for call in host.calls]):
        yield f"found two calls {name!r}, expected different names (rule O)"
    for call in host.calls:
        yield from _call(call, pages)


def _call(call: HostCall, pages: dict[int, int]) -> Iterator[str]:
    where = f"call {call.name!r}"
    if not call.name:
        yield "found a call without a name, expected one (rule O)"
    if not call.invocations:
        yield f"{where}: found 0 invocations, expected at least 1 (rule 7)"
    for what, slices, ends in (
        ("input", call.inputs, call.input_batch_ends),
        ("output", call.outputs, call.output_batch_ends),
    ):
        rising = all(one < other for one, other in pairwise(ends))
        if not rising or (ends[-1] if ends else 0) != len(slices):
            found = f"found {what} batches that end at {list(ends)[:8]}"
            yield f"{where}: {found}, expected them to rise to {len(slices)} (rule 7)"
        order = np.array(sorted(pages), dtype=np.uint64)
        sizes = np.array([pages[int(index)] for index in order], dtype=np.uint64)
        place = np.minimum(np.searchsorted(order, slices.tile), max(0, len(order) - 1))
        if not len(order):
            outside = np.ones(len(slices), dtype=np.bool_)
        else:
            outside = order[place] != slices.tile
            room = sizes[place] - np.minimum(slices.address, sizes[place])
            outside |= (slices.address > sizes[place]) | (slices.size > room)
        yield from _first(f"{where}: {what}s", outside, slices, "a place inside a page (rule 7)")
