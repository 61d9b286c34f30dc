"""Files that a user brings: configuration and secondary loader; damaged ones give one line."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ipuopt.device.card.configuration import read_configuration
from ipuopt.device.card.secondary import read_secondary
from ipuopt.errors import Error, InputError


def test_a_configuration_keeps_its_order(
    configuration_file: Path, writes: tuple[tuple[int, int], ...]
) -> None:
    assert read_configuration(configuration_file) == writes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found b'', expected b'IPUCFG1"),
        (b"IPUCFG2\0" + bytes(4), "expected b'IPUCFG1"),
        (b"IPUCFG1\0\1\0", "found 10 bytes, expected at least 12"),
        (b"IPUCFG1\0" + struct.pack("<3I", 2, 8, 1), "found 20 bytes with 2 writes, expected 28"),
        (
            b"IPUCFG1\0" + struct.pack("<4I", 1, 8, 1, 0),
            "found 24 bytes with 1 writes, expected 20",
        ),
        (b"IPUCFG1\0" + struct.pack("<I", 0xFFFFFFFF), "with 4294967295 writes"),
        (b"IPUCFG1\0" + struct.pack("<3I", 1, 6, 1), "write 0: found register 0x6"),
        (b"IPUCFG1\0" + struct.pack("<3I", 1, 0x80000, 1), "write 0: found register 0x80000"),
    ],
)
def test_a_damaged_configuration(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.ipucfg"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_configuration(path)
    assert message in str(error.value) and str(error.value).startswith(str(path))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for read in (read_configuration, read_secondary):
        with pytest.raises(InputError, match="No such file"):
            read(tmp_path / "none")


def test_a_secondary_loader_is_padded(secondary_file: Path, secondary_words: list[int]) -> None:
    content = read_secondary(secondary_file)
    assert content == struct.pack("<300I", *secondary_words) + bytes(848)


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([], "found 0 segments"),
        ([(0x4C000, b"")], "found 0 segments"),
        ([(0x4C000, b"a"), (0x4D000, b"b")], "found 2 segments with content, expected 1"),
        ([(0x4C010, b"a")], "found a segment at 0x4c010, expected it at 0x4c000"),
        ([(0x4C000, bytes(4097))], "found 4097 bytes of loader, expected at most 4096"),
    ],
)
def test_a_secondary_loader_that_does_not_fit(
    tmp_path: Path, make_elf: Callable[..., bytes], segments: list[tuple[int, bytes]], message: str
) -> None:
    path = tmp_path / "loader.elf"
    path.write_bytes(make_elf(segments))
    with pytest.raises(InputError) as error:
        read_secondary(path)
    assert message in str(error.value)


def test_other_elf_files(tmp_path: Path, make_elf: Callable[..., bytes]) -> None:
    path = tmp_path / "loader.elf"
    path.write_bytes(make_elf([(0x4C000, b"a")], order=2))
    with pytest.raises(InputError, match="32-bit, big-endian, expected a 32-bit little-endian"):
        read_secondary(path)
    path.write_bytes(make_elf([(0x4C000, b"abcd")])[:-1])
    with pytest.raises(InputError, match="found 3 of 4 bytes"):
        read_secondary(path)
    path.write_bytes(b"not ELF")
    with pytest.raises(InputError, match="found no ELF file"):
        read_secondary(path)


def test_damaged_files_give_a_loader_or_one_line(
    tmp_path: Path, make_elf: Callable[..., bytes]
) -> None:
    random = np.random.default_rng(3)
    whole = make_elf([(0x4C000, bytes(range(64)))])
    path = tmp_path / "loader.elf"
    for _ in range(150):
        content = bytearray(whole)
        for at in random.integers(0, len(content), 3).tolist():
            content[at] = int(random.integers(0, 256))
        path.write_bytes(content[: int(random.integers(1, len(content) + 1))])
        try:
            assert len(read_secondary(path)) % 1024 == 0
        except Error as error:
            assert "\n" not in str(error)
