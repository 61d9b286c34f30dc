"""The flow over all parts: :func:`solve` a workload, :func:`check_run` a finished run."""

from ipuopt.pipeline.check import CheckSummary, check_run
from ipuopt.pipeline.solve import solve

__all__ = ["CheckSummary", "check_run", "solve"]
