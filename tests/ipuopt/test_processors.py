"""Processors that a quota of the cgroup leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipuopt.processors import MAX_THREADS, cgroup_cpus


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "max 100000\n"}, MAX_THREADS),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, MAX_THREADS),
        ({"cpu.max": "garbage"}, MAX_THREADS),
        ({}, MAX_THREADS),
    ],
)
def test_cgroup_quota(files: dict[str, str], cpus: int, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    assert cgroup_cpus(tmp_path) == cpus
