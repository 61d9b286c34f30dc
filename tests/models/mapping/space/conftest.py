"""Small workloads, their spaces, and random solutions of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ipuopt.limits import Limits
from ipuopt.models.mapping.problem import FORBIDDEN, Problem
from ipuopt.models.mapping.space import Space, build_space
from ipuopt.workload.model import Operation, Target, Tensor, TensorKind, Workload

KINDS = {"i": TensorKind.INPUT, "p": TensorKind.PARAMETER, "r": TensorKind.RESULT}


def make(
    tiles: int,
    tensors: dict[str, tuple[str, tuple[int, ...]]],
    operations: dict[str, tuple[str, ...]],
    outputs: tuple[str, ...],
) -> Workload:
    """Float16 tensors as ``name: (kind, shape)``, operations as ``name: (kind, *inputs)``."""
    return Workload(
        name="test",
        target=Target(tiles=tiles),
        tensors={n: Tensor(n, s, "float16", KINDS[k]) for n, (k, s) in tensors.items()},
        operations=tuple(Operation(n, k, tuple(i)) for n, (k, *i) in operations.items()),
        outputs=outputs,
    )


def mlp(tiles: int, m: int, k: int, n: int, p: int) -> Workload:
    return make(
        tiles,
        {
            "x": ("i", (m, k)),
            "w1": ("p", (k, n)),
            "w2": ("p", (n, p)),
            "h": ("r", (m, n)),
            "a": ("r", (m, n)),
            "y": ("r", (m, p)),
        },
        {"h": ("MatMul", "x", "w1"), "a": ("Gelu", "h"), "y": ("MatMul", "a", "w2")},
        ("y",),
    )


def branches(tiles: int, m: int, k: int) -> Workload:
    """Two products share an input and a weight; one result is an output and is read twice."""
    return make(
        tiles,
        {
            "x": ("i", (m, k)),
            "z": ("i", (m, k)),
            "w": ("p", (k, k)),
            "p": ("r", (m, k)),
            "q": ("r", (m, k)),
            "g": ("r", (m, k)),
            "s": ("r", (m, k)),
            "d": ("r", (m, k)),
        },
        {
            "p": ("MatMul", "x", "w"),
            "q": ("MatMul", "z", "w"),
            "g": ("Gelu", "x"),
            "s": ("Add", "p", "g"),
            "d": ("Add", "s", "s"),
        },
        ("q", "s", "d"),
    )


def readers(tiles: int, m: int, k: int, n: int) -> Workload:
    """Three products read an input, two and an addition read a result, which is an output too."""
    return make(
        tiles,
        {
            "x": ("i", (m, k)),
            **{w: ("p", (k, n)) for w in ("w1", "w2", "w3")},
            **{w: ("p", (n, n)) for w in ("w4", "w5")},
            **{r: ("r", (m, n)) for r in ("q", "k", "v", "r", "s", "t")},
        },
        {
            "q": ("MatMul", "x", "w1"),
            "k": ("MatMul", "x", "w2"),
            "v": ("MatMul", "x", "w3"),
            "r": ("MatMul", "q", "w4"),
            "s": ("MatMul", "q", "w5"),
            "t": ("Add", "q", "k"),
        },
        ("q", "v", "r", "s", "t"),
    )


def pair(shared: str, *, output: bool = False) -> Workload:
    """Two products read an input, or the result of another product."""
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {
        "x": ("i", (32, 48)),
        "w0": ("p", (48, 48)),
        "w1": ("p", (48, 64)),
        "w2": ("p", (48, 64)),
        "h": ("r", (32, 48)),
        "y": ("r", (32, 64)),
        "z": ("r", (32, 64)),
    }
    operations: dict[str, tuple[str, ...]] = {"h": ("MatMul", "x", "w0")} if shared == "h" else {}
    operations |= {"y": ("MatMul", shared, "w1"), "z": ("MatMul", shared, "w2")}
    if shared == "x":
        tensors = {name: facts for name, facts in tensors.items() if name not in ("w0", "h")}
    outputs = ("h", "y", "z") if output else ("y", "z")
    return make(8, tensors, operations, outputs)


WORKLOADS = {
    "mlp": mlp(32, 57, 96, 144, 80),
    "odd": mlp(7, 5, 33, 17, 50),
    "branches": branches(20, 21, 64),
    "readers": readers(12, 33, 48, 32),
}


@pytest.fixture(scope="module", params=sorted(WORKLOADS))
def space(request: pytest.FixtureRequest) -> Space:
    return build_space(WORKLOADS[request.param], Limits())


def price(problem: Problem, labels: tuple[int, ...]) -> int:
    """Cost of a solution, or ``FORBIDDEN``."""
    total = sum(int(node.cost[label]) for node, label in zip(problem.nodes, labels, strict=True))
    for edge in problem.edges:
        cost = edge.cost[edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]]
        if cost == FORBIDDEN:
            return FORBIDDEN
        total += int(cost)
    return total


def some_solutions(problem: Problem, count: int, seed: int) -> Iterator[tuple[int, ...]]:
    """Random allowed solutions: every head is drawn from those that its tails allow."""
    rng = random.Random(seed)
    found = 0
    for _ in range(100 * count):
        labels = [rng.randrange(len(node.cost)) for node in problem.nodes]
        for head in range(len(labels)):
            allowed = np.ones(len(problem.nodes[head].cost), dtype=np.bool_)
            for edge in problem.edges:
                if edge.head == head:
                    row = edge.cost[edge.tail_group[labels[edge.tail]]]
                    allowed &= row[edge.head_group] != FORBIDDEN
            if allowed.any():
                labels[head] = int(rng.choice(np.flatnonzero(allowed).tolist()))
        if price(problem, tuple(labels)) != FORBIDDEN:
            found += 1
            yield tuple(labels)
        if found == count:
            return
    raise AssertionError("no allowed solutions found")


@pytest.fixture(scope="session")
def cost_of() -> Callable[[Problem, tuple[int, ...]], int]:
    """Cost of labels, or ``FORBIDDEN``."""
    return price


@pytest.fixture(scope="session")
def draw() -> Callable[[Problem, int, int], Iterator[tuple[int, ...]]]:
    """Some random allowed solutions: problem, how many, seed."""
    return some_solutions


@pytest.fixture(scope="session")
def new_workload() -> Callable[..., Workload]:
    """Tiles, tensors as ``name: (kind, shape)``, operations as ``name: (kind, *inputs)``, outputs."""
    return make


@pytest.fixture(scope="session")
def new_mlp() -> Callable[[int, int, int, int, int], Workload]:
    """MatMul, Gelu, MatMul: tiles, rows, inner, hidden, outputs."""
    return mlp


@pytest.fixture(scope="session")
def branches_space() -> Space:
    return build_space(WORKLOADS["branches"], Limits())


@pytest.fixture(scope="session")
def two_readers() -> Callable[..., Workload]:
    """Two products read ``x``, an input, or ``h``, a result that may be an output: name, output."""
    return pair
