"""Repeats: steps of a program that are executed several times (``lowering.md`` 2.8, ``package.md`` 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.layout import IntArray
from ipuopt.target.constants import WORD_BYTES

MOST_ITERATIONS = (1 << 20) - 1
"""The count is an immediate of 20 bits (ipu21.md 4)."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Program steps ``[first, stop)``, executed ``count`` times one after the other."""

    first: int
    stop: int
    count: int

    def __str__(self) -> str:
        return f"repeat of steps {self.first}..{self.stop - 1}"


def check_repeats(repeats: Sequence[Repeat], steps: int) -> None:
    """Raise ValueError for repeats that do not fit a program of so many steps, or each other."""
    reached = 0
    for repeat in repeats:
        if not 0 <= repeat.first < repeat.stop <= steps:
            found = f"found steps [{repeat.first}, {repeat.stop})"
            raise ValueError(f"{repeat}: {found}, expected some of the program's {steps}")
        if not 1 <= repeat.count <= MOST_ITERATIONS:
            found = f"found {repeat.count} iterations"
            raise ValueError(f"{repeat}: {found}, expected 1..{MOST_ITERATIONS}")
        if repeat.first < reached:
            found = f"found step {repeat.first} in another repeat or before it"
            raise ValueError(f"{repeat}: {found}, expected one level of repeats in their order")
        reached = repeat.stop


def check_advance(
    shard: IntArray, advance: IntArray, step: IntArray, repeats: Sequence[Repeat]
) -> int:
    """First operand that moves otherwise than forward by whole words inside a repeat; -1 for none.

    Parameters
    ----------
    shard, advance, step
        Shard of each operand, negative where there is none, bytes an iteration, and step.
    """
    if not advance.any():
        return -1
    inside = np.zeros(len(step), dtype=np.bool_)
    for repeat in repeats:
        inside |= (repeat.first <= step) & (step < repeat.stop)
    wrong = ~inside | (shard < 0) | (advance < 0) | (advance % WORD_BYTES > 0)
    wrong &= advance != 0
    return int(wrong.argmax()) if wrong.any() else -1


def executed_steps(repeats: Sequence[Repeat], steps: int) -> tuple[IntArray, IntArray]:
    """Steps in the order of execution, and the iteration in which each is executed."""
    stretches, at = [], 0
    for repeat in repeats:
        stretches += [(at, repeat.first, 1), (repeat.first, repeat.stop, repeat.count)]
        at = repeat.stop
    stretches.append((at, steps, 1))
    step = [np.tile(np.arange(first, stop), count) for first, stop, count in stretches]
    iteration = [np.repeat(np.arange(count), stop - first) for first, stop, count in stretches]
    return np.concatenate(step).astype(np.int64), np.concatenate(iteration).astype(np.int64)
