"""One address space: load bound, constructions, hill climbing, then the portfolio."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ipuopt.errors import CheckError
from ipuopt.limits import Limits
from ipuopt.models.placement.space.bounds import load_bound
from ipuopt.models.placement.space.check import check, height
from ipuopt.models.placement.space.cliques import clique_bound
from ipuopt.models.placement.space.conflict import Conflict, by_load, by_search
from ipuopt.models.placement.space.energy import energy_bound
from ipuopt.models.placement.space.heuristics import Packing, climb, quick
from ipuopt.models.placement.space.instance import Instance, build
from ipuopt.models.placement.space.portfolio import STAGE, Portfolio
from ipuopt.models.placement.space.problem import MAX_NUMBER, Problem, Solution
from ipuopt.models.placement.space.race import Race
from ipuopt.models.placement.space.shape import tables_of
from ipuopt.models.placement.space.skyline import skyline
from ipuopt.report import Limit, RunInfo, SolveReport, SolveStatus, status_of

TRIALS = 512
"""Moves of hill climbing before the searches begin: about 0.2 s with 400 buffers."""

SHRINK_S = 10.0
"""Most seconds in which a proof of infeasibility is narrowed down to fewer buffers."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known in the end.

    Attributes
    ----------
    solution
        None if no placement was found.
    report
        Objective and bound are heights in bytes.
    conflict
        Buffers that do not fit together, when it is proven that there is no placement.
    """

    solution: Solution | None
    report: SolveReport
    conflict: Conflict | None = None


def _ignore(answer: Answer) -> None:
    del answer


def solve(problem: Problem, limits: Limits) -> tuple[Solution | None, SolveReport]:
    """Place the buffers at the least height, within the capacity if the problem has one."""
    answer = place(problem, limits)
    return answer.solution, answer.report


def place(
    problem: Problem,
    limits: Limits,
    *,
    warm: Solution | None = None,
    only_fit: bool = False,
    searches: bool = True,
    solver: bool = True,
    narrow: bool = True,
    nodes: float = math.inf,
    publish: Callable[[Answer], None] = _ignore,
) -> Answer:
    """Place the buffers.

    Parameters
    ----------
    warm
        A placement to start from; not used if the checker rejects it.
    only_fit
        Stop at the first placement within the capacity.
    searches, solver
        Whether to use the canonical searches, and CP-SAT.
    narrow
        Whether to look for few buffers that do not fit, where not all do.
    nodes
        Most nodes of the canonical searches.
    publish
        Called with a first placement before any kernel of the constructions is compiled, which
        may take ten seconds, and with the answer of the heuristics before any search starts.

    Raises
    ------
    CheckError
        If the checker rejects the placement.
    """
    begin = time.monotonic()
    instance = build(problem)
    most = MAX_NUMBER // instance.unit
    if problem.capacity is not None:
        most = problem.capacity // instance.unit
    bound, source = first_bound(instance)
    limits.on_bound(STAGE, bound * instance.unit)
    if bound > most or instance.leaves_out(most):
        return _infeasible(instance, bound, source, limits, begin, narrow)
    energy = energy_bound(instance, bound, most)
    if energy > most:
        return _infeasible(instance, bound, "energy", limits, begin, narrow)
    if energy > bound:
        bound, source = energy, "energy"
    tables = tables_of(instance)
    if tables is None:
        return _one_pass(instance, bound, most, limits, begin)
    goal = most if only_fit else bound
    run = RunInfo(seed=limits.seed, threads=limits.threads, deterministic=limits.deterministic)
    early = skyline(instance)
    if early is not None and early.height <= most:
        publish(_answer(instance, early, early.height, bound, source, Limit.TIME, run, begin))
    first = quick(tables, goal, limits.expired)
    best = _warm(instance, warm, first)
    best = climb(tables, best, goal, TRIALS, limits.seed, limits.expired)
    if best is not None and best.height > most:
        best = None
    heuristic = None if first is None else first.height
    if best is not None:
        publish(_answer(instance, best, heuristic, bound, source, Limit.TIME, run, begin))
    race = Race(
        tables,
        bound=bound,
        source=source,
        best=best,
        ceiling=_ceiling(instance, best, most),
        only=only_fit,
        seed=limits.seed,
    )
    portfolio = Portfolio(race, limits, instance.unit, nodes)
    if instance.interlocked:
        portfolio.notes.append("parts of buffers may fit into each other: no canonical search")
    portfolio.run(searches=searches and not instance.interlocked, solver=solver)
    if race.best is None and race.bound > race.ceiling:
        return _infeasible(instance, race.bound, race.source, limits, begin, narrow)
    run = replace(run, solver=portfolio.solver, note="; ".join(portfolio.notes))
    return _answer(
        instance, race.best, heuristic, race.bound, race.source, portfolio.limit, run, begin
    )


def first_bound(instance: Instance) -> tuple[int, str]:
    """Greatest bound in units that needs no search, and what proves it."""
    load, clique = load_bound(instance), clique_bound(instance)
    return (load, "load") if load >= clique else (clique, "clique")


def _warm(instance: Instance, warm: Solution | None, first: Packing | None) -> Packing | None:
    """The better one of a given placement and a found one."""
    if warm is None or check(instance.problem, warm):
        return first
    start = instance.low.copy()
    inside = instance.block >= 0
    start[instance.block[inside]] = warm.address[inside] // instance.unit
    given = Packing(start, instance.height(start))
    if len(check(instance.problem, instance.solution(start))):
        return first  # addresses between the units
    return given if first is None or given.height < first.height else first


def _ceiling(instance: Instance, best: Packing | None, most: int) -> int:
    """Greatest height that is searched: all blocks on each other are no higher."""
    if best is not None:
        return min(most, best.height)
    grain = 1 if instance.pairs is None else int(instance.pairs[:, 4].max(initial=1))
    tall = int((instance.size + instance.alignment + grain).sum() + instance.low.max(initial=0))
    return min(most, tall)


def _one_pass(instance: Instance, bound: int, most: int, limits: Limits, begin: float) -> Answer:
    """Where pairs are too many for searches."""
    found = skyline(instance)
    if found is not None and found.height > most:
        found = None
    limit = None if found is not None and found.height == bound else Limit.MEMORY
    run = RunInfo(
        seed=limits.seed,
        threads=limits.threads,
        deterministic=limits.deterministic,
        note="too many pairs of buffers live together for more than one pass",
    )
    heuristic = None if found is None else found.height
    return _answer(instance, found, heuristic, bound, "load", limit, run, begin)


def _answer(
    instance: Instance,
    best: Packing | None,
    heuristic: int | None,
    bound: int,
    source: str,
    limit: Limit | None,
    run: RunInfo,
    begin: float,
) -> Answer:
    """Check the placement and report it."""
    problem, unit = instance.problem, instance.unit
    solution, objective = None, None
    if best is not None:
        solution = instance.solution(best.start)
        objective = height(problem, solution)
        violations = check(problem, solution)
        if objective != best.height * unit:
            violations += (("S7", f"height {best.height * unit} is {objective}"),)
        if violations:
            content = {"address": solution.address}
            raise CheckError(f"placement of {problem.name}", violations, content)
    report = SolveReport(
        stage=STAGE,
        model=problem.name,
        status=status_of(objective, bound * unit),
        limit=limit,
        heuristic=None if heuristic is None else heuristic * unit,
        objective=objective,
        bound=bound * unit,
        bound_source=source,
        unit="bytes",
        wall_time_s=time.monotonic() - begin,
        run=run,
    )
    return Answer(solution, report)


def _infeasible(
    instance: Instance, bound: int, source: str, limits: Limits, begin: float, narrow: bool
) -> Answer:
    """Report that there is no placement, and narrow down why."""
    problem = instance.problem
    capacity = problem.capacity if problem.capacity is not None else MAX_NUMBER
    conflict = by_load(instance, capacity) if narrow else None
    if narrow and conflict is None:
        few = limits if limits.deterministic else limits.within(SHRINK_S)
        conflict = by_search(problem, capacity, few.expired)
    report = SolveReport(
        stage=STAGE,
        model=problem.name,
        status=SolveStatus.INFEASIBLE,
        objective=None,
        bound=bound * instance.unit,
        bound_source=source,
        unit="bytes",
        wall_time_s=time.monotonic() - begin,
        run=RunInfo(seed=limits.seed, threads=limits.threads, deterministic=limits.deterministic),
    )
    return Answer(None, report, conflict)
