"""A package from a checked program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.codegen.host import batches_of, host_exchange
from ipuopt.codegen.isa import WordArray
from ipuopt.codegen.link import Library
from ipuopt.codegen.package import EntryPoint, Package, Region, TileImage
from ipuopt.codegen.package.check import LOAD_START
from ipuopt.codegen.package.listing import EXCHANGE_ROW, PATCH_TABLE, TILE_PROGRAM
from ipuopt.codegen.runtime import COMPLETION
from ipuopt.codegen.tile.bindings import Tensors, bindings_of, completion
from ipuopt.codegen.tile.code import Code, code_of
from ipuopt.codegen.tile.room import HIGH, Range, Room, RoomError, free_ranges, words_of
from ipuopt.codegen.tile.samples import plans, sample_bindings, samples_of
from ipuopt.codegen.tile.work import (
    Addresses,
    Place,
    Samples,
    Sections,
    Work,
    programs,
    with_host,
    work_of,
)
from ipuopt.errors import InputError
from ipuopt.result import Built
from ipuopt.target.constants import TILES, WORD_BYTES
from ipuopt.target.fabric import LOGICAL, PHYSICAL
from ipuopt.target.memory import SUPPORT_END
from ipuopt.versions import versions

_HOST_REGION = "host exchange program"

Span = tuple[int, int]
"""Address and bytes."""


def build_package(
    built: Built, library: Library | None = None, *, profile: bool = False
) -> Package:
    """Package of a program.

    Parameters
    ----------
    built
        A program that its checkers accept.
    library
        Objects with bodies of kernels; those that it does not define have symbols and no bodies.
    profile
        Whether tiles take cycle samples between their steps.

    Raises
    ------
    InputError
        If data lie where code has to, objects cannot be linked, or code, rows and host tables of a
        tile do not fit below its data, with tile and bytes; if the operands of a repeat need too
        many pointers.
    CheckError
        If a schedule cannot be encoded.
    """
    lowest = int(built.address.min(initial=SUPPORT_END))
    if lowest < SUPPORT_END:
        found = f"found data at {lowest:#x}"
        raise InputError(f"package: {found}, expected from {SUPPORT_END:#x}: code lies below")
    parts = parts_of(built, library, profile=profile)
    try:
        return _arranged(parts, below=False)
    except RoomError:  # programs below the host's window leave one range for rows above it
        return _arranged(parts, below=True)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a package is made of, and executable ranges by logical tile."""

    work: Work
    samples: Samples | None
    library: Library | None
    free: Sequence[Sequence[Range]]


def parts_of(built: Built, library: Library | None, *, profile: bool) -> Parts:
    """Encode rows, name kernels and look for free ranges."""
    work = work_of(built)
    free = free_ranges(built.program.shards, built.address)
    return Parts(work, samples_of(work) if profile else None, library, free)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What is the same on all tiles, and the work of each with its host transfers.

    Attributes
    ----------
    size_bytes
        Of the longest tile program and the cycle samples behind it.
    sampled
        Where those begin.
    """

    work: Work
    code: Code
    bindings: Tensors
    batches: Sections
    size_bytes: int
    sampled: int

    @classmethod
    def of(cls, parts: Parts, end: int, *, below: bool) -> Arrangement:
        """With tile programs on one side of the host's window or the other, and code before ``end``."""
        work, samples = parts.work, parts.samples
        called = sorted({*work.runs.names, *work.copies.names})
        code = code_of(called, parts.library, end, below=below)
        bindings = bindings_of(work.built, sample_bindings(samples, HIGH))
        batches = _batches(bindings)
        work = with_host(work, batches)
        size = WORD_BYTES * int(np.diff(programs(work, _unplaced(work, code), samples)[1]).max())
        sampled = code.program + size
        if samples is not None:  # they lie behind the programs, whose length their address leaves
            bindings = bindings_of(work.built, sample_bindings(samples, sampled))
            batches = _batches(bindings)
            work = with_host(work, batches)
            size += WORD_BYTES * (int(samples.count.max()) + 1)
        return cls(work, code, bindings, batches, size, sampled)

    def room(self, tile: int, logical: int, free: Sequence[Range]) -> Room:
        """Executable memory of a tile, by physical and logical number, with its free ranges."""
        return Room(tile, self.code.of_tile(logical), self.code.program, self.size_bytes, free)


def _arranged(parts: Parts, *, below: bool) -> Package:
    """Package with tile programs on one side of the host's window or the other."""
    end = min(ranges[0][1] for ranges in parts.free)
    shared, samples = Arrangement.of(parts, end, below=below), parts.samples
    code, bindings = shared.code, shared.bindings
    rooms = [
        shared.room(tile, logical, parts.free[logical])
        for tile, logical in enumerate(LOGICAL.tolist())
    ]
    at, regions = _placed(shared, rooms)
    words, bounds = programs(shared.work, at, samples)
    images = []
    for room, first, stop in zip(rooms, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        span = (code.program, WORD_BYTES * (stop - first))
        regions.append(Region(room.tile, *span, TILE_PROGRAM))
        segments = room.segments(words[first:stop])
        images.append(TileImage(room.tile, segments, LOAD_START, 0, COMPLETION))
    return Package(
        producer=f"ipuopt {versions()['ipuopt']}",
        tiles=tuple(images),
        inputs=bindings[0],
        outputs=(*bindings[2], completion()),
        weights=bindings[1],
        host=host_exchange(*shared.batches),
        entry_points=(EntryPoint("run", 0, 0),),
        profile=plans(shared.work, samples),
        symbols=code.symbols,
        regions=(*code.regions, *regions),
    )


def _batches(bindings: Tensors) -> Sections:
    inputs, weights, outputs = map(batches_of, bindings)
    return weights, inputs, outputs


def _unplaced(work: Work, code: Code) -> Addresses:
    """Addresses that make programs of the right length."""
    rows = np.zeros((len(work.rows), TILES), np.int64)
    host: dict[Place, tuple[int, int]] = defaultdict(lambda: (0, 0))
    return Addresses(code.runtime.symbols, code.kernels, code.program, rows, rows, host, HIGH)


@dataclass(frozen=True, slots=True)
class Filled:
    """Addresses of what one tile has of its own.

    Attributes
    ----------
    rows, tables
        By phase; tables where words of the row are patched.
    host
        Descriptor and code of each part, by section and batch.
    """

    rows: dict[int, Span]
    tables: dict[int, Span]
    host: dict[tuple[int, int], tuple[int, Span]]


def fill(shared: Arrangement, room: Room) -> Filled:
    """Rows first, each with its patches, then code and tables of the host.

    Raises
    ------
    RoomError
        If they do not fit; of rows with the step.
    """
    work, tile = shared.work, room.tile
    logical = int(LOGICAL[tile])

    def put(words: WordArray, *, shared: bool = True) -> Span:
        return room.place(words, shared=shared), WORD_BYTES * len(words)

    rows, tables = {}, {}
    for phase, (encoded, patches) in enumerate(zip(work.rows, work.patches, strict=True)):
        if logical >= len(encoded.done) or encoded.done[logical] == 0:
            continue
        values = patches.values[patches.of_tile(logical)].ravel()
        try:
            rows[phase] = put(encoded.row(logical), shared=not len(values))
            if len(values):
                tables[phase] = put(values)
        except RoomError as error:
            step = work.built.program.phases[phase]
            name = work.built.program.steps[step].name
            raise RoomError(f"step {step} {name}, {error}") from None
    host = {}
    for section, batches in enumerate(work.sections):
        for number, batch in enumerate(batches):
            part = batch.get(tile)
            if part is None:
                continue
            body = put(words_of(*part.code))
            packets = room.place(words_of(*part.packets))
            counts = part.copy_words | len(part.packets) << 24
            table = room.place(words_of(part.destination, counts, packets))
            host[section, number] = table, body
    return Filled(rows, tables, host)


def _placed(shared: Arrangement, rooms: Sequence[Room]) -> tuple[Addresses, list[Region]]:
    """Where everything lies; the regions of rows by phase, then those of the host by batch."""
    work, code = shared.work, shared.code
    filled = [fill(shared, room) for room in rooms]
    regions: dict[tuple[int, int, str], Region] = {}

    def told(tile: int, span: Span, name: str) -> int:
        return regions.setdefault((tile, span[0], name), Region(tile, *span, name)).address

    rows = np.full((len(work.rows), TILES), code.runtime.symbols["idle_row"])
    tables = np.zeros_like(rows)
    for phase, encoded in enumerate(work.rows):
        for tile in PHYSICAL[np.flatnonzero(encoded.done > 0)].tolist():
            rows[phase, tile] = told(tile, filled[tile].rows[phase], EXCHANGE_ROW)
            if phase in filled[tile].tables:
                tables[phase, tile] = told(tile, filled[tile].tables[phase], PATCH_TABLE)
    host: dict[Place, tuple[int, int]] = {}
    for section, batches in enumerate(work.sections):
        for number, batch in enumerate(batches):
            for tile in batch:
                table, body = filled[tile].host[section, number]
                host[section, number, tile] = table, told(tile, body, _HOST_REGION)
    symbols = code.runtime.symbols
    at = Addresses(symbols, code.kernels, code.program, rows, tables, host, shared.sampled)
    return at, list(regions.values())
