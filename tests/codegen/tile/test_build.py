"""Packages of programs: what the words of every tile do is what the tables say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.isa import assemble, encode
from ipuopt.codegen.link import Library, read_library
from ipuopt.codegen.package import (
    ALL_TILES,
    Package,
    TileImage,
    load_violations,
    package_bytes,
    read_package,
    violations,
)
from ipuopt.codegen.package.listing import linked_kernels, missing_kernels, tile_programs
from ipuopt.codegen.package.wire import to_bytes
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.rows import encode_rows
from ipuopt.codegen.tile import build, build_package, check_package, room, taken_names
from ipuopt.codegen.tile.room import Room, RoomError, free_ranges, words_of
from ipuopt.models.exchange import Solution
from ipuopt.plan import Origin
from ipuopt.program import StepKind
from ipuopt.result import Built
from ipuopt.target.fabric import PHYSICAL
from ipuopt.target.memory import EXECUTABLE_END, LOADABLE_END, SUPPORT_END

Traced = Callable[[Package, TileImage], tuple[Any, Any]]


def test_it_can_be_loaded(package: Package) -> None:
    assert [*violations(package), *load_violations(package)] == []
    assert [tile.physical_tile for tile in package.tiles] == list(range(1472))
    for tile in package.tiles:
        assert all(segment.stop <= SUPPORT_END for segment in tile.segments)
    assert SUPPORT_END < EXECUTABLE_END < LOADABLE_END


def test_equal_programs_give_equal_bytes(built: Built, package: Package, tmp_path: Path) -> None:
    content = package_bytes(package)
    assert package_bytes(build_package(built)) == content
    path = tmp_path / "a.ipuexe"
    path.write_bytes(content)
    assert to_bytes(read_package(path, loadable=True)) == content


def test_bindings(built: Built, package: Package) -> None:
    """A slice a shard with its padding, one after the other in the file of the host."""
    assert [b.name for b in package.inputs] == ["x"]
    assert [b.name for b in package.weights] == ["w1", "w2"]
    assert [b.name for b in package.outputs] == ["y", "completion"]
    for binding in (*package.inputs, *package.weights, *package.outputs[:-1]):
        value = next(v for v in built.plan.values if v.name == binding.name)
        index = built.plan.values.index(value)
        shards = np.flatnonzero(built.program.shards.value == index)
        slices = binding.slices
        assert binding.shape == (value.rows, value.columns)
        assert slices.file_offset.tolist() == [0, *np.cumsum(slices.size)[:-1].tolist()]
        assert set(slices.address.tolist()) <= set(built.address[shards].tolist())
        held = int(slices.size.sum())
        assert held >= value.rows * value.columns * value.element_bytes
        if value.origin is Origin.COMPUTED:
            assert held <= int(built.program.shards.size_bytes[shards].sum())


@pytest.mark.parametrize("physical", [*PHYSICAL[:8].tolist(), 4, 1471])
def test_every_tile_does_what_the_tables_say(
    built: Built, package: Package, traced: Traced, physical: int
) -> None:
    program = built.program
    trace, tile = traced(package, package.tiles[physical])
    (logical,) = np.flatnonzero(physical == PHYSICAL).tolist()
    events = iter(trace.events)
    phase = 0
    for number, step in enumerate(program.steps):
        if step.kind is StepKind.PHASE:
            name, words = next(events)
            assert name == "row"
            if logical < program.tiles:
                problem = exchange_problem(program, built.address, phase)
                start = built.start[phase_slice(program, program.phases[phase])]
                rows = encode_rows(problem, Solution(start))
                assert words == rows.row(logical).tolist()
            else:
                assert words == [0x43A00000]
            phase += 1
        elif step.kind is StepKind.RUN:
            runs = program.runs
            for run in np.flatnonzero((runs.step == number) & (runs.tile == logical)).tolist():
                name, arguments = next(events)
                output = int(built.address[runs.output[run]] + runs.output_offset[run])
                first = int(built.address[runs.input0[run]] + runs.input0_offset[run])
                assert arguments[0] == output, name
                if "fill_zero" not in name:
                    assert arguments[1] == first
        else:
            copies = program.copies
            chosen = (copies.step == number) & (copies.tile == logical)
            for copy in np.flatnonzero(chosen).tolist():
                name, arguments = next(events)
                source = int(built.address[copies.source[copy]] + copies.source_offset[copy])
                assert "copy" in name and arguments[1] == source
    assert next(events, None) is None
    assert tile.load(0x58000, 1) == [1]
    batches = sum(
        len(ends)
        for call in package.host.calls
        for ends in (call.input_batch_ends, call.output_batch_ends)
    )
    waited = tile.syncs.count("sans 1")
    assert trace.hosted + waited == batches
    own = sum(int((s.tile == physical).sum()) for s in _slices(package))
    assert own <= trace.hosted
    assert (trace.hosted == 0) == (logical >= program.tiles)


def _slices(package: Package) -> list[Any]:
    bindings = (*package.inputs, *package.weights, *package.outputs[:-1])
    return [binding.slices for binding in bindings]


def test_cycle_samples(built: Built, package: Package, traced: Traced) -> None:
    """One before each step, one behind the last, at one address on all tiles, and two around all."""
    sampled = build_package(built, profile=True)
    assert [*violations(sampled), *load_violations(sampled)] == []
    *_, start, cycles, end, _ = sampled.outputs
    assert [b.name for b in (start, cycles, end)] == [
        *("profile.start-cycle", "profile.cycles", "profile.end-cycle"),
    ]
    (base,) = set(cycles.slices.address.tolist())
    tiles = sorted(PHYSICAL[: built.program.tiles].tolist())
    assert [plan.physical_tile for plan in sampled.profile] == tiles
    for binding, address in ((start, 0x58004), (end, 0x58008)):
        assert set(binding.slices.address.tolist()) == {address}
        assert binding.slices.tile.tolist() == tiles
        assert binding.slices.size.tolist() == [4] * len(tiles)
    for plan, size in zip(sampled.profile, cycles.slices.size.tolist(), strict=True):
        assert size == 4 * (len(plan.steps) + 1)
        trace, _ = traced(sampled, sampled.tiles[plan.physical_tile])
        plain, _ = traced(package, package.tiles[plan.physical_tile])
        unsampled = [event for event in trace.events if event[0] != "sample"]
        assert [name for name, _ in unsampled] == [name for name, _ in plain.events]
        events = iter(trace.events)
        assert next(events) == ("sample", 0x58004)
        for number, step in enumerate(plan.steps):
            assert next(events) == ("sample", base + 4 * number)
            made = "row" if step.kind != "compute" else step.kernel
            for _ in range(int(dict(step.metadata).get("invocations", 1))):
                assert next(events)[0] == made
            assert step.local_index == number
        assert list(events) == [("sample", base + 4 * len(plan.steps)), ("sample", 0x58008)]
        kinds = [step.phase - 0x80000000 for step in plan.steps if step.kind != "compute"]
        assert kinds == list(range(len(built.program.phases)))
        done = [step.event_cycles for step in plan.steps if step.kind == "exchange"]
        assert all(
            0 < events <= horizon for events, horizon in zip(done, built.horizon, strict=True)
        )
    trace, _ = traced(sampled, sampled.tiles[4])  # not of the program
    assert "sample" not in {name for name, _ in trace.events}


def test_symbols_and_regions(package: Package) -> None:
    names = dict(package.symbols)
    assert names["ipu_stack_static_start"] == 0x4C018
    assert any(name.startswith("ipu_stack_gemm_f16_init") for name in missing_kernels(package))
    shared = [region.name for region in package.regions if region.physical_tile == ALL_TILES]
    assert shared == ["linked executable", "missing kernels"]


def test_no_room() -> None:
    memory = Room(7, (bytes(8), b""), 0x5C000, 16)
    address = memory.place(words_of(1, 2, 3))
    assert memory.place(words_of(1, 2, 3)) == address  # equal words are put once
    assert memory.place(words_of(9)) == address + 16
    message = "tile 7: found 40000 bytes of rows or host tables beside 44 of code, expected 63696 "
    with pytest.raises(RoomError, match=message + "for all and at most 32688 in one piece"):
        memory.place(np.arange(10_000, dtype=np.uint32))
    with pytest.raises(RoomError, match=r"tile 7: found 40000 bytes of code from 0x5c000"):
        Room(7, (bytes(4), b""), 0x5C000, 40_000)


def test_programs_follow_linked_code() -> None:
    memory = Room(7, (bytes(8), bytes.fromhex("0102030405")), 0x5C008, 16)
    segments = {segment.address: segment.data for segment in memory.segments(words_of(6, 7))}
    assert segments[0x5C000].hex() == "0102030405000000" + "0600000007000000" + 16 * "0"


def test_programs_below_the_window_leave_one_range() -> None:
    memory = Room(7, (bytes(8), b""), 0x4C018, 16)
    assert memory.place(np.arange(10_000, dtype=np.uint32)) == 0x586E0
    segments = {segment.address: segment.data for segment in memory.segments(words_of(6, 7))}
    assert [*segments] == [0x4C010, 0x58000, 0x586E0]
    assert segments[0x4C010].hex() == 16 * "0" + "0600000007000000" + 16 * "0"


def test_elements_without_data_are_free(built: Built) -> None:
    """Whole elements, and none beside data; those next to the support area go on from it."""
    address = np.full(len(built.address), 0x90000)
    shards = built.program.shards
    one, other = (int(np.flatnonzero(shards.tile == tile)[0]) for tile in (1, 2))
    address[one], address[other] = 0x6C000 - 4, 0x64000
    ranges = free_ranges(shards, address)
    assert ranges[0] == ranges[1471] == ((0x5C000, 0x80000 - 64),)
    assert ranges[1] == ((0x5C000, 0x68000 - 64), (0x70000, 0x80000 - 64))
    assert ranges[2] == ((0x5C000, 0x64000 - 64), (0x68000, 0x80000 - 64))


def test_rows_find_room_where_it_is(
    built: Built, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Less room below 0x64000: rows go on above, or programs below the host's window."""
    monkeypatch.setattr(build, "free_ranges", lambda *_: [((0x5C000, 0x5C008),)] * 1472)
    tight = build_package(built)
    (program,) = {span.start for span in tile_programs(tight).values()}
    assert 0x4C018 < program < 0x50000
    assert check_package(built, tight) == ()
    longest = max(map(len, tile_programs(package).values()))
    stop = max(r.address + r.size for r in package.regions if r.physical_tile == ALL_TILES)
    free = ((0x5C000, 0x5C000 + longest), (0x70000, 0x74000))
    monkeypatch.setattr(build, "free_ranges", lambda *_: [free] * 1472)
    monkeypatch.setattr(room, "RUNTIME_END", 0x5C000)
    monkeypatch.setattr(room, "HOST_WINDOW", (stop, 0))
    spread = build_package(built)
    rows = [r for r in spread.regions if r.name == "exchange row"]
    assert rows and all(0x70000 <= row.address < 0x74000 for row in rows)
    assert [*violations(spread), *load_violations(spread)] == []


@pytest.fixture(scope="module")
def library(package: Package, elf: Any, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Bodies of all kernels: each notes its address in the word behind it and returns."""
    path = tmp_path_factory.mktemp("kernels") / "all.o"
    body = assemble("setzi $m0, 0\nst32 $m0, $m0, $m15, 0\nbr $m10\n.word 0", 0).words
    content = b"".join(word.to_bytes(4, "little") for word in body)
    names = missing_kernels(package)
    parts = [
        elf.Part(f".text.{name}", content, relocations=[(0, 3, name, 12)], alignment=8)
        for name in names
    ]
    seed = assemble("setzi $m0, 0", 0).words[0].to_bytes(4, "little")
    state = "ipu_stack_static_prng_seed"
    parts.append(elf.Part(".text.seed", seed, relocations=[(0, 3, state, 0)]))
    parts[0].relocations.append((12, 4, ".text.seed", 0))
    filler = elf.Part(".data.large", size=16_000, kind=elf.NOBITS, flags=3)
    parts[1].relocations.append((12, 4, ".data.large", 0))
    symbols = {name: (f".text.{name}", 0) for name in names}
    path.write_bytes(elf.elf([*parts, filler], symbols | {state: (0, 0)}))
    return read_library([path], taken_names())


def test_linked_kernels(built: Built, package: Package, library: Library, traced: Traced) -> None:
    """Programs call the bodies, which may lie on both sides of the host window."""
    linked = build_package(built, library)
    assert [*violations(linked), *load_violations(linked)] == []
    assert package_bytes(build_package(built, library)) == package_bytes(linked)
    assert missing_kernels(linked) == ()
    assert linked_kernels(linked) == missing_kernels(package)
    assert {name for name, _ in linked.symbols} == {name for name, _ in package.symbols}
    assert [address for _, address in linked.symbols] == sorted(dict(linked.symbols).values())
    shared = [region for region in linked.regions if region.physical_tile == ALL_TILES]
    assert {region.name for region in shared} == {"linked executable"}
    assert shared[-1].address == 0x5C000 and shared[-1].size >= 16_000
    logical = {int(physical): place for place, physical in enumerate(PHYSICAL[:3])}
    for physical, number in logical.items():
        image = linked.tiles[physical]
        (program,) = (
            r.address
            for r in linked.regions
            if r.physical_tile == physical and r.name == "generated tile program"
        )
        assert program >= shared[-1].address + shared[-1].size
        own = image.segments[0].data.index(
            encode("setzi", 0, 8 * (number + 1))[0].to_bytes(4, "little")
        )
        assert own > 0
        _, tile = traced(linked, image)
        called = {name for name, _ in traced(package, package.tiles[physical])[0].events}
        noted = {
            name
            for name, address in linked.symbols
            if name in missing_kernels(package) and tile.memory[address + 12] == address + 12
        }
        assert noted and noted == called - {"row"}


def test_some_kernels_are_missing(built: Built, package: Package, library: Library) -> None:
    """What no object defines keeps its trap; what nobody calls is left out."""
    gone = missing_kernels(package)[0]
    names = {name: where for name, where in library.names.items() if name != gone}
    part = build_package(built, Library(library.objects, names))
    assert missing_kernels(part) == (gone,)
    assert set(linked_kernels(part)) == {*missing_kernels(package)} - {gone}
