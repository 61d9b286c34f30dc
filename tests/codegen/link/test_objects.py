"""Object files: what is refused, in one line, and random damage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ipuopt.codegen.link import lay_out, link, read_library
from ipuopt.codegen.link.objects import read_object
from ipuopt.errors import InputError


@pytest.fixture(scope="module")
def content(elf: Any) -> bytes:
    parts = [
        elf.Part(".text", bytes(16), relocations=[(0, 3, "x", 0), (4, 8, "k", 4)]),
        elf.Part(".bss", size=32, kind=elf.NOBITS, flags=3, alignment=8),
    ]
    made: bytes = elf.elf(parts, {"k": (".text", 0), "x": (".bss", 8), "gone": (0, 0)})
    return made


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"class": 2}, "found 64, expected 32 bits"),
        ({"class": 3}, "expected an ELF object"),
        ({"order": 2}, "found big, expected little end first"),
        ({"machine": 62}, r"found machine 0x3e, expected machine 0xf8 \(IPU\)"),
        ({"type": 2}, r"found ET_EXEC, expected ET_REL \(a relocatable object\)"),
        ({"shnum": 0}, "found 0 section headers of 40 bytes, expected some of 40"),
        ({"shentsize": 20}, "section headers of 20 bytes, expected some of 40"),
        ({"shnum": 500}, r"found \d+ bytes, expected section headers to 0x"),
        ({"shoff": 1 << 31}, r"found \d+ bytes, expected section headers to 0x80000"),
        ({"shstrndx": 1}, "found section 1 as names of sections, expected one of type SHT_STRTAB"),
        ({"shstrndx": 77}, "found section 77 as names of sections, expected one of type SHT_STR"),
    ],
)
def test_headers(elf: Any, tmp_path: Path, header: dict[str, int], message: str) -> None:
    path = tmp_path / "a.o"
    path.write_bytes(elf.elf([elf.Part(".text", bytes(4))], {"k": (1, 0)}, header=header))
    with pytest.raises(InputError, match=message) as error:
        read_object(path)
    assert str(error.value).startswith(f"{path}: found ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("part", "symbols", "message"),
    [
        ({"flags": 0x806}, {}, r"\.text: found .*expected an ELF|\.text: found it compressed"),
        ({"alignment": 12}, {}, r"\.text: found alignment 12, expected a power of 2"),
        ({"size": 10**6}, {}, r"\.text: found 1000000 bytes at 0x34 of a file of"),
        ({}, {"k": (9, 0)}, r"symbol k: found section 9, expected one of"),
        ({}, {"k": (0xFFF2, 0)}, r"symbol k: found it common, expected it in a section"),
        ({}, {"k": (0xFF20, 0)}, r"symbol k: found section 65312, expected one of"),
        ({}, {"k": (1, 5)}, r"symbol k: found it at 0x5 of \.text, expected it within 4 bytes"),
    ],
)
def test_sections_and_symbols(
    elf: Any, tmp_path: Path, part: dict[str, Any], symbols: dict[str, Any], message: str
) -> None:
    path = tmp_path / "a.o"
    path.write_bytes(elf.elf([elf.Part(".text", bytes(4), **part)], symbols))
    with pytest.raises(InputError, match=message):
        read_object(path)


def test_relocations_without_addends(elf: Any, tmp_path: Path) -> None:
    part = elf.Part(".text", bytes(4), relocations=[(0, 3, "k", 0)])
    path = tmp_path / "a.o"
    path.write_bytes(elf.elf([part], {"k": (1, 0)}, rela=elf.REL))
    with pytest.raises(InputError, match=r"found relocations without addends \(REL\), expected RE"):
        read_object(path)


def test_no_objects(tmp_path: Path) -> None:
    for name, body in (("empty", b""), ("text", b"hello"), ("archive", b"!<arch>\n" + bytes(90))):
        path = tmp_path / name
        path.write_bytes(body)
        with pytest.raises(InputError, match=f"{name}: found .*, expected an ELF object"):
            read_object(path)
    for path, found in ((tmp_path, "Is a directory"), (tmp_path / "no", "No such file")):
        with pytest.raises(InputError, match=f"{found}.*, expected an ELF object"):
            read_object(path)
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 32)
    with pytest.raises(InputError, match="found 4294967296 bytes, expected at most 16777216"):
        read_object(large)


def test_what_is_cut_short(content: bytes, tmp_path: Path) -> None:
    """Every prefix is refused: the headers of sections stand at the end."""
    path = tmp_path / "a.o"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(InputError) as error:
            read_object(path)
        assert "\n" not in str(error.value)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_gives_one_line(content: bytes, tmp_path: Path, data: st.DataObject) -> None:
    """Words of headers, symbols and relocations are replaced; what is still an object is linked."""
    damaged = bytearray(content)
    words = st.one_of(st.integers(0, 80), st.sampled_from([0xFFFF, 1 << 31, 0xFFFFFFFF]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) // 2 - 1)) * 2
        size = data.draw(st.sampled_from([1, 2, 4]))
        value = data.draw(words) & (256**size - 1)
        damaged[at : at + size] = value.to_bytes(size, "little")
    path = tmp_path / "a.o"
    path.write_bytes(damaged)
    try:
        library = read_library([path], ())
        names = [name for name in ("k", "x") if name in library.names]
        code = link(lay_out(library, names, [(0x4C100, 0x50000)]), {}, {})
    except InputError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error)
    else:
        assert len(code.parts[0]) == code.used[0][1] - 0x4C100
