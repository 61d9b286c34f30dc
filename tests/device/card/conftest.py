"""Files that a user brings, and a card that is none."""

from __future__ import annotations

import importlib.util
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FAKE = Path(__file__).with_name("fake_card.py")


@pytest.fixture(scope="session")
def fake() -> Any:
    """The module ``fake_card.py``: a card, its faults, and a clock."""
    spec = importlib.util.spec_from_file_location("fake_card", FAKE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def elf(segments: list[tuple[int, bytes]], *, bits: int = 1, order: int = 1) -> bytes:
    """A 32-bit ELF file of loadable segments, each ``(address, content)``."""
    head = b"\x7fELF" + bytes([bits, order, 1]) + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", 2, 0xF8, 1, 0, 52, 0, 0, 52, 32, len(segments), 40, 0, 0)
    at = 52 + 32 * len(segments)
    table, content = b"", b""
    for address, data in segments:
        place = at + len(content)
        table += struct.pack("<8I", 1, place, address, address, len(data), len(data), 5, 4)
        content += data
    return head + table + content


@pytest.fixture(scope="session")
def make_elf() -> Callable[..., bytes]:
    return elf


@pytest.fixture(scope="session")
def secondary_words() -> list[int]:
    """300 words, so that the loader takes two kilobytes."""
    return [0xA0000000 + word for word in range(300)]


@pytest.fixture
def secondary_file(tmp_path: Path, secondary_words: list[int]) -> Path:
    path = tmp_path / "secondary.elf"
    path.write_bytes(elf([(0x4C000, struct.pack("<300I", *secondary_words)), (0, b"")]))
    return path


WRITES = (
    (0x2040, 7),
    (0x302C, 1),
    (0x2040, 8),
    (0x3030, 9),
    (0x12000, 0xFFFFFFFF),
    (0x30004, 1 << 30),
)


@pytest.fixture
def writes() -> tuple[tuple[int, int], ...]:
    """Stores of a configuration: one register twice, both syncs, one tile."""
    return WRITES


@pytest.fixture
def configuration_file(tmp_path: Path) -> Path:
    path = tmp_path / "c600-init.ipucfg"
    words = [number for write in WRITES for number in write]
    path.write_bytes(b"IPUCFG1\0" + struct.pack(f"<I{len(words)}I", len(WRITES), *words))
    return path
