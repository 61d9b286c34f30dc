"""Packages (``.ipuexe``): a program for all tiles with what a host needs to load and feed it.

Binary compatible with schema version 5 of the public compiler. :mod:`~ipuopt.codegen.package.records`
are the contents, :mod:`~ipuopt.codegen.package.check` the rules, :mod:`~ipuopt.codegen.package.wire`
the messages, :mod:`~ipuopt.codegen.package.files` what stands on disk.
"""

from __future__ import annotations

from ipuopt.codegen.package.check import load_violations, violations
from ipuopt.codegen.package.files import package_bytes, read_package, write_package
from ipuopt.codegen.package.records import (
    ALL_TILES,
    Activity,
    Binding,
    EntryPoint,
    HostCall,
    HostExchange,
    Package,
    ProfilePlan,
    Region,
    Segment,
    Slices,
    Step,
    TileImage,
    no_slices,
)

__all__ = [
    "ALL_TILES",
    "Activity",
    "Binding",
    "EntryPoint",
    "HostCall",
    "HostExchange",
    "Package",
    "ProfilePlan",
    "Region",
    "Segment",
    "Slices",
    "Step",
    "TileImage",
    "load_violations",
    "no_slices",
    "package_bytes",
    "read_package",
    "violations",
    "write_package",
]
