"""What a run on a card needs beside the package, and whether it is there (``device.md`` 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ipuopt.codegen.package import Package
from ipuopt.codegen.package.listing import missing_kernels
from ipuopt.device.card.driver import Driver
from ipuopt.device.protocol import Device
from ipuopt.errors import MissingPartError


@dataclass(frozen=True, slots=True)
class Setup:
    """A card and the files that a user brings for it.

    Attributes
    ----------
    node
        Device node of the card.
    configuration
        See :func:`~ipuopt.device.card.configuration.read_configuration`.
    secondary
        See :func:`~ipuopt.device.card.secondary.read_secondary`.
    driver
        Makes the card of a node, in a process of its own: something that can be pickled.
    """

    node: Path
    configuration: Path | None
    secondary: Path | None
    driver: Callable[[Path], Device] = Driver


def check_complete(setup: Setup, package: Package) -> None:
    """Refuse to begin a run that something is missing for.

    Raises
    ------
    MissingPartError
        With everything that this machine or the package lacks, in one line.
    """
    lacking = []
    if not setup.node.exists():
        lacking.append(f"the card's kernel driver ({setup.node})")
    if setup.configuration is None:
        lacking.append("a configuration file (--card-config FILE)")
    if setup.secondary is None:
        lacking.append("the vendor's secondary loader (--card-loader FILE)")
    kernels = missing_kernels(package)
    if kernels:
        lacking.append(f"bodies of {len(kernels)} kernels (ipuopt package RUN --kernels FILE)")
    if lacking:
        raise MissingPartError(f"a run on a card lacks {', '.join(lacking)} (see docs/device.md)")
