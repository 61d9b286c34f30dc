"""Batches of the host: the checks of package.md 3.4, and every byte at its place once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.codegen.host import Way, batches_of, host_exchange, parts_of, slots_of
from ipuopt.codegen.host.code import bitmap, chunks, header, requester_of
from ipuopt.codegen.isa import disassemble
from ipuopt.codegen.package import Binding, Package, Segment, Slices, TileImage, violations
from ipuopt.errors import InputError


def binding(name: str, *rows: tuple[int, int, int]) -> Binding:
    """Slices of (tile, address, size) one after the other in the file."""
    tile, address, size = np.array(rows, np.uint64).reshape(-1, 3).T
    return Binding(name, "f16", (1,), Slices(tile, address, np.cumsum(size) - size, size))


def test_words_of_the_source() -> None:
    """The checks at the end of package.md 3.4."""
    assert header(0, 0, 0x40, 64, Way.TO_HOST) == (0xA0000000, 0x11)
    assert header(0, 0x50120, 0x40, 64, Way.TO_TILE) == (0xEC000209, 0x11)
    assert header(1409, 0, 0x40, 64, Way.TO_HOST) == (0xA2C08000, 0x80000011)
    assert bitmap([260]) == (0x100, 0)
    assert bitmap([1471]) == (0, 1 << 21)


@given(st.integers(1, 1024), st.sampled_from(Way))
def test_chunks(words: int, way: Way) -> None:
    found = list(chunks(0x50180, 4096, 4 * words, way))
    address, offset = 0x50180, 4096
    for at, place, size in found:
        assert (at, place) == (address, offset)
        assert size <= way.value
        assert size % 64 == 0 or size <= 60
        address, offset = address + size, offset + size
    assert offset - 4096 == 4 * words


def texts(code: tuple[int, ...]) -> list[str]:
    return [line.text for line in disassemble(code, 0x60000)]


def test_to_host() -> None:
    """Tile 260 sends 64 bytes; tile 4 & 0x3d requests them."""
    batches = batches_of([binding("y", (260, 0x64000, 64))])
    parts = parts_of(batches, 0, Way.TO_HOST, slots_of(batches))
    assert sorted(parts) == [4, 260]
    assert parts[4].packets == (0x100, 0)
    assert texts(parts[4].code) == [
        "setzi $m8, 0x604",
        "put 0xa0, $m8",
        "sync 0xf",
        "send 1, 0x14000, 3",
        "sync 7",
        "setzi $m8, 0x640",
        "put 0xa0, $m8",
        "br $m10",
    ]
    assert texts(parts[260].code)[2:-4] == [
        "sync 7",
        "setzi $m8, 1",
        "put 0xa6, $m8",
        "send 1, 0x14000, 3",
        "send 0xf, 0x19000, 3",
        "delay 1",
        "send 1, 0x14002, 3",
        "sync 0",
    ]
    assert parts[260].packets == (0xA0820000, 0x401, 0xCC82020B, 0)


def test_to_a_tile_that_requests() -> None:
    """1100 bytes come in packets of 1024, 64 and 12; all but the last header are chained."""
    batches = batches_of([binding("x", (0, 0x70000, 1100))])
    parts = parts_of(batches, 0, Way.TO_TILE, slots_of(batches))
    assert sorted(parts) == [0]
    assert texts(parts[0].code)[2:-4] == [
        "sync 0xf",
        "setzi $m8, 0x113",
        "put 0xa6, $m8",
        "send 1, 0x14000, 3",
        "send 1, 0x14002, 3",
        "sendoff 1, 0, 3",
        "sendoff 1, 0, 3",
        "sync 0",
    ]
    first, second, third = zip(parts[0].packets[2::2], parts[0].packets[3::2], strict=True)
    assert first == (0xE0000200 + 0x180 // 32, 4096 // 64 << 4)
    assert second == (0xE0000200 + 0x580 // 32, (5120 // 64 << 4) + 1)
    assert third == (0xCC000200 + 0x5C0 // 32, (5184 // 4 << 4) + 3)
    assert (parts[0].destination, parts[0].copy_words) == (0x70000, 275)


@st.composite
def tensors(draw: st.DrawFn) -> list[Binding]:
    rows = st.tuples(
        st.sampled_from([0, 2, 61, 64, 1470]),
        st.just(0x64000),
        st.integers(0, 3000).map(lambda n: 4 * n),
    )
    return [
        binding(str(n), *draw(st.lists(rows, max_size=4))) for n in range(draw(st.integers(0, 3)))
    ]


@given(tensors(), tensors())
def test_every_byte_moves_once(inputs: list[Binding], outputs: list[Binding]) -> None:
    batches = batches_of(inputs)
    spans = sorted(zip(batches.file_offset.tolist(), batches.size.tolist(), strict=True))
    reached = 0
    for offset, size in spans:
        assert (offset, 1 <= size <= 4096) == (reached, True)
        reached += size
    assert reached == sum(int(one.slices.size.sum()) for one in inputs)
    for number in range(len(batches)):
        tiles = batches.tile[batches.batch(number)]
        assert np.all(np.diff(tiles) > 0) and len(tiles)
        parts = parts_of(batches, number, Way.TO_TILE, slots_of(batches))
        assert set(parts) == {*tiles.tolist(), *map(requester_of, tiles.tolist())}
    host = host_exchange(batches_of(()), batches, batches_of(outputs))
    images = [TileImage(n, (Segment(0x4C010, 4, b"", 5),), 0, 0, 0) for n in (0, 2, 61, 64, 1470)]
    package = Package(producer="", tiles=tuple(images), host=host)
    assert list(violations(package)) == []


def test_odd_sizes_are_refused() -> None:
    batches = batches_of([binding("x", (0, 0x70000, 6))])
    with pytest.raises(InputError, match="tile 0: found 6 bytes at 0x70000, expected whole words"):
        parts_of(batches, 0, Way.TO_TILE, slots_of(batches))
