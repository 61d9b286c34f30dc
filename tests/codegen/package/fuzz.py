"""Reads hostile files in a process of its own; run by the tests, with limits on time and memory.

Prints how many files were read and refused, and the largest memory of the process in bytes.
"""

from __future__ import annotations

import json
import random
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ipuopt.codegen.package import read_package
from ipuopt.errors import InputError


def _structs(count: int, words: int = 0) -> bytes:
    """A message whose list of tiles claims ``count`` structures of no size, then unused words."""
    root = struct.pack("<Q", 0 | (2 << 32) | (12 << 48))
    pointers = [0] * 12
    data = struct.pack("<IIQ", 5, 0x4C000, 0x9C000)  # schema, base, size
    pointers[1] = 1 | ((12 - 1 - 1) << 2) | (2 << 32) | (6 << 35)  # text behind the pointers
    pointers[2] = 1 | ((12 - 2) << 2) | (7 << 32) | (0 << 35)
    body = root + data + struct.pack("<12Q", *pointers) + b"ipu21\0\0\0"
    body += struct.pack("<Q", count << 2) + bytes(8 * words)
    return struct.pack("<II", 0, len(body) // 8) + body


def _files(start: bytes, count: int, seed: int) -> Iterator[bytes]:
    rng = random.Random(seed)
    for words in (0, 1, 2, 511, 512, 1 << 20, (1 << 32) - 1):
        yield struct.pack("<I", words) + start[4:]
        yield start[:4] + struct.pack("<I", words) + start[8:]
    for claimed in (1, 1000, 1 << 20, (1 << 29) - 1):
        yield _structs(claimed)
    for claimed in (1 << 16, *([(1 << 20) + 1] if count > 1000 else [])):
        yield _structs(claimed, claimed)
    for _ in range(count // 10):
        yield rng.randbytes(rng.randrange(200))
        yield start[: rng.randrange(len(start))]
    for _ in range(count):
        content = bytearray(start)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(8, len(content))
            content[at] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        if rng.random() < 0.2:
            at = 8 * rng.randrange(1, len(content) // 8)
            content[at : at + 8] = rng.randbytes(8)
        yield bytes(content)


def main(start: Path, folder: Path, count: int, seed: int) -> None:
    seen: Counter[str] = Counter()
    path = folder / "fuzz.ipuexe"
    for content in _files(start.read_bytes(), count, seed):
        path.write_bytes(content)
        try:
            read_package(path)
            seen["read"] += 1
        except InputError as error:
            message = str(error)
            assert "\n" not in message and "expected" in message and len(message) < 400, message
            seen["refused"] += 1
    # That of this program: the figure of getrusage begins with what the caller held.
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    memory = 1024 * int(peak[1])
    print(json.dumps({**seen, "memory": memory}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
