"""A small checked program, and its package."""

from __future__ import annotations

import pytest

import ipuopt
from ipuopt.codegen.package import Package
from ipuopt.codegen.tile import build_package
from ipuopt.options import Solver
from ipuopt.result import Built


@pytest.fixture(scope="session")
def built(small_workload: ipuopt.Workload) -> Built:
    options = ipuopt.SolveOptions(time_limit_s=60, solver=Solver.HEURISTIC)
    return ipuopt.solve(small_workload, options).built


@pytest.fixture(scope="session")
def package(built: Built) -> Package:
    return build_package(built)
