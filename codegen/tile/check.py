"""Checker of a package against its program; of what built it, it shares the reading of words alone.

=========  ===========================================================================================
label      rule
=========  ===========================================================================================
rule       every rule of the format holds, and every one of a loader (package.md 1.1)
program    every tile has one tile program; it calls symbols and exchange rows, and a row a phase
rows       the rows of a phase, decoded, are its schedule
element    no transfer of a tile touches an element of a row that the tile executes, or of the bytes
           fetched behind it (ipu21.md 2)
code       code lies in executable memory off the host's window, rows at multiples of 8, and no
           segment where data lie
data       the slices of a tensor are its shards, in their order
=========  ===========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ipuopt.codegen.isa import INSTRUCTIONS, WordArray
from ipuopt.codegen.package import Package, Slices, TileImage, load_violations, violations
from ipuopt.codegen.package.listing import EXCHANGE_ROW, EXECUTE, tile_programs
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.rows import Rows, decode_rows, rebuild
from ipuopt.codegen.runtime import PREFIX
from ipuopt.errors import InputError
from ipuopt.layout import IntArray
from ipuopt.models.exchange import Problem
from ipuopt.plan import Origin
from ipuopt.program import Role
from ipuopt.result import Built
from ipuopt.target.constants import TILES, WORD_BYTES
from ipuopt.target.fabric import PHYSICAL
from ipuopt.target.memory import (
    EXECUTABLE_END,
    HOST_WINDOW,
    LOOKAHEAD,
    RUNTIME_END,
    element_range,
)

Violation = tuple[str, str]
_CALL = INSTRUCTIONS["call"]
_RETURN = 10
_ROW_ALIGNMENT = 8
"""Of rows, in bytes (package.md 3.3)."""


@dataclass(frozen=True, slots=True)
class _Executed:
    """Rows that the logical tiles of a program execute, shape ``(tiles, phases)``: address and bytes."""

    address: IntArray
    size: IntArray


def check_package(built: Built, package: Package) -> tuple[Violation, ...]:
    """Hold a package against its program.

    Parameters
    ----------
    built
        A program that its own checkers accept.

    Returns
    -------
    tuple
        ``(label, message)``. Where a rule of the format is broken, nothing else is looked at.
    """
    rules = [("rule", text) for text in chain(violations(package), load_violations(package))]
    if rules:
        return tuple(rules)
    images = {image.physical_tile: image for image in package.tiles}
    absent = [tile for tile in PHYSICAL.tolist() if tile not in images]
    if absent:
        return (("program", f"tile {absent[0]}: found no image, expected one of every tile"),)
    found = [*_code(built, images), *_data(built, package)]
    executed, wrong = _executed(built, package, images)
    found += wrong
    if executed is not None:
        for phase in range(len(built.program.phases)):
            problem = exchange_problem(built.program, built.address, phase)
            found += _rows(built, problem, phase, executed, images)
            found += _elements(problem, phase, executed)
    return tuple(found)


def _words(image: TileImage, address: int, size: int) -> WordArray | None:
    """Words of a tile's segments, if they hold them."""
    if address % WORD_BYTES or size % WORD_BYTES:
        return None
    for segment in image.segments:
        start = address - segment.address
        if 0 <= start and start + size <= len(segment.data):
            return np.frombuffer(segment.data[start : start + size], "<u4")
    return None


def _executed(
    built: Built, package: Package, images: dict[int, TileImage]
) -> tuple[_Executed | None, list[Violation]]:
    """Rows by the calls of the tile programs; None where some cannot be found."""
    program, found = built.program, []
    symbols = dict(package.symbols)
    idle = symbols.get(PREFIX + "idle_row")
    known = {*symbols.values()} - {idle}
    spans: dict[int, dict[int, int]] = {tile: {} for tile in images}
    for region in package.regions:
        if region.name == EXCHANGE_ROW and region.physical_tile in spans:
            spans[region.physical_tile][region.address] = region.size
    programs = tile_programs(package)
    logical = {int(physical): tile for tile, physical in enumerate(PHYSICAL[: program.tiles])}
    shape = (program.tiles, len(program.phases))
    executed = _Executed(np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    for tile, image in images.items():
        span = programs.get(tile, range(0))
        words = _words(image, span.start, len(span))
        if words is None:
            found.append(("program", f"tile {tile}: found no tile program, expected one"))
            continue
        called = _called(words)
        strange = [at for at in called if at not in known and at != idle and at not in spans[tile]]
        rows = [at for at in called if at not in known]
        if strange or len(rows) != shape[1]:
            what = f"a call of {strange[0]:#x}" if strange else f"{len(rows)} calls of rows"
            right = "one of a symbol or a row" if strange else f"{shape[1]}, one a phase"
            found.append(("program", f"tile {tile}: found {what}, expected {right}"))
        elif tile in logical:
            executed.address[logical[tile]] = rows
            executed.size[logical[tile]] = [spans[tile].get(at, WORD_BYTES) for at in rows]
        elif any(at != idle for at in rows):
            found.append(("program", f"tile {tile}: found a row, expected none of its own"))
    return None if found else executed, found


def _called(words: WordArray) -> list[int]:
    """Addresses that a tile program calls with $m10 as return, in order."""
    calls = words[(words & np.uint32(_CALL.mask)) == _CALL.code].astype(np.int64)
    register, address = (field.take([calls]) for field in _CALL.fields)
    result: list[int] = (address[register == _RETURN] * _CALL.fields[1].scale).tolist()
    return result


def _rows(
    built: Built, problem: Problem, phase: int, executed: _Executed, images: dict[int, TileImage]
) -> Iterator[Violation]:
    parts = []
    places = zip(executed.address[:, phase].tolist(), executed.size[:, phase].tolist(), strict=True)
    for tile, (address, size) in enumerate(places):
        words = _words(images[int(PHYSICAL[tile])], address, size)
        if words is None:
            text = f"found the row of tile {tile} at {address:#x}, expected it in a segment"
            yield "rows", f"{problem.name}: {text}"
            return
        if address % _ROW_ALIGNMENT and len(words) > 1:
            text = f"found the row of tile {tile} at {address:#x}"
            yield "code", f"{problem.name}: {text}, expected a multiple of {_ROW_ALIGNMENT}"
        parts.append(words)
    bounds = np.cumsum([0, *map(len, parts)])
    try:
        rows = Rows(np.concatenate(parts), bounds, np.zeros(len(parts), np.int64))
        events = decode_rows(rows)
        solution = rebuild(problem, events)
    except InputError as error:
        yield "rows", f"{problem.name}: {error}"
        return
    start = built.start[phase_slice(built.program, built.program.phases[phase])]
    for at in _moved(problem, start, solution.start):
        found = f"found transfer {at} at event {solution.start[at]}"
        yield "rows", f"{problem.name}: {found}, expected {start[at]}"
        break
    longest = int(events.done.max(initial=0))
    if longest != built.horizon[phase]:
        found = f"found the last row ending at event {longest}"
        yield "rows", f"{problem.name}: {found}, expected {built.horizon[phase]}"


def _moved(problem: Problem, planned: IntArray, carried: IntArray) -> Iterator[int]:
    """Transfers that start at another event, but for equal ones that only change places."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at in np.flatnonzero(planned != carried).tolist():
        part = slice(*problem.destination_start[at : at + 2].tolist())
        receivers = zip(
            problem.destination_tile[part], problem.destination_address[part], strict=True
        )
        columns = (problem.source[at], problem.source_address[at, 0], problem.words[at])
        groups.setdefault((*columns, *sorted(receivers)), []).append(at)
    for equal in groups.values():
        if sorted(planned[equal].tolist()) != sorted(carried[equal].tolist()):
            yield equal[0]


def _elements(problem: Problem, phase: int, executed: _Executed) -> Iterator[Violation]:
    address, size = executed.address[:, phase], executed.size[:, phase]
    first, last = element_range(address, size + LOOKAHEAD)
    receivers = np.diff(problem.destination_start)
    words = np.repeat(problem.words, receivers)
    for what, tile, where, count in (
        ("sends from", problem.source, problem.source_address[:, 0], problem.words),
        ("receives at", problem.destination_tile, problem.destination_address, words),
    ):
        low, high = element_range(where, count * WORD_BYTES)
        shared = (low <= last[tile]) & (high >= first[tile])
        if shared.any():
            at = int(np.argmax(shared))
            row = f"beside its row at {address[tile[at]]:#x}"
            text = f"tile {tile[at]} {what} {where[at]:#x} {row}, expected another element"
            yield "element", f"{problem.name}: {text}"


def _code(built: Built, images: dict[int, TileImage]) -> Iterator[Violation]:
    shards, order = built.program.shards, np.argsort(built.program.shards.tile, kind="stable")
    begin = built.address[order]
    stop = begin + shards.size_bytes[order]
    bounds = np.searchsorted(shards.tile[order], np.arange(TILES + 1)).tolist()
    for tile, physical in enumerate(PHYSICAL.tolist()):
        mine = slice(bounds[tile], bounds[tile + 1])
        for segment in images[physical].segments:
            span = f"tile {physical}: found a segment {segment.address:#x}..{segment.stop:#x}"
            if segment.flags & EXECUTE and not _executable(segment.address, segment.stop):
                yield "code", f"{span} of code, expected it in executable memory"
            both = (begin[mine] < segment.stop) & (stop[mine] > segment.address)
            if both.any():
                where = int(begin[mine][np.argmax(both)])
                yield "code", f"{span} and data at {where:#x}, expected them apart"


def _executable(start: int, stop: int) -> bool:
    return stop <= HOST_WINDOW[0] or (start >= RUNTIME_END and stop <= EXECUTABLE_END - LOOKAHEAD)


def _data(built: Built, package: Package) -> Iterator[Violation]:
    groups = (
        ("input", package.inputs, lambda value: value.origin is Origin.INPUT),
        ("weight", package.weights, lambda value: value.origin is Origin.PARAMETER),
        ("output", package.outputs, lambda value: value.is_output),
    )
    for kind, bindings, wanted in groups:
        held = {binding.name: binding.slices for binding in bindings}
        for number, value in enumerate(built.plan.values):
            if not wanted(value):
                continue
            where = f"{kind} {value.name!r}"
            if value.name not in held:
                yield "data", f"{where}: found no such tensor, expected it"
                continue
            wrong = _misplaced(built, number, value.element_bytes, held[value.name])
            if wrong is not None:
                yield "data", f"{where}: {wrong}"


def _misplaced(built: Built, number: int, element_bytes: int, slices: Slices) -> str | None:
    shards = built.program.shards
    at = np.flatnonzero((shards.value == number) & (shards.role == Role.VALUE))
    if len(slices) != len(at):
        return f"found {len(slices)} slices, expected {len(at)}"
    rows = shards.row_stop[at] - shards.row_start[at]
    least = rows * (shards.column_stop[at] - shards.column_start[at]) * element_bytes
    size = slices.size.astype(np.int64)
    expected = (PHYSICAL[shards.tile[at]], built.address[at], np.cumsum(size) - size)
    found = (slices.tile, slices.address, slices.file_offset)
    for name, one, other in zip(("tile", "address", "file offset"), found, expected, strict=True):
        differs = one.astype(np.int64) != other
        if differs.any():
            place = int(np.argmax(differs))
            return f"found slice {place} with {name} {one[place]}, expected {other[place]}"
    short = (size < least) | (size >= least + WORD_BYTES)
    if short.any():
        place = int(np.argmax(short))
        return f"found slice {place} of {size[place]} bytes, expected {least[place]} in whole words"
    return None
