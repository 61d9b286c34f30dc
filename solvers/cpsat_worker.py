"""One CP-SAT search; runs in a thread or in a child process (see ``session.py``)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

_HINT_LINE = "The solution hint is "


class _News(cp_model.CpSolverSolutionCallback):
    """Sends every solution with the bound known by then."""

    def __init__(self, send: Callable[..., None]) -> None:
        super().__init__()
        self._send = send

    def on_solution_callback(self) -> None:
        """Send the solution; called by the solver."""
        solver: Any = self  # the method below has no types
        self._send("solution", np.array(solver.Response().solution, dtype=np.int64))


def search(
    job: Mapping[str, Any], send: Callable[..., None], arm: Callable[[Callable[[], None]], None]
) -> None:
    """Solve ``job["model"]`` (a CpModel or its text) with ``job["parameters"]``."""
    model = job["model"]
    if isinstance(model, str):
        text, model = model, cp_model.CpModel()
        if not model.proto.parse_text_format(text):
            raise ValueError("the model's text does not parse")
    problem = model.validate()
    if problem:
        raise ValueError(f"invalid model: {problem.splitlines()[0]}")
    solver = cp_model.CpSolver()
    for name, value in job["parameters"].items():
        setattr(solver.parameters, name, value)
    if "deadline" in job:  # of the system's monotonic clock: starting a child has taken time
        left = max(0.0, job["deadline"] - time.monotonic())
        solver.parameters.max_time_in_seconds = left
    # The log is read, not shown: it is the only place that says what became of the hint.
    solver.parameters.log_search_progress = True
    solver.parameters.log_to_stdout = False
    arm(solver.stop_search)

    def log(line: str) -> None:
        for part in line.splitlines():
            if part.startswith(_HINT_LINE):
                send("hint", part[len(_HINT_LINE) :])

    def bound(value: float) -> None:
        if math.isfinite(value):
            send("bound", value)

    solver.log_callback = log
    solver.best_bound_callback = bound
    status = solver.solve(model, _News(send))
    response = solver.response_proto
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        send("solution", np.array(response.solution, dtype=np.int64))
    if math.isfinite(response.best_objective_bound) and status != cp_model.INFEASIBLE:
        send("bound", response.best_objective_bound)
    send("end", solver.status_name(status))
