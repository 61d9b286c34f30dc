"""A small checked program, and its package."""

from __future__ import annotations

import pytest

import ipuopt
from ipuopt.codegen.package import Package
from ipuopt.codegen.tile import build_package
from ipuopt.options import Solver
from ipuopt.result import Built


@pytest.fixture(scope="session")
def built() -> Built:
    """Two products with Gelu between on eight tiles, uneven: 40x48 -> 80 -> 32."""
    workload = ipuopt.from_dict(
        {
            "ipuopt": 1,
            "name": "small",
            "target": {"tiles": 8},
            "inputs": {"x": {"shape": [40, 48]}},
            "parameters": {"w1": {"shape": [48, 80]}, "w2": {"shape": [80, 32]}},
            "operations": {
                "h": {"op": "MatMul", "inputs": ["x", "w1"]},
                "a": {"op": "Gelu", "inputs": ["h"]},
                "y": {"op": "MatMul", "inputs": ["a", "w2"]},
            },
            "outputs": ["y"],
        }
    )
    options = ipuopt.SolveOptions(time_limit_s=60, solver=Solver.HEURISTIC)
    return ipuopt.solve(workload, options).built


@pytest.fixture(scope="session")
def package(built: Built) -> Package:
    return build_package(built)
