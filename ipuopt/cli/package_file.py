"""``package.ipuexe`` of a run: written beside the other files where there is time for it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ipuopt.codegen.link import Library
    from ipuopt.codegen.package import Package
    from ipuopt.result import Built, Result

FIXED_S, RECEIVER_S, PIECE_S = 1.0, 2e-6, 1e-4
"""Seconds that a package takes: always, a receiver of a transfer, a piece of 4096 bytes from or to the
host. Twice what was measured on one idle core for a program of 1472 tiles."""

kernels_option = click.option(
    "--kernels",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE.elf",
    help="Link the bodies of kernels from this object; may be given several times.",
)

profile_option = click.option(
    "--profile", is_flag=True, help="Let the tiles sample their cycle counters between steps."
)


def read_kernels(files: Sequence[Path]) -> Library | None:
    """Objects of ``--kernels``; None if there are none.

    Raises
    ------
    InputError
        If a file is no object for this chip, or a name is defined twice.
    """
    if not files:
        return None
    from ipuopt.codegen.link import read_library
    from ipuopt.codegen.tile import taken_names

    return read_library(files, taken_names())


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a package: it, or why there is none.

    Attributes
    ----------
    package
        None if there is none.
    reason
        Why there is none.
    exit_code
        0, or that of the error for objects that were given and cannot be used.
    linked
        Whether objects were given.
    """

    package: Package | None
    reason: str = ""
    exit_code: int = 0
    linked: bool = False

    @property
    def lines(self) -> Iterator[str]:
        """What a solve tells of it: why it is not there, and of objects what they gave."""
        from ipuopt.codegen.package import listing
        from ipuopt.rundir import PACKAGE

        if self.package is None:
            yield f"{PACKAGE} is not written: {self.reason}"
        elif self.linked:
            yield from listing.kernel_lines(listing.summary(self.package))


def write_package_of(
    folder: Path, result: Result, started_s: float, library: Library | None, *, profile: bool
) -> Written:
    """Write the package of a run that stands in ``folder``.

    Parameters
    ----------
    started_s
        :func:`time.monotonic` at the start of the command, whose time limit holds here too.
    library
        Objects to link.
    profile
        Whether tiles take cycle samples.
    """
    from ipuopt.cli.overdue import GRACE_S, GRACE_SHARE, WRITING_S
    from ipuopt.errors import Error

    limit_s = result.options.time_limit_s
    if limit_s is not None:
        latest = started_s + limit_s * (1 + GRACE_SHARE) + GRACE_S + WRITING_S
        left_s = latest - time.monotonic()
        needed_s = estimate_s(result.built)
        if needed_s > left_s:
            needed, left = math.ceil(needed_s), max(0, math.floor(left_s))
            later = f"ipuopt package {folder} writes it without solving"
            return Written(None, f"it may take {needed} s, and {left} s are left; {later}")
    try:
        package = write_built(folder, result.built, library, profile=profile)
        return Written(package, linked=library is not None)
    except Error as error:
        return Written(None, str(error), error.exit_code if library is not None else 0)


def write_built(folder: Path, built: Built, library: Library | None, *, profile: bool) -> Package:
    """Build a package and write it into a run directory.

    Raises
    ------
    InputError, CheckError
        As :func:`~ipuopt.codegen.tile.build_package` and
        :func:`~ipuopt.codegen.package.write_package`.
    """
    from ipuopt.codegen.package import write_package
    from ipuopt.codegen.tile import build_package
    from ipuopt.rundir import PACKAGE

    package = build_package(built, library, profile=profile)
    write_package(folder / PACKAGE, package)
    return package


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
