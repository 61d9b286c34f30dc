"""Optimiser for programs of Graphcore IPUs: mapping, placement and exchange with bounds.

>>> import ipuopt
>>> workload = ipuopt.load("examples/mlp-tiny.yaml")  # doctest: +SKIP
>>> result = ipuopt.solve(workload)  # doctest: +SKIP
>>> result.total.objective, result.total.bound  # doctest: +SKIP
>>> result.save("runs/mlp-tiny")  # doctest: +SKIP
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ipuopt.errors import CheckError, Error, InfeasibleError, InputError, LimitError
from ipuopt.events import Events
from ipuopt.options import SolveOptions
from ipuopt.workload import Workload, from_dict, load

if TYPE_CHECKING:
    from ipuopt.pipeline import CheckSummary
    from ipuopt.plan import Plan
    from ipuopt.result import Result

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


def solve(
    workload: Workload,
    options: SolveOptions | None = None,
    *,
    plan: Plan | None = None,
    events: Events | None = None,
) -> Result:
    """Map, lower, place and schedule ``workload``; see :func:`ipuopt.pipeline.solve`."""
    from ipuopt.pipeline import solve as solve_all  # imports the solvers, which takes a second

    return solve_all(workload, options or SolveOptions(), plan=plan, events=events)


def check(run: str | Path) -> CheckSummary:
    """Check a finished run directory without any solver."""
    from ipuopt.pipeline import check_run

    return check_run(Path(run))
