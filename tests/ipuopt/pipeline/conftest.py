"""A workload that is solved in a moment."""

from __future__ import annotations

import pytest

import ipuopt


@pytest.fixture(scope="session")
def small_workload() -> ipuopt.Workload:
    """Two products with Gelu between, cut unevenly: 40x48 -> 80 -> 32."""
    return ipuopt.from_dict(
        {
            "ipuopt": 1,
            "name": "small",
            "target": {"chip": "ipu21", "tiles": 8},
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
