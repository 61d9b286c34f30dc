"""All routes of the chip: a table that every exchange problem waits for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ipuopt.target.constants import TILES
from ipuopt.target.fabric import time_to_mux

pytestmark = pytest.mark.bench


def test_routes_of_all_pairs(
    best_of: Callable[..., float], record_property: Callable[[str, object], None]
) -> None:
    """All 1472 x 1472 times to mux from nothing take less than 0.2 s.

    The ratio to one sweep over a table of that size, taken in the same run, tells a slow machine
    from a slow formula.
    """
    table = np.zeros((TILES, TILES), dtype=np.int64)
    routes = best_of(lambda: time_to_mux.__wrapped__(TILES))
    sweep = best_of(lambda: np.abs(table - 1))
    record_property("seconds", routes)
    record_property("sweeps", routes / sweep)
    assert routes < 0.2
    assert routes < 20 * sweep
