"""Where the tiles of a lost program stand (``device.md`` 5, 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ipuopt.codegen.package import ALL_TILES, Package
from ipuopt.codegen.package.check import LOAD_START
from ipuopt.codegen.package.listing import tile_of
from ipuopt.device.card import window as w
from ipuopt.device.card.frames import image_of
from ipuopt.device.card.window import Window
from ipuopt.errors import DeviceError
from ipuopt.layout import IntArray
from ipuopt.target.constants import WORD_BYTES

MOST_TILES = 16
"""Tiles that are looked into."""
STATES = ("inactive", "running", "stopped", "in an exception")
EXCEPTIONS = (
    *("none", "retirement break", "patched break 0", "patched break 1", "break on sync"),
    *("floating point", "memory conflict", "exchange configuration", "address", "operand"),
    *("program counter", "data break", "instruction", "exchange error", "memory error"),
    "instruction break",
)
"""Types of exceptions, in bits 4 to 7 of a context's status (device.md 5)."""
RECEIVE_ERRORS = (
    *("none", "clash with an instruction", "clash with a fetch", "address", "workers"),
    *("data break", "configuration", "modification"),
)
"""Errors of the exchange, in bits 27 to 29 of a tile's state (device.md 5)."""
_AROUND = range(-4, 5)
"""Words around the program counter that are held against the package."""


@contextmanager
def explained(window: Window, package: Package) -> Iterator[None]:
    """Add to a :class:`~ipuopt.errors.DeviceError` of a ``with`` block where the tiles stand.

    What cannot be read any more is left out; the error itself is never lost.
    """
    try:
        yield
    except DeviceError as error:
        try:
            found = _summary(window, package)
        except DeviceError:
            raise error from None
        raise DeviceError(f"{error}; {found[0]}", found[1:]) from None


def _summary(window: Window, package: Package) -> tuple[str, ...]:
    """Counts of states in one line, then lines about the tiles that are the farthest from an end."""
    tiles = [image.physical_tile for image in package.tiles]
    states = window.states(tiles)
    counts = np.bincount(states[:, 0], minlength=len(STATES)).tolist()
    named = [f"{n} {name}" for n, name in zip(counts, STATES, strict=True) if n]
    lines: list[str] = []
    for place in _chosen(states):
        lines += _lines(window, package, tiles[place], states[place].tolist())
    first = f", first: {lines[0]}" if lines else ""
    return f"supervisors: {', '.join(named)}{first}", *lines


def _chosen(states: IntArray) -> list[int]:
    """Rows of tiles that have not ended: with a context in an exception first, then stopped ones."""
    worst = states.max(axis=1)
    order = np.argsort(-worst, kind="stable")
    chosen: list[int] = order[: np.count_nonzero(worst)][:MOST_TILES].tolist()
    return chosen


def _lines(window: Window, package: Package, tile: int, states: Sequence[int]) -> Iterator[str]:
    """A line for each context that tells something, then the registers and code of the supervisor."""
    workers = [worker for worker, state in enumerate(states[1:], 1) if state == w.EXCEPTION]
    try:
        for context in (*workers, 0):  # what stopped a worker is why its supervisor waits
            with window.held(tile, context):
                place = window.special(tile, context, w.PROGRAM_COUNTER)
                status = window.special(tile, context, w.STATUS)
            name = f"worker {context - 1}" if context else "supervisor"
            kind = f", {EXCEPTIONS[status >> 4 & 15]}" if states[context] == w.EXCEPTION else ""
            where = f"at {place:#x} ({_region(package, tile, place)})"
            yield f"tile {tile}: {name} {STATES[states[context]]}{kind} {where}"
        error = RECEIVE_ERRORS[window.read(tile, w.STATE) >> 27 & 7]
        down, control = window.read(tile, w.DOWN_COUNT), window.read(tile, w.EXCHANGE_CONTROL)
        exchange = f"receive error {error}, down-count {down}, exchange control {control:#x}"
        yield f"tile {tile}: {exchange}, workers {' '.join(map(str, states[1:]))}"
        with window.held(tile, 0):
            registers = window.registers(tile, 0)
            code = _code(window, package, tile, place)
        yield f"tile {tile}: {code}; $m0 to $m15: {' '.join(f'{value:x}' for value in registers)}"
    except DeviceError as failure:
        yield f"tile {tile}: {STATES[states[0]]}, no more: {failure}"


def _region(package: Package, tile: int, address: int) -> str:
    """Name of the first region that holds an address."""
    for region in package.regions:
        inside = region.address <= address < region.address + region.size
        if inside and region.physical_tile in (tile, ALL_TILES):
            return region.name
    return "no known code"


def _code(window: Window, package: Package, tile: int, place: int) -> str:
    """Whether the words around the program counter are those of the package."""
    image = image_of(tile_of(package, tile))
    words = image[: len(image) // WORD_BYTES * WORD_BYTES].view("<u4")
    at = (place - LOAD_START) // WORD_BYTES
    near = [at + offset for offset in _AROUND if 0 <= at + offset < len(words)]
    found = window.words(tile, 0, [LOAD_START + WORD_BYTES * number for number in near])
    for number, word in zip(near, found, strict=True):
        if word != words[number]:
            address = LOAD_START + WORD_BYTES * number
            return f"word {word:08x} at {address:#x} where the package has {words[number]:08x}"
    return f"{len(near)} words of code around it as in the package"
