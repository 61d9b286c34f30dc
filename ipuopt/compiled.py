"""Typed wrapper around numba, so that compiled kernels keep their signatures for type checkers."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from ipuopt.interpreted import prefer_interpreter

F = TypeVar("F", bound=Callable[..., object])

_DECORATED = re.compile(rb"^@(small_|inner_)?kernel$", re.MULTILINE)


@cache
def sources_stamp() -> str:
    """Names this state of the package's kernels: paths, sizes and times of the modules with some.

    numba looks at the file of a kernel only. A kernel that calls one of another file would keep
    its old code when that file changes.
    """
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(Path(__file__).parent, followlinks=True):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            if path.suffix == ".py" and _DECORATED.search(path.read_bytes()):
                status = path.stat()
                digest.update(f"{path} {status.st_size} {status.st_mtime_ns};".encode())
    return digest.hexdigest()[:16]


def cache_folder() -> str:
    """Folder in which machine code is kept, unless ``NUMBA_CACHE_DIR`` says otherwise.

    Outside the package, where numba would put it: pip does not remove files that it did not
    install, and an ``ipuopt`` folder left in site-packages hides a later editable installation.
    Empty, which is numba's own choice, where the home folder is not known.
    """
    chosen: str = getattr(numba.config, "CACHE_DIR", "")
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "ipuopt", sources_stamp()) if os.path.isabs(base) else ""


def kernel(function: F) -> F:
    """Compile ``function`` without the interpreter; the machine code is cached on disk.

    A kernel releases the interpreter lock: other threads show progress and hear signals while it
    runs. So its arrays must not be changed by another thread meanwhile.
    """
    return cast(F, _cached(function))


def _cached(function: Callable[..., object], **options: bool) -> Any:
    """Dispatcher of numba; none has code by which C would call it."""
    config: Any = numba.config
    compiler: Any = numba.njit  # some of its options are not in its annotations
    chosen = config.CACHE_DIR
    # numba looks here when it decorates; other users of numba in this process keep their folder.
    config.CACHE_DIR = cache_folder()
    try:
        return compiler(cache=True, nogil=True, no_cfunc_wrapper=True, **options)(function)
    finally:
        config.CACHE_DIR = chosen


def inner_kernel(function: F) -> F:
    """Compile as :func:`kernel` does, for calls from other kernels; ``function`` allocates nothing.

    To take a tuple of twenty arrays apart for a call from Python, and to count references to all of
    them, is more code than most functions have themselves. A call from Python compiles that code as
    well, each time that Python runs.
    """
    compiled = _cached(function, no_cpython_wrapper=True, _nrt=False)
    if hasattr(compiled, "_compile_for_args"):

        @cache
        def whole() -> Any:
            return numba.njit(nogil=True)(function)

        # The dispatcher calls what it has inserted, or else what this gives.
        compiled._insert = lambda *_, **__: None
        compiled._compile_for_args = lambda *_, **__: whole()
    return cast(F, compiled)


def small_kernel(function: F) -> F:
    """Compile as :func:`kernel` does, but interpret small calls while a child compiles.

    For kernels that Python calls, whose work is bounded by the size of their arguments. What they
    call is interpreted too. See :mod:`ipuopt.interpreted`.
    """
    compiled = kernel(function)
    prefer_interpreter(compiled)
    return compiled
