"""What a relocation writes: a part of v = symbol + addend into a field (``package.md`` 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ipuopt.target.memory import BASE

NONE = 0
"""The type that writes nothing."""


@dataclass(frozen=True, slots=True)
class Form:
    """A field of a type of relocation.

    Attributes
    ----------
    field_bytes
        Bytes that are read and written, little-endian.
    bits
        Of the number that is written.
    scale
        The number is (v - ``base``) / ``scale``, without a rest.
    base
        See ``scale``.
    split
        Whether bits 12 to 15 lie four places higher, as in the mask 0x000f0fff.
    """

    field_bytes: int
    bits: int
    scale: int = 1
    base: int = 0
    split: bool = False

    @property
    def mask(self) -> int:
        """Bits of the field that are written."""
        return self._spread((1 << self.bits) - 1)

    def put(self, before: int, value: int) -> int:
        """The field with ``value`` (v) in it.

        Raises
        ------
        ValueError
            If the number does not fit, with what would.
        """
        number, rest = divmod(value - self.base, self.scale)
        if rest or not 0 <= number < 1 << self.bits:
            most = self.base + self.scale * ((1 << self.bits) - 1)
            steps = f" in steps of {self.scale}" if self.scale > 1 else ""
            raise ValueError(f"found {value:#x}, expected {self.base:#x}..{most:#x}{steps}")
        return before & ~self.mask | self._spread(number)

    def _spread(self, number: int) -> int:
        return (number & 0xF000) << 4 | number & 0xFFF if self.split else number


FORMS: Mapping[int, Form] = {
    1: Form(1, 8),
    2: Form(2, 16),
    3: Form(4, 20),
    4: Form(4, 32),
    5: Form(8, 64),
    6: Form(2, 16, scale=4, base=BASE),
    7: Form(4, 18, scale=4),
    8: Form(4, 19, scale=4),
    9: Form(4, 16, scale=4, base=BASE, split=True),
    14: Form(2, 16, scale=8),
    15: Form(2, 16, scale=16),
    16: Form(2, 16, scale=32),
    17: Form(4, 21),
}
"""Types that write something, by number."""


def write(content: bytearray, offset: int, kind: int, value: int) -> None:
    """Write v = ``value`` into a section.

    Raises
    ------
    ValueError
        For an unknown type, a field outside the section, or a value that does not fit.
    """
    if kind == NONE:
        return
    form = FORMS.get(kind)
    if form is None:
        known = ", ".join(map(str, (NONE, *FORMS)))
        raise ValueError(f"found relocation type {kind}, expected one of {known}")
    stop = offset + form.field_bytes
    if stop > len(content):
        found = f"found a field of {form.field_bytes} bytes"
        raise ValueError(f"{found}, expected it within {len(content)}")
    before = int.from_bytes(content[offset:stop], "little")
    content[offset:stop] = form.put(before, value).to_bytes(form.field_bytes, "little")
