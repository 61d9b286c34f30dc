"""What each tile does in a batch: packets, and the code that sends them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from ipuopt.codegen.host.batches import PIECE_BYTES, Batches
from ipuopt.codegen.isa import encode
from ipuopt.codegen.runtime import HOST_CLOSE, HOST_PACKETS, HOST_STAGING
from ipuopt.errors import InputError
from ipuopt.layout import IntArray
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.registers import ALL_TILES, DOWN_COUNT, INCOMING_MUX, NEUTRAL, WITH_HOST, WORDS

LONG_BYTES, SHORT_LIMIT = 64, 60
"""Unit of long packets, and most bytes of a short one (package.md 3.4)."""
LEAST_DATA = 18
"""Words of a packet to the host that need no wait before the next (package.md 3.4)."""
_TO_TILE, _TO_TILE_LONG = 0xCC000200, 0xEC000200
_TO_HOST, _TO_HOST_LONG = 0x80000000, 0xA0000000
_LAST = 0x0C000000
_BITMAP_WORDS = 2
_BITMAP_BITS = 24


class Way(Enum):
    """Where the bytes of a batch go; the value is the most bytes of one packet."""

    TO_TILE = 1024
    TO_HOST = 256


@dataclass(frozen=True, slots=True)
class Part:
    """What a tile has of its own in a batch.

    Attributes
    ----------
    code
        Returns by $m10; uses $m8.
    packets
        Words for the start of the aperture.
    destination, copy_words
        Where received words are copied, and how many; 0 where there are none.
    """

    code: tuple[int, ...]
    packets: tuple[int, ...]
    destination: int = 0
    copy_words: int = 0


def requester_of(tile: int) -> int:
    """The tile that requests transfers for ``tile``."""
    return tile & 0x3D


def bitmap(targets: list[int]) -> tuple[int, int]:
    """Words that request transfers for tiles of one requester."""
    bits = sum(1 << 2 * (tile // 64) + tile // 2 % 2 for tile in targets)
    return bits & ((1 << _BITMAP_BITS) - 1), bits >> _BITMAP_BITS


def chunks(address: int, offset: int, size: int, way: Way) -> Iterator[tuple[int, int, int]]:
    """Packets of a piece: tile address, host offset, bytes; ``offset`` is a multiple of 64."""
    while size:
        part = min(size, way.value) // LONG_BYTES * LONG_BYTES or size
        yield address, offset, part
        address, offset, size = address + part, offset + part, size - part


def header(tile: int, address: int, offset: int, size: int, way: Way) -> tuple[int, int]:
    """Header words of a packet; ``address`` counts only on the way to a tile."""
    long = size > SHORT_LIMIT
    unit, shift = (LONG_BYTES, 6) if long else (WORD_BYTES, 2)
    second = (tile % 2 << 31) + (offset >> shift << 4) + size // unit % 16
    if way is Way.TO_HOST:
        return (_TO_HOST_LONG if long else _TO_HOST) + _place(tile), second
    first = (_TO_TILE_LONG if long else _TO_TILE) + _place(tile)
    return first + (address - HOST_PACKETS) // 32, second


def _place(tile: int) -> int:
    return (tile // 2 << 16) | (tile % 2 << 15)


def parts_of(batches: Batches, number: int, way: Way, slots: IntArray) -> Mapping[int, Part]:
    """Parts of all tiles that do more in a batch than to synchronise.

    Raises
    ------
    InputError
        For bytes that are no whole words at a word's address.
    """
    chosen = batches.batch(number)
    tiles, addresses, sizes = (
        column[chosen].tolist() for column in (batches.tile, batches.address, batches.size)
    )
    asked: dict[int, list[int]] = {}
    for tile in tiles:
        asked.setdefault(requester_of(tile), []).append(tile)
    parts = {tile: _requesting(tile, targets) for tile, targets in asked.items()}
    places = slots.searchsorted(batches.tile[chosen]).tolist()
    for tile, address, size, slot in zip(tiles, addresses, sizes, places, strict=True):
        if address % WORD_BYTES or size % WORD_BYTES:
            found = f"found {size} bytes at {address:#x}"
            raise InputError(f"host transfer of tile {tile}: {found}, expected whole words")
        targets = asked.get(tile, [])
        offset = PIECE_BYTES * (1 + slot)
        parts[tile] = (_received if way is Way.TO_TILE else _sent)(
            tile, address, offset, size, targets
        )
    return parts


def _request(targets: list[int]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Code and packet words of a request, and where the packets behind it start, in words."""
    start = HOST_PACKETS // WORD_BYTES
    if not targets:
        return (), (), start
    return encode("send", 1, start, 3), bitmap(targets), start + _BITMAP_WORDS


def _requesting(tile: int, targets: list[int]) -> Part:
    """A request and no transfer."""
    code, packets, _ = _request(targets)
    return Part(_batch(tile, code, requests=True), packets)


def _received(tile: int, address: int, offset: int, size: int, targets: list[int]) -> Part:
    """The host writes to the staging area, and the words are copied to their place."""
    request, packets, start = _request(targets)
    pieces = list(chunks(HOST_STAGING, offset, size, Way.TO_TILE))
    body = [*_counted(size // WORD_BYTES), *request, *encode("send", 1, start, 3)]
    body += encode("sendoff", 1, 0, 3) * (len(pieces) - 1)
    for place, piece in enumerate(pieces):
        first, second = header(tile, *piece, Way.TO_TILE)
        last = place == len(pieces) - 1
        packets += (first if last else first & ~_LAST, second)
    body += encode("sync", WORDS)
    code = _batch(tile, body, requests=bool(targets))
    return Part(code, packets, address, size // WORD_BYTES)


def _sent(tile: int, address: int, offset: int, size: int, targets: list[int]) -> Part:
    """Headers and data go to the host; a read of nothing, answered last, closes."""
    request, packets, start = _request(targets)
    body = [*_counted(1), *request]
    for piece in chunks(address, offset, size, Way.TO_HOST):
        words = piece[2] // WORD_BYTES
        body += encode("send", 1, start, 3)
        body += encode("send", words - 1, piece[0] // WORD_BYTES, 3)
        if words < LEAST_DATA:
            body += encode("delay", LEAST_DATA - 1 - words)
        packets += header(tile, *piece, Way.TO_HOST)
        start += _BITMAP_WORDS
    body += encode("send", 1, start, 3) + encode("sync", WORDS)
    packets += (_TO_TILE + _place(tile) + (HOST_CLOSE - HOST_PACKETS) // 32, tile % 2 << 31)
    return Part(_batch(tile, body, requests=bool(targets)), packets)


def _counted(words: int) -> tuple[int, ...]:
    return encode("setzi", 8, words) + encode("put", DOWN_COUNT, 8)


def _batch(tile: int, body: Iterable[int], *, requests: bool) -> tuple[int, ...]:
    """A body between the synchronisations of the batch."""
    mux = 0x600 + ((tile & 0x3F) & ~2)
    zone = WITH_HOST if requests else ALL_TILES
    return (
        *encode("setzi", 8, mux),
        *encode("put", INCOMING_MUX, 8),
        *encode("sync", zone),
        *body,
        *encode("sync", ALL_TILES),
        *encode("setzi", 8, NEUTRAL),
        *encode("put", INCOMING_MUX, 8),
        *encode("br", 10),
    )
