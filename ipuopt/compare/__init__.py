"""Run against run, and solver against heuristic over a suite of workloads.

:func:`differences` tells two finished runs apart: options, versions, plan, stages and phases.
:func:`load_suite` reads which workloads a suite solves, :func:`summary` sums up their results.
Nothing is solved here.
"""

from ipuopt.compare.runs import Differences, StageChange, differences
from ipuopt.compare.suite import Case, CaseResult, Suite, Summary, load_suite, summary

__all__ = [
    "Case",
    "CaseResult",
    "Differences",
    "StageChange",
    "Suite",
    "Summary",
    "differences",
    "load_suite",
    "summary",
]
