"""A package from a checked program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ipuopt.codegen.host import batches_of, host_exchange, slots_of
from ipuopt.codegen.isa import WordArray, encode
from ipuopt.codegen.kernels.names import IN_RUNTIME
from ipuopt.codegen.package import ALL_TILES, EntryPoint, Package, Region, TileImage
from ipuopt.codegen.package.check import LOAD_START
from ipuopt.codegen.package.listing import MISSING_KERNELS, TILE_PROGRAM
from ipuopt.codegen.runtime import COMPLETION, PUBLIC, Runtime, runtime
from ipuopt.codegen.runtime import PREFIX as STATIC
from ipuopt.codegen.tile.bindings import bindings_of, completion
from ipuopt.codegen.tile.room import PROGRAM, Room, words_of
from ipuopt.codegen.tile.work import Addresses, Place, Work, programs, work_of
from ipuopt.errors import InputError
from ipuopt.result import Built
from ipuopt.target.constants import TILES, WORD_BYTES
from ipuopt.target.fabric import PHYSICAL
from ipuopt.target.memory import SUPPORT_END
from ipuopt.versions import versions

_STUB_WORDS = 2
_TRAP = encode("trap", 0)
"""Body of a kernel that is not linked: a card stops there instead of going on with wrong data."""
_ROW_REGION, _HOST_REGION = "exchange row", "host exchange program"


def build_package(built: Built) -> Package:
    """Package of a program; kernels have symbols and no bodies.

    Parameters
    ----------
    built
        A program that its checkers accept.

    Raises
    ------
    InputError
        If data lie where code has to, or code, rows and host tables of a tile do not fit below its
        data, with tile and bytes.
    CheckError
        If a schedule cannot be encoded.
    """
    lowest = int(built.address.min(initial=SUPPORT_END))
    if lowest < SUPPORT_END:
        found = f"found data at {lowest:#x}"
        raise InputError(f"package: {found}, expected from {SUPPORT_END:#x}: code lies below")
    inputs, weights, outputs = bindings_of(built)
    batches = (batches_of(weights), batches_of(inputs), batches_of(outputs))
    work = work_of(built, batches, slots_of(*batches))
    code = runtime(LOAD_START + WORD_BYTES * _STUB_WORDS, PROGRAM)
    missing = _missing(work)
    kernels = {name: code.stop + WORD_BYTES * place for place, name in enumerate(missing)}
    kernels[IN_RUNTIME] = code.symbols["copy_u32"]
    longest = int(np.diff(programs(work, _unplaced(work, code, kernels))[1]).max())
    logical = np.argsort(PHYSICAL)
    rooms = [Room(t, _linked(code, int(logical[t]), len(missing)), longest) for t in range(TILES)]
    at, regions = _placed(work, code, kernels, rooms)
    words, bounds = programs(work, at)
    images = []
    for room, first, stop in zip(rooms, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        regions.append(Region(room.tile, PROGRAM, WORD_BYTES * (stop - first), TILE_PROGRAM))
        segments = room.segments(words[first:stop])
        images.append(TileImage(room.tile, segments, LOAD_START, 0, COMPLETION))
    return Package(
        producer=f"ipuopt {versions()['ipuopt']}",
        tiles=tuple(images),
        inputs=inputs,
        outputs=(*outputs, completion()),
        weights=weights,
        host=host_exchange(*batches),
        entry_points=(EntryPoint("run", 0, 0),),
        symbols=_symbols(code, kernels),
        regions=(*_shared_regions(code, len(missing)), *regions),
    )


def _missing(work: Work) -> list[str]:
    """Called kernels that the runtime does not bring, sorted."""
    return sorted({*work.runs.names, *work.copies.names} - {IN_RUNTIME})


def _linked(code: Runtime, tile: int, missing: int) -> WordArray:
    """Stub, runtime of a logical tile, and a trap for every kernel without a body."""
    stub = [*encode("setzi", 0, code.symbols["start"]), *encode("br", 0)]
    return np.concatenate((words_of(*stub), code.of_tile(tile), words_of(*_TRAP * missing)))


def _unplaced(work: Work, code: Runtime, kernels: dict[str, int]) -> Addresses:
    """Addresses that make programs of the right length."""
    rows = np.zeros((len(work.rows), TILES), np.int64)
    host: dict[Place, tuple[int, int]] = defaultdict(lambda: (0, 0))
    return Addresses(code.symbols, kernels, rows, host)


def _placed(
    work: Work, code: Runtime, kernels: dict[str, int], rooms: Sequence[Room]
) -> tuple[Addresses, list[Region]]:
    """Rows first, then code and tables of the host; the regions that they make."""
    regions: dict[tuple[int, int, str], Region] = {}

    def put(tile: int, words: WordArray, name: str) -> int:
        address = rooms[tile].place(words)
        region = Region(tile, address, WORD_BYTES * len(words), name)
        return regions.setdefault((tile, address, name), region).address

    rows = np.full((len(work.rows), TILES), code.symbols["idle_row"])
    for phase, encoded in enumerate(work.rows):
        for tile in np.flatnonzero(encoded.done > 0).tolist():
            place = int(PHYSICAL[tile])
            rows[phase, place] = put(place, encoded.row(tile), _ROW_REGION)
    host: dict[Place, tuple[int, int]] = {}
    for section, batches in enumerate(work.sections):
        for number, batch in enumerate(batches):
            for tile, part in batch.items():
                body = put(tile, words_of(*part.code), _HOST_REGION)
                packets = rooms[tile].place(words_of(*part.packets))
                counts = part.copy_words | len(part.packets) << 24
                table = rooms[tile].place(words_of(part.destination, counts, packets))
                host[section, number, tile] = table, body
    return Addresses(code.symbols, kernels, rows, host), list(regions.values())


def _symbols(code: Runtime, kernels: dict[str, int]) -> tuple[tuple[str, int], ...]:
    helpers = {STATIC + name: code.symbols[name] for name in PUBLIC}
    return tuple(sorted((helpers | kernels).items(), key=lambda item: (item[1], item[0])))


def _shared_regions(code: Runtime, missing: int) -> tuple[Region, ...]:
    linked = Region(ALL_TILES, code.address, code.stop - code.address, "linked executable")
    if not missing:
        return (linked,)
    return (linked, Region(ALL_TILES, code.stop, WORD_BYTES * missing, MISSING_KERNELS))
