"""How many processors this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path

MAX_THREADS = 1024
"""Most threads that may be asked for."""


def available_threads() -> int:
    """CPUs that this process may use: affinity and the cgroup quota, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(count or 1, cgroup_cpus()))


def cgroup_cpus(root: Path = Path("/sys/fs/cgroup")) -> int:
    """Whole CPUs of the cgroup quota (version 2, then 1), rounded up; ``MAX_THREADS`` without."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (root / "cpu/cpu.cfs_quota_us").read_text().strip()
            period = (root / "cpu/cpu.cfs_period_us").read_text().strip()
        except OSError:
            return MAX_THREADS
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return MAX_THREADS
    return max(1, math.ceil(int(quota) / int(period)))
