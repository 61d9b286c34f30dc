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
from ipuopt.events import Events
from ipuopt.options import SolveOptions
from ipuopt.report import Limit
from ipuopt.result import Result
from ipuopt.workload import Workload


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _wait(events: Events) -> None:
    """A stage that polls."""
    for value in range(10**6):
        events.on_solution("mapping", 10**6 - value)
        if events.should_stop():
            return
        time.sleep(0.01)


def _deaf(events: Events) -> None:
    """A stage that hears nothing, with a child that would outlive it."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    _say(f"child {child.pid}")
    time.sleep(60)


def _cpsat(events: Events) -> None:
    """A solver's call that does not return to Python until it is stopped from another thread."""
    import threading

    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    boxes = [model.new_bool_var(f"b{i}") for i in range(600)]
    for size in range(2, 40):  # many parities: far from solved in a minute
        for start in range(0, 600 - 3 * size, size):
            model.add_bool_xor(boxes[start : start + 3 * size : 3])
    model.maximize(sum(((7 * i) % 13 - 6) * box for i, box in enumerate(boxes)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.catch_sigint_signal = False
    solver.parameters.max_time_in_seconds = 60.0

    def watch() -> None:
        while not events.should_stop():
            time.sleep(0.02)
        solver.stop_search()

    threading.Thread(target=watch, daemon=True).start()
    solver.solve(model)


def main() -> None:
    behaviour, result_file, *arguments = sys.argv[1:]
    result: Result = pickle.loads(Path(result_file).read_bytes())
    stages = {"wait": _wait, "deaf": _deaf, "cpsat": _cpsat}

    def solve(
        workload: Workload, options: SolveOptions, *, plan: object = None, events: Events
    ) -> Result:
        del options, plan
        events.on_stage("mapping")
        _say("pipeline runs")
        stages[behaviour](events)
        _say("pipeline ends")
        return replace(result, workload=workload, limit=Limit.INTERRUPT)

    fake = types.ModuleType("ipuopt.pipeline")
    vars(fake)["solve"] = solve
    sys.modules["ipuopt.pipeline"] = fake
    vars(ipuopt)["pipeline"] = fake
    ipuopt_cli = __import__("ipuopt.cli", fromlist=["main"])
    ipuopt_cli.main(arguments, prog_name="ipuopt")


if __name__ == "__main__":
    main()
