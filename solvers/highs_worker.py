"""One HiGHS search; runs in a thread or in a child process (see ``session.py``)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import highspy
import numpy as np


class _Quiet(highspy.Highs):
    """HiGHS without its banner, which the constructor prints when it switches callbacks on."""

    def enableCallbacks(self) -> None:
        """Silence the log; callbacks are set in :func:`search`."""
        self.setOptionValue("output_flag", False)


def _model(job: Mapping[str, Any]) -> highspy.HighsLp:
    """Copy the arrays of the job into HiGHS's own record."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(job["cost"]), len(job["row_lower"])
    lp.col_cost_, lp.offset_ = job["cost"], job["offset"]
    lp.col_lower_, lp.col_upper_ = job["lower"], job["upper"]
    lp.row_lower_, lp.row_upper_ = job["row_lower"], job["row_upper"]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = job["start"], job["index"]
    lp.a_matrix_.value_ = job["value"]
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(whole)] for whole in job["integer"]]
    return lp


def search(
    job: Mapping[str, Any], send: Callable[..., None], arm: Callable[[Callable[[], None]], None]
) -> None:
    """Solve the arrays of ``job``; ends with HiGHS's own word for the outcome."""
    make: Callable[[], Any] = _Quiet
    solver = make()
    for name, value in job["options"].items():
        if solver.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS does not take option {name} = {value}")
    if "deadline" in job:  # of the system's monotonic clock: starting a child has taken time
        solver.setOptionValue("time_limit", max(0.0, job["deadline"] - time.monotonic()))
    if solver.passModel(_model(job)) == highspy.HighsStatus.kError:
        raise ValueError("HiGHS does not take the model")
    if job["hint"] is not None:
        start = highspy.HighsSolution()
        start.col_value = list(job["hint"])
        solver.setSolution(start)
    stop = [False]

    def ask_to_stop() -> None:
        stop[0] = True

    arm(ask_to_stop)
    kind = highspy.cb.HighsCallbackType

    def news(event: Any, text: str, out: Any, answer: Any, data: Any) -> None:
        del text, data
        if event == kind.kCallbackMipImprovingSolution:
            send("solution", np.array(out.mip_solution))
        if event in (kind.kCallbackMipImprovingSolution, kind.kCallbackMipInterrupt):
            send("bound", float(out.mip_dual_bound))
        if event != kind.kCallbackMipImprovingSolution and stop[0]:
            answer.user_interrupt = True

    solver.setCallback(news, None)
    solver.startCallback(kind.kCallbackMipImprovingSolution)
    solver.startCallback(kind.kCallbackMipInterrupt)
    solver.startCallback(kind.kCallbackSimplexInterrupt)
    solver.startCallback(kind.kCallbackIpmInterrupt)
    solver.run()
    status, info = solver.getModelStatus(), solver.getInfo()
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        send("solution", np.array(solver.getSolution().col_value))
    has_integers = any(job["integer"])
    if has_integers:
        send("bound", float(info.mip_dual_bound))
    elif status == highspy.HighsModelStatus.kOptimal:
        send("bound", float(info.objective_function_value))
    send("end", solver.modelStatusToString(status))
