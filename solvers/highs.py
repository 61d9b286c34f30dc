"""Runs mixed-integer programs with HiGHS within limits; the answer is always a plain result.

A solution counts only after its integers were rounded and every row was checked again: HiGHS has
reported infeasible points as optimal (ERGO-Code/HiGHS #1710, #2402, #3034).
"""

from __future__ import annotations

import math
from importlib.metadata import version

import numpy as np

from ipuopt.limits import Limits
from ipuopt.report import Limit, SolveStatus
from ipuopt.solvers import highs_worker, session
from ipuopt.solvers.milp import FloatArray, Milp
from ipuopt.solvers.outcome import Outcome, Recorder

ISOLATE_FROM = 50_000
"""Nonzeros from which a model is solved in a child process, which can be ended in presolve."""

EFFORT = 100_000
"""Branch-and-bound nodes of a repeatable run."""

SOLVER = f"HiGHS {version('highspy')}"

_LIMITS = {
    "Time limit reached": Limit.TIME,
    "Interrupted by user": Limit.INTERRUPT,
    "Memory limit reached": Limit.MEMORY,
    "Iteration limit reached": Limit.TIME,
    "Solution limit reached": Limit.TIME,
    "Optimal": Limit.GAP,
}
"""Why HiGHS stopped, where its two numbers do not meet. Its node limit is a solution limit."""


def run(
    model: Milp,
    limits: Limits,
    *,
    name: str,
    isolate: bool | None = None,
    hint: FloatArray | None = None,
    effort: int = EFFORT,
) -> Outcome:
    """Minimise ``model`` within ``limits``.

    Parameters
    ----------
    model
        Arrays; its optimum must be an integer, since bounds are rounded up.
    limits
        Wall clock, gap, threads, seed, memory, interrupt; ``deterministic`` uses one thread and
        ``effort``. ``on_solution`` and ``on_bound`` are called with ``name``.
    name
        Of the model, for callbacks.
    isolate
        Whether to solve in a child process; None decides by size. Without one there is a single
        thread, since HiGHS's threads belong to the whole process.
    hint
        Starting point; ignored unless it satisfies every row.
    effort
        Most nodes, only in deterministic mode.

    Returns
    -------
    Outcome
        With reason ``SOLVER`` and a note if HiGHS crashed, failed or contradicted itself.
    """
    record = Recorder(name, limits)
    if limits.expired():
        reason = Limit.INTERRUPT if limits.should_stop() else Limit.TIME
        return _result(record, record.status, reason, "")
    note = ""
    if hint is not None and (note := model.violation(model.rounded(hint))):
        hint, note = None, f"the starting point was refused: {note}"
    if isolate is None:
        isolate = len(model.rows.index) >= ISOLATE_FROM
    reading = _Reading(record, model)
    job = {
        "cost": model.cost.astype(np.float64),
        "offset": float(model.offset),
        "lower": model.lower,
        "upper": model.upper,
        "integer": model.integer.tolist(),
        "start": model.rows.start.astype(np.int32),
        "index": model.rows.index.astype(np.int32),
        "value": model.rows.value,
        "row_lower": model.rows.lower,
        "row_upper": model.rows.upper,
        "hint": None if hint is None else model.rounded(hint).tolist(),
        "options": {
            "random_seed": limits.seed % (1 << 31),
            "threads": limits.threads if isolate and not limits.deterministic else 1,
            "mip_rel_gap": limits.gap,
        },
    }
    if math.isfinite(limits.deadline):
        job["deadline"] = limits.deadline
    if limits.deterministic:
        job["options"] = {"mip_max_nodes": effort} | dict(job["options"])
    stopped, problem = session.run(
        highs_worker, job, limits, isolate=isolate, handle=reading.handle
    )
    return _conclude(record, reading, stopped, "; ".join(filter(None, (note, problem))))


def _conclude(record: Recorder, reading: _Reading, reason: Limit | None, note: str) -> Outcome:
    """Weigh what was read: numbers decide, and contradictions are refused."""
    contradiction = reading.refused
    if reading.ended == "Infeasible":
        if record.objective is None and not contradiction:
            return _result(record, SolveStatus.INFEASIBLE, None, note)
        contradiction = contradiction or "HiGHS says infeasible, but there is a solution"
    if record.objective is not None and (record.bound or 0) > record.objective:
        contradiction = contradiction or (
            f"HiGHS's bound {record.bound} is above its own solution {record.objective}"
        )
        record.bound = None
    if contradiction:
        reason, note = Limit.SOLVER, "; ".join(filter(None, (note, contradiction)))
    elif record.status is SolveStatus.OPTIMAL:
        reason = None
    elif reason is None:
        reason = _LIMITS.get(reading.ended, Limit.SOLVER)
        if reason is Limit.SOLVER:
            note = "; ".join(filter(None, (note, f"HiGHS ended with {reading.ended!r}")))
    return _result(record, record.status, reason, note)


def _result(record: Recorder, status: SolveStatus, reason: Limit | None, note: str) -> Outcome:
    return Outcome(
        status=status,
        objective=record.objective,
        bound=None if status is SolveStatus.INFEASIBLE else record.bound,
        values=record.values,
        reason=reason,
        solver=SOLVER,
        trace=tuple(record.trace),
        wall_time_s=record.wall_time_s,
        note=note,
    )


class _Reading:
    """Turns messages of the worker into records; refuses what breaks a row."""

    def __init__(self, record: Recorder, model: Milp) -> None:
        self._record = record
        self._model = model
        self.ended = ""
        self.refused = ""

    def handle(self, message: session.Message) -> None:
        """Take one message."""
        match message:
            case ("solution", np.ndarray() as values):
                if values.shape == self._model.cost.shape:
                    values = self._model.rounded(values)
                problem = self._model.violation(values)
                if problem:
                    self.refused = f"a solution of HiGHS was refused: {problem}"
                else:
                    self._record.solution(self._model.objective(values), values)
            case ("bound", float() as value):
                if math.isfinite(value):
                    # A whole number up to HiGHS's tolerance of 1e-6, which is relative to costs.
                    slack = 1e-6 * max(1.0, abs(value))
                    self._record.improve_bound(math.ceil(value - min(slack, 0.5)))
            case ("end", str() as status):
                self.ended = status
            case _:
                self.refused = f"unexpected answer {str(message[0])!r} of the solver"
