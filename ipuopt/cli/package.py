"""``package.ipuexe`` of a run: written beside the other files where there is time for it."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipuopt.result import Built, Result

FIXED_S, RECEIVER_S, PIECE_S = 1.0, 2e-6, 1e-4
"""Seconds that a package takes: always, a receiver of a transfer, a piece of 4096 bytes from or to the
host. Twice what was measured on one idle core for a program of 1472 tiles."""
OVERRUN_SHARE, OVERRUN_S = 0.1, 2.0
"""How far a command may run past its limit."""


def write_package_of(folder: Path, result: Result, started_s: float) -> str | None:
    """Write the package of a run that stands in ``folder``.

    Parameters
    ----------
    started_s
        :func:`time.monotonic` at the start of the command, whose time limit holds here too.

    Returns
    -------
    str or None
        Why there is no package; None when it was written.
    """
    from ipuopt.errors import Error
    from ipuopt.rundir import PACKAGE

    limit_s = result.options.time_limit_s
    if limit_s is not None:
        left_s = started_s + limit_s * (1 + OVERRUN_SHARE) + OVERRUN_S - time.monotonic()
        needed_s = estimate_s(result.built)
        if needed_s > left_s:
            return (
                f"it may take {math.ceil(needed_s)} s, and {max(0, math.floor(left_s))} s are left"
            )
    from ipuopt.codegen.package import write_package
    from ipuopt.codegen.tile import build_package

    try:
        write_package(folder / PACKAGE, build_package(result.built))
    except Error as error:
        return str(error)
    return None


def estimate_s(built: Built) -> float:
    """Seconds that the package of a program may take."""
    import numpy as np

    from ipuopt.codegen.host.batches import PIECE_BYTES
    from ipuopt.plan import Origin

    moved = np.array(
        [value.origin is not Origin.COMPUTED or value.is_output for value in built.plan.values]
    )
    shards = built.program.shards
    held = shards.size_bytes[moved[shards.value]].sum()
    receivers = len(built.program.transfers.destination)
    return FIXED_S + RECEIVER_S * receivers + PIECE_S * float(held) / PIECE_BYTES
