"""All tiles of a chip, kept in step: code, kernels, phases, batches of the host."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

import numpy as np

from ipuopt.codegen.isa import encode
from ipuopt.codegen.kernels.asks import OperandError
from ipuopt.codegen.kernels.names import IN_RUNTIME
from ipuopt.codegen.kernels.table import act, has_body
from ipuopt.codegen.package import Package
from ipuopt.codegen.package.listing import missing_kernels, tile_programs
from ipuopt.device import code, fabric, marks, packets
from ipuopt.device.decode import Words
from ipuopt.device.faults import FAULTS, STOPS
from ipuopt.device.ledger import Ledger
from ipuopt.errors import CheckError, InputError
from ipuopt.layout import IntArray
from ipuopt.target import registers as special
from ipuopt.target.constants import SYNC_CYCLES, TILES, WORD_BYTES
from ipuopt.target.fabric import PHYSICAL, BoolArray, Int8Array, direction, time_to_mux
from ipuopt.target.memory import BASE, EXECUTABLE_END, SIZE

Table = TypeVar("Table", IntArray, Int8Array)
_RETURN, _OUTPUT = 10, 2
_ARGUMENTS = 8
_TRAP = encode("trap", 0)[0]


def _by_physical(table: Table) -> Table:
    """A table of routes, by physical tiles."""
    result = np.empty_like(table)
    result[np.ix_(PHYSICAL, PHYSICAL)] = table
    return result


@lru_cache(maxsize=1)
def routes() -> tuple[marks.Small, marks.Flags]:
    """T(s, t) and direction between physical tiles."""
    return _by_physical(time_to_mux()).astype(np.int16), _by_physical(direction())


def empty_tiles() -> Words:
    """Zeros for the memory of all tiles; only pages that are touched take room."""
    area = mmap.mmap(-1, TILES * SIZE)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):  # a huge page is larger than a tile
        area.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(area, np.uint32).reshape(TILES, SIZE // WORD_BYTES)


def _error(label: str, message: str) -> CheckError:
    return CheckError("simulation", ((label, message),))


@dataclass(slots=True)
class Machine:
    """Memory and state of all tiles; only pages of memory that are written take room.

    Attributes
    ----------
    memory
        Words, shape ``(1472, 159744)``, by physical tile.
    pages
        Words of the host's attached pages, in exchange space.
    phases
        Events of the phases so far, one a phase.
    ledger
        Kernel calls so far.
    """

    memory: Words
    pages: Words
    phases: list[int] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    state: IntArray = field(default_factory=lambda: np.full(TILES, code.RUNNING))
    place: IntArray = field(default_factory=lambda: np.zeros(TILES, np.int64))
    zone: IntArray = field(default_factory=lambda: np.zeros(TILES, np.int64))
    answers: IntArray = field(default_factory=lambda: np.zeros(TILES, np.int64))
    registers: IntArray = field(default_factory=lambda: np.zeros((TILES, 16), np.int64))
    specials: IntArray = field(default_factory=lambda: np.zeros((TILES, code.SPECIALS), np.int64))
    sent: IntArray = field(default_factory=lambda: np.zeros((TILES, 2), np.int64))
    outgoing: Words = field(default_factory=lambda: np.zeros((TILES, code.MOST_WORDS), np.uint32))
    _kernels: dict[int, str] = field(default_factory=dict)
    _programs: dict[int, range] = field(default_factory=dict)
    _copying: int = -1

    @classmethod
    def load(cls, package: Package) -> Machine:
        """Memory as a loader leaves it, all tiles at their entry."""
        memory = empty_tiles()
        size = sum(length for _, length in package.host.pages)
        machine = cls(memory, np.zeros(size // WORD_BYTES, np.uint32))
        for image in package.tiles:
            content = memory[image.physical_tile].view(np.uint8)
            for segment in image.segments:
                start = segment.address - BASE
                content[start : start + len(segment.data)] = np.frombuffer(segment.data, np.uint8)
            machine.place[image.physical_tile] = min(s.address for s in image.segments)
        missing = set(missing_kernels(package))
        linked = {
            at: name
            for name, at in package.symbols
            if has_body(name) and name not in missing and BASE <= at < EXECUTABLE_END
        }
        # Linked bodies use instructions that are not simulated: their meanings stand in for them.
        for at in linked:
            memory[:, (at - BASE) // WORD_BYTES] = _TRAP
        machine._kernels = linked | {at: name for name, at in package.symbols if name in missing}
        machine._programs = tile_programs(package)
        machine._copying = dict(package.symbols).get(IN_RUNTIME, -1)
        return machine

    def run(self) -> None:
        """Go on until every tile has ended or all wait for a grant of the host.

        Raises
        ------
        CheckError
            With what went wrong, tile, and address or event.
        """
        while True:
            self._settle()
            if (self.state == code.COUNTED).any():
                self._batch()
            elif not self._meet(granted=False):
                return

    def grant(self) -> None:
        """Let all tiles pass the synchronisation at which they wait for the host.

        Raises
        ------
        CheckError
            If they wait for no such one.
        """
        if not self._meet(granted=True):
            raise _error("step", "found a grant of the host and no tile that waits for it")

    def _settle(self) -> None:
        """Run code, kernels and phases until every tile waits."""
        while True:
            code.advance(
                self.memory,
                self.registers,
                self.place,
                self.state,
                self.zone,
                self.answers,
                self.specials,
                self.outgoing,
                self.sent,
                self._copying,
            )
            for tile in np.flatnonzero(self.state >= code.NO_INSTRUCTION).tolist():
                label, message = STOPS[int(self.state[tile])]
                raise _error(label, f"tile {tile}: {message} at {self.place[tile]:#x}")
            trapped = np.flatnonzero(self.state == code.TRAP)
            for tile in trapped.tolist():
                self._call(tile)
            copying = np.flatnonzero(self.state == code.CALLED)
            for tile in copying.tolist():
                self._note_copy(tile)
            self.state[copying] = code.RUNNING
            called = len(trapped) + len(copying) > 0
            rows = np.flatnonzero(self.state == code.ROW)
            if not called and len(rows):
                self._phase(rows)
            if not called and not len(rows):
                return

    def _call(self, tile: int) -> None:
        """The kernel at which a tile stands, by its meaning."""
        name = self._kernels.get(int(self.place[tile]))
        if name is None:
            raise _error("code", f"tile {tile}: found a trap at {self.place[tile]:#x}")
        arguments = self._arguments(tile)
        try:
            act(name, arguments, self.memory[tile].view(np.uint8), BASE)
        except OperandError as error:
            raise _error("operand", f"tile {tile}: {error}") from None
        except InputError as error:
            raise _error("memory", f"tile {tile}: {error}") from None
        self._charge(tile, name, arguments)
        self._return(tile)

    def _note_copy(self, tile: int) -> None:
        """A call of the runtime's copy loop; its own transfers with the host use it too."""
        back = int(self.registers[tile, _RETURN])
        if back in self._programs.get(tile, ()):
            self._charge(tile, IN_RUNTIME, self._arguments(tile))

    @property
    def _clock(self) -> IntArray:
        """Cycles of each tile: events of phases, synchronisations, and what kernels are charged."""
        return self.specials[:, code.COUNTER]

    def _charge(self, tile: int, name: str, arguments: list[int]) -> None:
        self._clock[tile] += self.ledger.enter(tile, name, arguments)

    def _arguments(self, tile: int) -> list[int]:
        result: list[int] = self.registers[tile, _OUTPUT : _OUTPUT + _ARGUMENTS].tolist()
        return result

    def _return(self, tiles: int | IntArray) -> None:
        self.place[tiles] = self.registers[tiles, _RETURN]
        self.state[tiles] = code.RUNNING

    def _phase(self, tiles: IntArray) -> None:
        """Rows of all tiles that have passed the same synchronisation."""
        late = tiles[self.zone[tiles] != special.PHASES]
        if len(late):
            raise _error("step", f"tile {late[0]}: found a row without a synchronisation before it")
        busy = tiles[self.specials[tiles, special.INCOMING_MUX] != special.NEUTRAL]
        if len(busy):
            raise _error("mux", f"tile {busy[0]}: found a source selected before the phase")
        count = self.specials[tiles, special.DOWN_COUNT]
        if (count != 1).any():
            at = np.argmax(count != 1)
            raise _error("step", f"tile {tiles[at]}: found a down-count of {count[at]}, expected 1")
        bases = self.specials[tiles][:, [special.INCOMING_BASE, special.OUTGOING_BASE]]
        done = np.zeros(len(tiles), np.int64)
        rows = self.place[tiles]
        found, tile, event, detail = fabric.run_phase(
            self.memory, tiles, rows, bases, *routes(), done
        )
        if found != marks.FINE:
            label, message = FAULTS[found]
            where = f"phase {len(self.phases)}: tile {tile}: event {event}"
            raise _error(label, f"{where}: {message.format(detail)}")
        self.phases.append(int(done.max()))
        self._clock[tiles] += done
        self.zone[tiles] = special.LOCAL
        self._return(tiles)

    def _batch(self) -> None:
        """Packets of all tiles that wait for words from the host."""
        packets.batch(
            np.flatnonzero(self.state == code.COUNTED),
            np.flatnonzero((self.zone == special.WITH_HOST) | self._asked()),
            self.sent[:, 0],
            self.outgoing,
            self.specials[:, special.DOWN_COUNT],
            self.specials[:, special.INCOMING_MUX],
            self.memory,
            BASE,
            self.pages,
        )
        waiting = self.state == code.COUNTED
        self.place[waiting] += WORD_BYTES
        self.state[waiting] = code.RUNNING
        self.sent[:] = 0

    def _asked(self) -> BoolArray:
        """Requesters that transfer nothing themselves and stand at the end of the batch."""
        ends = (self.state == code.SYNC) & (self.zone == special.ALL_TILES)
        result: BoolArray = ends & (self.sent[:, 0] > 0)
        return result

    def _meet(self, *, granted: bool) -> bool:
        """Let all tiles pass a synchronisation, if it is one of the asked kind; whether they did."""
        at, answering = self.state == code.SYNC, self.state == code.ANSWERED
        ended = self.state == code.ENDED
        if ended.all():
            return False
        if ended.any():
            gone, left = np.flatnonzero(ended)[0], np.flatnonzero(~ended)[0]
            raise _error("step", f"tile {gone} has ended, tile {left} waits: out of step")
        zones = set(self.zone[at].tolist())
        if special.PHASES in zones and len(zones) > 1:
            some = np.flatnonzero(at & (self.zone == special.PHASES))[0]
            other = np.flatnonzero(at & (self.zone != special.PHASES))[0]
            raise _error("step", f"tile {some} waits for a phase, tile {other} for the host")
        if bool(zones & {special.ALL_TILES, special.WITH_HOST}) != granted:
            return False
        met = at | answering
        self._clock[met] = self._clock[met].max(initial=0) + (0 if granted else SYNC_CYCLES)
        self.place[at] += WORD_BYTES
        self.state[at] = code.RUNNING
        self.answers[answering] -= 1
        through = answering & (self.answers == 0)
        self.place[through] += WORD_BYTES
        self.zone[through] = special.LOCAL
        self.state[through] = code.RUNNING
        return True
