"""Compile the kernels of the later stages beside the first one: ``python -m ipuopt.warm``.

The first run on a machine spends most of its time in the compiler, on one core. This module, run as
a child process, schedules and places a phase of a few transfers, so that the machine code is in the
cache when the run gets there. Until it is, the run interprets what is small. What this module
computes is thrown away; a run without it gives the same result, later. A run that ends first ends
the child; the next one goes on from the kernels that are done.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ipuopt.compiled import cache_folder, sources_stamp
from ipuopt.interpreted import while_compiling

KEPT_STATES = 4
"""States of the sources whose machine code is kept: some installations side by side."""

UNUSED_AFTER_S = 86_400.0
"""Age of a state in seconds before it may go: a run of another installation may write into it."""


@contextlib.contextmanager
def compiling_beside() -> Iterator[None]:
    """Have the child compile while the block runs, where the cache lacks some code."""
    child = start_if_cold()
    try:
        yield
    finally:
        if child is not None:
            child.kill()
            child.wait()


def start_if_cold() -> subprocess.Popen[bytes] | None:
    """Start the child unless one has compiled all; None where it has, or where nothing can be kept.

    Code of all but the latest states of the sources is removed then.
    """
    folder = cache_folder()
    if not folder or _mark(folder).exists():
        return None
    if Path(folder).exists() and not os.access(folder, os.W_OK):
        return None
    if Path(folder).name == sources_stamp():
        _prune(Path(folder).parent)
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-P", "-m", "ipuopt.warm"]
    try:
        child = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    except OSError:  # no room for another process: the run goes on alone
        return None
    while_compiling(lambda: child.poll() is None)
    return child


def _mark(folder: str) -> Path:
    """File that says that the child has compiled all, for these sources, Python and numba."""
    import numba

    names = sources_stamp(), sys.implementation.cache_tag, numba.__version__
    return Path(folder, "-".join(("complete", *map(str, names))))


def _prune(folder: Path) -> None:
    """Keep the latest folders of machine code, and all that are young."""
    ages = [(time.time() - state.stat().st_mtime, state) for state in folder.glob("*/")]
    for age_s, state in sorted(ages)[KEPT_STATES:]:
        if age_s > UNUSED_AFTER_S:
            shutil.rmtree(state, ignore_errors=True)


def main() -> None:
    """Run the kernels on small problems, in the order in which a run gets to them."""
    _serve_the_run()
    if hasattr(os, "nice"):
        os.nice(10)  # what follows is interpreted when small: solvers of the run come first
    _schedule_and_place()
    folder = cache_folder()
    if folder:
        _mark(folder).touch()


def _serve_the_run() -> None:
    """Compile what the run needs next, while it compiles the first kernels of mapping."""
    import numpy as np

    from ipuopt.models.mapping.dominance import nondominated
    from ipuopt.models.mapping.lines import price_lines

    bounds, owner = np.zeros((1, 4, 1), dtype=np.int32), np.zeros((1, 1), dtype=np.int32)
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    latency = np.zeros(1, dtype=np.int64)
    latency.flags.writeable = False  # another type to the compiler
    pairs, out = np.zeros((1, 3), dtype=np.int64), np.zeros((1, 2), dtype=np.int64)
    tail, head = (bounds, owner, one, one), (bounds, zero, one)
    nondominated(zero, pairs)
    price_lines(*tail, *head, pairs, 1, 2, latency, latency, zero, out)


def _schedule_and_place() -> None:
    """Solve an exchange phase and a placement of a few transfers and buffers."""
    import numpy as np

    from ipuopt.codegen.rows import encode_rows
    from ipuopt.limits import Limits
    from ipuopt.models import exchange, placement
    from ipuopt.models.exchange.instance import instance
    from ipuopt.models.exchange.paths import shortest_order
    from ipuopt.models.exchange.search import run_to_end
    from ipuopt.models.placement import space
    from ipuopt.models.placement.space.heuristics import climb, quick
    from ipuopt.models.placement.space.instance import build
    from ipuopt.models.placement.space.shape import tables_of
    from ipuopt.models.placement.space.skyline import skyline
    from ipuopt.models.placement.tiles import TILE_REGIONS

    limits = Limits(deadline=time.monotonic() + 60, deterministic=True)
    ring, base = np.arange(8), TILE_REGIONS.high_start
    phase = exchange.Problem(
        name="ring of 8 tiles, all within one element",
        tiles=8,
        source=np.tile(ring, 2),
        source_address=np.repeat([base, base + 2048], 8),
        words=np.repeat([40, 70], 8),
        destination_start=np.arange(17),
        destination_tile=np.concatenate(((ring + 1) % 8, (ring + 3) % 8)),
        destination_address=np.repeat([base + 4096, base + 8192], 8),
    )
    run_to_end(instance(phase), np.arange(16), 4096)  # interpreted, this takes longest
    solution, _ = exchange.solve(phase, limits)
    shortest_order(np.arange(9).reshape(3, 3), np.arange(3), np.arange(3))
    encode_rows(phase, solution)
    ones = np.ones(3, dtype=np.int64)
    buffers = placement.Problem(
        name="three buffers",
        regions=TILE_REGIONS,
        size_bytes=1024 * ones,
        alignment=8 * ones,
        interleaved=np.array([1, 0, 0]),
        live_start=0 * ones,
        live_stop=2 * ones,
        distinct=np.array([[1, 2]]),
        conflict=np.array([[0, 1]]),
        conflict_words=np.array([8]),
    )
    placement.solve(buffers, limits)
    tables = tables_of(build(space.Problem.of("two buffers", [1, 1], [0, 0], [1, 1])))
    assert tables is not None
    skyline(tables.instance)
    climb(tables, quick(tables, 0, limits.expired), 0, 1, 0, limits.expired)


if __name__ == "__main__":
    main()
