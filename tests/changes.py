"""Single changes of a finished package: one word, instruction or operand of a row or a tile program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ipuopt.codegen.isa import INSTRUCTIONS, disassemble
from ipuopt.codegen.package import Package, Region
from ipuopt.codegen.package.listing import TILE_PROGRAM

Code = list[tuple[str, tuple[int, ...]]]
"""Instructions: names in the table, with their operands."""


def words_of(package: Package, region: Region) -> list[int]:
    image = next(t for t in package.tiles if t.physical_tile == region.physical_tile)
    segment = next(s for s in image.segments if s.address <= region.address < s.stop)
    start = region.address - segment.address
    words: list[int] = np.frombuffer(segment.data[start : start + region.size], "<u4").tolist()
    return words


def with_words(package: Package, region: Region, words: list[int]) -> Package:
    """Other words in a region."""
    content = np.array(words, "<u4").tobytes()
    tiles = []
    for image in package.tiles:
        if image.physical_tile == region.physical_tile:
            segments = []
            for segment in image.segments:
                start, data = region.address - segment.address, segment.data
                if 0 <= start < len(data):
                    data = data[:start] + content + data[start + region.size :]
                segments.append(replace(segment, data=data))
            image = replace(image, segments=tuple(segments))
        tiles.append(image)
    return replace(package, tiles=tuple(tiles))


def code_of(region: Region, words: list[int]) -> Code:
    return [(line.name, line.operands) for line in disassemble(words, region.address)]


def encoded(code: Code) -> list[int]:
    return [word for name, operands in code for word in INSTRUCTIONS[name].encode(*operands)]


def operand(code: Code, at: int, name: str) -> int:
    """Place of an operand in an instruction; -1 where it has none of this name."""
    names = [field.name for field in INSTRUCTIONS[code[at][0]].fields]
    return names.index(name) if name in names else -1


def changed(code: Code, at: int, place: int, by: int) -> Code:
    name, operands = code[at]
    field = INSTRUCTIONS[name].fields[place]
    value = (operands[place] + by - field.least) % (field.limit * field.scale) + field.least
    new = (*operands[:place], value, *operands[place + 1 :])
    return [*code[:at], (name, new), *code[at + 1 :]]


def having(code: Code, random: np.random.Generator, *names: str) -> tuple[int, int]:
    """An instruction with one of these operands, and its place in it."""
    places = [(at, operand(code, at, n)) for at in range(len(code)) for n in names]
    some = [place for place in places if place[1] >= 0]
    return some[int(random.integers(len(some)))] if some else (-1, -1)


def sign(random: np.random.Generator, size: int = 1) -> int:
    return size * int(random.choice((-1, 1)))


def an_event(code: Code, random: np.random.Generator) -> Code:
    """All that follows is an event earlier or later."""
    return changed(code, *having(code, random, "n"), sign(random))


def one_event(code: Code, random: np.random.Generator) -> Code:
    """A control, a start or an end moves by an event; what follows stays."""
    timed = [at for at in range(len(code)) if operand(code, at, "n") >= 0]
    if len(timed) < 2:
        return code
    at = int(random.integers(len(timed) - 1))
    by = sign(random)
    code = changed(code, timed[at], operand(code, timed[at], "n"), by)
    return changed(code, timed[at + 1], operand(code, timed[at + 1], "n"), -by)


def an_address(code: Code, random: np.random.Generator) -> Code:
    """A send or a pointer by one word, or one bit of it."""
    places = [
        (at, operand(code, at, name))
        for at, (kind, operands) in enumerate(code)
        for name in ("a", "v", "pic_v")
        if kind in ("send", "delaypic", "sendpic", "sendpicp") and operand(code, at, name) >= 0
    ]
    if not places:
        return code
    by = sign(random) if random.random() < 0.5 else 1 << int(random.integers(0, 16))
    return changed(code, *places[int(random.integers(len(places)))], by)


def a_source(code: Code, random: np.random.Generator) -> Code:
    """Another source, or none: then the receiver is left out."""
    places = [
        (at, operand(code, at, name))
        for at, (kind, _) in enumerate(code)
        for name in ("v", "xpic_v")
        if kind in ("delayxpic", "sendpic", "sendpicp") and operand(code, at, name) >= 0
    ]
    if not places:
        return code
    at, place = places[int(random.integers(len(places)))]
    return changed(code, at, place, 1 << int(random.integers(0, 11)))


def a_receive(code: Code, random: np.random.Generator) -> Code:
    """A control that is left out: the delay alone stays."""
    at = [at for at, (kind, _) in enumerate(code) if kind in ("delaypic", "delayxpic")]
    if not at:
        return code
    chosen = at[int(random.integers(len(at)))]
    return [*code[:chosen], ("delay", code[chosen][1][:1]), *code[chosen + 1 :]]


def twice(code: Code, random: np.random.Generator) -> Code:
    """An instruction in the place of the next one of its length."""
    at = int(random.integers(max(1, len(code) - 2)))
    return [*code[: at + 1], code[at], *code[at + 2 :]]


def swapped(code: Code, random: np.random.Generator) -> Code:
    """Two neighbours change places."""
    at = int(random.integers(max(1, len(code) - 2)))
    return [*code[:at], *code[at : at + 2][::-1], *code[at + 2 :]]


def a_control(code: Code, random: np.random.Generator) -> Code:
    """Direction or width of a message, selector of a control."""
    at, place = having(code, random, "c", "sel", "pic_sel", "xpic_sel")
    return code if at < 0 else changed(code, at, place, 1)


def an_argument(code: Code, random: np.random.Generator) -> Code:
    """What a kernel is passed: an address by four bytes, a number by one."""
    at = [
        at for at, (kind, x) in enumerate(code) if kind in ("setzi", "add") and x[0] in range(2, 8)
    ]
    chosen = at[int(random.integers(len(at)))]
    return changed(code, chosen, len(code[chosen][1]) - 1, sign(random, int(random.choice((1, 4)))))


def a_call(code: Code, random: np.random.Generator) -> Code:
    """Two calls change places: rows, kernels or helpers."""
    at = [at for at, (kind, _) in enumerate(code) if kind == "call"]
    one, other = random.choice(at, 2, replace=False).tolist()
    result = list(code)
    result[one], result[other] = code[other], code[one]
    return result


Change = Callable[[Code, np.random.Generator], Code]
IN_ROWS: tuple[Change, ...] = (
    *(an_event, one_event, an_address, a_source, a_receive, twice, swapped, a_control),
)
IN_PROGRAMS: tuple[Change, ...] = (an_argument, a_call, swapped)


def bit(words: list[int], random: np.random.Generator) -> list[int]:
    at = int(random.integers(len(words)))
    return [*words[:at], words[at] ^ 1 << int(random.integers(32)), *words[at + 1 :]]


def mutated(
    regions: list[Region], package: Package, random: np.random.Generator
) -> tuple[str, Region, list[int]]:
    """A change that changes some word: its name, the region and its words."""
    while True:
        region = regions[int(random.integers(len(regions)))]
        words = words_of(package, region)
        changes = IN_PROGRAMS if region.name == TILE_PROGRAM else IN_ROWS
        pick = int(random.integers(len(changes) + 1))
        if pick == len(changes):
            return "a bit", region, bit(words, random)
        new = encoded(changes[pick](code_of(region, words), random))
        if new != words and len(new) == len(words):
            return changes[pick].__name__.replace("_", " "), region, new
