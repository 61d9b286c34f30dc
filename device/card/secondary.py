"""The vendor's secondary loader, which tiles run to receive their program (``device.md`` 3)."""

from __future__ import annotations

import io
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from ipuopt.errors import InputError
from ipuopt.target.memory import BASE

UNIT_BYTES = 1024
"""The autoloader counts in these."""
MOST_BYTES = 4096
_EXPECTED = "the vendor's secondary loader"


def read_secondary(path: Path) -> bytes:
    """Words of the secondary loader, padded with zeros to a multiple of :data:`UNIT_BYTES`.

    Raises
    ------
    InputError
        If the file cannot be read, is no 32-bit little-endian ELF file, or has not exactly one
        segment with content, at the start of tile memory and of at most :data:`MOST_BYTES` bytes.
    """
    try:
        elf = ELFFile(io.BytesIO(path.read_bytes()))
        if elf.elfclass != 32 or not elf.little_endian:
            kind = f"{elf.elfclass}-bit, {'little' if elf.little_endian else 'big'}-endian"
            raise InputError(f"{path}: found {kind}, expected a 32-bit little-endian ELF file")
        segments = [
            (int(segment["p_vaddr"]), int(segment["p_filesz"]), segment.data())
            for segment in elf.iter_segments("PT_LOAD")
            if segment["p_filesz"]
        ]
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(f"{path}: found {found}, expected {_EXPECTED}") from None
    except (ELFError, ValueError, KeyError, AssertionError, MemoryError) as error:
        # What pyelftools lets through from damaged files.
        found = f"found no ELF file ({error or type(error).__name__})"
        raise InputError(f"{path}: {found}, expected {_EXPECTED}") from None
    if len(segments) != 1:
        found = f"found {len(segments)} segments with content"
        raise InputError(f"{path}: {found}, expected 1 as in {_EXPECTED}")
    [(address, size, content)] = segments
    if len(content) != size:
        raise InputError(f"{path}: found {len(content)} of {size} bytes, expected the whole file")
    if address != BASE:
        raise InputError(f"{path}: found a segment at {address:#x}, expected it at {BASE:#x}")
    if size > MOST_BYTES:
        raise InputError(f"{path}: found {size} bytes of loader, expected at most {MOST_BYTES}")
    return bytes(content) + bytes(-len(content) % UNIT_BYTES)
