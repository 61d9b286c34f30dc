"""Candidates of every kind of operation: layouts, kernels and grids it may use, with prices.

A new kind is one file and one entry here.
"""

from __future__ import annotations

from ipuopt.models.mapping.candidates.matmul import MATMUL
from ipuopt.models.mapping.candidates.pointwise import ADD, CAST, GELU
from ipuopt.models.mapping.candidates.request import Kind

KINDS: dict[str, Kind] = {"Add": ADD, "Cast": CAST, "Gelu": GELU, "MatMul": MATMUL}
"""By ONNX name."""
