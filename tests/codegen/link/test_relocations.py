"""Fields of relocations: golden words, and what does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.codegen.link.relocations import FORMS, write


@pytest.mark.parametrize(
    ("kind", "value", "before", "after"),
    [
        (0, 0x4C018, "ffffffff", "ffffffff"),
        (1, 0xAB, "00ffffff", "abffffff"),
        (2, 0xABCD, "ffff1111", "cdab1111"),
        (3, 0x4C018, "00000019", "18c00419"),  # setzi $m0, 0x4c018
        (4, 0x4C018, "ffffffff", "18c00400"),
        (5, 0x4C018, "ffffffffffffffff", "18c0040000000000"),
        (6, 0x4C018, "0000aaaa", "0600aaaa"),
        (7, 0x4C018, "0000a018", "0630a118"),  # 0x18a00000 | 0x4c018 / 4
        (8, 0x4C018, "0000a018", "0630a118"),  # call $m10, 0x4c018
        (8, 0x1FFFFC, "0000a018", "ffffa718"),
        (9, 0x4C000 + 4 * 0xABCD, "00000000", "cd0b0a00"),
        (9, 0x4C000 + 4 * 0x1234, "ffffffff", "34f2f1ff"),
        (14, 0x7FFF8, "00000000", "ffff0000"),
        (15, 0x4C010, "00000000", "014c0000"),
        (16, 0x80020, "00000000", "01400000"),
        (17, 0x1FFFFF, "000000e0", "ffff1fe0"),
    ],
)
def test_golden_words(kind: int, value: int, before: str, after: str) -> None:
    content = bytearray(bytes.fromhex(before))
    write(content, 0, kind, value)
    assert content.hex() == after


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (1, 256, "found 0x100, expected 0x0..0xff"),
        (2, -1, "found -0x1, expected 0x0..0xffff"),
        (3, 1 << 20, "found 0x100000, expected 0x0..0xfffff"),
        (4, 1 << 32, "found 0x100000000, expected 0x0..0xffffffff"),
        (6, 0x4BFFC, "found 0x4bffc, expected 0x4c000..0x8bffc in steps of 4"),
        (8, 0x4C01A, "found 0x4c01a, expected 0x0..0x1ffffc in steps of 4"),
        (16, 0x80010, "found 0x80010, expected 0x0..0x1fffe0 in steps of 32"),
        (10, 0, "found relocation type 10, expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14"),
    ],
)
def test_what_does_not_fit(kind: int, value: int, message: str) -> None:
    content = bytearray(8)
    with pytest.raises(ValueError, match=message):
        write(content, 0, kind, value)
    assert content == bytes(8)


def test_fields_lie_inside_the_section() -> None:
    for kind, form in FORMS.items():
        content = bytearray(form.field_bytes)
        write(content, 0, kind, form.base)
        with pytest.raises(ValueError, match=f"field of {form.field_bytes} bytes, expected it wit"):
            write(content, 1, kind, form.base)


@given(st.sampled_from(sorted(FORMS)), st.integers(0, 2**64 - 1), st.data())
def test_only_the_bits_of_the_field_change(kind: int, before: int, data: st.DataObject) -> None:
    form = FORMS[kind]
    number = data.draw(st.integers(0, (1 << form.bits) - 1))
    content = bytearray(before.to_bytes(8, "little"))
    write(content, 0, kind, form.base + form.scale * number)
    after = int.from_bytes(content, "little")
    assert (before ^ after) & ~form.mask == 0
    assert form.mask.bit_count() == form.bits
    write(content, 0, kind, form.base)
    assert int.from_bytes(content, "little") == before & ~form.mask
