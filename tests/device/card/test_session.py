"""A session: grants, pages, the end of a program, and what is said and left after an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.package import HostCall, HostExchange, Package, Slices
from ipuopt.device import Simulator
from ipuopt.device.card.session import CardSession
from ipuopt.errors import DeviceError, InputError
from ipuopt.pipeline.tensors import packed
from ipuopt.result import Built

Make = Callable[..., tuple[Any, CardSession]]


@pytest.fixture
def make(fake: Any, package: Package) -> Make:
    """``make(**faults)``: a card with the package loaded, and a session on it."""

    def opened(**faults: Any) -> tuple[Any, CardSession]:
        card = fake.FakeCard(package, fake.Faults(**faults))
        card.open()
        card.run()
        card.trace.clear()
        return card, CardSession(card, package, clock=fake.Clock())

    return opened


@pytest.fixture(scope="module")
def contents(built: Built, package: Package) -> tuple[bytes, bytes]:
    random = np.random.default_rng(1)
    shapes = {v.name: (v.rows, v.columns) for v in built.plan.values}
    tensors = {n: random.standard_normal(s).astype(np.float16) for n, s in shapes.items()}
    return packed(built, package.weights, tensors), packed(built, package.inputs, tensors)


@pytest.fixture(scope="module")
def expected(package: Package, contents: tuple[bytes, bytes]) -> bytes:
    """What the same package gives in the simulator."""
    with Simulator(package) as device:
        device.start()
        device.call("initialize", contents[0])
        device.call("run", contents[1])
        return device.finish()


def marks(card: Any) -> list[tuple[int, int]]:
    return [
        event[1:] for event in card.trace if event[0] == "write" and event[1] in (0x302C, 0x3030)
    ]


def test_a_whole_session(
    make: Make, package: Package, contents: tuple[bytes, bytes], expected: bytes
) -> None:
    card, session = make()
    with session:
        session.start()
        sizes = dict(package.host.pages)
        assert card.trace == [
            ("write", 0x3044, 0x800),
            ("write", 0x302C, 1),
            ("read", 0x302C),
            ("read", 0x3030),
            ("detach all",),
            ("write", 0x3044, 0x800),
            ("attach", 0, sizes[0]),
            ("write", 0x3044, 0x800),
            ("attach", 1, sizes[1]),
            ("write", 0x3030, 1),
            *[("read", 0x3030)] * 3,
        ]
        assert session.states().tolist() == [1] * 1472
        assert session.call("initialize", contents[0]) == b""
        session.call("run", contents[1])
        assert session.finish() == expected
        assert not session.states().any()
    phases = sum(call.phases for call in package.host.calls)
    assert marks(card) == [(0x302C, 1)] + [(0x3030, 1)] * (1 + phases + 1)
    assert card.trace[-2:] == [("detach", 1), ("detach", 0)]
    session.close()
    assert card.trace[-2:] == [("detach", 1), ("detach", 0)]


def test_what_a_host_does_wrong(make: Make, contents: tuple[bytes, bytes]) -> None:
    _, session = make()
    with pytest.raises(InputError, match="found it closed or not started"):
        session.call("run", contents[1])
    with pytest.raises(InputError, match="found it closed or not started"):
        session.finish()
    with session:
        session.start()
        with pytest.raises(InputError, match="no call to finish"):
            session.finish()
        with pytest.raises(InputError, match="call walk: found initialize, run"):
            session.call("walk", b"")
        with pytest.raises(InputError, match="found 3 bytes of input"):
            session.call("run", b"abc")
    with pytest.raises(InputError, match="found it closed or not started"):
        session.call("run", contents[1])


def test_a_page_that_cannot_be_attached(make: Make) -> None:
    """What was attached before it is detached."""
    card, session = make(attach=1)
    with pytest.raises(DeviceError, match="buffer attach 1"):
        session.start()
    assert card.trace[-1] == ("detach", 0) and card.attached == {}


def test_tiles_that_do_not_come_to_the_session(make: Make) -> None:
    card, session = make(mark=1)
    with pytest.raises(DeviceError, match=r"session: start: GS2 \(0x3030\): found 0x1 in 0xffff"):
        session.start()
    assert card.trace[-2:] == [("detach", 1), ("detach", 0)]


def test_a_phase_that_does_not_end(
    make: Make, package: Package, contents: tuple[bytes, bytes]
) -> None:
    """The call, the phase, and where the tiles are: one in an exception, another with a worker in one."""
    first = package.host.calls[0].phases
    card, session = make(
        mark=2 + first + 2,
        states={67: 3 | 5 << 27, 70: 1 | 3 << 6},
        contexts={(67, 0): (0x5C000, 6 << 4), (70, 3): (0x80000, 8 << 4)},
    )
    with session:
        session.start()
        session.call("initialize", contents[0])
        card.registers[0x30000 + 0x40 * 67 + 4 * 10] = 12
        with pytest.raises(DeviceError) as error:
            session.call("run", contents[1])
    phases = package.host.calls[1].phases
    assert str(error.value) == (
        f"call run: phase 3 of {phases}: GS2 (0x3030): found 0x1 in 0xffff after 10 s, expected 0x0; "
        "supervisors: 1471 running, 1 in an exception, first: tile 67: supervisor in an exception,"
        " memory conflict at 0x5c000 (generated tile program)"
    )
    lines = error.value.details
    assert len(lines) == 3 * 16 + 1
    assert lines[1] == (
        "tile 67: receive error data break, down-count 12, exchange control 0x0, workers 0 0 0 0 0 0"
    )
    start = "tile 67: 9 words of code around it as in the package; $m0 to $m15: "
    assert lines[2].startswith(start) and len(lines[2].removeprefix(start).split()) == 16
    assert lines[3] == "tile 70: worker 2 in an exception, address at 0x80000 (no known code)"
    assert lines[4].startswith("tile 70: supervisor running at 0x")
    assert lines[5].endswith("workers 0 0 3 0 0 0")
    assert lines[7].startswith("tile 0: supervisor running at ")
    assert card.attached == {}


def test_the_post_mortem_changes_nothing(
    make: Make, contents: tuple[bytes, bytes], expected: bytes
) -> None:
    """Registers and run-break masks of the tiles are as before: the program could go on."""
    card, session = make(mark=2)
    with session:
        session.start()
        before = card.machine.registers.copy()
        with pytest.raises(DeviceError) as error:
            session.call("initialize", contents[0])
        assert "1472 running, first: tile 0: supervisor running at" in str(error.value)
        assert (card.machine.registers == before).all()
        assert not any(card.registers[0x30004 + 0x40 * tile] for tile in range(16))
        assert session.states().tolist() == [1] * 1472


def test_code_that_was_overwritten(make: Make, contents: tuple[bytes, bytes]) -> None:
    card, session = make(mark=2)
    with session:
        session.start()
        at = card.machine.place[0]
        word = card.machine.memory[0, (at - 0x4C000) // 4 + 1]
        card.machine.memory[0, (at - 0x4C000) // 4 + 1] = 0x12345678
        with pytest.raises(DeviceError) as error:
            session.call("initialize", contents[0])
    expected = f"word 12345678 at {at + 4:#x} where the package has {word:08x}"
    assert error.value.details[2].startswith(f"tile 0: {expected}; ")


def test_a_window_that_fails_does_not_hide_the_error(
    make: Make, contents: tuple[bytes, bytes]
) -> None:
    card, session = make(mark=3, injection=2)
    with session:
        session.start()
        with pytest.raises(DeviceError) as error:
            session.call("initialize", contents[0])
    assert str(error.value).startswith("call initialize: phase 2 of")
    assert "no more: tile 0: injection of 0x43008070 into context 0: found status 0x2" in str(
        error.value
    )
    assert not any(card.registers[0x30004 + 0x40 * tile] for tile in range(16))


def test_a_tile_that_does_not_end(make: Make, contents: tuple[bytes, bytes]) -> None:
    card, session = make()
    with session:
        session.start()
        session.call("initialize", contents[0])
        session.call("run", contents[1])
        card.faults.states = {3: 1}
        with pytest.raises(
            DeviceError, match=r"finish: tile 3: state \(0x300c0\): found 0x1 in 0x3"
        ):
            session.finish()
    card, session = make()
    with session:
        session.start()
        session.call("initialize", contents[0])
        session.call("run", contents[1])
        card.faults.states = {5: 1 << 2}
        with pytest.raises(DeviceError, match=r"finish: tile 5: .*: found workers that run, 0x4"):
            session.finish()


def columns(*rows: tuple[int, int, int, int]) -> Slices:
    return Slices(*np.array(rows, np.uint64).reshape(-1, 4).T)


class Bare:
    """Registers that clear at once, and memory of attached pages at each GS2 mark."""

    def __init__(self) -> None:
        self.pages: dict[int, tuple[int, int]] = {}
        self.seen: list[bytes] = []

    def read32(self, offset: int) -> int:
        return 0

    def write32(self, offset: int, value: int) -> None:
        import ctypes

        if offset == 0x3030:
            self.seen.append(b"".join(ctypes.string_at(*page) for page in self.pages.values()))
            address, _ = self.pages[7]
            ctypes.memset(address + 8, 64 + len(self.seen), 4)

    def attach(self, index: int, address: int, size: int) -> None:
        self.pages[index] = address, size

    def detach(self, index: int) -> None:
        del self.pages[index]

    def detach_all(self) -> None:
        self.pages.clear()


def test_when_batches_are_stored_and_fetched(fake: Any, package: Package) -> None:
    """Two input and two output batches share a slot: 7 phases; the command word comes first."""
    call = HostCall(
        *("run", 5, 7, columns((7, 0, 0, 4), (7, 0, 4, 4)), columns((7, 8, 0, 4), (7, 8, 4, 4))),
        *((1, 2), (1, 2)),
    )
    host = HostExchange(23, 9, 12, ((9, 16), (7, 5000)), (9, 7), (call,))
    small = replace(package, host=host)
    card = Bare()
    with CardSession(card, small, clock=fake.Clock()) as session:  # type: ignore[arg-type]
        session.start()
        assert list(card.pages) == [9, 7]
        assert card.pages[7][0] % 4096 == 0 and card.pages[7][0] - card.pages[9][0] == 4096
        session.call("run", b"aaaabbbb")
        assert session.finish() == bytes([64 + 7] * 4 + [64 + 9] * 4)
    first = [page[16:20] for page in card.seen]
    assert first == [bytes(4), b"aaaa", b"aaaa", *[b"bbbb"] * 6]
    assert [page[12:16] for page in card.seen] == [bytes(4), *[b"\5\0\0\0"] * 8]
