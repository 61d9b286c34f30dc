"""Why no choice fits: the step, its demand, the capacity, and the largest owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ipuopt.errors import MOST_OWNERS, Infeasibility
from ipuopt.models.mapping.messages import INFINITE, Potentials, settle
from ipuopt.models.mapping.problem import FORBIDDEN, IntArray, Problem, Solution
from ipuopt.models.mapping.reduction import Reduction, consistent

MORE_TILES = "more tiles"
LEVERS = (MORE_TILES, "smaller tensors")


def explain(problem: Problem) -> Infeasibility:
    """Explain an infeasible problem by the limit that is missed most.

    Every figure is the least over all choices, other limits aside. If each limit can be kept on its
    own, the figure is that of a lean choice instead, and the text says so.
    """
    reduction = consistent(Reduction.of(problem))
    if reduction is None:
        return _no_pair(problem)
    left = reduction.problem
    peak = max((_least(left, 0, 1, [step]).demand for step in range(len(left.steps))), default=0)
    found = [_interleaved(left), _large(left, peak), _total(left, peak)]
    worst = max(found, key=lambda case: case.demand - case.capacity)
    if worst.demand > worst.capacity:
        return worst
    return _leanest(left)


def _no_pair(problem: Problem) -> Infeasibility:
    """(M2): some edge has no pair that goes together, alone or beside the other edges."""
    where = "layouts of all operations"
    for edge in problem.edges:
        used = np.ix_(np.unique(edge.tail_group), np.unique(edge.head_group))
        if np.all(edge.cost[used] == FORBIDDEN):
            names = problem.nodes[edge.tail].name, problem.nodes[edge.head].name
            where = f"layouts of {names[0]} and {names[1]}"
            break
    return Infeasibility(f"{where}: none go together", 1, 0, "pairs", ())


def _case(
    where: str, demand: int, capacity: int, problem: Problem, owners: IntArray
) -> Infeasibility:
    names = [node.name for node in problem.nodes]
    names += [f"staging {names[edge.tail]} to {names[edge.head]}" for edge in problem.edges]
    ranked = sorted(zip(owners.tolist(), names, strict=True), key=lambda pair: -pair[0])
    largest = tuple((name, amount) for amount, name in ranked[:MOST_OWNERS] if amount > 0)
    return Infeasibility(where, demand, capacity, "bytes", largest, LEVERS)


@dataclass(frozen=True, slots=True)
class _Lean:
    """Least weighted bytes over all choices, a choice of labels that needs few, and its bytes."""

    demand: int
    labels: tuple[int, ...]
    owners: IntArray


def _least(
    problem: Problem, standard: int, interleaved: int, steps: Sequence[int], large: int = 0
) -> _Lean:
    """Least weighted bytes, added up over ``steps``."""
    columns = list(steps)
    unary = [
        standard * node.standard[:, columns].sum(axis=1)
        + interleaved * node.interleaved[:, columns].sum(axis=1)
        + large * node.large[:, columns].sum(axis=1)
        for node in problem.nodes
    ]
    pair = []
    for edge in problem.edges:
        weighted = columns.count(edge.step) * (standard * edge.staging + large * edge.large)
        pair.append(np.where(edge.cost == FORBIDDEN, INFINITE, weighted))
    potentials = Potentials(problem, unary, pair)
    labels = potentials.decode(settle(potentials))
    owners = [int(costs[label]) for costs, label in zip(unary, labels, strict=True)]
    for edge, costs in zip(problem.edges, pair, strict=True):
        row, column = edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]
        owners.append(int(costs[row, column]))
    return _Lean(potentials.bound, labels, np.array(owners, dtype=np.int64))


def _boundary(problem: Problem, peak: int) -> int:
    granule = problem.capacity.granule
    return -(-peak // granule) * granule


def _interleaved(problem: Problem) -> Infeasibility:
    """(M3) at its worst step."""
    cases = [_least(problem, 0, 1, [step]) for step in range(len(problem.steps))]
    worst = max(range(len(cases)), key=lambda step: cases[step].demand)
    where = f"interleaved memory of a tile, step {problem.steps[worst]}"
    case = cases[worst]
    return _case(where, case.demand, problem.capacity.interleaved, problem, case.owners)


def _whole(problem: Problem, step: int) -> str:
    """Where (M5) is broken."""
    low = problem.capacity.low
    return (
        f"standard buffers of more than {low} bytes, each in one piece, step {problem.steps[step]}"
    )


def _large(problem: Problem, peak: int) -> Infeasibility:
    """(M5) at its worst step."""
    cases = [_least(problem, 0, 0, [step], large=1) for step in range(len(problem.steps))]
    worst = max(range(len(cases)), key=lambda step: cases[step].demand)
    room = max(0, problem.capacity.high - _boundary(problem, peak))
    case = cases[worst]
    return _case(_whole(problem, worst), case.demand, room, problem, case.owners)


def _total(problem: Problem, peak: int) -> Infeasibility:
    """(M4): least bytes of both classes at one step, or standard bytes beside the boundary."""
    cases = []
    for step in range(len(problem.steps)):
        both = _least(problem, 1, 1, [step])
        standard = _least(problem, 1, 0, [step])
        cases.append((both.demand, step, both.owners))
        cases.append((standard.demand + _boundary(problem, peak), step, both.owners))
    demand, step, owners = max(cases, key=lambda case: case[0])
    where = f"memory of a tile, step {problem.steps[step]}"
    return _case(where, demand, problem.capacity.total, problem, owners)


def _leanest(problem: Problem) -> Infeasibility:
    """Each limit can be kept alone, but not all: where the leanest choice found breaks one."""
    steps = range(len(problem.steps))
    choices = [_least(problem, 1, 1, steps), _least(problem, 0, 1, steps)]
    choices += [_least(problem, 1, 1, [step]) for step in steps]
    cases = [_broken(problem, Solution(choice.labels)) for choice in choices]
    return min(cases, key=lambda case: case.demand - case.capacity)


def _broken(problem: Problem, solution: Solution) -> Infeasibility:
    """The limit that one choice misses most."""
    chosen = tuple(zip(problem.nodes, solution.labels, strict=True))
    shape = (len(problem.nodes) + len(problem.edges), len(problem.steps))
    standard, interleaved, large = np.zeros((3, *shape), dtype=np.int64)
    for number, (node, label) in enumerate(chosen):
        standard[number] = node.standard[label]
        interleaved[number] = node.interleaved[label]
        large[number] = node.large[label]
    for number, edge in enumerate(problem.edges, start=len(chosen)):
        row = edge.tail_group[solution.labels[edge.tail]]
        column = edge.head_group[solution.labels[edge.head]]
        standard[number, edge.step] = edge.staging[row, column]
        large[number, edge.step] = edge.large[row, column]
    capacity, peaks = problem.capacity, interleaved.sum(axis=0)
    boundary = _boundary(problem, int(peaks.max()))
    cases = []
    for step, name in enumerate(problem.steps):
        where = f"interleaved memory of a tile, step {name}"
        cases.append((where, int(peaks[step]), capacity.interleaved, interleaved[:, step]))
        where = f"memory of a tile, step {name}"
        both = interleaved[:, step] + standard[:, step]
        cases.append((where, int(standard[:, step].sum()) + boundary, capacity.total, both))
        demand = int(large[:, step].sum())
        if demand:
            room = max(0, capacity.high - boundary)
            cases.append((_whole(problem, step), demand, room, large[:, step]))
    where, demand, limit, owners = max(cases, key=lambda case: case[1] - case[2])
    where += " (each limit can be kept alone, not all at once; this is the leanest choice found)"
    return _case(where, demand, limit, problem, owners)
