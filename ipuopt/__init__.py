"""Optimiser for programs of Graphcore IPUs: mapping, placement and exchange with bounds.

>>> import ipuopt
>>> workload = ipuopt.load("examples/mlp-tiny.yaml")  # doctest: +SKIP
>>> result = ipuopt.solve(workload)  # doctest: +SKIP
>>> result.total.objective, result.total.bound  # doctest: +SKIP
>>> result.save("runs/mlp-tiny")  # doctest: +SKIP

Names are imported when they are first used: the command line installs its handlers for Ctrl-C
before anything that takes long is imported.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what typing calls so; importing typing takes longer than all of this file
if TYPE_CHECKING:
    from pathlib import Path

    from ipuopt.errors import CheckError, Error, InfeasibleError, InputError, LimitError
    from ipuopt.events import Events
    from ipuopt.options import SolveOptions
    from ipuopt.pipeline import CheckSummary
    from ipuopt.plan import Plan
    from ipuopt.result import Result
    from ipuopt.workload import Workload, from_dict, load

__all__ = [
    "CheckError",
    "Error",
    "Events",
    "InfeasibleError",
    "InputError",
    "LimitError",
    "SolveOptions",
    "Workload",
    "check",
    "from_dict",
    "load",
    "solve",
]

_HOME = {
    "CheckError": "errors",
    "Error": "errors",
    "Events": "events",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "LimitError": "errors",
    "SolveOptions": "options",
    "Workload": "workload",
    "from_dict": "workload",
    "load": "workload",
}
"""Module of every public name that is not defined here."""


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def solve(
    workload: Workload,
    options: SolveOptions | None = None,
    *,
    plan: Plan | None = None,
    events: Events | None = None,
) -> Result:
    """Map, lower, place and schedule ``workload``; see :func:`ipuopt.pipeline.solve`."""
    import time

    started_s = time.monotonic()
    from ipuopt.options import SolveOptions
    from ipuopt.pipeline import solve as solve_all  # imports the solvers, which takes a second

    options = options or SolveOptions()
    return solve_all(workload, options, plan=plan, events=events, started_s=started_s)


def check(run: str | Path) -> CheckSummary:
    """Check a finished run directory without any solver."""
    from pathlib import Path

    from ipuopt.pipeline import check_run

    return check_run(Path(run))
