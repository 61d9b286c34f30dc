"""The node of the kernel driver: request codes and what they carry, registers, one user at a time."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from ipuopt.device.card.driver import Driver
from ipuopt.device.card.pages import Pages, fence
from ipuopt.device.protocol import Control
from ipuopt.errors import DeviceError, MissingPartError


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A file in place of the registers."""
    path = tmp_path / "ipu0"
    path.write_bytes(bytes(0x80000))
    return path


class Kernel:
    """Remembers what is requested of it; answers with a result or an error."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, Any]] = []
        self.result = 0
        self.error: OSError | None = None

    def __call__(self, file: int, code: int, argument: Any) -> int:
        os.fstat(file)  # it is open
        self.requests.append(
            (code, bytes(argument) if argument.__class__ is bytearray else argument)
        )
        if self.error is not None:
            raise self.error
        if code == 0xC008ED1F:
            sent, received = struct.unpack("<QQ", argument)
            words = (ctypes.c_uint32 * 5).from_address(sent)
            (ctypes.c_uint32 * 5).from_address(received)[:] = [word + 1 for word in words]
        return self.result


def test_requests(node: Path) -> None:
    """Codes of device.md 1, word for word."""
    kernel = Kernel()
    driver = Driver(node, kernel)
    driver.open()
    for control in Control:
        driver.control(control)
    driver.attach(3, 0x7F0000001000, 0x2842000)
    driver.detach(3)
    driver.detach_all()
    assert driver.mailbox((1, 2, 3, 4, 5)) == (2, 3, 4, 5, 6)
    driver.close()
    assert kernel.requests[:-1] == [
        (0xC008ED0A, 0),
        (0xC008ED0E, 0),
        (0x0000ED22, 0),
        (0x0000ED23, 0),
        (0x0000ED24, 0),
        (0x4004ED2D, 0),
        (0x4008ED2F, bytes(8)),
        (0xC008ED0B, struct.pack("<IIQ", 3, 0x2842000, 0x7F0000001000)),
        (0xC008ED0C, 3),
        (0x0000ED12, 0),
    ]
    assert kernel.requests[-1][0] == 0xC008ED1F


def test_registers(node: Path) -> None:
    driver = Driver(node, Kernel())
    driver.open()
    driver.write32(0x7FFFC, 0xFFFFFFFE)
    driver.write32(0x2000, 5)
    assert (driver.read32(0x7FFFC), driver.read32(0x2000), driver.read32(0x2004)) == (
        0xFFFFFFFE,
        5,
        0,
    )
    for offset in (0x80000, -4, 0x2002):
        with pytest.raises(ValueError, match="expected a multiple of 4 below 0x80000"):
            driver.read32(offset)
    driver.close()
    driver.close()
    assert struct.unpack_from("<I", node.read_bytes(), 0x2000) == (5,)
    with pytest.raises(DeviceError, match="found it closed"):
        driver.read32(0)
    driver.open()
    assert driver.read32(0x2000) == 5
    driver.close()


def test_what_the_driver_refuses(node: Path) -> None:
    kernel = Kernel()
    driver = Driver(node, kernel)
    driver.open()
    kernel.error = OSError(errno.EBUSY, "Device or resource busy")
    with pytest.raises(
        DeviceError, match=r"user attach: found Device or resource busy \(errno 16\)"
    ):
        driver.control(Control.USER_ATTACH)
    with pytest.raises(DeviceError, match=r"buffer attach 1: found Device"):
        driver.attach(1, 4096, 4096)
    driver.detach(1)
    kernel.error, kernel.result = None, 7
    with pytest.raises(DeviceError, match="mailbox: found result 7, expected 0"):
        driver.mailbox((0,) * 5)
    driver.detach(1)
    driver.close()


def test_one_user_at_a_time(node: Path) -> None:
    first, second = Driver(node, Kernel()), Driver(node, Kernel())
    first.open()
    with pytest.raises(DeviceError, match="found it in use"):
        second.open()
    first.close()
    second.open()
    second.close()


def test_no_card(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(
        MissingPartError, match="No such file or directory, expected the kernel driver"
    ):
        Driver(tmp_path / "ipu0").open()
    (tmp_path / "short").write_bytes(b"x")
    with pytest.raises(DeviceError, match="found a file, expected the device node"):
        Driver(tmp_path / "short").open()
    with pytest.raises(DeviceError, match="Is a directory"):
        Driver(tmp_path).open()
    assert len(os.listdir("/proc/self/fd")) == before


def test_pages() -> None:
    """Zero, aligned, written where their address says, and gone only once."""
    pages = Pages(3 * 4096)
    assert pages.address % 4096 == 0 and not pages.content.any()
    pages.content[5] = 9
    fence()
    assert ctypes.c_uint8.from_address(pages.address + 5).value == 9
    view = pages.content[:1]
    pages.close()  # while someone looks at it
    del view
    pages.close()
