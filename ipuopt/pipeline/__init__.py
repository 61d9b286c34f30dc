"""The flow over all parts: :func:`solve` a workload, :func:`check_run` a finished run."""

from ipuopt.pipeline.flow import solve
from ipuopt.pipeline.recheck import CheckSummary, check_run

__all__ = ["CheckSummary", "check_run", "solve"]
