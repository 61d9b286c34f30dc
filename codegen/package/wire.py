"""Packages as messages of Cap'n Proto; the only module that knows the library.

Objects are written depth first in the order of the public compiler, so that its files and ours of one
content are the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from ipuopt.codegen.package.records import (
    ACTIVITY_KINDS,
    STEP_KINDS,
    Activity,
    Binding,
    EntryPoint,
    HostCall,
    HostExchange,
    Package,
    ProfilePlan,
    Region,
    Segment,
    Slices,
    Step,
    TileImage,
)
from ipuopt.target.memory import BASE, SIZE

SCHEMA_VERSION = 5
TARGET = "ipu21"
MOST_RECORDS = 1 << 20
"""Records read from one file. A program of all tiles with profile has some hundred thousand; a file
of nothing but empty structures would take a hundred times its bytes of memory, and minutes."""
_REGION_SLICE = ("tile", "tileAddress", "fileOffset", "size")
_HOST_SLICE = ("page", "pageOffset", "fileOffset", "size")


class WireError(ValueError):
    """No package: what was found, in one line."""


@lru_cache(maxsize=1)
def _application() -> Any:
    import capnp

    with resources.as_file(resources.files(__package__) / "package.capnp") as path:
        return capnp.load(str(path)).Application


def to_bytes(package: Package) -> bytes:
    """The message of a package; equal packages give equal bytes."""
    root = _application().new_message()
    root.schemaVersion, root.compilerVersion, root.target = SCHEMA_VERSION, package.producer, TARGET
    root.tileMemoryBase, root.tileMemorySize = BASE, SIZE
    for image, tile in _filled(root, "tiles", package.tiles):
        image.physicalTile, image.entryPoint = tile.physical_tile, tile.entry_point
        image.commandAddress, image.diagnosticAddress = (
            tile.command_address,
            tile.diagnostic_address,
        )
        for one, segment in _filled(image, "segments", tile.segments):
            one.address, one.memorySize = segment.address, segment.memory_size
            one.data, one.flags = segment.data, segment.flags
    for name in ("inputs", "outputs", "weights"):
        for one, binding in _filled(root, name, getattr(package, name)):
            one.name, one.dtype = binding.name, binding.dtype
            _numbers(one, "shape", binding.shape)
            _slices(one, "slices", binding.slices, _REGION_SLICE)
    _host(root.init("hostExchange"), package.host)
    for one, entry in _filled(root, "entryPoints", package.entry_points):
        one.name, one.command, one.externalSyncs = entry.name, entry.command, entry.external_syncs
    for one, (offset, value) in _filled(root, "deviceConfigWrites", package.config_writes):
        one.offset, one.value = offset, value
    for one, plan in _filled(root, "profileTiles", package.profile):
        one.physicalTile = plan.physical_tile
        for target, step in _filled(one, "steps", plan.steps):
            _step(target, step)
    for one, (name, address) in _filled(root, "debugSymbols", package.symbols):
        one.name, one.address = name, address
    for one, region in _filled(root, "debugRegions", package.regions):
        one.physicalTile, one.address = region.physical_tile, region.address
        one.size, one.name = region.size, region.name
    message: bytes = root.to_bytes()
    return message


def _filled(parent: Any, name: str, items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Structures of a new list with what each is to hold."""
    return zip(parent.init(name, len(items)), items, strict=True)


def _numbers(parent: Any, name: str, values: Sequence[int]) -> None:
    numbers = parent.init(name, len(values))
    for place, value in enumerate(values):
        numbers[place] = value


def _slices(parent: Any, name: str, slices: Slices, keys: tuple[str, str, str, str]) -> None:
    columns = (slices.tile, slices.address, slices.file_offset, slices.size)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    for one, row in _filled(parent, name, rows):
        for key, value in zip(keys, row, strict=True):
            setattr(one, key, value)


def _host(one: Any, host: HostExchange) -> None:
    one.startupMark, one.commandPage = host.startup_mark, host.command_page
    one.commandOffset = host.command_offset
    for page, (index, size) in _filled(one, "pages", host.pages):
        page.index, page.size = index, size
    _numbers(one, "attachOrder", host.attach_order)
    for target, call in _filled(one, "calls", host.calls):
        target.name, target.command, target.phases = call.name, call.command, call.phases
        target.invocations = call.invocations
        _numbers(target, "inputBatchEnds", call.input_batch_ends)
        _numbers(target, "outputBatchEnds", call.output_batch_ends)
        _slices(target, "inputs", call.inputs, _HOST_SLICE)
        _slices(target, "outputs", call.outputs, _HOST_SLICE)


def _step(one: Any, step: Step) -> None:
    one.kind, one.operation, one.kernel = step.kind, step.operation, step.kernel
    for target, (name, value) in _filled(one, "metadata", step.metadata):
        target.name, target.value = name, value
    one.localIndex, one.phase, one.epoch = step.local_index, step.phase, step.epoch
    for target, activity in _filled(one, "exchangeActivities", step.activities):
        target.kind = activity.kind
        target.startCycle, target.endCycle = activity.start_cycle, activity.end_cycle
    one.exchangeEventCycles = step.event_cycles


def from_message(message: bytes | memoryview) -> Package:
    """Read a message.

    Parameters
    ----------
    message
        The whole message in standard framing, by bytes.

    Raises
    ------
    WireError
        For a message that is damaged, none of this schema, or too large: its parts may refer to each
        other, so what they stand for is bounded by the message's own size.
    """
    import capnp

    words = len(message) // 8
    try:
        # Every object of an honest message is visited once; the root and empty lists come on top.
        with _application().from_bytes(message, traversal_limit_in_words=words + 64) as root:
            return _Reader().package(root)
    except capnp.KjException as error:
        raise WireError(f"a damaged message ({_reason(error)})") from None
    except UnicodeDecodeError:
        raise WireError("text that is not UTF-8") from None


def _reason(error: Exception) -> str:
    """What the library says in words, without the condition in front and advice behind."""
    said = str(getattr(error, "description", error))
    return said.rpartition("]; ")[2].rpartition("); ")[2].partition(".")[0].partition("\n")[0]


class _Reader:
    """Counts the records that it makes."""

    def __init__(self) -> None:
        self._records = 0

    def _each(self, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            self._records += 1
            if self._records > MOST_RECORDS:
                raise WireError(f"more than {MOST_RECORDS} records")
            yield item

    def _list(self, items: Any) -> tuple[int, ...]:
        return tuple(self._each(items))

    def package(self, root: Any) -> Package:
        found = (root.schemaVersion, root.target, root.tileMemoryBase, root.tileMemorySize)
        if found != (SCHEMA_VERSION, TARGET, BASE, SIZE):
            version, target, base, size = found
            raise WireError(
                f"schema {version} for {target[:16]!r} with memory {base:#x} + {size:#x}, not"
                f" schema {SCHEMA_VERSION} for {TARGET!r} with {BASE:#x} + {SIZE:#x}"
            )
        return Package(
            producer=root.compilerVersion,
            tiles=tuple(self._tile(one) for one in self._each(root.tiles)),
            inputs=tuple(self._binding(one) for one in self._each(root.inputs)),
            outputs=tuple(self._binding(one) for one in self._each(root.outputs)),
            weights=tuple(self._binding(one) for one in self._each(root.weights)),
            host=self._host(root.hostExchange),
            entry_points=tuple(
                EntryPoint(one.name, one.command, one.externalSyncs)
                for one in self._each(root.entryPoints)
            ),
            config_writes=tuple(
                (one.offset, one.value) for one in self._each(root.deviceConfigWrites)
            ),
            profile=tuple(
                ProfilePlan(one.physicalTile, tuple(map(self._step, self._each(one.steps))))
                for one in self._each(root.profileTiles)
            ),
            symbols=tuple((one.name, one.address) for one in self._each(root.debugSymbols)),
            regions=tuple(
                Region(one.physicalTile, one.address, one.size, one.name)
                for one in self._each(root.debugRegions)
            ),
        )

    def _tile(self, one: Any) -> TileImage:
        segments = tuple(
            Segment(s.address, s.memorySize, bytes(s.data), s.flags)
            for s in self._each(one.segments)
        )
        return TileImage(
            one.physicalTile, segments, one.entryPoint, one.commandAddress, one.diagnosticAddress
        )

    def _host(self, one: Any) -> HostExchange:
        return HostExchange(
            one.startupMark,
            one.commandPage,
            one.commandOffset,
            tuple((page.index, page.size) for page in self._each(one.pages)),
            self._list(one.attachOrder),
            tuple(self._call(call) for call in self._each(one.calls)),
        )

    def _binding(self, one: Any) -> Binding:
        slices = _read_slices(one.slices, _REGION_SLICE)
        return Binding(one.name, one.dtype, self._list(one.shape), slices)

    def _call(self, one: Any) -> HostCall:
        return HostCall(
            one.name,
            one.command,
            one.phases,
            _read_slices(one.inputs, _HOST_SLICE),
            _read_slices(one.outputs, _HOST_SLICE),
            self._list(one.inputBatchEnds),
            self._list(one.outputBatchEnds),
            one.invocations,
        )

    def _step(self, one: Any) -> Step:
        return Step(
            _kind(one.kind, STEP_KINDS),
            one.operation,
            one.kernel,
            one.localIndex,
            one.phase,
            one.epoch,
            one.exchangeEventCycles,
            tuple((pair.name, pair.value) for pair in self._each(one.metadata)),
            tuple(
                Activity(_kind(a.kind, ACTIVITY_KINDS), a.startCycle, a.endCycle)
                for a in self._each(one.exchangeActivities)
            ),
        )


def _read_slices(items: Any, keys: tuple[str, str, str, str]) -> Slices:
    rows = (getattr(one, key) for one in items for key in keys)
    table = np.fromiter(rows, np.uint64, 4 * len(items)).reshape(-1, 4)
    return Slices(*np.ascontiguousarray(table.T))


def _kind(value: Any, names: tuple[str, ...]) -> str:
    """Name of an enum's value; the library's own look-up fails on unknown ones."""
    number: int = value.raw
    if number >= len(names):
        raise WireError(f"the unknown kind {number} of a step")
    return names[number]
