"""Checker of a package against its program; of what built it, it shares the reading of words alone.

=========  ===========================================================================================
label      rule
=========  ===========================================================================================
rule       every rule of the format holds, and every one of a loader (package.md 1.1)
program    every tile has one tile program; it calls symbols and exchange rows, and a row a phase
repeat     the loops of a tile program are the repeats, with their iterations and phases; a patch
           changes a word of the next row, by a table of one value an iteration
rows       the rows of a phase, decoded, are its schedule; in a repeat those of every iteration
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
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from ipuopt.codegen.isa import INSTRUCTIONS, WordArray
from ipuopt.codegen.package import Package, TileImage, load_violations, violations
from ipuopt.codegen.package.listing import EXCHANGE_ROW, EXECUTE, tile_programs
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.rows import Rows, decode_rows, rebuild
from ipuopt.codegen.runtime import PREFIX
from ipuopt.codegen.tile.check_data import Violation, check_data
from ipuopt.codegen.tile.check_repeats import Patch, patches_in
from ipuopt.errors import InputError
from ipuopt.layout import IntArray
from ipuopt.models.exchange import Problem
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

_CALL = INSTRUCTIONS["call"]
_RETURN = 10
_ROW_ALIGNMENT = 8
"""Of rows, in bytes (package.md 3.3)."""


@dataclass(frozen=True, slots=True)
class _Executed:
    """Rows that the logical tiles of a program execute, shape ``(tiles, phases)``: address and bytes.

    And the words of them that repeats change, by phase and tile.
    """

    address: IntArray
    size: IntArray
    patches: dict[tuple[int, int], list[Patch]]


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
    found = [*_code(built, images), *check_data(built, package)]
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
    executed = _Executed(np.zeros(shape, np.int64), np.zeros(shape, np.int64), {})
    patcher = symbols.get(PREFIX + "patch_word", -1)
    for tile, image in images.items():
        span = programs.get(tile, range(0))
        words = _words(image, span.start, len(span))
        if words is None:
            found.append(("program", f"tile {tile}: found no tile program, expected one"))
            continue
        called = _called(words)
        strange = [at for at in called.values() if not {at} & (known | {idle} | spans[tile].keys())]
        rows = [at for at in called.values() if at not in known]
        if strange or len(rows) != shape[1]:
            what = f"a call of {strange[0]:#x}" if strange else f"{len(rows)} calls of rows"
            right = "one of a symbol or a row" if strange else f"{shape[1]}, one a phase"
            found.append(("program", f"tile {tile}: found {what}, expected {right}"))
        elif tile in logical:
            executed.address[logical[tile]] = rows
            executed.size[logical[tile]] = [spans[tile].get(at, WORD_BYTES) for at in rows]
        elif any(at != idle for at in rows):
            found.append(("program", f"tile {tile}: found a row, expected none of its own"))
        if program.repeats and len(rows) == shape[1]:
            places = np.array([place for place, at in called.items() if at not in known], np.int64)
            read = partial(_words, image)
            patches = patches_in(words, span.start, places, program, patcher, read)
            if isinstance(patches, str):
                found.append(("repeat", f"tile {tile}: {patches}"))
                continue
            for patch in patches:
                row = rows[patch.phase]
                inside = range(row, row + spans[tile].get(row, 0), WORD_BYTES)
                if tile not in logical or patch.address not in inside:
                    text = f"found a patch of {patch.address:#x}, expected it in the next row"
                    found.append(("repeat", f"tile {tile}: {text}"))
                else:
                    held = executed.patches.setdefault((patch.phase, logical[tile]), [])
                    held.append(patch)
    return None if found else executed, found


def _called(words: WordArray) -> dict[int, int]:
    """Addresses that a tile program calls with $m10 as return, by the place of the call, in order."""
    place = np.flatnonzero((words & np.uint32(_CALL.mask)) == _CALL.code)
    register, address = (field.take([words[place].astype(np.int64)]) for field in _CALL.fields)
    mine = register == _RETURN
    return dict(
        zip(place[mine].tolist(), (address[mine] * _CALL.fields[1].scale).tolist(), strict=True)
    )


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
    words, values = np.concatenate(parts), {}
    for tile in range(len(parts)):
        for patch in executed.patches.get((phase, tile), ()):
            within = (patch.address - executed.address[tile, phase]) // WORD_BYTES
            values[int(bounds[tile] + within)] = patch.values
    addresses = problem.source_address.shape[1]
    for iteration in range(max(addresses, *map(len, values.values()), 1)):
        for place, table in values.items():
            words[place] = table[iteration]
        wrong = tuple(_of_iteration(built, problem, phase, iteration % addresses, words, bounds))
        if wrong:
            where = f" in iteration {iteration}" if addresses > 1 or values else ""
            yield from (("rows", f"{problem.name}{where}: {text}") for text in wrong)
            return


def _of_iteration(
    built: Built, problem: Problem, phase: int, iteration: int, words: WordArray, bounds: IntArray
) -> Iterator[str]:
    """What the rows of a phase do otherwise than its schedule says."""
    try:
        events = decode_rows(Rows(words, bounds, np.zeros(len(bounds) - 1, np.int64)))
        solution = rebuild(problem, events, iteration=iteration)
    except InputError as error:
        yield str(error)
        return
    start = built.start[phase_slice(built.program, built.program.phases[phase])]
    for at in _moved(problem, start, solution.start):
        yield f"found transfer {at} at event {solution.start[at]}, expected {start[at]}"
        break
    longest = int(events.done.max(initial=0))
    if longest != built.horizon[phase]:
        yield f"found the last row ending at event {longest}, expected {built.horizon[phase]}"


def _moved(problem: Problem, planned: IntArray, carried: IntArray) -> Iterator[int]:
    """Transfers that start at another event, but for equal ones that only change places."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at in np.flatnonzero(planned != carried).tolist():
        part = slice(*problem.destination_start[at : at + 2].tolist())
        receivers = zip(
            problem.destination_tile[part], problem.destination_address[part], strict=True
        )
        columns = (problem.source[at], *problem.source_address[at, :2], problem.words[at])
        groups.setdefault((*columns, *sorted(receivers)), []).append(at)
    for equal in groups.values():
        if sorted(planned[equal].tolist()) != sorted(carried[equal].tolist()):
            yield equal[0]


def _elements(problem: Problem, phase: int, executed: _Executed) -> Iterator[Violation]:
    address, size = executed.address[:, phase], executed.size[:, phase]
    first, last = element_range(address, size + LOOKAHEAD)
    words = np.repeat(problem.words, np.diff(problem.destination_start))
    sent = problem.source_address.T.ravel()
    turns = problem.source_address.shape[1]
    for what, tile, where, count in (
        ("sends from", np.tile(problem.source, turns), sent, np.tile(problem.words, turns)),
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
