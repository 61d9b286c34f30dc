"""Configuration of a card: stores into registers that a user brings as a file (``device.md`` 2)."""

from __future__ import annotations

import struct
from pathlib import Path

from ipuopt.device.card.registers import SPACE_BYTES
from ipuopt.errors import InputError

Writes = tuple[tuple[int, int], ...]
"""Offset and value of each store, in their order: some registers are written several times."""

MAGIC = b"IPUCFG1\0"
_HEAD_BYTES, _WRITE_BYTES = len(MAGIC) + 4, 8


def read_configuration(path: Path) -> Writes:
    """Read a configuration file (``.ipucfg``).

    Raises
    ------
    InputError
        If it cannot be read, is none, is longer or shorter than it says, or names a register that
        there is not.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(f"{path}: found {found}, expected a configuration file") from None
    if not content.startswith(MAGIC):
        expected = f"{MAGIC!r}, the start of a configuration file"
        raise InputError(f"{path}: found {content[: len(MAGIC)]!r}, expected {expected}")
    if len(content) < _HEAD_BYTES:
        raise InputError(f"{path}: found {len(content)} bytes, expected at least {_HEAD_BYTES}")
    (count,) = struct.unpack_from("<I", content, len(MAGIC))
    size = _HEAD_BYTES + _WRITE_BYTES * count
    if len(content) != size:
        found = f"found {len(content)} bytes with {count} writes"
        raise InputError(f"{path}: {found}, expected {size} bytes")
    writes: Writes = tuple(struct.iter_unpack("<II", content[_HEAD_BYTES:]))
    for number, (offset, _) in enumerate(writes):
        if offset % 4 or offset >= SPACE_BYTES:
            found = f"write {number}: found register {offset:#x}"
            raise InputError(f"{path}: {found}, expected a multiple of 4 below {SPACE_BYTES:#x}")
    return writes
