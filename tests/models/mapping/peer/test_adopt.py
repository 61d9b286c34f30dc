"""The seed plan under the names of a workload, and workloads that it does not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ipuopt.errors import InputError
from ipuopt.models.mapping.check_plan import check_plan
from ipuopt.models.mapping.peer import adopt, read_plan
from ipuopt.workload import load

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def test_peer_plan_computes_the_workload() -> None:
    """The plan in the examples, renamed, passes the plan checker for the example workload."""
    workload = load(EXAMPLES / "siglip-mlp.yaml")
    plan = adopt(read_plan(EXAMPLES / "siglip-mlp.peer-plan.yaml"), workload)
    assert check_plan(workload, plan) == ()
    assert [value.tensor for value in plan.values] == ["x", "w1", "w2", "h", "h", "a", "a", "y"]
    assert [value.name for value in plan.values if value.is_output] == ["gemm_2"]


def test_plan_of_another_size_is_refused() -> None:
    """A workload with fewer operations is named with both counts."""
    workload = load(EXAMPLES / "siglip-mlp.yaml")
    shorter = replace(workload, operations=workload.operations[:2])
    with pytest.raises(InputError, match="found 3 operations, expected the 2"):
        adopt(read_plan(EXAMPLES / "siglip-mlp.peer-plan.yaml"), shorter)
