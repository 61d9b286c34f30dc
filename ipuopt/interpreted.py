"""Small calls run in the interpreter while a child process compiles.

On a machine without machine code in its cache, compiling the kernels of a stage takes longer than
the stage itself when the instance is small. As long as :func:`while_compiling` says that somebody
else compiles, such calls are interpreted, until the code is found in the cache. The results are the
same: kernels compute with integers only, and what they compute does not depend on the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

SMALL_BYTES = 1 << 20
"""Arrays of a call that is interpreted; the largest calls then take less than a second or two."""

LOOK_AGAIN_S = 0.5
"""Time between looks for the code of a kernel: each takes as long as many a small call."""

_PLAIN = ("int", "bool", "None")
"""Annotations of results that Python and code represent alike."""

_compiling: Callable[[], bool] | None = None


def while_compiling(compiling: Callable[[], bool] | None) -> None:
    """Interpret small calls as long as ``compiling`` is true; None: compile everything here."""
    global _compiling
    # Before NumPy 2, an unsigned scalar and an int gave a float (NEP 50).
    _compiling = compiling if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else None


def prefer_interpreter(kernel: Any) -> None:
    """Have ``kernel``, a dispatcher of numba, interpret small calls while somebody compiles.

    The dispatcher asks for code when it has none in memory for the types of its arguments, and
    calls what it gets. So a call whose code is there is as fast as ever.
    """
    compile_for = getattr(kernel, "_compile_for_args", None)
    if compile_for is None:  # numba is disabled, or does this in another way
        return
    kept: list[Callable[..., Any]] = []
    looked_s = -math.inf

    def code_for(*arguments: Any, **named: Any) -> Any:
        nonlocal looked_s
        if _compiling is None or named or sum(map(_size_bytes, arguments)) > SMALL_BYTES:
            return compile_for(*arguments, **named)
        if time.monotonic() - looked_s > LOOK_AGAIN_S:
            if _in_cache(kernel) or not _compiling():
                return compile_for(*arguments, **named)
            kept[:] = [_quiet(_interpreted(kernel, {}))]
            looked_s = time.monotonic()
        return kept[0]

    kernel._compile_for_args = code_for


def _size_bytes(argument: Any) -> int:
    """Bytes of an array, or of all arrays of a tuple."""
    if isinstance(argument, np.ndarray):
        return argument.nbytes
    return sum(map(_size_bytes, argument)) if isinstance(argument, tuple) else 0


def _in_cache(kernel: Any) -> bool:
    """Whether the cache holds an index of the kernel's code."""
    function = kernel.py_func
    name = f"{function.__module__.split('.')[-1]}.{function.__qualname__}"
    return any(Path(kernel.stats.cache_path).glob(f"{name}-*.nbi"))


def _interpreted(kernel: Any, known: dict[Any, Any]) -> Any:
    """The function of a kernel, with the functions of the kernels that it names and have no code.

    Calls between interpreted functions would otherwise look for code each time.
    """
    if kernel not in known:
        function = kernel.py_func
        code, names = function.__code__, dict(function.__globals__)
        known[kernel] = FunctionType(code, names, function.__name__, function.__defaults__)
        for name in code.co_names:
            called = names.get(name)
            if isinstance(called, type(kernel)) and not _callable(called):
                names[name] = _interpreted(called, known)
    return known[kernel]


def _callable(kernel: Any) -> bool:
    """Whether a kernel has code that gives interpreted functions what its function gives.

    Code returns an unsigned word as an int, whose complement is another one.
    """
    if kernel.targetoptions.get("no_cpython_wrapper"):
        return False
    return kernel.py_func.__annotations__.get("return") in _PLAIN and _in_cache(kernel)


def _quiet(function: Any) -> Any:
    """``function`` without warnings of sums and products of scalars that wrap around, as in code."""

    def call(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    return call
