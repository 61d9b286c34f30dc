"""What a workload computes, in float32 by numpy and scipy: what a run is held against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erf

from ipuopt.workload import Workload

Tensor = npt.NDArray[Any]


def reference(workload: Workload, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Outputs of a workload; operations have the meaning that ONNX gives them.

    Parameters
    ----------
    given
        Inputs and parameters by name.

    Returns
    -------
    dict
        float32 matrices by name, leading axes folded into rows.
    """
    values = {
        name: tensor.reshape(-1, tensor.shape[-1]).astype(np.float32)
        for name, tensor in given.items()
    }
    for operation in workload.operations:
        first, *others = (values[name] for name in operation.inputs)
        match operation.kind:
            case "MatMul":
                result = first @ others[0]
            case "Gelu":
                result = 0.5 * first * (1 + erf(first / np.float32(np.sqrt(2))))
            case "Add":
                result = first + others[0]
            case "Cast":
                result = first
            case other:
                raise ValueError(f"operation {other}, expected one with a reference")
        values[operation.name] = result.astype(np.float32)
    return {name: values[name] for name in workload.outputs}
