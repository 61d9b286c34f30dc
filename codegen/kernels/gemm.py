"""Block products of float16 as the kernels accumulate them, in a compiled loop.

For every sixteen of the inner axis the products with one element of the result are summed, then added
to it and rounded to float16, stochastically (``package.md`` 4.2: "accumulated in F16 with stochastic
rounding on"). Inside the sixteen the sum is float32 here: how the unit rounds there, and the numbers
that its generator draws, are in no source. Draws come from a generator of our own, seeded by the
caller, so equal calls give equal bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ipuopt.compiled import inner_kernel, kernel

FloatArray = npt.NDArray[np.float32]
HalfBits = npt.NDArray[np.uint16]

PANEL = 16
"""Columns of a panel, and elements of the inner axis between two roundings (cost-model.md 1.6)."""
_DROPPED = 13
"""Bits of a float32 fraction that float16 has no room for."""
_RANGE = np.uint32((1 << _DROPPED) - 1)
_LEAST_NORMAL = np.float32(2.0**-14)
_SUBNORMALS = np.float32(2.0**24)
_OVERFLOW = np.uint32(0x47800000)
_INFINITY = np.uint16(0x7C00)
_REBIAS = np.uint32((127 - 15) << 10)


@kernel
def accumulate(left: FloatArray, weights: FloatArray, result: FloatArray, seed: int) -> HalfBits:
    """Add a block product to a result and return that as bits of float16.

    Parameters
    ----------
    left
        Shape ``(inner / 16, rows, 16)``.
    weights
        Shape ``(columns / 16, inner / 16, 16 of the inner axis, 16 columns)``.
    result
        Values before, exact in float16, shape ``(columns / 16, rows, 16)``; overwritten.
    seed
        Of the generator.

    Returns
    -------
    array
        uint16, shape of ``result``.
    """
    panels, rows = result.shape[0], result.shape[1]
    bits = np.empty(result.shape, np.uint16)
    part = np.empty(PANEL, np.float32)
    raw = part.view(np.uint32)
    state = np.uint32(seed) | np.uint32(1)
    for p in range(panels):
        for r in range(rows):
            for block in range(left.shape[0]):
                for c in range(PANEL):
                    part[c] = np.float32(0)
                for k in range(PANEL):
                    x = left[block, r, k]
                    for c in range(PANEL):
                        part[c] += x * weights[p, block, k, c]
                for c in range(PANEL):
                    part[c] += result[p, r, c]
                for c in range(PANEL):
                    state = np.uint32(state * np.uint32(1664525) + np.uint32(1013904223))
                    draw = state >> np.uint32(32 - _DROPPED)
                    result[p, r, c] = _rounded(part, raw, c, draw)
            for c in range(PANEL):
                part[c] = result[p, r, c]
                bits[p, r, c] = _half(part[c], raw[c])
    return bits


@inner_kernel
def _rounded(part: FloatArray, raw: npt.NDArray[np.uint32], c: int, draw: np.uint32) -> np.float32:
    """One of the two neighbours in float16, the nearer one more often."""
    value: np.float32 = part[c]
    size = abs(value)
    if size < _LEAST_NORMAL:
        steps = np.floor(size * _SUBNORMALS + np.float32(draw) / np.float32(1 << _DROPPED))
        small: np.float32 = np.float32(steps) / _SUBNORMALS
        if value < 0:
            small = np.float32(-small)
        return small
    if not size < np.float32(65536):
        return value
    raw[c] = (raw[c] + draw) & ~_RANGE
    value = part[c]
    return value


@inner_kernel
def _half(value: np.float32, raw: np.uint32) -> np.uint16:
    """Bits of a value that float16 holds; infinity beyond its range."""
    sign = np.uint16((raw >> np.uint32(16)) & np.uint32(0x8000))
    size = raw & np.uint32(0x7FFFFFFF)
    if np.isnan(value):
        return np.uint16(0x7E00)
    if size >= _OVERFLOW:
        return sign | _INFINITY
    if abs(value) < _LEAST_NORMAL:
        return sign | np.uint16(abs(value) * _SUBNORMALS)
    return sign | np.uint16((size >> np.uint32(_DROPPED)) - _REBIAS)
