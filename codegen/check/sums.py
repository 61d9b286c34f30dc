"""(L3) Reductions: every root sums each inner part once, and its last sum becomes the result."""

from __future__ import annotations

import numpy as np

from ipuopt.codegen.check.products import position
from ipuopt.codegen.check.reading import Reading, Violations, first_of
from ipuopt.layout import IntArray
from ipuopt.plan import MatMulStep
from ipuopt.program import Kernel, Role


def check_sums(reading: Reading) -> Violations:
    """Sums of every product of the plan whose inner axis is cut."""
    program = reading.program
    owner = np.array([step.plan_step for step in program.steps], dtype=np.int64)
    of_run = owner[program.runs.step]
    found: Violations = ()
    for number, step in enumerate(reading.plan.steps):
        if not isinstance(step, MatMulStep) or step.inner == 1:
            continue
        sums = np.flatnonzero((program.runs.kernel == Kernel.SUM) & (of_run == number))
        if not len(sums):
            found += (("L3", f"{step.name}: nothing sums its {step.inner} inner parts"),)
            continue
        sums = sums[np.lexsort((program.runs.step[sums], program.runs.input1[sums]))]
        broken = _rounds(reading, step, sums)
        found += broken or _contributors(reading, step, sums) + _finals(reading, number, step, sums)
    return found


def _rounds(reading: Reading, step: MatMulStep, sums: IntArray) -> Violations:
    """Sums of a root chain up, each after a phase that fills its remote buffer anew."""
    runs = reading.program.runs
    remote, output, running = runs.input1[sums], runs.output[sums], runs.input0[sums]
    follows = np.zeros(len(sums), dtype=np.bool_)
    follows[1:] = remote[1:] == remote[:-1]
    wrong = (output == running) | (runs.inner[sums] < 2)
    wrong[1:] |= follows[1:] & (running[1:] != output[:-1])
    found = first_of(
        "L3",
        wrong,
        lambda i: f"{step.name}: run {sums[i]} of SUM does not continue the sum before it",
    )
    root = np.cumsum(~follows) - 1
    summed = 1 + np.bincount(root, weights=runs.inner[sums] - 1).astype(np.int64)
    found += first_of(
        "L3",
        summed != step.inner,
        lambda i: f"{step.name}: a root sums {summed[i]} contributors, expected {step.inner}",
    )
    table = reading.program.transfers
    into = np.isin(table.destination, remote)
    fills = np.unique(
        np.stack((table.destination[into], reading.receiver_step[into]), axis=1), axis=0
    )
    if len(fills) != len(sums) or np.any(fills[:, 0] != remote):
        message = f"{step.name}: {len(fills)} fills of remote buffers for {len(sums)} sums"
        return (*found, ("L3", message))
    early = fills[:, 1] >= runs.step[sums]
    early[1:] |= follows[1:] & (fills[1:, 1] <= runs.step[sums][:-1])
    return found + first_of(
        "L3",
        early,
        lambda i: (
            f"{step.name}: run {sums[i]} of SUM does not lie between its own phase and the next one"
        ),
    )


def _contributors(reading: Reading, step: MatMulStep, sums: IntArray) -> Violations:
    """Each root receives as many bytes of every inner part as it has."""
    program, count = reading.program, len(reading.program.shards)
    runs, copies, table = program.runs, program.copies, program.transfers
    products = np.flatnonzero((runs.kernel == Kernel.MATMUL) & (runs.accumulate == 0))
    part = np.full(count, -1, dtype=np.int64)
    part[runs.output[products]] = position(
        reading, step, runs.input0[products], runs.input0_offset[products]
    )[1]

    root = np.full(count, -1, dtype=np.int64)
    remote, first = np.unique(runs.input1[sums], return_index=True)
    root[remote] = np.arange(len(remote))
    root[runs.input0[sums[first]]] = np.arange(len(remote))

    sent = reading.receiver_transfer
    source = np.concatenate([table.source[sent], copies.source])
    target = root[np.concatenate([table.destination, copies.destination])]
    size = np.concatenate([table.words[sent] * 4, copies.size_bytes * copies.count])
    at = target >= 0
    source, target, size = source[at], target[at], size[at]
    shards = program.shards
    found = first_of(
        "L3",
        (shards.role[source] != Role.PARTIAL) | (shards.value[source] != step.result),
        lambda i: f"{step.name}: a root receives {reading.name(source[i])}",
    )
    parts, which = np.unique(part[source], return_inverse=True)
    received = np.zeros((len(remote), len(parts)), dtype=np.int64)
    np.add.at(received, (target, which.reshape(-1)), size)
    wrong = np.any(received != reading.matrix_bytes[remote][:, None], axis=1)
    if len(parts) != step.inner:
        found += (("L3", f"{step.name}: roots sum {len(parts)} inner parts of {step.inner}"),)
    return found + first_of(
        "L3",
        wrong,
        lambda i: (
            f"{step.name}: {reading.name(remote[i])} and its accumulator do not receive "
            "every inner part once"
        ),
    )


def _finals(reading: Reading, number: int, step: MatMulStep, sums: IntArray) -> Violations:
    """What is copied into the result is the last sum of a root."""
    program = reading.program
    copies, runs = program.copies, program.runs
    remote = runs.input1[sums]
    last = np.ones(len(sums), dtype=np.bool_)
    last[:-1] = remote[1:] != remote[:-1]
    shards = program.shards
    result = (shards.value == step.result) & (shards.role == Role.VALUE)
    owner = np.array([entry.plan_step for entry in program.steps], dtype=np.int64)
    final = np.flatnonzero(result[copies.destination] & (owner[copies.step] == number))
    source = copies.source[final]
    found = first_of(
        "L3",
        ~np.isin(source, runs.output[sums[last]]),
        lambda i: f"{step.name}: copies {reading.name(source[i])}, which is no final sum",
    )
    wanted = np.flatnonzero(
        result & (shards.row_end > shards.row_start) & (shards.column_end > shards.column_start)
    )
    missing = np.setdiff1d(wanted, copies.destination[final])
    return found + tuple(
        ("L3", f"{step.name}: {reading.name(shard)} gets no sum") for shard in missing[:1]
    )
