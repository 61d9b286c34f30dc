"""Packages on the simulator: a whole program, and programs that break."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipuopt.codegen.isa import encode
from ipuopt.codegen.package import Package, Segment
from ipuopt.device import Simulator
from ipuopt.errors import CheckError, Error, InputError
from ipuopt.pipeline.tensors import packed, unpacked
from ipuopt.result import Built

PROGRAM = 0x5C000


def contents(built: Built, package: Package) -> tuple[bytes, bytes, np.ndarray]:
    """Weights, inputs, and what comes out in float32."""
    random = np.random.default_rng(1)
    x = random.standard_normal((24, 48)).astype(np.float16)
    w = (random.standard_normal((48, 40)) / 7).astype(np.float16)
    h = x.astype(np.float32) @ w.astype(np.float32)
    y = h / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    tensors = {v.name: {"x": x, "w": w}.get(v.tensor, x) for v in built.plan.values}
    return packed(built, package.weights, tensors), packed(built, package.inputs, tensors), y


def outcome(built: Built, package: Package) -> np.ndarray:
    weights, inputs, _ = contents(built, package)
    with Simulator(package) as device:
        device.start()
        device.call("initialize", weights)
        device.call("run", inputs)
        content = device.finish()
        assert not device.states().any()
    return unpacked(built, package.outputs[:1], content)[package.outputs[0].name]


def test_a_program_from_load_to_end(built: Built, package: Package) -> None:
    y = contents(built, package)[2]
    np.testing.assert_allclose(outcome(built, package), y, atol=0.02)
    with Simulator(package) as device:
        device.start()
        assert device.states().all()
        assert device.machine.phases == []


def test_what_a_host_does_wrong(built: Built, package: Package) -> None:
    weights, inputs, _ = contents(built, package)
    device = Simulator(package)
    device.start()
    with pytest.raises(InputError, match="no call to finish"):
        device.finish()
    with pytest.raises(InputError, match="call walk: found initialize, run"):
        device.call("walk", b"")
    with pytest.raises(InputError, match="found 3 bytes of input"):
        device.call("initialize", b"abc")
    with pytest.raises(InputError):
        device.call("run", weights + inputs)
    device.close()
    device.close()
    with pytest.raises(InputError, match="found it closed"):
        device.start()


def patched(package: Package, tile: int, words: dict[int, int]) -> Package:
    """Other words at some addresses of a physical tile."""
    image = next(t for t in package.tiles if t.physical_tile == tile)
    segments = []
    for segment in image.segments:
        data = bytearray(segment.data)
        for address, word in words.items():
            at = address - segment.address
            if 0 <= at < len(data):
                data[at : at + 4] = word.to_bytes(4, "little")
        segments.append(Segment(segment.address, segment.memory_size, bytes(data), segment.flags))
    changed = replace(image, segments=tuple(segments))
    tiles = tuple(changed if t.physical_tile == tile else t for t in package.tiles)
    return replace(package, tiles=tiles)


def program(package: Package, tile: int) -> np.ndarray:
    image = next(t for t in package.tiles if t.physical_tile == tile)
    segment = next(s for s in image.segments if s.address == PROGRAM)
    return np.frombuffer(segment.data, "<u4")


@pytest.mark.parametrize(
    ("word", "label"),
    [
        (encode("sync", 3)[0], "step"),
        (encode("trap", 0)[0], "code"),
        (encode("sync", 9)[0], "code"),
        (0xFFFFFFFF, "code"),
        (encode("ld32", 0, 15, 15, 0)[0], "memory"),
        (encode("br", 15)[0], "step"),
        (encode("brz", 15, PROGRAM)[0], "code"),
    ],
)
def test_one_tile_that_does_something_else(
    built: Built, package: Package, word: int, label: str
) -> None:
    broken = patched(package, 0, {PROGRAM: word})
    with pytest.raises(CheckError) as error:
        outcome(built, broken)
    assert error.value.violations[0][0] == label, str(error.value)
    assert "tile" in str(error.value)


@pytest.mark.parametrize(
    ("register", "add", "found"),
    [
        (2, 16, "a multiple of 32"),
        (3, 16, "a multiple of 32"),
        (4, 8, "a multiple of 32"),
        (2, "left", "elements of their own"),
    ],
)
def test_a_kernel_is_called_with_what_it_may_not_have(
    built: Built, package: Package, register: int, add: int | str, found: str
) -> None:
    """Result, left operand or weights of a product off their alignment, or in one element."""
    tile = int(package.tiles[0].physical_tile)
    words = program(package, tile).copy()
    gemm = [at for name, at in package.symbols if "_gemm_" in name]
    calls = [encode("call", 10, at)[0] for at in gemm]
    call = int(np.flatnonzero(np.isin(words, calls))[0])
    kind, mask = encode("setzi", register, 0)[0], 0xFFF00000
    at = {
        number: max(np.flatnonzero((words[:call] & mask) == encode("setzi", number, 0)[0]))
        for number in (register, 3)
    }
    value = int(words[at[3] if add == "left" else at[register]] & ~np.uint32(mask))
    value += 32 if isinstance(add, str) else add
    broken = patched(package, tile, {PROGRAM + 4 * int(at[register]): kind + value})
    with pytest.raises(CheckError) as error:
        outcome(built, broken)
    assert error.value.violations[0][0] == "operand", str(error.value)
    assert str(error.value).endswith(found) and f"tile {tile}" in str(error.value)


def test_any_changed_word_gives_a_result_or_one_line(built: Built, package: Package) -> None:
    """No traceback of another kind, and no hang."""
    random = np.random.default_rng(5)
    seen = 0
    for _ in range(12):
        tile = int(random.choice([0, 2, 64, 66]))
        words = program(package, tile)
        at = int(random.integers(0, len(words)))
        word = int(words[at]) ^ 1 << int(random.integers(0, 32))
        try:
            outcome(built, patched(package, tile, {PROGRAM + 4 * at: word}))
        except Error as error:
            seen += 1
            assert "\n" not in str(error)
    assert seen
