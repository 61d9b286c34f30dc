"""Supervisor code: the programs of the vectors, and order on each tile."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ipuopt.codegen.tile.stream import Stream, add_calls, add_host, add_jump, add_phase

ONE = np.zeros(1, np.int64)


def add_step(stream: Stream, step: list[Any], barrier: int) -> None:
    if step[0] == "phase":
        _, active, base, row = step
        add_phase(stream, ONE, np.array([active]), base, np.array([row]), barrier)
        return
    _, kernel, output, inputs, scalars = step
    given = [output, *inputs, *scalars]
    arguments = np.zeros((1, max(8, len(given))), np.int64)
    arguments[0, : len(given)] = given
    add_calls(stream, ONE, arguments, np.array([len(given)]), np.array([kernel]))


def test_programs_of_the_vectors(vectors: dict[str, Any]) -> None:
    supervisor = vectors["supervisor"][0]
    symbols = dict(supervisor["symbols"])
    compared = 0
    for program in supervisor["programs"]:
        if program["invocations"] > 1:
            continue
        stream = Stream(1)
        if program["words"] is None:
            with pytest.raises(ValueError, match=r"inputs and scalars, expected 1\.\.7"):
                add_step(stream, program["steps"][0], 0)
            continue
        for step in program["steps"]:
            add_step(stream, step, symbols["barrier"])
        add_jump(stream, ONE, symbols["complete"])
        words, bounds = stream.finish()
        assert words.tolist() == program["words"], program["name"]
        assert bounds.tolist() == [0, len(words)]
        compared += 1
    assert compared == 7


def test_order_on_each_tile() -> None:
    """What is added first comes first, whatever other tiles do in between."""
    stream = Stream(3)
    for value, tiles in ((1, [0, 2]), (2, [2]), (3, [2, 0])):
        add_host(stream, np.array(tiles), np.full((len(tiles), 1), value), 0x4C018)
    words, bounds = stream.finish()
    numbers = [[int(word) & 0xF for word in words[a:b:2]] for a, b in pairwise(bounds.tolist())]
    assert numbers == [[1, 3], [], [1, 2, 3]]
