"""Jobs over processes: order kept, limits held, lost workers survived."""

from __future__ import annotations

import importlib.util
import os
import time

import pytest

from ipuopt.errors import MissingPartError
from ipuopt.limits import Limits
from ipuopt.solvers.parallel import executor, ordered


def test_order_is_kept() -> None:
    with executor(2) as pool:
        assert list(ordered(pool, abs, [-3, 2, -1, 0], Limits())) == [3, 2, 1, 0]


def test_deadline_cuts_jobs_off() -> None:
    begin = time.monotonic()
    with executor(1) as pool:
        done = list(ordered(pool, time.sleep, [0.0, 5.0, 0.0], Limits().within(2.5)))
    assert done == [None, None, None]
    assert time.monotonic() - begin < 4.5


def test_dead_worker_loses_its_job() -> None:
    with executor(1) as pool:
        assert list(ordered(pool, os._exit, [1], Limits())) == [None]


@pytest.mark.skipif(
    importlib.util.find_spec("distributed") is not None, reason="the extra cluster is installed"
)
def test_cluster_needs_its_extra() -> None:
    with pytest.raises(MissingPartError, match="cluster"), executor(2, "cluster"):
        pass
