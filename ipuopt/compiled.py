"""Typed wrapper around numba, so that compiled kernels keep their signatures for type checkers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile ``function`` without the interpreter; the machine code is cached on disk.

    A kernel releases the interpreter lock: other threads show progress and hear signals while it
    runs. So its arrays must not be changed by another thread meanwhile.
    """
    return cast(F, numba.njit(cache=True, nogil=True)(function))
