"""Loading: what is stored into registers, in which order, and what is left after an error."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.package import Package, Segment, TileImage
from ipuopt.device.card.frames import batches_of, fill, frames_of, image_of
from ipuopt.device.card.initialise import initialise
from ipuopt.device.card.loader import Loader
from ipuopt.device.card.secondary import read_secondary
from ipuopt.errors import DeviceError, InputError

Trace = list[tuple[Any, ...]]
ROUTES = [0x5404 + 0x400 * i for i in range(8)] + [0x1B804 + 0x400 * i for i in range(8)]
BUFFER = 0x2842000
NORMAL = [2] * 8 + [0x20820A] * 8
REGISTERS = 0x40403


def write(offset: int, value: int) -> tuple[str, int, int]:
    return ("write", offset, value)


def read(offset: int, count: int = 1) -> Trace:
    return [("read", offset)] * count


def marked(sync: int, value: int) -> Trace:
    """A mark, its read-back, and three reads until it is used."""
    return [write(sync, value), *read(sync, 1 + 2)]


def restored() -> Trace:
    stores = [write(offset, value) for offset, value in zip(ROUTES, NORMAL, strict=True)]
    return [*stores, write(0x2000, REGISTERS), *read(0x2000), ("detach", 0)]


def transport() -> Trace:
    return [
        write(0x3044, 0x800),
        ("attach", 0, BUFFER),
        *read(0x2000),
        *(write(offset, 0x7FFFFFA) for offset in ROUTES),
        write(0x2000, REGISTERS & ~0x402),
        *read(0x2000),
        *(write(offset, 2) for offset in ROUTES[:8]),
    ]


def booted(words: list[int]) -> Trace:
    """The autoloader with 512 words: 2 KiB."""
    trace: Trace = [write(0x2068, 0)]
    for number, word in enumerate(words + [0] * (512 - len(words)), 1):
        trace.append(write(0x2070, word))
        if number % 32 == 0:
            trace += read(0x2068)
    trace += [write(0x206C, 0x02000800), write(0x2068, 0x10013F), *read(0x2068, 2)]
    trace += [write(0x206C, 0x02000000 + (624 << 10) + 2), write(0x2068, 1471 << 9 | 0x13F)]
    return trace + read(0x2068, 2)


@pytest.fixture
def card(fake: Any, package: Package) -> Any:
    card = fake.FakeCard(package)
    card.open()
    return card


def test_initialisation(card: Any, writes: tuple[tuple[int, int], ...]) -> None:
    initialise(card, writes)
    assert card.trace == [
        ("open",),
        ("control", "user attach"),
        ("control", "set IPU id"),
        ("control", "stop monitoring"),
        ("mailbox", 0x4078020E, 0, 0, 0, 0),
        ("control", "start monitoring"),
        ("control", "accumulate errors"),
        ("control", "reset device"),
        ("control", "set secondary IPU id"),
        write(0x2040, 7),
        write(0x2040, 8),
        write(0x12000, 0xFFFFFFFF),
        write(0x30004, 1 << 30),
        write(0x302C, 0),
        *read(0x302C),
        write(0x3030, 0),
        *read(0x3030),
    ]


def test_initialisation_fails(card: Any) -> None:
    card.faults.syncs = 5
    with pytest.raises(DeviceError, match=r"register 0x302c: found 0x5, expected 0"):
        initialise(card, ())
    card.faults.answer = 0x40790000
    with pytest.raises(DeviceError, match=r"mailbox: found answer 0x40790000, expected 0x4078"):
        initialise(card, ())


def loaded(fake: Any, card: Any, package: Package, secondary: Path) -> None:
    initialise(card, ())
    card.trace.clear()
    Loader(card, read_secondary(secondary), clock=fake.Clock()).load(package)


def test_all_that_a_load_does(
    fake: Any, card: Any, package: Package, secondary_file: Path, secondary_words: list[int]
) -> None:
    loaded(fake, card, replace(package, config_writes=((0x2044, 3),)), secondary_file)
    expected = booted(secondary_words) + transport()
    expected += marked(0x302C, 1) * 23
    expected += [*read(0x302C), *marked(0x302C, 1), *marked(0x302C, 23), *restored()]
    assert card.trace == [*expected, write(0x2044, 3)]
    assert card.state == "running" and card.attached == {}
    assert card.machine.memory[70, 4] == np.frombuffer(image_of(package.tiles[70]), "<u4")[0]


def test_a_package_without_a_mark_is_started_by_its_number_of_batches(
    fake: Any, package: Package, secondary_file: Path
) -> None:
    changed = replace(package, host=replace(package.host, startup_mark=0))
    card = fake.FakeCard(replace(package, host=replace(package.host, startup_mark=1472 // 64)))
    card.open()
    loaded(fake, card, changed, secondary_file)
    assert write(0x302C, 23) in card.trace


@pytest.mark.parametrize(
    ("mark", "where"),
    [
        (0, "batch 1 of 23 (tiles 0 to 63)"),
        (22, "batch 23 of 23 (tiles 1408 to 1471)"),
        (23, "start of the images"),
        (24, "final mark"),  # the tiles' states are told, too
    ],
)
def test_a_mark_that_is_never_used(
    fake: Any, card: Any, package: Package, secondary_file: Path, mark: int, where: str
) -> None:
    """Named with its batch; routing is restored and the buffer released."""
    card.faults.mark = mark
    with pytest.raises(DeviceError) as error:
        loaded(fake, card, package, secondary_file)
    value = 23 if mark == 24 else 1
    expected = f"found {value:#x} in 0xffff after 10 s, expected 0x0"
    states = "; supervisors: 1472 inactive" if mark == 24 else ""
    assert str(error.value) == f"load: {where}: GS1 (0x302c): {expected}{states}"
    assert card.trace[-len(restored()) :] == restored()
    assert card.attached == {}


def test_a_restoration_that_fails(
    fake: Any, card: Any, package: Package, secondary_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows it is done all the same."""
    card.faults.mark = 0
    store = card.write32

    def refuse(offset: int, value: int) -> None:
        if value == 0x20820A:
            raise DeviceError("fake: found no answer, expected one")
        store(offset, value)

    monkeypatch.setattr(card, "write32", refuse)
    with pytest.raises(DeviceError, match="no answer") as error:
        loaded(fake, card, package, secondary_file)
    assert "batch 1 of 23" in str(error.value.__context__)
    assert card.trace[-1] == ("detach", 0)


def test_a_buffer_that_cannot_be_attached(
    fake: Any, card: Any, package: Package, secondary_file: Path
) -> None:
    """Nothing has been routed yet, so nothing is restored."""
    card.faults.attach = 0
    with pytest.raises(DeviceError, match="buffer attach 0"):
        loaded(fake, card, package, secondary_file)
    assert card.trace[-2:] == [write(0x3044, 0x800), ("attach", 0, BUFFER)]


def test_an_autoloader_that_never_ends(
    fake: Any, card: Any, package: Package, secondary_file: Path
) -> None:
    card.faults.autoloader = True
    expected = (
        r"autoloader, the secondary loader: control \(0x2068\): found 0x100 in 0x100 after 2 s"
    )
    with pytest.raises(DeviceError, match=expected):
        loaded(fake, card, package, secondary_file)
    assert not any(event[0] == "attach" for event in card.trace)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tiles": 63}, "found 63 tiles, expected a multiple of 64"),
        ({"config_writes": ((0x80000, 1),)}, "found register 0x80000 to write"),
        ({"config_writes": ((0x2002, 1),)}, "found a register at 0x2002"),
    ],
)
def test_a_bad_package_is_refused_before_the_card_is_touched(
    fake: Any,
    card: Any,
    package: Package,
    secondary_file: Path,
    changes: dict[str, Any],
    message: str,
) -> None:
    if "tiles" in changes:
        changes = {"tiles": package.tiles[:63], "profile": (), "regions": ()}
        changes |= {"inputs": (), "outputs": (), "weights": ()}
    with pytest.raises(InputError, match=message):
        loaded(fake, card, replace(package, **changes), secondary_file)
    assert card.trace == []


def test_frames() -> None:
    """Numbers, tile, the mark of the last one, payload without gaps, fill."""
    image = np.arange(992 * 17 + 5, dtype=np.int64).astype(np.uint8)
    frames = frames_of(1409, image)
    assert frames.shape == (18, 1024)
    head = frames[:, :16].copy().view("<u4")
    assert head[:, 0].tolist() == list(range(18)) and set(head[:, 1].tolist()) == {1409}
    assert head[:, 2].tolist() == [0] * 17 + [0x08000000] and not head[:, 3].any()
    assert frames[:, 16:1008].tobytes() == image.tobytes() + bytes(992 - 5)
    assert (frames[:, 1008:] == 0xFF).all()


def test_a_short_image_is_padded() -> None:
    """0x4134 bytes are 16.8 payloads; one frame alone would never be acknowledged."""
    assert len(frames_of(0, np.ones(8, np.uint8))) == 17


def tile(number: int, *segments: tuple[int, int, bytes]) -> TileImage:
    made = tuple(Segment(address, size, data, 7) for address, size, data in segments)
    return TileImage(number, made, 0x4C010, 0, 0)


def test_a_batch_in_the_buffer() -> None:
    """Places first, frames from 4096 on; what lies between segments is zero."""
    long = tile(9, (0x4C010, 4, b"abcd"), (0xE7B00, 0xB0, b"end"))
    short = tile(3, (0x4C018, 4, b"efgh"), (0x4C010, 2, b"x"))
    assert len(image_of(long)) == 643 * 992
    assert image_of(short).tobytes() == b"x" + bytes(7) + b"efgh"
    buffer = np.full(BUFFER, 7, np.uint8)
    fill(buffer, [short, long])
    assert buffer[:16].tobytes() == struct.pack("<4I", 4096, 17, 4096 + 17 * 1024, 643)
    assert not buffer[16:4096].any()
    stop = 4096 + (17 + 643) * 1024
    assert not buffer[stop:].any() and buffer[stop - 1] == 0xFF
    assert buffer[4096 + 17 * 1024 + 16 :][:4].tobytes() == b"abcd"


def test_a_full_batch_fits() -> None:
    full = tile(0, (0x4C010, 0xE7BB0 - 0x4C010, b""))
    buffer = np.zeros(BUFFER, np.uint8)
    fill(buffer, [replace(full, physical_tile=n) for n in range(64)])
    assert buffer[8 * 63 : 8 * 64].tobytes() == struct.pack("<2I", 4096 + 63 * 643 * 1024, 643)


def test_batches_keep_the_order_of_the_package(package: Package) -> None:
    batches = batches_of(package.tiles[::-1])
    assert [len(batch) for batch in batches] == [64] * 23
    assert batches[0][0].physical_tile == 1471
