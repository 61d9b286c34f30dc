"""Phases of words on simulated tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from ipuopt.device import fabric
from ipuopt.device.faults import FAULTS
from ipuopt.device.machine import empty_tiles, routes
from ipuopt.target.fabric import PHYSICAL
from ipuopt.target.memory import BASE

ROW = 0x5C000


@dataclass
class Bench:
    """Memory of all tiles and a way to run rows on it; tiles are logical."""

    memory: npt.NDArray[np.uint32]

    def span(self, tile: int, address: int, words: int) -> npt.NDArray[np.uint32]:
        start = (address - BASE) // 4
        return self.memory[PHYSICAL[tile], start : start + words]

    def run(self, rows: dict[int, list[int]]) -> tuple[str, str, int]:
        """Label and message of what went wrong, empty if nothing did; events of the phase."""
        for tile, words in rows.items():
            self.span(tile, ROW, len(words))[:] = words
        tiles = np.sort(PHYSICAL[list(rows)])
        done = np.zeros(len(tiles), np.int64)
        fault, _, _, detail = fabric.run_phase(
            self.memory,
            tiles,
            np.full(len(tiles), ROW),
            np.zeros((len(tiles), 2), np.int64),
            *routes(),
            done,
        )
        label, message = FAULTS.get(fault, ("", ""))
        return label, message.format(detail), int(done.max())


@pytest.fixture(scope="session")
def bench() -> Callable[[], Bench]:
    """All memory is zero."""

    def make() -> Bench:
        return Bench(empty_tiles())

    return make
