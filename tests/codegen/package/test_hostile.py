"""Files that are no packages: one line, no traceback, bounded time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ipuopt.codegen.package import Package, read_package, wire
from ipuopt.codegen.package.wire import to_bytes
from ipuopt.errors import InputError

SCRIPT = Path(__file__).with_name("fuzz.py")
GIB = 1 << 30


@pytest.mark.parametrize(
    "count", [1000, pytest.param(20_000, marks=pytest.mark.slow)], ids=["1000", "20000"]
)
def test_fuzz(sample: Package, tmp_path: Path, count: int) -> None:
    start = tmp_path / "start.ipuexe"
    start.write_bytes(to_bytes(replace(sample, tiles=sample.tiles[:4])))
    command = [sys.executable, str(SCRIPT), str(start), str(tmp_path), str(count), "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["read"] + seen["refused"] >= count
    assert min(seen["read"], seen["refused"]) > count // 20
    assert seen["memory"] < GIB, seen


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found an empty file"),
        (b"ELF", "found a file of 3 bytes"),
        (b"\x7fELF" + bytes(60), "found a table of"),
        (b"\xfe\x01\x00\x00" + bytes(60), "found a segment table that is cut short"),
        (b"\x00\x00\x00\x00\x09\x00\x00\x00" + bytes(40), "found 48 bytes of a message of 80"),
        (b"\x00\x00\x00\x00\x05\x00\x00\x00" + bytes(40), "found schema 0 for ''"),
    ],
)
def test_no_package(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.ipuexe"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_package(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found No such file or directory, expected a package"):
        read_package(tmp_path / "none.ipuexe")
    with pytest.raises(InputError, match="found Is a directory, expected a package"):
        read_package(tmp_path)


def test_packed(sample: Package, tmp_path: Path) -> None:
    """The packed form of the same content is another format."""
    plain = to_bytes(sample)
    with wire._application().from_bytes(plain) as root:
        packed = root.as_builder().to_bytes_packed()
    path = tmp_path / "packed.ipuexe"
    path.write_bytes(packed)
    with pytest.raises(InputError, match=r"found .*, expected a package"):
        read_package(path)


def test_other_versions(vector: bytes, tmp_path: Path) -> None:
    for version in (0, 4, 6, 255):
        content = bytearray(vector)
        place = content.index(b"\x05\x00\x00\x00\x00\xc0\x04\x00")  # schema version, memory base
        content[place] = version
        path = tmp_path / f"{version}.ipuexe"
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"found schema {version} for 'ipu21'.* schema 5 for"):
            read_package(path)


def test_unknown_kind_of_step(sample: Package, tmp_path: Path) -> None:
    content = bytearray(to_bytes(sample))
    # Phase and event cycles of the first step; its kind lies between them.
    place = content.index(b"\x80" + bytes(8) + b"\x09")
    content[place + 5] = 9
    path = tmp_path / "kind.ipuexe"
    path.write_bytes(content)
    with pytest.raises(InputError, match="found the unknown kind 9 of a step"):
        read_package(path)
