"""The checker of packages: a sound one passes, and one damaged package for each label."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.isa import encode
from ipuopt.codegen.package import Package, Region, Segment, Slices
from ipuopt.codegen.package.listing import tile_programs
from ipuopt.codegen.tile import build_package, check_package
from ipuopt.result import Built
from ipuopt.target.fabric import PHYSICAL

FIRST = int(PHYSICAL[0])


def test_sound_packages(built: Built, package: Package) -> None:
    assert check_package(built, package) == ()
    assert check_package(built, build_package(built, profile=True)) == ()


def row_of(package: Package, tile: int) -> Region:
    return next(r for r in package.regions if r.physical_tile == tile and r.name == "exchange row")


def with_segments(package: Package, tile: int, change: Callable[[Segment], Segment]) -> Package:
    tiles = list(package.tiles)
    segments = tuple(map(change, tiles[tile].segments))
    tiles[tile] = replace(tiles[tile], segments=segments)
    return replace(package, tiles=tuple(tiles))


def with_word(package: Package, tile: int, address: int, change: Callable[[int], int]) -> Package:
    def changed(segment: Segment) -> Segment:
        at = address - segment.address
        if not 0 <= at < len(segment.data):
            return segment
        word = change(int.from_bytes(segment.data[at : at + 4], "little"))
        data = segment.data[:at] + word.to_bytes(4, "little") + segment.data[at + 4 :]
        return replace(segment, data=data)

    return with_segments(package, tile, changed)


def first_call(package: Package, tile: int, target: int) -> int:
    """Address of the first word of a tile program that calls ``target`` by $m10."""
    program = tile_programs(package)[tile]
    wanted = encode("call", 10, target)[0].to_bytes(4, "little")
    for segment in package.tiles[tile].segments:
        inside = range(max(program.start, segment.address), min(program.stop, segment.stop), 4)
        for address in inside:
            place = address - segment.address
            if segment.data[place : place + 4] == wanted:
                return address
    raise AssertionError("no such call")


def test_rules(built: Built, package: Package) -> None:
    broken = replace(package, tiles=package.tiles[1:])
    found = check_package(built, broken)
    assert {label for label, _ in found} == {"rule"}
    assert ("rule", "found 1471 tiles, expected a multiple of 64 (rule L)") in found


def test_tiles_that_are_missing(built: Built, package: Package) -> None:
    regions = tuple(r for r in package.regions if r.physical_tile >= 64)
    kept = [tile.physical_tile for tile in package.tiles[64:]]

    def held(slices: Slices) -> Slices:
        inside = np.isin(slices.tile, kept)
        columns = (slices.tile, slices.address, slices.file_offset, slices.size)
        return Slices(*(column[inside] for column in columns))

    bindings: dict[str, Any] = {
        kind: tuple(replace(b, slices=held(b.slices)) for b in getattr(package, kind))
        for kind in ("inputs", "weights", "outputs")
    }
    fewer = replace(package, tiles=package.tiles[64:], regions=regions, **bindings)
    ((label, message),) = check_package(built, fewer)
    assert label == "program"
    assert message == f"tile {FIRST}: found no image, expected one of every tile"


def test_rows_with_another_event(built: Built, package: Package) -> None:
    """The first word of a row waits or sends one event more or less."""
    row = row_of(package, FIRST)
    found = check_package(built, with_word(package, FIRST, row.address, lambda word: word ^ 1))
    assert {label for label, _ in found} == {"rows"}
    assert found[0][1].startswith(
        f"exchange 0 {built.program.steps[built.program.phases[0]].name}: "
    )


def test_rows_that_are_none(built: Built, package: Package) -> None:
    row = row_of(package, FIRST)
    broken = with_word(package, FIRST, row.address, lambda _: 0)
    ((label, message),) = check_package(built, broken)
    assert label == "rows" and "word 0: found 0x00000000, expected a row instruction" in message


def test_a_horizon_of_another_schedule(built: Built, package: Package) -> None:
    longer = replace(built, horizon=built.horizon + 1)
    found = check_package(longer, package)
    assert [label for label, _ in found] == ["rows"] * len(built.horizon)
    later = built.start.copy()
    later[3] += 1
    ((label, message),) = check_package(replace(built, start=later), package)
    assert label == "rows" and "found transfer 3 at event" in message


@pytest.mark.parametrize("target", [0x5C000, 0x4C01C])
def test_programs_that_call_something_else(built: Built, package: Package, target: int) -> None:
    at = first_call(package, FIRST, row_of(package, FIRST).address)
    call = encode("call", 10, target)[0]
    ((label, message),) = check_package(built, with_word(package, FIRST, at, lambda _: call))
    assert label == "program"
    assert (
        message == f"tile {FIRST}: found a call of {target:#x}, expected one of a symbol or a row"
    )


def test_programs_with_a_phase_less(built: Built, package: Package) -> None:
    at = first_call(package, FIRST, row_of(package, FIRST).address)
    nop = encode("setzi", 0, 0)[0]
    ((label, message),) = check_package(built, with_word(package, FIRST, at, lambda _: nop))
    phases = len(built.program.phases)
    assert label == "program"
    assert (
        message == f"tile {FIRST}: found {phases - 1} calls of rows, expected {phases}, one a phase"
    )


def test_no_program(built: Built, package: Package) -> None:
    regions = tuple(r for r in package.regions if r.physical_tile != FIRST)
    ((label, message),) = check_package(built, replace(package, regions=regions))
    assert (label, message) == ("program", f"tile {FIRST}: found no tile program, expected one")


def test_a_row_beside_the_data_of_its_phase(built: Built, package: Package) -> None:
    """The program is that of another placement: a row and its phase's data share an element."""
    transfers, shards = built.program.transfers, built.program.shards
    row = row_of(package, FIRST)
    mine = np.flatnonzero(shards.tile == 0)
    sent = next(int(s) for s in mine if s in set(transfers.source.tolist()))
    address = built.address.copy()
    address[sent] = (row.address // 0x4000 + 1) * 0x4000 - 0x1000
    found = dict(check_package(replace(built, address=address), package))
    where = (
        rf"tile 0 sends from 0x4f\w+ beside its row at {row.address:#x}, expected another element"
    )
    assert re.search(where, found["element"])


def test_code_off_executable_memory(built: Built, package: Package) -> None:
    where = Segment(0x7FFF0, 8, bytes(8), 5)
    tiles = list(package.tiles)
    tiles[9] = replace(tiles[9], segments=(*tiles[9].segments, where))
    found = check_package(built, replace(package, tiles=tuple(tiles)))
    expected = "tile 9: found a segment 0x7fff0..0x7fff8 of code, expected it in executable memory"
    assert ("code", expected) in found


def test_code_over_data(built: Built, package: Package) -> None:
    address = int(built.address[built.program.shards.tile == 0].min())
    tiles = list(package.tiles)
    where = Segment(address, 4, bytes(4), 3)
    tiles[FIRST] = replace(tiles[FIRST], segments=(*tiles[FIRST].segments, where))
    ((label, message),) = check_package(built, replace(package, tiles=tuple(tiles)))
    assert label == "code" and f"and data at {address:#x}, expected them apart" in message


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        ("address", 4, "weight 'w1': found slice 0 with address"),
        ("size", 4, "weight 'w1': found slice 1 with file offset"),
        ("tile", 1, "weight 'w1': found slice 0 with tile"),
    ],
)
def test_slices(built: Built, package: Package, column: str, change: int, message: str) -> None:
    first, *others = package.weights
    values: dict[str, Any] = {
        name: getattr(first.slices, name).copy()
        for name in ("tile", "address", "file_offset", "size")
    }
    values[column][0] += np.uint64(change)
    weights = (replace(first, slices=Slices(**values)), *others)
    ((label, text),) = check_package(built, replace(package, weights=weights))
    assert label == "data"
    assert text.startswith(message)
    found = check_package(built, replace(package, weights=tuple(others)))
    assert found == (("data", "weight 'w1': found no such tensor, expected it"),)
