"""What a package holds, for people and programs that look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ipuopt.codegen.isa import disassemble
from ipuopt.codegen.kernels.names import PREFIX
from ipuopt.codegen.package.check import load_violations
from ipuopt.codegen.package.records import ALL_TILES, Package, Segment, TileImage
from ipuopt.codegen.runtime import PREFIX as STATIC
from ipuopt.errors import InputError

EXECUTE = 4
"""Flag of segments that hold code (package.md 1.2)."""
MISSING_KERNELS = "missing kernels"
"""Name of the region in which the called kernels without a body have their symbols."""

TILE_PROGRAM = "generated tile program"
"""Name of the region of each tile's program (package.md 1.2)."""
EXCHANGE_ROW = "exchange row"
"""Name of the regions of rows (package.md 1.2)."""
PATCH_TABLE = "exchange row patches"
"""Name of the regions of what the words of a row are in each iteration of a repeat."""


def tile_programs(package: Package) -> dict[int, range]:
    """Addresses of the program of each physical tile."""
    return {
        region.physical_tile: range(region.address, region.address + region.size)
        for region in package.regions
        if region.name == TILE_PROGRAM
    }


def missing_kernels(package: Package) -> tuple[str, ...]:
    """Symbols that must be linked before the program can run on a card, sorted."""
    spans = [r for r in package.regions if r.name == MISSING_KERNELS]
    return tuple(
        sorted(
            name
            for name, address in package.symbols
            if any(r.address <= address < r.address + r.size for r in spans)
        )
    )


def linked_kernels(package: Package) -> tuple[str, ...]:
    """Symbols of kernels with a body, sorted; the runtime's own are no kernels.

    What objects define beside kernels under names like theirs counts too.
    """
    missing = missing_kernels(package)
    names = {name for name, _ in package.symbols if name.startswith(PREFIX)}
    return tuple(sorted(name for name in names - {*missing} if not name.startswith(STATIC)))


def kernel_lines(content: Mapping[str, Any]) -> Iterator[str]:
    """What a summary says of the bodies of kernels."""
    missing, linked = content["missingKernels"], content["linkedKernels"]
    if missing:
        yield f"simulator only: {len(missing)} kernels have no body: {', '.join(missing)}"
    elif linked:
        yield f"all kernels have a body: {', '.join(linked)}"


def summary(package: Package) -> dict[str, Any]:
    """Counts of a package, and whether it can be loaded and run on a card."""
    obstacle = next(load_violations(package), None)
    return {
        "producer": package.producer,
        "tiles": len(package.tiles),
        "storedBytes": package.stored_bytes,
        "inputs": len(package.inputs),
        "outputs": len(package.outputs),
        "weights": len(package.weights),
        "entries": len(package.entry_points),
        "calls": len(package.host.calls),
        "loadable": obstacle is None,
        "obstacle": obstacle,
        "missingKernels": list(missing_kernels(package)),
        "linkedKernels": list(linked_kernels(package)),
    }


def bindings(package: Package) -> list[dict[str, Any]]:
    """Every tensor of a package."""
    kinds = (("input", package.inputs), ("output", package.outputs), ("weight", package.weights))
    return [
        {
            "kind": kind,
            "name": binding.name,
            "dtype": binding.dtype,
            "shape": list(binding.shape),
            "slices": len(binding.slices),
            "bytes": int(binding.slices.size.sum(dtype=np.uint64)),
        }
        for kind, group in kinds
        for binding in group
    ]


def tile_of(package: Package, number: int) -> TileImage:
    """The image of physical tile ``number``.

    Raises
    ------
    InputError
        If the package has no such tile.
    """
    for tile in package.tiles:
        if tile.physical_tile == number:
            return tile
    raise InputError(f"found no physical tile {number}, expected one of {len(package.tiles)}")


def tile_summary(tile: TileImage) -> dict[str, Any]:
    """Addresses and segments of a tile."""
    return {
        "tile": tile.physical_tile,
        "entry": tile.entry_point,
        "command": tile.command_address,
        "diagnostic": tile.diagnostic_address,
        "segments": [
            {
                "address": segment.address,
                "memorySize": segment.memory_size,
                "dataBytes": len(segment.data),
                "flags": segment.flags,
            }
            for segment in tile.segments
        ],
    }


def code_lines(package: Package, tile: TileImage) -> Iterator[str]:
    """Listing of the code of a tile, with the names of regions and symbols."""
    symbols: dict[int, list[str]] = {}
    for name, address in package.symbols:
        symbols.setdefault(address, []).append(name)
    regions: dict[int, list[str]] = {}
    for region in package.regions:
        if region.physical_tile in (tile.physical_tile, ALL_TILES):
            regions.setdefault(region.address, []).append(region.name)
    for segment in sorted(tile.segments, key=lambda segment: segment.address):
        if segment.flags & EXECUTE:
            yield from _segment_lines(segment, symbols, regions)


def _segment_lines(
    segment: Segment, symbols: dict[int, list[str]], regions: dict[int, list[str]]
) -> Iterator[str]:
    whole = len(segment.data) // 4 * 4
    words = np.frombuffer(segment.data[:whole], "<u4").tolist()
    for line in disassemble(words, segment.address):
        for name in regions.get(line.address, []):
            yield f"// {name}"
        for name in symbols.get(line.address, []):
            yield f"{name}:"
        encoded = " ".join(f"{word:08x}" for word in line.words)
        yield f"    {line.text:<40} // {line.address:#07x}  {encoded}"
