"""Runs CP-SAT models within limits; whatever happens inside, the answer is a plain result.

The model is solved in a child process when it is large, because presolve and some workers of
CP-SAT cannot be interrupted (google/or-tools #5163); its solutions and bounds are sent as they
appear, so that ending the child loses nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import numpy.typing as npt
from ortools.sat.python import cp_model
from ortools.sat.python.cp_model_helper import Literal

from ipuopt.limits import Limits
from ipuopt.report import Limit, SolveStatus
from ipuopt.solvers import cpsat_worker, session
from ipuopt.solvers.cpsat_model import Objective, domains, set_hint, too_large_row
from ipuopt.solvers.outcome import Outcome, Recorder

IntArray = npt.NDArray[np.int64]

ISOLATE_FROM = 10_000
"""Variables and constraints from which a model is solved in a child process."""

EFFORT = 60.0
"""Deterministic time of a repeatable run, in CP-SAT's unit (about a second of one core)."""

SOLVER = f"ortools {version('ortools')}"

Value = int | float | bool | str


@dataclass(frozen=True, slots=True, kw_only=True)
class CpResult(Outcome):
    """An :class:`Outcome` of CP-SAT.

    Attributes
    ----------
    hint
        What CP-SAT says of the hint: ``"complete and is feasible."``; empty if it says nothing.
    """

    hint: str = ""

    def value(self, variable: Literal) -> int:
        """Value of a variable or of a negated literal.

        Raises
        ------
        ValueError
            Without a solution.
        """
        if self.values is None:
            raise ValueError("no solution to read a value from")
        index = variable.index
        return int(self.values[index]) if index >= 0 else 1 - int(self.values[-index - 1])


def run(
    model: cp_model.CpModel,
    limits: Limits,
    *,
    name: str,
    isolate: bool | None = None,
    hint: Mapping[int, int] | Sequence[int] | None = None,
    effort: float = EFFORT,
    parameters: Mapping[str, Value] | None = None,
) -> CpResult:
    """Minimise ``model`` within ``limits``.

    Parameters
    ----------
    model
        Its hint is replaced if ``hint`` is given.
    limits
        Wall clock, gap, threads, seed, memory, interrupt; ``deterministic`` uses one worker and
        ``effort``. ``on_solution`` and ``on_bound`` are called with ``name``.
    name
        Of the model, for callbacks and notes.
    isolate
        Whether to solve in a child process; None decides by size.
    hint
        Value of every variable, or values by index of the variable.
    effort
        Most deterministic time, only in deterministic mode.
    parameters
        Further parameters of CP-SAT.

    Returns
    -------
    CpResult
        With reason ``SOLVER`` and a note if CP-SAT crashed, refused the model or contradicted
        itself.

    Raises
    ------
    ValueError
        If the model maximises, or has an objective that is not integral.
    """
    objective = Objective.of(model)
    record = Recorder(name, limits)
    note = too_large_row(model)
    if note:
        return _result(record, None, Limit.SOLVER, note)
    if hint is not None:
        note = set_hint(model, hint)
    if limits.expired():
        reason = Limit.INTERRUPT if limits.should_stop() else Limit.TIME
        return _result(record, None, reason, note)
    if isolate is None:
        isolate = len(model.proto.variables) + len(model.proto.constraints) >= ISOLATE_FROM
    reading = _Reading(record, objective, domains(model))
    job: dict[str, object] = {
        "model": str(model.proto) if isolate else model,
        "parameters": _parameters(limits, effort) | dict(parameters or {}),
    }
    if math.isfinite(limits.deadline):
        job["deadline"] = limits.deadline
    stopped, problem = session.run(
        cpsat_worker, job, limits, isolate=isolate, handle=reading.handle
    )
    return _conclude(record, reading, stopped, "; ".join(filter(None, (note, problem))))


def _conclude(record: Recorder, reading: _Reading, reason: Limit | None, note: str) -> CpResult:
    """Weigh what was read: numbers decide, and contradictions are refused."""
    contradiction = reading.refused
    if reading.ended == "INFEASIBLE":
        if record.objective is None and "is feasible" not in reading.hint:
            return _result(record, SolveStatus.INFEASIBLE, None, note, reading.hint)
        contradiction = contradiction or "CP-SAT says infeasible, but there is a solution"
    elif reading.ended in ("MODEL_INVALID", ""):
        reason = reason or Limit.SOLVER
    if record.objective is not None and (record.bound or 0) > record.objective:
        contradiction = contradiction or (
            f"CP-SAT's bound {record.bound} is above its own solution {record.objective}"
        )
        record.bound = None
    if contradiction:
        reason, note = Limit.SOLVER, "; ".join(filter(None, (note, contradiction)))
    elif record.status is SolveStatus.OPTIMAL:
        reason = None
    elif reason is None:
        reason = Limit.GAP if reading.ended == "OPTIMAL" else Limit.TIME
    return _result(record, record.status, reason, note, reading.hint)


def _result(
    record: Recorder,
    status: SolveStatus | None,
    reason: Limit | None,
    note: str,
    hint: str = "",
) -> CpResult:
    infeasible = status is SolveStatus.INFEASIBLE
    return CpResult(
        status=status or record.status,
        objective=record.objective,
        bound=None if infeasible else record.bound,
        values=record.values,
        reason=reason,
        solver=SOLVER,
        trace=tuple(record.trace),
        wall_time_s=record.wall_time_s,
        note=note,
        hint=hint,
    )


class _Reading:
    """Turns messages of the worker into records; refuses what does not fit the model."""

    def __init__(self, record: Recorder, objective: Objective, domains: IntArray) -> None:
        self._record = record
        self._objective = objective
        self._domains = domains
        self.ended = ""
        self.hint = ""
        self.refused = ""

    def handle(self, message: session.Message) -> None:
        """Take one message."""
        match message:
            case ("solution", np.ndarray() as values) if self._fits(values):
                self._record.solution(self._objective.value(values), values)
            case ("bound", float() | int() as value):
                # Bounds of an integral objective are whole up to rounding of the double.
                whole = math.ceil(value - 1e-6 * max(1.0, 1e-6 * abs(value)))
                self._record.improve_bound(whole)
            case ("hint", str() as text):
                self.hint = text
            case ("end", str() as status):
                self.ended = status
            case _:
                self.refused = f"unexpected answer {str(message[0])!r} of the solver"

    def _fits(self, values: IntArray) -> bool:
        low, high = self._domains
        return len(values) == len(low) and bool(np.all((low <= values) & (values <= high)))


def _parameters(limits: Limits, effort: float) -> dict[str, Value]:
    parameters: dict[str, Value] = {
        "random_seed": limits.seed % (1 << 31),
        "num_workers": 1 if limits.deterministic else limits.threads,
        "relative_gap_limit": limits.gap,
        "catch_sigint_signal": False,  # an interrupt is the caller's business
    }
    if limits.deterministic:
        parameters["max_deterministic_time"] = effort
    if limits.memory_bytes is not None:
        parameters["max_memory_in_mb"] = max(1, limits.memory_bytes >> 20)
    return parameters
