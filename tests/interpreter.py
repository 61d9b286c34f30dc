"""An interpreter of supervisor and worker code, word by word.

It shares the table of instructions with the makers of the code, nothing else. The simulator has one of
its own: that runs whole packages in compiled code and moves data. This one takes any piece of code,
keeps record of synchronisations, seeds and draws, and calls hooks in place of code at an address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ipuopt.codegen.isa import disassemble
from ipuopt.codegen.package import Package, TileImage
from ipuopt.codegen.package.listing import missing_kernels

MASK = 0xFFFFFFFF
STOP = 0


@dataclass
class Tile:
    """Memory by word address, specials, and what the code did.

    ``hooks`` are called with the registers instead of the code at their address, which returns by
    ``$m10``.
    """

    memory: dict[int, int] = field(default_factory=dict)
    specials: dict[int, int] = field(default_factory=dict)
    syncs: list[str] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    draws: int = 0
    counter: int = 0
    hooks: dict[int, Callable[[list[int]], None]] = field(default_factory=dict)

    def store(self, address: int, words: list[int]) -> None:
        self.memory.update({address + 4 * i: word for i, word in enumerate(words)})

    def load(self, address: int, count: int) -> list[int]:
        return [self.memory[address + 4 * i] for i in range(count)]

    def run(self, address: int, m: dict[int, int], worker: int | None = None) -> dict[int, int]:
        """Run from ``address`` until the code goes to address 0 or exits; registers at the end."""
        registers = [m.get(number, 0) for number in range(16)]
        a = [0] * 16
        pc = address
        for _ in range(20_000):
            if pc == STOP:
                return dict(enumerate(registers))
            if pc in self.hooks:
                self.hooks[pc](registers)
                pc = registers[10]
                continue
            (line,) = disassemble([self.memory[pc]], pc)
            assert line.name, line.text
            registers[15] = 0
            x = line.operands
            following = pc + 4
            where = 0
            if line.name in ("ld32", "st32", "ld64_a"):
                scale = 8 if line.name == "ld64_a" else 4
                where = (registers[x[1]] + registers[x[2]] + scale * x[3]) & MASK
            match line.name:
                case "setzi":
                    registers[x[0]] = x[1]
                case "add":
                    registers[x[0]] = (registers[x[1]] + x[2]) & MASK
                case "add_m":
                    registers[x[0]] = (registers[x[1]] + registers[x[2]]) & MASK
                case "sub_m":
                    registers[x[0]] = (registers[x[1]] - registers[x[2]]) & MASK
                case "and":
                    registers[x[0]] = registers[x[1]] & x[2]
                case "shl":
                    registers[x[0]] = registers[x[1]] << x[2] & MASK
                case "shr":
                    registers[x[0]] = registers[x[1]] >> x[2]
                case "ld32":
                    registers[x[0]] = self.memory[where]
                case "st32":
                    self.memory[where] = registers[x[0]]
                case "ld64_a":
                    a[x[0]], a[x[0] + 1] = self.memory[where], self.memory.get(where + 4, 0)
                case "put":
                    self.specials[x[0]] = registers[x[1]]
                case "put_a":
                    assert x[0] == 7
                    self.seeds.append(a[x[1]])
                case "get":
                    self.counter += 100
                    assert worker is not None
                    registers[x[0]] = {1: 0x50 | worker, 0x60: self.counter}[x[1]]
                case "br":
                    following = registers[x[0]]
                case "call":
                    registers[x[0]], following = following, x[1]
                case "brz":
                    following = x[1] if registers[x[0]] == 0 else following
                case "brnz":
                    following = x[1] if registers[x[0]] else following
                case "brnzdec":
                    following = x[1] if registers[x[0]] else following
                    registers[x[0]] = (registers[x[0]] - 1) & MASK
                case "sync" | "sans":
                    self.syncs.append(line.text)
                case "runall":
                    for number in range(6):
                        base = self.specials.get(0x21 + number, 0)
                        arguments = registers[x[1]] + 4 * number * x[2]
                        self.run(registers[x[0]], {12: base, 13: arguments}, number)
                case "urand64":
                    self.draws += 1
                case "exitz":
                    assert worker is not None
                    return dict(enumerate(registers))
                case other:
                    raise AssertionError(other)
            pc = following
        raise AssertionError("the code does not end")


@dataclass
class Trace:
    """What a tile did, in order.

    Attributes
    ----------
    events
        Kernel calls with $m2 to $m9, rows with their words, cycle samples with their address.
    hosted
        Transfers with the host.
    copies
        $m2 to $m4 of every call of the runtime's copy loop.
    specials
        Special registers at every row and transfer with the host.
    """

    events: list[tuple[str, Any]] = field(default_factory=list)
    hosted: int = 0
    copies: list[list[int]] = field(default_factory=list)
    specials: list[dict[int, int]] = field(default_factory=list)


def traced(package: Package, image: TileImage) -> tuple[Trace, Tile]:
    """Run the code of a tile from its entry to its end; nothing moves but what the code itself stores."""
    tile, trace = Tile(), Trace()
    for segment in image.segments:
        words = np.frombuffer(segment.data, "<u4").tolist()
        words += [0] * ((segment.memory_size - len(segment.data)) // 4)
        tile.store(segment.address, words)
    for address in range(0x50000, 0x52000, 4):
        tile.memory[address] = 0

    def kernel(name: str) -> Callable[[list[int]], None]:
        return lambda registers: trace.events.append((name, registers[2:10]))

    def row(address: int, size: int) -> Callable[[list[int]], None]:
        def enter(registers: list[int]) -> None:
            trace.events.append(("row", tile.load(address, size // 4)))
            trace.specials.append(dict(tile.specials))

        return enter

    def host(registers: list[int]) -> None:
        trace.hosted += 1
        trace.specials.append(dict(tile.specials))

    symbols = dict(package.symbols)
    for name in missing_kernels(package):
        tile.hooks[symbols[name]] = kernel(name)
    tile.hooks[symbols["ipu_stack_static_idle_row"]] = row(symbols["ipu_stack_static_idle_row"], 4)
    tile.hooks[symbols["ipu_stack_static_copy_u32"]] = lambda m: trace.copies.append(m[2:5])
    tile.hooks[symbols["ipu_stack_static_sample_cycle"]] = lambda m: trace.events.append(
        ("sample", m[2])
    )
    for region in package.regions:
        if region.physical_tile == image.physical_tile:
            if region.name == "exchange row":
                tile.hooks[region.address] = row(region.address, region.size)
            elif region.name == "host exchange program":
                tile.hooks[region.address] = host
    tile.run(image.entry_point, {})
    return trace, tile
