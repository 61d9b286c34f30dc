"""Checks a choice of labels against the formulation; shares no code with what makes one."""

from __future__ import annotations

import numpy as np

from ipuopt.models.mapping.problem import FORBIDDEN, IntArray, Problem, Solution

Violations = tuple[tuple[str, str], ...]


def evaluate(problem: Problem, solution: Solution) -> int:
    """Objective: cycles of the chosen labels and of the chosen pairs of groups.

    Raises
    ------
    ValueError
        If a pair is forbidden or a label does not exist: there is no cost then.
    """
    violations = [found for found in check(problem, solution) if found[0] in ("M1", "M2")]
    if violations:
        raise ValueError(f"{violations[0][0]}: {violations[0][1]}")
    labels = solution.labels
    nodes = sum(int(node.cost[label]) for node, label in zip(problem.nodes, labels, strict=True))
    edges = sum(
        int(edge.cost[edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]])
        for edge in problem.edges
    )
    return nodes + edges


def check(problem: Problem, solution: Solution) -> Violations:
    """Every violated constraint of the formulation as ``(label, message)``; empty if none is."""
    labels, nodes = solution.labels, problem.nodes
    if len(labels) != len(nodes):
        return (("M1", f"{len(labels)} labels for {len(nodes)} nodes"),)
    found = [
        ("M1", f"node {node.name}: label {label} is not one of {len(node.cost)}")
        for node, label in zip(nodes, labels, strict=True)
        if not 0 <= label < len(node.cost)
    ]
    if found:
        return tuple(found)
    staging = np.zeros(len(problem.steps), dtype=np.int64)
    large = np.zeros_like(staging)
    for edge in problem.edges:
        pair = edge.tail_group[labels[edge.tail]], edge.head_group[labels[edge.head]]
        staging[edge.step] += edge.staging[pair]
        large[edge.step] += edge.large[pair]
        if edge.cost[pair] == FORBIDDEN:
            names = f"{nodes[edge.tail].name} and {nodes[edge.head].name}"
            found.append(("M2", f"groups {pair[0]} and {pair[1]} of {names} do not go together"))
    return tuple(found) + _memory(problem, solution, staging, large)


def _memory(
    problem: Problem, solution: Solution, staging: IntArray, staging_large: IntArray
) -> Violations:
    """(M3), (M4) and (M5)."""
    capacity, found = problem.capacity, []
    standard, interleaved = staging.copy(), np.zeros_like(staging)
    large = staging_large.copy()
    for node, label in zip(problem.nodes, solution.labels, strict=True):
        standard += node.standard[label]
        interleaved += node.interleaved[label]
        large += node.large[label]
    for step, name in enumerate(problem.steps):
        if interleaved[step] > capacity.interleaved:
            text = f"step {name}: {interleaved[step]} interleaved bytes of {capacity.interleaved}"
            found.append(("M3", text))
    boundary = -(-int(interleaved.max(initial=0)) // capacity.granule) * capacity.granule
    for step, name in enumerate(problem.steps):
        if standard[step] + boundary > capacity.total:
            text = (
                f"step {name}: {standard[step]} standard bytes and {boundary} below the boundary "
                f"of {capacity.total}"
            )
            found.append(("M4", text))
        if large[step] + boundary > capacity.high:
            text = (
                f"step {name}: {large[step]} bytes of buffers larger than {capacity.low} and "
                f"{boundary} below the boundary of {capacity.high}"
            )
            found.append(("M5", text))
    return tuple(found)
