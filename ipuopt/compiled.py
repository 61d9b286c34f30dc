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

_DECORATED = re.compile(rb"^@(small_)?kernel$", re.MULTILINE)


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
    config: Any = numba.config
    chosen = config.CACHE_DIR
    # numba looks here when it decorates; other users of numba in this process keep their folder.
    config.CACHE_DIR = cache_folder()
    try:
        return cast(F, numba.njit(cache=True, nogil=True)(function))
    finally:
        config.CACHE_DIR = chosen


def small_kernel(function: F) -> F:
    """Compile as :func:`kernel` does, but interpret small calls while a child compiles.

    For kernels that Python calls, whose work is bounded by the size of their arguments. What they
    call is interpreted too. See :mod:`ipuopt.interpreted`.
    """
    compiled = kernel(function)
    prefer_interpreter(compiled)
    return compiled
