"""Strategy: reduce, solve thin graphs outright, then bound and search side by side."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np

from ipuopt.limits import Limits
from ipuopt.models.assignment.branching import search_tree
from ipuopt.models.assignment.check import check
from ipuopt.models.assignment.exact import MAX_CELLS, build, peaks
from ipuopt.models.assignment.graph import Graph, graph_of
from ipuopt.models.assignment.heuristics import Searchable
from ipuopt.models.assignment.least_memory import least_memory
from ipuopt.models.assignment.multipliers import Ascent
from ipuopt.models.assignment.presolve import Presolved, presolve
from ipuopt.models.assignment.problem import FORBIDDEN, IntArray, Problem, Solution
from ipuopt.models.assignment.rounds import Rounds
from ipuopt.models.assignment.run import STAGE, Publish, Run, forget
from ipuopt.models.assignment.variable_elimination import optimum
from ipuopt.report import SolveReport, SolveStatus

FIRST_SHARE = 0.3
"""Part of the time in which only the bound is raised: the search needs its prices."""

FIRST_S = 40.0
"""Seconds of that at most where the bound can be raised beside the search."""

CELLS_PER_S = 1.5e8
"""Cells that passes of a repeatable run visit in a second, on a slow machine."""

CERTIFY_EVERY_S = 5.0
"""Seconds between certificates: one takes as long as two or three passes."""

MANY_ROWS, MAX_ROUNDS = 100, 50
"""Rows of memory that enter a program at a time, and programs at most."""

TREE_SHARE = 0.5
"""Part of the time for the tree search of what is small."""

PARTS_PER_S = 4.0
"""Parts that the tree search of a repeatable run makes in a second, on a slow machine."""

TARGET = 2.0
"""Steps lead at most to a bound of so many times the one that is known."""


def solve(
    problem: Problem,
    limits: Limits,
    *,
    backend: str = "auto",
    publish: Publish = forget,
) -> tuple[Solution | None, SolveReport]:
    """Choose a strategy for every node at least cost, within the memory.

    Parameters
    ----------
    problem
        See the package's docstring for the formulation.
    limits
        Wall clock, gap, threads, seed; repeatable mode counts passes and forests by ``budget_s``.
    backend
        ``"heuristic"`` starts no solver; others let HiGHS search what is small enough.
    publish
        Called with every better solution and a report of what is known by then.

    Returns
    -------
    tuple
        The best solution, which passes the checker, or None; and the report. INFEASIBLE only if the
        least memory that any choice needs at some time is above the limit.
    """
    run = Run(problem, limits, publish)
    frugal, fits = least_memory(problem)
    if not fits:
        run.bound_source = "least memory of every node"
        return run.report(SolveStatus.INFEASIBLE)
    run.offer(frugal)
    graph = graph_of(problem)
    left = presolve(graph, limits.expired)
    if left is None:
        run.raise_bound(FORBIDDEN, "forbidden pairs")
        return run.report()
    run.raise_bound(left.graph.constant, "costs moved into a constant")
    if not len(left.graph.cost):
        run.offer(left.lift(np.zeros(0, dtype=np.int64)))
        return run.report()
    if not run.done():
        _without_memory(run, graph)
    if not run.done():
        _bound_and_search(run, left, backend)
    return run.report()


def _without_memory(run: Run, graph: Graph) -> None:
    """The optimum without limit, where that is easy: it may fit, and bounds what does."""
    nothing = np.zeros(0, dtype=np.int64)
    memory = replace(
        graph.memory, node=nothing, start=nothing, stop=nothing, usage=nothing, room=nothing,
        first=np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    left = presolve(replace(graph, memory=memory), run.limits.expired)
    if left is None:
        run.raise_bound(FORBIDDEN, "forbidden pairs")
        return
    found = optimum(left.graph)
    if found is None:
        return
    run.raise_bound(found[0], "variable elimination without memory")
    strategy = left.lift(found[1])
    if not check(run.problem, Solution(strategy)):
        run.offer(strategy)


def _bound_and_search(run: Run, left: Presolved, backend: str) -> None:
    """Raise the bound, then search with its prices while it is raised further."""
    limits, graph = run.limits, left.graph
    small = len(graph.table) <= MAX_CELLS and backend != "heuristic"
    if small:
        until = time.monotonic() + TREE_SHARE * limits.remaining_s()
        search_tree(run, left, until=until, parts=_parts(limits))
        if run.done():
            return
    ascent = Ascent(graph)
    searchable = Searchable.of(graph, ascent.passing)
    begin = time.monotonic()
    passes = _passes(limits, graph)
    first = max(1, int(FIRST_SHARE * passes))
    beside = limits.threads > 1 and not limits.deterministic
    seconds = (0.05 if small else FIRST_SHARE) * limits.remaining_s()
    until = begin + (min(seconds, FIRST_S) if beside else seconds)
    _ascend(run, ascent, first if limits.deterministic else passes, until)
    ascent.return_to_best()
    rounds = Rounds(run, left, searchable, ascent)
    if small and not run.done():
        rounds.go(until + 0.1 * limits.remaining_s(), 10)
        _exact(run, left, searchable, rounds.tight_rows(MANY_ROWS), rounds.best)
        if run.done():
            return
    deadline = limits.deadline
    if beside:  # each steers by what the other finds
        other = threading.Thread(
            target=_ascend, args=(run, ascent, passes - first, deadline), daemon=True
        )
        other.start()
        rounds.go(deadline, rounds.affordable())
        other.join()
    else:
        rounds.go(deadline, rounds.affordable())


def _parts(limits: Limits) -> int:
    """Parts that a tree search may make: by count in repeatable mode."""
    if not limits.deterministic:
        return 1 << 40
    return max(20, int(min(limits.budget_s, 3600.0) * PARTS_PER_S))


def _passes(limits: Limits, graph: Graph) -> int:
    """Passes that a run may take: by count in repeatable mode."""
    if not limits.deterministic:
        return 1 << 40
    seconds = min(limits.budget_s, 3600.0)
    return max(20, int(seconds * CELLS_PER_S / (2 * len(graph.table) + 20 * len(graph.cost) + 1)))


def _ascend(run: Run, ascent: Ascent, passes: int, until: float) -> None:
    """Raise the bound; what counts is certified now and then, and at the end."""
    due = time.monotonic() + CERTIFY_EVERY_S
    certified = ascent.bound
    repeatable = run.limits.deterministic
    for number in range(passes):
        ascent.advance(_target(run, ascent))
        now = time.monotonic()
        last = number == passes - 1 or run.limits.expired() or ascent.stalled()
        last |= now > until and not repeatable
        if last or (now >= due and ascent.bound > certified):
            run.raise_bound(ascent.certified(), "prices on memory and messages")
            certified, due = ascent.bound, now + CERTIFY_EVERY_S
        if last or run.settled():
            return


def _target(run: Run, ascent: Ascent) -> float:
    """What the bound may come to: the incumbent, or not much more than the bound itself."""
    near = max(float(run.bound), ascent.bound) * TARGET
    return near if run.objective is None else min(near, float(run.objective))


def _exact(
    run: Run, left: Presolved, searchable: Searchable, rows: IntArray, hint: IntArray | None
) -> None:
    """Let HiGHS search what is left; rows of memory enter when a solution breaks them."""
    # Imported here: most problems are too large, and need no solver.
    from ipuopt.solvers import highs

    quiet = run.limits.unheard()
    for _ in range(MAX_ROUNDS):
        model = build(left.graph, rows)
        start = None if hint is None else model.start(hint)
        outcome = highs.run(model.milp, quiet, name=STAGE, hint=start)
        run.solver = outcome.solver
        if outcome.note:
            run.notes.append(outcome.note)
        if outcome.bound is not None:
            # In floating point, and no certificate comes with it: told, not claimed.
            run.notes.append(f"{outcome.solver} says that the bound is {outcome.bound}")
        if outcome.values is None or run.done():
            return
        labels = model.read(outcome.values)
        use = searchable.use(labels)
        broken = peaks(use)
        if not len(broken):
            run.offer(left.lift(labels))
            return
        rows = np.union1d(rows, broken[np.argsort(-use[broken], kind="stable")[:MANY_ROWS]])
