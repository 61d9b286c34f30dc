"""The command line with a pipeline that only waits: run as a script by the tests of signals.

Arguments: how the pipeline behaves, a pickled result to return, then the command line's own.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
import types
from dataclasses import replace
from pathlib import Path

import ipuopt
from ipuopt.errors import LimitError
from ipuopt.events import Events
from ipuopt.options import SolveOptions
from ipuopt.report import Limit
from ipuopt.result import Result
from ipuopt.workload import Workload


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _wait(events: Events) -> None:
    """A stage that polls."""
    _say("stage runs")
    for value in range(10**6):
        events.on_solution("mapping", 10**6 - value)
        if events.should_stop():
            return
        time.sleep(0.01)


def _empty(events: Events) -> None:
    """A pipeline that has no program when it is stopped."""
    _wait(events)
    raise LimitError("nothing yet")


def _deaf(events: Events) -> None:
    """A stage that hears nothing, with a child that would outlive it."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    _say(f"child {child.pid}")
    time.sleep(60)


def _cpsat(events: Events) -> None:
    """A solver's call that does not return to Python until it is stopped from another thread."""
    import random
    import threading

    from ortools.sat.python import cp_model

    rng = random.Random(0)
    model = cp_model.CpModel()
    machines: list[list[cp_model.IntervalVar]] = [[] for _ in range(15)]
    makespan = model.new_int_var(0, 10**5, "makespan")
    for _ in range(30):  # a job shop that keeps its gap for minutes
        ready: cp_model.LinearExprT = 0
        for machine in rng.sample(range(15), 15):
            start, duration = model.new_int_var(0, 10**5, ""), rng.randint(1, 99)
            machines[machine].append(model.new_fixed_size_interval_var(start, duration, ""))
            model.add(start >= ready)
            ready = start + duration
        model.add(makespan >= ready)
    for intervals in machines:
        model.add_no_overlap(intervals)
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.catch_sigint_signal = False
    solver.parameters.max_time_in_seconds = 60.0

    def watch() -> None:
        while True:
            time.sleep(0.02)
            if events.should_stop():
                solver.stop_search()  # again and again: before the search it is ignored

    threading.Thread(target=watch, daemon=True).start()
    _say("stage runs")
    solver.solve(model)


def main() -> None:
    behaviour, result_file, *arguments = sys.argv[1:]
    result: Result = pickle.loads(Path(result_file).read_bytes())
    stages = {
        "wait": _wait,
        "deaf": _deaf,
        "published": _deaf,
        "empty": _empty,
        "cpsat": _cpsat,
    }

    def solve(
        workload: Workload,
        options: SolveOptions,
        *,
        plan: object = None,
        events: Events,
        started_s: float,
        workers: object = None,
        library: object = None,
        profile: bool = False,
    ) -> Result:
        del options, plan, started_s, workers, library, profile
        events.on_stage("mapping")
        if behaviour == "published":
            events.on_result(replace(result, workload=workload, limit=Limit.TIME))
        stages[behaviour](events)
        _say("stage ends")
        return replace(result, workload=workload, limit=Limit.INTERRUPT)

    fake = types.ModuleType("ipuopt.pipeline")
    vars(fake)["solve"] = solve
    sys.modules["ipuopt.pipeline"] = fake
    vars(ipuopt)["pipeline"] = fake
    ipuopt_cli = __import__("ipuopt.cli", fromlist=["main"])
    ipuopt_cli.main(arguments, prog_name="ipuopt")


if __name__ == "__main__":
    main()
