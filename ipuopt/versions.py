"""Versions of everything that shapes a result: for run directories and bug reports."""

from __future__ import annotations

import os
import platform
from importlib import metadata

from ipuopt.processors import available_threads

PACKAGES = ("numpy", "numba", "ortools", "highspy", "pyomo", "scipy")
"""Dependencies whose version may change a plan."""


def version_of(package: str) -> str:
    """Version of an installed distribution, or ``"not installed"``."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def versions() -> dict[str, str]:
    """Versions by name, ipuopt and Python first."""
    return {
        "ipuopt": version_of("ipuopt"),
        "python": platform.python_version(),
        **{package: version_of(package) for package in PACKAGES},
    }


def machine() -> dict[str, str]:
    """Operating system and processor, without names of hosts or people."""
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu_model(),
        "cpus": f"{os.cpu_count() or 1} ({available_threads()} usable)",
    }


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
