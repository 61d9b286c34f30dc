"""Code that all tiles have before their own: stub, runtime, bodies of kernels (``package.md`` 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ipuopt.codegen.isa import encode
from ipuopt.codegen.kernels.names import IN_RUNTIME
from ipuopt.codegen.link import Layout, Library, Linked, lay_out, link
from ipuopt.codegen.package import ALL_TILES, Region
from ipuopt.codegen.package.check import LOAD_START
from ipuopt.codegen.package.listing import MISSING_KERNELS
from ipuopt.codegen.runtime import PREFIX as STATIC
from ipuopt.codegen.runtime import PUBLIC, Runtime, places, runtime, seeds
from ipuopt.codegen.tile.room import ALIGNMENT, HIGH, words_of
from ipuopt.layout import round_up
from ipuopt.target.constants import WORD_BYTES
from ipuopt.target.memory import HOST_WINDOW

_STUB_WORDS = 2
_TRAP = encode("trap", 0)
"""Body of a kernel that is not linked: a card stops there instead of going on with wrong data."""
_REGION = "linked executable"


@dataclass(frozen=True, slots=True)
class Code:
    """Shared code.

    Attributes
    ----------
    runtime
        Start, end, helpers.
    program
        Start of every tile program.
    missing
        Called kernels without a body, in the order of the traps that stand for them.
    layout, linked
        Those from objects, if any.
    """

    runtime: Runtime
    program: int
    missing: tuple[str, ...]
    layout: Layout | None
    linked: Linked | None

    @property
    def kernels(self) -> dict[str, int]:
        """Addresses of kernels, and of what else objects define, by symbol."""
        linked = {} if self.layout is None else self.layout.symbols
        traps = {name: self.runtime.stop + WORD_BYTES * n for n, name in enumerate(self.missing)}
        return {**linked, **traps, IN_RUNTIME: self.runtime.symbols["copy_u32"]}

    @property
    def symbols(self) -> tuple[tuple[str, int], ...]:
        """All names with their addresses, by address."""
        helpers = {STATIC + name: self.runtime.symbols[name] for name in PUBLIC}
        return tuple(sorted((helpers | self.kernels).items(), key=lambda item: (item[1], item[0])))

    @property
    def regions(self) -> tuple[Region, ...]:
        """Ranges that all tiles have."""
        first = self.runtime
        spans = [(first.address, first.stop, _REGION)]
        spans.append((first.stop, first.stop + WORD_BYTES * len(self.missing), MISSING_KERNELS))
        if self.linked is not None:
            spans += [(start, stop, _REGION) for start, stop in self.linked.used]
        return tuple(
            Region(ALL_TILES, start, stop - start, name)
            for start, stop, name in spans
            if stop > start
        )

    def of_tile(self, tile: int) -> tuple[bytes, bytes]:
        """Bytes of a logical tile: from the stub on, and from ``HIGH`` on."""
        stub = words_of(*encode("setzi", 0, self.runtime.symbols["start"]), *encode("br", 0))
        traps = words_of(*_TRAP * len(self.missing))
        parts = (stub, self.runtime.of_tile(tile), traps)
        low = b"".join(part.astype("<u4").tobytes() for part in parts)
        if self.linked is None:
            return low, b""
        one, other = self.linked.of_tile(tile)
        return low + one, other


def code_of(called: Sequence[str], library: Library | None, end: int, *, below: bool) -> Code:
    """Code for a program that calls these kernels.

    Parameters
    ----------
    called
        Symbols, sorted; those that neither the runtime nor the library defines get a trap.
    end
        First address behind what every tile has free for code from ``HIGH`` on.
    below
        Whether tile programs follow the code below the host's window, not that from ``HIGH`` on.

    Raises
    ------
    InputError
        If objects cannot be linked or find no room.
    """
    called = [name for name in called if name != IN_RUNTIME]
    known: Mapping[str, object] = {} if library is None else library.names
    missing = tuple(name for name in called if name not in known)
    address = LOAD_START + WORD_BYTES * _STUB_WORDS
    stop = runtime(address, HIGH).stop + WORD_BYTES * len(missing)
    layout = None
    ends = (stop, HIGH)
    if library is not None:
        ranges = ((stop, HOST_WINDOW[0]), (HIGH, end))
        layout = lay_out(library, (name for name in called if name in known), ranges)
        ends = (layout.used[0][1], layout.used[1][1])
    program = round_up(ends[0] if below else ends[1], ALIGNMENT)
    first = runtime(address, program)
    if layout is None:
        return Code(first, program, missing, None, None)
    outside = places(program) | {name: first.symbols[name] for name in PUBLIC}
    prefixed = (
        {STATIC + name: value for name, value in names.items()} for names in (outside, seeds())
    )
    return Code(first, program, missing, layout, link(layout, *prefixed))


def taken_names() -> frozenset[str]:
    """Names that objects must leave to the runtime."""
    return frozenset(STATIC + name for name in (*PUBLIC, *places(HIGH), *seeds()))
