"""From a workload to the mapping problem, and from its solution to a plan."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ipuopt.layout import IntArray, Layout
from ipuopt.limits import Limits
from ipuopt.models.mapping.candidates import KINDS
from ipuopt.models.mapping.candidates.labels import Choice, Labels
from ipuopt.models.mapping.candidates.request import Request, Source
from ipuopt.models.mapping.check import evaluate
from ipuopt.models.mapping.decode import decode
from ipuopt.models.mapping.edges import Link, edges_of
from ipuopt.models.mapping.feasibility import refuse_impossible
from ipuopt.models.mapping.graph import Graph, Key, Visit, is_product, read_graph
from ipuopt.models.mapping.heuristics import beam_search
from ipuopt.models.mapping.memory import tile_capacity
from ipuopt.models.mapping.parts import Part, shared_input
from ipuopt.models.mapping.problem import Capacity, Node, Problem, Solution
from ipuopt.models.mapping.pruning import prune, spare_cycles
from ipuopt.models.mapping.sharing import plain_labels, with_ways
from ipuopt.models.mapping.tables import node_of
from ipuopt.plan import Plan
from ipuopt.workload.model import Workload

logger = logging.getLogger(__name__)

MOST_REPLICAS = 4
"""Pointwise operations are offered a reader's layout up to so many copies: each computes all."""
PROMISING = 250
"""Candidates of an operation that are looked at first; the peer keeps 64 a family."""
RETAINED = 600
"""Those that stay whether or not they may be in a best choice: placement may refuse the best ones."""
MOST = 3000
"""More candidates of an operation than this are not kept, even those that may be in a best choice."""
HURRY_S = 20.0
"""With less time left, or asked for in a deterministic run, only promising candidates are looked at:
pairs of layouts take most of the time."""
REPEATED = 6
"""Nor are others looked at where less time is left than so many times what the promising ones took."""


@dataclass(frozen=True, slots=True)
class Space:
    """The mapping problem of a workload, and what is needed to read its solutions.

    Attributes
    ----------
    problem
        Nodes, edges and memory; see :mod:`ipuopt.models.mapping.problem`.
    workload, parts, links
        What the nodes and the edges stand for.
    """

    problem: Problem
    workload: Workload
    parts: tuple[Part, ...]
    links: tuple[Link, ...]

    def plan(self, solution: Solution) -> Plan:
        """The plan of a solution; its cost is the problem's cost of the solution."""
        return decode(self.workload, self.parts, solution)

    @property
    def has_ways(self) -> bool:
        """Whether some value has several readers, which may share copies."""
        return any(part.base is not None for part in self.parts)

    def plain(self) -> tuple[Space, list[IntArray]]:
        """The space without copies that are shared, and the label of each one that is left."""
        keep = [plain_labels(part) for part in self.parts]
        return self._select(keep), keep

    def beam(self, limits: Limits) -> Solution | None:
        """What beam search gives: first without shared copies, whose labels would crowd others out."""
        if self.has_ways:
            plain, keep = self.plain()
            found = beam_search(plain.problem, limits)
            if found is not None:
                return lifted(found, keep)
        return beam_search(self.problem, limits)

    def leave(self, size_bytes: int) -> Space:
        """The space with so many bytes less on every tile, which are left to placement."""
        capacity = self.problem.capacity
        less = replace(capacity, total=max(0, capacity.total - size_bytes))
        return replace(self, problem=replace(self.problem, capacity=less))

    def split(self, solution: Solution) -> tuple[Space, ...]:
        """Spaces that hold every solution but the given one, each in exactly one of them.

        The nodes that need most memory come first: a space keeps the labels of ``solution`` on the
        nodes before one, and takes its label from that one (Lawler 1972, doi:10.1287/mnsc.18.7.401).
        """
        nodes = self.problem.nodes
        demand = [
            -int((node.standard[label] + node.interleaved[label]).max(initial=0))
            for node, label in zip(nodes, solution.labels, strict=True)
        ]
        keep = [np.arange(len(node.cost)) for node in nodes]
        spaces = []
        for index in np.argsort(demand, kind="stable").tolist():
            label = solution.labels[index]
            if len(keep[index]) > 1:
                others = [*keep]
                others[index] = np.delete(keep[index], label)
                spaces.append(self._select(others))
            keep[index] = np.array([label], dtype=np.int64)
        return tuple(spaces)

    def _select(self, keep: list[IntArray]) -> Space:
        """The space with some of the labels of every node."""
        problem = self.problem
        nodes = tuple(
            Node(
                node.name,
                node.cost[rows],
                node.standard[rows],
                node.interleaved[rows],
                node.large[rows],
            )
            for node, rows in zip(problem.nodes, keep, strict=True)
        )
        edges = tuple(
            replace(
                edge,
                tail_group=edge.tail_group[keep[edge.tail]],
                head_group=edge.head_group[keep[edge.head]],
            )
            for edge in problem.edges
        )
        parts = tuple(part.select(rows) for part, rows in zip(self.parts, keep, strict=True))
        smaller = Problem(nodes, edges, problem.steps, problem.capacity)
        return replace(self, problem=smaller, parts=parts)


def lifted(solution: Solution, keep: list[IntArray]) -> Solution:
    """The solution in the labels that ``keep`` was taken from."""
    chosen = zip(keep, solution.labels, strict=True)
    return Solution(tuple(int(rows[label]) for rows, label in chosen))


def build_space(workload: Workload, limits: Limits) -> Space:
    """Candidates, prices and memory of ``workload``.

    Promising candidates come first. The beam's choice among them bounds what others may cost; the
    space then holds all candidates that this does not rule out, see
    :mod:`ipuopt.models.mapping.pruning`.

    Parameters
    ----------
    workload
        The graph and its target.
    limits
        A short deadline leaves it at the promising ones, in deterministic runs a short budget.

    Raises
    ------
    InputError
        For an operation without candidates: the right operand of a product is computed.
    InfeasibleError
        If some step needs more memory than a tile has, whatever is chosen.
    """
    capacity, graph = tile_capacity(), read_graph(workload)
    begin = time.monotonic()
    left_s = limits.budget_s if limits.deterministic else limits.remaining_s()
    requests, labels = _candidates(workload, graph, capacity, PROMISING)
    refuse_impossible(workload, graph, labels, capacity)
    first = _assemble(workload, graph, capacity, requests, labels)
    if left_s < HURRY_S:
        return first
    beam = first.beam(limits)
    spent_s = time.monotonic() - begin
    if not limits.deterministic and REPEATED * spent_s > limits.remaining_s():
        return first
    if beam is None:
        requests, labels = _candidates(workload, graph, capacity, MOST)
        return _assemble(workload, graph, capacity, requests, labels)
    known = evaluate(first.problem, beam)
    spare = spare_cycles({name: own.least for name, own in labels.items()}, known)
    requests, labels = _candidates(workload, graph, capacity, RETAINED, spare)
    labels = prune(requests, labels, known, RETAINED, MOST)
    return _assemble(workload, graph, capacity, requests, labels)


def _assemble(
    workload: Workload,
    graph: Graph,
    capacity: Capacity,
    requests: dict[str, Request],
    labels: dict[str, Labels],
) -> Space:
    """Nodes, edges and their tables."""
    parts, position = _parts(graph, requests, labels)
    nodes = tuple(node_of(part, graph, capacity.low) for part in parts)
    joined = [
        found
        for head, part in enumerate(parts)
        if part.visit is not None
        for index, operand in enumerate(part.visit.operands)
        if operand.source is not Source.LOADED
        for found in edges_of(
            parts, position, graph, head, index, tiles=workload.target.tiles, low=capacity.low
        )
    ]
    edges, links = (tuple(of) for of in zip(*joined, strict=True)) if joined else ((), ())
    problem = Problem(nodes, edges, graph.steps, capacity)
    for node in nodes:
        logger.info("%s: %d candidates", node.name, len(node.cost))
    return Space(problem, workload, tuple(parts), links)


def _candidates(
    workload: Workload,
    graph: Graph,
    capacity: Capacity,
    retained: int,
    spare: Mapping[str, int] | None = None,
) -> tuple[dict[str, Request], dict[str, Labels]]:
    """Candidates by operation: first those that bring layouts of their own, then the others."""
    requests: dict[str, Request] = {}
    labels: dict[str, Labels] = {}
    for keeps_layout in (False, True):
        for visit in graph.visits:
            operation = visit.operation
            kind = KINDS[operation.kind]
            if kind.keeps_layout is not keeps_layout:
                continue
            offered = _offered(graph, visit, labels) if keeps_layout else ()
            requests[operation.name] = Request(
                operation=operation,
                inputs=tuple(workload.tensors[operand.tensor] for operand in visit.operands),
                result=workload.tensors[operation.name],
                sources=tuple(operand.source for operand in visit.operands),
                tiles=workload.target.tiles,
                capacity=capacity,
                retained=retained,
                offered=offered,
                spare=None if spare is None else spare[operation.name],
            )
            labels[operation.name] = kind.candidates(requests[operation.name]).compact()
    return requests, labels


def _offered(graph: Graph, visit: Visit, labels: dict[str, Labels]) -> tuple[Layout, ...]:
    """Layouts in which neighbours make the operands or read the result."""
    found: list[Layout] = []
    for operand in visit.operands:
        if operand.source is Source.COMPUTED:
            found += labels[operand.tensor].result.layouts
    reached, readers = {visit.operation.name}, list(graph.visits)
    for reader in readers:
        for position, operand in enumerate(reader.operands):
            if operand.tensor not in reached:
                continue
            if not is_product(reader.operation):
                reached.add(reader.operation.name)
                continue
            layouts = labels[reader.operation.name].operands[position].layouts
            found += [layout for layout in layouts if layout.replicas <= MOST_REPLICAS]
    return tuple(dict.fromkeys(found))


def _parts(
    graph: Graph, requests: dict[str, Request], labels: dict[str, Labels]
) -> tuple[list[Part], dict[Key, int]]:
    """Parts behind the nodes, each before its readers, and the node of every value."""
    shared: dict[Key, list[Choice]] = {}
    for visit in graph.visits:
        for operand, choice in zip(
            visit.operands, labels[visit.operation.name].operands, strict=True
        ):
            if operand.source is Source.SHARED:
                shared.setdefault(operand.key, []).append(choice)
    parts = [shared_input(key, readers) for key, readers in shared.items()]
    for visit in graph.visits:
        name = visit.operation.name
        key = (name, False)
        parts.append(Part(key, labels[name].result, visit, requests[name], labels[name]))
    parts = [with_ways(part, graph) for part in parts]
    return parts, {part.key: index for index, part in enumerate(parts)}
