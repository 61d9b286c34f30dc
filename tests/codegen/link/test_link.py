"""Linking: what is kept, where it lies, what the words are, and every error in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ipuopt.codegen.link import Layout, Linked, lay_out, link, read_library
from ipuopt.errors import InputError

RANGES = ((0x4C100, 0x4C140), (0x5C000, 0x5C100))
Write = Callable[..., Path]


@pytest.fixture
def write(elf: Any, tmp_path: Path) -> Write:
    """``write(name, parts, symbols)``: an object in a file."""

    def make(name: str, parts: Any, symbols: Any, **more: Any) -> Path:
        path = tmp_path / name
        path.write_bytes(elf.elf(parts, symbols, **more))
        return path

    return make


def linked(
    files: list[Path],
    *names: str,
    ranges: tuple[tuple[int, int], ...] = RANGES,
    outside: Mapping[str, int] = {},
    own: Mapping[str, int] = {},
) -> tuple[Layout, Linked]:
    layout = lay_out(read_library(files, ()), names, ranges)
    return layout, link(layout, outside, own)


def test_words_of_two_objects(elf: Any, write: Write) -> None:
    """A kernel that launches workers of another object, with its data; the rest is left out."""
    kernel = bytes.fromhex("000000190000a01800000000")  # setzi $m0, 0; call $m10, 0; a word
    first = write(
        "a.o",
        [
            elf.Part(".text.unused", bytes(32)),
            elf.Part(
                ".text.kernel",
                kernel,
                alignment=8,
                relocations=[(0, 3, "worker", 4), (4, 8, "barrier", 0), (8, 4, ".data", 2)],
            ),
            elf.Part(".data", bytes.fromhex("aabbccdd"), flags=3),
        ],
        {"kernel": (".text.kernel", 0), "worker": (0, 0), "barrier": (0, 0), "u": (1, 0)},
    )
    second = write(
        "b.o",
        [
            elf.Part(".bss", size=6, kind=elf.NOBITS, flags=3, alignment=16),
            elf.Part(".text.worker", bytes(8), relocations=[(0, 4, "state", 0), (4, 4, "tile", 1)]),
        ],
        {
            "worker": (".text.worker", 0),
            "state": (".bss", 4),
            "tile": (0, 0),
            "number": (0xFFF1, 77),
        },
    )
    outside, own = {"barrier": 0x4C0F0}, {"tile": 8}
    layout, code = linked([first, second], "kernel", outside=outside, own=own)
    assert layout.symbols == {"kernel": 0x4C100, "state": 0x4C114, "worker": 0x4C118}
    assert code.used == ((0x4C100, 0x4C120), (0x5C000, 0x5C000))
    expected = (
        "1cc104193c30a1180ec10400"  # kernel: worker + 4, barrier / 4, .data + 2
        "aabbccdd"  # .data at 0x4c10c
        "000000000000"  # .bss at 0x4c110
        "0000"
        "14c1040009000000"  # .text.worker at 0x4c118
    )
    assert code.parts[0].hex() == expected
    assert code.of_tile(0) == code.parts
    of_tile = code.of_tile(1471)[0]
    assert of_tile[:-4] == code.parts[0][:-4]
    assert int.from_bytes(of_tile[-4:], "little") == 8 + 8 * 1471 + 1


def test_first_fit_goes_forward_only(elf: Any, write: Write) -> None:
    """What comes behind a section that had to skip the rest of a range follows it."""
    parts = [
        elf.Part(f".text.{n}", bytes(size), alignment=alignment)
        for n, (size, alignment) in enumerate([(40, 4), (32, 32), (4, 4), (20, 8)])
    ]
    names = {f"k{n}": (f".text.{n}", 0) for n in range(4)}
    layout, code = linked([write("a.o", parts, names)], *names)
    assert list(layout.symbols.values()) == [0x4C100, 0x5C000, 0x5C020, 0x5C028]
    assert [len(part) for part in code.parts] == [40, 60]


def test_too_large(elf: Any, write: Write) -> None:
    parts = [elf.Part(".text.a", bytes(48)), elf.Part(".text.b", bytes(244), alignment=16)]
    path = write("a.o", parts, {"a": (".text.a", 0), "b": (".text.b", 0)})
    linked([path], "a", "b")
    parts[1] = elf.Part(".text.b", bytes(260), alignment=16)
    path = write("a.o", parts, {"a": (".text.a", 0), "b": (".text.b", 0)})
    message = r"a\.o: \.text\.b: found 260 bytes with alignment 16, expected at most 256 behind the"
    with pytest.raises(InputError, match=message):
        linked([path], "a", "b")


def test_a_name_is_defined_once(elf: Any, write: Write) -> None:
    """Local symbols count; undefined ones and those of files do not."""
    parts, local = [elf.Part(".text", bytes(4))], {"x": 0, "file.c": 4}
    first = write("a.o", parts, {"k": (1, 0), "x": (1, 0), "file.c": (0xFFF1, 0)}, info=local)
    second = write("b.o", parts, {"k": (0, 0), "x": (1, 0), "file.c": (0xFFF1, 0)}, info=local)
    with pytest.raises(InputError, match=r"b\.o: symbol x: found it in .*a\.o too, expected one"):
        read_library([first, second], ())
    with pytest.raises(InputError, match=r"a\.o: symbol k: found it defined, expected it left"):
        read_library([first], {"k"})


@pytest.mark.parametrize(
    ("relocation", "message"),
    [
        ((0, 8, "gone", 0), r"\.text\+0x0: gone: found no definition, expected one in an object"),
        ((0, 8, "note", 0), r"\.text\+0x0: note: found it off the tile, expected one in an object"),
        ((0, 11, "k", 0), r"\.text\+0x0: k: found relocation type 11, expected one of 0, 1, 2"),
        ((0, 1, "k", 0), r"\.text\+0x0: k: found 0x4c100, expected 0x0\.\.0xff"),
        ((2, 4, "k", 0), r"\.text\+0x2: k: found a field of 4 bytes, expected it within 4"),
        ((0, 2, "tile", 65000), r"\.text\+0x0: tile: found 0x12be0, expected 0x0\.\.0xffff"),
        ((0, 3, ".text", -0x4C101), r"\.text\+0x0: a section: found -0x1, expected 0x0"),
    ],
)
def test_relocations_that_cannot_be_written(
    elf: Any, write: Write, relocation: tuple[int, int, str, int], message: str
) -> None:
    parts = [
        elf.Part(".text", bytes(4), relocations=[relocation]),
        elf.Part(".comment", bytes(4), flags=0),
    ]
    symbols = {"k": (".text", 0), "gone": (0, 0), "note": (".comment", 0), "tile": (0, 0)}
    path = write("a.o", parts, symbols)
    with pytest.raises(InputError, match=message) as error:
        linked([path], "k", own={"tile": 0})
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_unused_sections_may_be_wrong(elf: Any, write: Write) -> None:
    """Only what the kernels reach is linked; relocations of type 0 write nothing."""
    parts = [
        elf.Part(".text.bad", bytes(4), relocations=[(0, 99, "gone", 0)]),
        elf.Part(".text", bytes(4), relocations=[(9, 0, "gone", 0)]),
    ]
    path = write("a.o", parts, {"k": (".text", 0), "bad": (".text.bad", 0), "gone": (0, 0)})
    assert linked([path], "k")[1].parts == (bytes(4), b"")
    with pytest.raises(InputError, match=r"\.text\.bad\+0x0: gone: found no definition"):
        linked([path], "k", "bad")


def test_a_kernel_is_code(write: Write) -> None:
    path = write("a.o", [], {"k": (0xFFF1, 5)})
    with pytest.raises(InputError, match=r"a\.o: symbol k: found it outside the sections of a"):
        linked([path], "k")
