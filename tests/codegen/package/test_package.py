"""Packages: there and back, the vector, and one broken package a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.package import (
    Binding,
    HostCall,
    HostExchange,
    Package,
    Region,
    Segment,
    Slices,
    TileImage,
    load_violations,
    no_slices,
    package_bytes,
    read_package,
    violations,
    write_package,
)
from ipuopt.codegen.package.wire import from_message, to_bytes
from ipuopt.errors import CheckError, InputError


def slices_of(*rows: tuple[int, int, int, int]) -> Slices:
    return Slices(*np.array(rows, np.uint64).reshape(-1, 4).T)


def test_the_vector_comes_back(vector: bytes, vectors: dict[str, Any], vector_file: Path) -> None:
    package = read_package(vector_file)
    assert to_bytes(package) == vector
    inspected = vectors["package"]["inspect"]
    assert package.producer == inspected["producer"]
    assert package.stored_bytes == inspected["stored_bytes"]
    content = vectors["package"]["content"]
    for image, listed in zip(package.tiles, content["tiles"], strict=True):
        assert image.physical_tile == listed["physicalTile"]
        for segment, one in zip(image.segments, listed["segments"], strict=True):
            assert segment == Segment(
                one["address"], one["memorySize"], bytes(one["data"]), one["flags"]
            )
    (binding,) = package.inputs
    assert binding.slices.tile.tolist() == [0, 2]
    assert binding.slices.file_offset.tolist() == [0, 16]
    assert package.host.calls[0].inputs.address.tolist() == [64]


def test_there_and_back(sample: Package, tmp_path: Path) -> None:
    path = tmp_path / "sample.ipuexe"
    write_package(path, sample)
    first = path.read_bytes()
    package = read_package(path, loadable=True)
    assert (package.profile, package.tiles) == (sample.profile, sample.tiles)
    write_package(path, package)
    assert path.read_bytes() == first == package_bytes(sample)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_what_follows_the_message_is_ignored(vector: bytes, tmp_path: Path) -> None:
    path = tmp_path / "long.ipuexe"
    path.write_bytes(vector + b"more")
    assert to_bytes(read_package(path)) == vector


def test_more_than_64_mib(tmp_path: Path) -> None:
    """Past the traversal limit that the library has by default."""
    images = tuple(
        TileImage(n, (Segment(0x4C010, 600_000, bytes([n]) * 600_000, 5),), 0x4C010, 0, 0x58000)
        for n in range(128)
    )
    path = tmp_path / "large.ipuexe"
    write_package(path, Package(producer="large", tiles=images))
    assert path.stat().st_size > 76_000_000
    assert read_package(path, loadable=True).tiles == images


def test_cannot_be_written(sample: Package, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="expected to write it"):
        write_package(tmp_path / "file" / "a.ipuexe", sample)
    (tmp_path / "file").unlink()
    with pytest.raises(CheckError, match="found 63 tiles, expected a multiple of 64"):
        write_package(tmp_path / "a.ipuexe", replace(sample, tiles=sample.tiles[1:]))
    assert list(tmp_path.iterdir()) == []


def _tile(package: Package, **changes: Any) -> Package:
    """The first tile changed."""
    first, *others = package.tiles
    return replace(package, tiles=(replace(first, **changes), *others))


def _segments(package: Package, *segments: tuple[int, int, int]) -> Package:
    """Segments of the first tile: address, memory size, bytes of data."""
    return _tile(package, segments=tuple(Segment(a, n, bytes(size), 0) for a, n, size in segments))


def _binding(package: Package, **changes: Any) -> Package:
    return replace(package, inputs=(replace(package.inputs[0], **changes),))


def _call(package: Package, **changes: Any) -> Package:
    call = replace(package.host.calls[0], **changes)
    return replace(package, host=replace(package.host, calls=(call,)))


def _host(package: Package, **changes: Any) -> Package:
    return replace(package, host=replace(package.host, **changes))


def _region(**changes: Any) -> Callable[[Package], Package]:
    region = replace(Region(0, 0x50000, 4, "a"), **changes)
    return lambda package: replace(package, regions=(region,))


def _step(package: Package) -> Package:
    plan = package.profile[0]
    steps = tuple(replace(step, local_index=1) for step in plan.steps)
    return replace(package, profile=(replace(plan, steps=steps),))


HUGE = 2**64 - 8
BROKEN: dict[str, Callable[[Package], Package]] = {
    "found no tiles": lambda p: Package(producer="none", tiles=()),
    "found a register at 0x3": lambda p: replace(p, config_writes=((3, 0),)),
    "found register 0x4 twice": lambda p: replace(p, config_writes=((4, 0), (4, 1))),
    "found tile 2 twice": lambda p: _tile(p, physical_tile=2),
    "found tile 1472, expected 0..1471": lambda p: _tile(p, physical_tile=1472),
    "found a segment 0x4bffc..0x4c004": lambda p: _segments(p, (0x4BFFC, 8, 0)),
    "found a segment 0xe7ffc..0xe8004": lambda p: _segments(p, (0xE7FFC, 8, 0)),
    "with 9 bytes of data": lambda p: _segments(p, (0x4C010, 8, 9)),
    "found segments that overlap at 0x4c014": lambda p: _segments(
        p, (0x4C010, 8, 0), (0x4C014, 8, 0)
    ),
    "found two profile plans of tile 2": lambda p: replace(p, profile=p.profile * 2),
    "profile plan of tile 999, expected": lambda p: replace(
        p, profile=(replace(p.profile[0], physical_tile=999),)
    ),
    "found local index 1 of step 0": _step,
    "found a symbol at 0x4 without": lambda p: replace(p, symbols=(("", 4),)),
    "expected a name (rule 5)": _region(name=""),
    "found 0 bytes, expected some": _region(size=0),
    "found 4294967295 bytes": _region(size=2**32 - 1),
    "found tile 999, expected one of": _region(physical_tile=999),
    "found two bindings 'x'": lambda p: replace(p, weights=p.inputs),
    "found a binding without a name": lambda p: _binding(p, name=""),
    "found slice 0 of 4 bytes at 0x80000 in 999": lambda p: _binding(
        p, slices=slices_of((999, 0x80000, 0, 4))
    ),
    "found slice 1 of 8 bytes at 0xe7ffc": lambda p: _binding(
        p, slices=slices_of((0, 0x80000, 0, 4), (0, 0xE7FFC, 0, 8))
    ),
    f"found slice 0 of {HUGE} bytes at 0x80000": lambda p: _binding(
        p, slices=slices_of((0, 0x80000, 0, HUGE))
    ),
    "found page 0 twice": lambda p: _host(p, pages=((0, 8192), (0, 4), (1, 8192))),
    "found page 7 in the attach order": lambda p: _host(p, attach_order=(7,)),
    "found the command word at 0xffd": lambda p: _host(p, command_offset=4093),
    "found the command word at 0xfffffffffffffff8": lambda p: _host(p, command_offset=HUGE),
    "found the command word at 0x0 of 9": lambda p: _host(p, command_page=9),
    "found two calls 'run'": lambda p: _host(p, calls=p.host.calls * 2),
    "found a call without a name": lambda p: _call(p, name=""),
    "found 0 invocations": lambda p: _call(p, invocations=0),
    "found input batches that end at [1, 1, 2]": lambda p: _call(p, input_batch_ends=(1, 1, 2)),
    "found output batches that end at []": lambda p: _call(p, output_batch_ends=()),
    "found output batches that end at [2]": lambda p: _call(p, output_batch_ends=(2,)),
    "call 'run': outputs: found slice 0 of 8 bytes at 0x1ffc in 1": lambda p: _call(
        p, outputs=slices_of((1, 8188, 0, 8))
    ),
    "call 'run': outputs: found slice 0 of 8 bytes at 0x0 in 2": lambda p: _call(
        p, outputs=slices_of((2, 0, 0, 8))
    ),
    "call 'run': outputs: found slice 0 of 16 bytes at 0xfffffffffffffff8": lambda p: _call(
        p, outputs=slices_of((1, HUGE, 0, 16))
    ),
}


@pytest.mark.parametrize("message", BROKEN)
def test_rules_of_the_format(sample: Package, message: str, tmp_path: Path) -> None:
    """Each is refused on reading too, with one line."""
    broken = BROKEN[message](sample)
    found = list(violations(broken))
    assert message in found[0]
    path = tmp_path / "broken.ipuexe"
    path.write_bytes(to_bytes(broken))
    with pytest.raises(InputError) as caught:
        read_package(path)
    assert str(caught.value) == f"{path}: {found[0]}"
    with pytest.raises(CheckError):
        package_bytes(broken)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: replace(p, tiles=p.tiles[:-1], regions=()), "found 63 tiles"),
        (lambda p: _tile(p, segments=()), "tile 0: found no segments"),
        (lambda p: _segments(p, (0x4C014, 4, 4)), "tile 0: found memory from 0x4c014"),
        (
            lambda p: _segments(p, (0x4C010, 4, 4), (0xE7BB0, 4, 4)),
            "tile 0: found memory to 0xe7bb4, expected to 0xe7bb0",
        ),
    ],
)
def test_rules_of_a_loader(
    sample: Package, change: Callable[[Package], Package], message: str, tmp_path: Path
) -> None:
    package = change(sample)
    assert list(violations(package)) == []
    (found,) = load_violations(package)
    assert message in found
    path = tmp_path / "a.ipuexe"
    path.write_bytes(to_bytes(package))
    read_package(path)
    with pytest.raises(InputError, match=r"\(rule L\)"):
        read_package(path, loadable=True)


def test_accepted(sample: Package) -> None:
    """What the format's own reader lets pass on purpose."""
    call = HostCall("", 0, 0, no_slices(), no_slices(), (), ())
    odd = replace(
        _segments(sample, (0x4C011, 3, 1), (0x4C014, 0, 0), (0x4C014, 0, 0)),
        inputs=(Binding("x", "", (), slices_of((0, 0x80000, 2**64 - 1, 0))),),
        regions=(Region(0, 0, 1, "outside the memory"),),
        host=HostExchange(command_page=9, pages=((3, 0),)),
    )
    assert list(violations(odd)) == []
    assert list(violations(replace(odd, host=HostExchange(pages=((0, 4),), calls=(call,))))) == [
        "found a call without a name, expected one (rule O)"
    ]
    assert from_message(to_bytes(odd)).inputs[0].slices.file_offset.tolist() == [2**64 - 1]
