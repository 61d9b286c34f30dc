"""Proof, before any solver, that some step needs more memory than a tile has."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ipuopt.errors import MOST_OWNERS, Infeasibility, InfeasibleError, memory_parts
from ipuopt.models.mapping.candidates.labels import Labels
from ipuopt.models.mapping.candidates.request import Source
from ipuopt.models.mapping.explain import LEVERS
from ipuopt.models.mapping.graph import Graph
from ipuopt.models.mapping.problem import Capacity
from ipuopt.workload.model import Workload


def refuse_impossible(
    workload: Workload, graph: Graph, labels: Mapping[str, Labels], capacity: Capacity
) -> None:
    """Raise if the kernel step of some operation cannot fit, whatever is chosen.

    While an operation's kernel runs a tile holds its operands and temporaries, and what the host
    has loaded for later operations. Each part is taken at its least, independently of the others,
    so the sum is a lower bound.

    Raises
    ------
    InfeasibleError
        Names the operation, demand, capacity and the largest owners.
    """
    loaded = {
        (visit.operation.name, operand.tensor): int((choice.standard + choice.interleaved).min())
        for visit in graph.visits
        for operand, choice in zip(
            visit.operands, labels[visit.operation.name].operands, strict=True
        )
        if operand.source is Source.LOADED
    }
    worst: tuple[int, str, dict[str, int]] = (0, "", {})
    for position, visit in enumerate(graph.visits):
        name = visit.operation.name
        owners = _kernel_step(
            visit.operation.name, [o.tensor for o in visit.operands], labels[name]
        )
        later = {other.operation.name for other in graph.visits[position + 1 :]}
        for (reader, tensor), size in loaded.items():
            if reader in later:
                owners[tensor] = owners.get(tensor, 0) + size
        demand = sum(owners.values())
        if demand > worst[0]:
            worst = (demand, name, owners)
    demand, name, owners = worst
    room = capacity.low + capacity.interleaved
    if demand <= room:
        return
    tiles = workload.target.tiles
    largest = sorted(owners.items(), key=lambda item: -item[1])[:MOST_OWNERS]
    exchanged = owners[_buffers_of(name)]
    raise InfeasibleError(
        Infeasibility(
            where=f"operation {name} on the fullest of {tiles} tiles, while its kernel runs",
            demand=demand,
            capacity=room,
            unit="bytes",
            owners=tuple((owner, size) for owner, size in largest if size),
            levers=LEVERS,
            parts=memory_parts(demand, demand - exchanged, exchanged),
        )
    )


def _kernel_step(name: str, operands: list[str], labels: Labels) -> dict[str, int]:
    """Bytes by owner of the label that needs least while the kernel runs."""
    result = (labels.result.standard + labels.result.interleaved) * ~labels.late
    temporaries = labels.run.standard + labels.run.interleaved
    sizes = [choice.standard + choice.interleaved for choice in labels.operands]
    least = int(np.argmin(np.sum([*sizes, result, temporaries], axis=0)))
    owners: dict[str, int] = {}
    for tensor, size in zip(operands, sizes, strict=True):
        owners[tensor] = owners.get(tensor, 0) + int(size[least])
    owners[name] = int(result[least])
    owners[_buffers_of(name)] = int(temporaries[least])
    return owners


def _buffers_of(name: str) -> str:
    """Owner of what is staged, and of the partial sums, which phases fill and drain."""
    return f"exchange buffers of {name}"
