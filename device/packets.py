"""Packets between tiles and the pages of the host (``package.md`` 3.4).

Constants are written out here and not taken from :mod:`ipuopt.codegen.host`: this is what its words
are held against.
"""

from __future__ import annotations

from ipuopt.device.decode import Words
from ipuopt.errors import CheckError
from ipuopt.layout import IntArray

APERTURE = 0x50000
"""Start of the host exchange aperture; packets reach its first 0x4000 bytes."""
_READ, _LONG, _TO_TILE = 1 << 30, 1 << 29, 0x200
_LAST = 0x0C000000
_PLACES = 0x1FF
_BITMAP_WORDS, _BITMAP_BITS = 2, 24
_LONG_BYTES, _SHORT_BYTES, _LONGEST = 64, 4, 1024


def fault(tile: int, found: str, expected: str) -> CheckError:
    """Error of a batch."""
    message = f"tile {tile}: found {found}, expected {expected}"
    return CheckError("simulation", (("host", message),))


def requested(tile: int, words: Words) -> set[int]:
    """Tiles for which a requester asks in its two words of bitmap."""
    bits = int(words[0]) | int(words[1]) << _BITMAP_BITS
    if int(words[0]) >> _BITMAP_BITS:
        raise fault(tile, f"a bitmap word {int(words[0]):#x}", "at most 24 bits")
    return {
        64 * (bit // 2) + 2 * (bit % 2) + (tile & 0x3D)
        for bit in range(bits.bit_length())
        if bits >> bit & 1
    }


def perform(tile: int, words: Words, memory: Words, base: int, pages: Words) -> int:
    """Carry out the packets of one tile, in order.

    Parameters
    ----------
    tile
        Physical number.
    words
        What it has sent, without a bitmap.
    memory, base
        Words of the tile and the address of the first one; data from the host is written there.
    pages
        Words of the attached pages, in exchange space; data from the tile is written there.

    Returns
    -------
    int
        Words that the tile has received; 1 for the answer to a read of nothing.

    Raises
    ------
    CheckError
        With label ``host`` for a packet that is none, is another tile's, or reaches beyond what it
        may.
    """
    at, received, chained = 0, 0, False
    own = (tile // 2 << 16) | (tile % 2 << 15)
    while at < len(words):
        if at + 2 > len(words):
            raise fault(tile, "a packet that is cut short", "two header words")
        first, second = int(words[at]), int(words[at + 1])
        at += 2
        unit = _LONG_BYTES if first & _LONG else _SHORT_BYTES
        size = (second & 15) * unit
        reads = bool(first & _READ)
        if unit == _LONG_BYTES and size == 0:
            size = _LONGEST
        host = (second & 0x7FFFFFFF) >> 4
        host = host * unit // 4
        if first & 0x03FF8000 != own or second >> 31 != tile % 2 or not first >> 31:
            raise fault(tile, f"the header {first:08x} {second:08x}", "one of its own")
        if host + size // 4 > len(pages):
            raise fault(tile, f"a packet at host offset {4 * host:#x}", "one inside the pages")
        if reads:
            chained = first & _LAST != _LAST
            address = APERTURE + 32 * (first & _PLACES)
            if not first & _TO_TILE:
                raise fault(tile, f"the header {first:08x}", "a place in the aperture")
            place = (address - base) // 4
            memory[place : place + size // 4] = pages[host : host + size // 4]
            received += max(1, size // 4)
            continue
        if at + size // 4 > len(words):
            raise fault(tile, "data that are cut short", f"{size} bytes behind the header")
        pages[host : host + size // 4] = words[at : at + size // 4]
        at += size // 4
    if chained:
        raise fault(tile, "a chain of packets that goes on", "a last one")
    return received


def batch(
    waiting: IntArray,
    asking: IntArray,
    sent: IntArray,
    outgoing: Words,
    counts: IntArray,
    mux: IntArray,
    memory: Words,
    base: int,
    pages: Words,
) -> None:
    """One batch: every tile that waits for words gets them, if it was asked for.

    Parameters
    ----------
    waiting, asking
        Tiles that wait for words; tiles that have synchronised with the host.
    sent, outgoing
        Words of every tile, and how many.
    counts, mux
        Down-count and incoming mux of every tile.
    """
    wanted: set[int] = set()
    askers = set(asking.tolist())
    for tile in asking.tolist():
        wanted |= requested(tile, outgoing[tile, :_BITMAP_WORDS])
    for tile in waiting.tolist():
        if tile not in wanted:
            raise fault(tile, "a transfer that nobody requested", "a bit in the requester's words")
        column = 0x600 + ((tile & 0x3F) & ~2)
        if mux[tile] != column:
            raise fault(tile, f"mux {mux[tile]:#x}", f"{column:#x}")
        start = _BITMAP_WORDS if tile in askers else 0
        words = outgoing[tile, start : sent[tile]]
        received = perform(tile, words, memory[tile], base, pages)
        if received != counts[tile]:
            raise fault(tile, f"{received} words", f"the {counts[tile]} that it waits for")
    unanswered = wanted - set(waiting.tolist())
    if unanswered:
        raise fault(min(unanswered), "a request and no transfer", "both or none")
