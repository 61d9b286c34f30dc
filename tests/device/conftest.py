"""A small package, and phases on simulated tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

import ipuopt
from ipuopt.codegen.package import Package
from ipuopt.codegen.rows import Rows
from ipuopt.codegen.tile import build_package
from ipuopt.device import fabric
from ipuopt.device.faults import FAULTS
from ipuopt.device.machine import empty_tiles, routes
from ipuopt.models.exchange import Problem
from ipuopt.options import Solver
from ipuopt.result import Built
from ipuopt.target.fabric import PHYSICAL
from ipuopt.target.memory import BASE, EXECUTABLE_END, LOOKAHEAD, STANDARD_ELEMENT, element_range

ROW = 0x5C000
WordArray = npt.NDArray[np.uint32]


@dataclass
class Bench:
    """Memory of all tiles and a way to run rows on it; tiles are logical."""

    memory: WordArray

    def span(self, tile: int, address: int, words: int) -> WordArray:
        start = (address - BASE) // 4
        return self.memory[PHYSICAL[tile], start : start + words]

    def run(
        self, rows: Mapping[int, list[int]], at: Mapping[int, int] | None = None
    ) -> tuple[str, str, int]:
        """Label and message of what went wrong, empty if nothing did; events of the phase."""
        at = {tile: ROW for tile in rows} if at is None else at
        for tile, words in rows.items():
            self.span(tile, at[tile], len(words))[:] = words
        order = sorted(rows, key=lambda tile: int(PHYSICAL[tile]))
        done = np.zeros(len(order), np.int64)
        fault, _, _, detail = fabric.run_phase(
            self.memory,
            PHYSICAL[order],
            np.array([at[tile] for tile in order]),
            np.zeros((len(order), 2), np.int64),
            *routes(),
            done,
        )
        label, message = FAULTS.get(fault, ("", ""))
        return label, message.format(detail), int(done.max(initial=0))


@pytest.fixture(scope="session")
def bench() -> Callable[[], Bench]:
    """All memory is zero."""

    def make() -> Bench:
        return Bench(empty_tiles())

    return make


@pytest.fixture(scope="session")
def built() -> Built:
    """A product on four tiles, uneven: 24x48 -> 40."""
    workload = ipuopt.from_dict(
        {
            "ipuopt": 1,
            "name": "small",
            "target": {"tiles": 4},
            "inputs": {"x": {"shape": [24, 48]}},
            "parameters": {"w": {"shape": [48, 40]}},
            "operations": {
                "h": {"op": "MatMul", "inputs": ["x", "w"]},
                "y": {"op": "Gelu", "inputs": ["h"]},
            },
            "outputs": ["y"],
        }
    )
    options = ipuopt.SolveOptions(time_limit_s=60, solver=Solver.HEURISTIC)
    return ipuopt.solve(workload, options).built


@pytest.fixture(scope="session")
def package(built: Built) -> Package:
    return build_package(built)


def _free_element(problem: Problem, tile: int, words: int) -> int:
    """Address of executable elements that the phase does not touch on this tile."""
    receiver = np.repeat(np.arange(len(problem)), np.diff(problem.destination_start))
    mine, taken = problem.source == tile, problem.destination_tile == tile
    start = np.concatenate((problem.source_address[mine, 0], problem.destination_address[taken]))
    size = 4 * np.concatenate((problem.words[mine], problem.words[receiver[taken]]))
    low, high = element_range(start, size)
    count = -(-(4 * words + LOOKAHEAD) // STANDARD_ELEMENT)
    for first in range(ROW // STANDARD_ELEMENT, EXECUTABLE_END // STANDARD_ELEMENT - count + 1):
        if not ((low < first + count) & (high >= first)).any():
            return first * STANDARD_ELEMENT
    raise AssertionError(f"tile {tile} has no room for its row")


@dataclass(frozen=True)
class Carried:
    """What became of a phase: label and message of a fault, events, whether all words are right."""

    label: str
    message: str
    events: int
    right: bool


@pytest.fixture(scope="session")
def carry() -> Callable[[Problem, Rows], Carried]:
    """``carry(problem, rows)``: runs the rows on random words and looks at every receiver.

    Expected is what the transfers do one after the other, in their order (ipu21.md 3.3 rule 7).
    """

    def run(problem: Problem, rows: Rows) -> Carried:
        random = np.random.default_rng(1)
        tiles, expected = Bench(empty_tiles()), Bench(empty_tiles())
        sends = list(
            zip(
                *(problem.source.tolist(), problem.source_address[:, 0].tolist()),
                problem.words.tolist(),
                strict=True,
            )
        )
        for send in sends:
            tiles.span(*send)[:] = random.integers(0, 2**32, send[2], dtype=np.uint32)
        for send in sends:
            expected.span(*send)[:] = tiles.span(*send)
        taking = np.flatnonzero(rows.done).tolist()
        words = {tile: rows.row(tile).tolist() for tile in taking}
        at = {tile: _free_element(problem, tile, len(words[tile])) for tile in taking}
        label, message, events = tiles.run(words, at)
        receives = []
        for index, send in enumerate(sends):
            content = expected.span(*send).copy()
            for place in range(*problem.destination_start[index : index + 2].tolist()):
                tile, address = problem.destination_tile[place], problem.destination_address[place]
                receives.append((int(tile), int(address), send[2]))
                expected.span(*receives[-1])[:] = content
        right = all(
            np.array_equal(tiles.span(*receive), expected.span(*receive)) for receive in receives
        )
        return Carried(label, message, events, right)

    return run
