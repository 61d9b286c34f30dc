"""``ipuopt package``: the package of a finished run, written again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ipuopt.cli.logs import logging_options
from ipuopt.cli.package_file import kernels_option, profile_option, read_kernels, write_built
from ipuopt.cli.streams import as_json_text, tell
from ipuopt.errors import InputError

if TYPE_CHECKING:
    from ipuopt.codegen.link import Library
    from ipuopt.codegen.package import Package
    from ipuopt.result import Built


@click.command(
    epilog="Example: ipuopt package runs/siglip-mlp --kernels gemm.elf --kernels gelu.elf"
)
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@kernels_option
@profile_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@logging_options
@click.pass_obj
def package(
    started: float,
    /,
    run: Path,
    kernels: tuple[Path, ...],
    profile: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Write the package of a finished run, with the bodies of its kernels.

    RUN is a run directory; nothing is solved. A package that stands there is replaced.
    """
    library = read_kernels(kernels)
    from ipuopt.cli.underway import underway
    from ipuopt.codegen.package import listing
    from ipuopt.rundir import PACKAGE, read_run

    with underway(f"writing the package of {run}", started, quiet=quiet):
        _, built, _ = read_run(run)
        content = listing.summary(_written(run, built, library, kernels, profile=profile))
    if as_json:
        tell(as_json_text({"exit_code": 0, "package": str(run / PACKAGE), **content}))
        return 0
    lines = [f"Package: {run / PACKAGE} ({content['storedBytes'] / 1e6:.1f} MB on the tiles)"]
    tell("\n".join([*lines, *listing.kernel_lines(content)]))
    return 0


def _written(
    run: Path, built: Built, library: Library | None, kernels: Sequence[Path], *, profile: bool
) -> Package:
    """The package; where it has no room between the data, the error says how it gets some."""
    try:
        return write_built(run, built, library, profile=profile)
    except InputError as error:
        from ipuopt.codegen.tile import support_ends
        from ipuopt.target.memory import SUPPORT_END

        ends = support_ends(built, library, profile=profile)
        if ends is None or ends.max() == SUPPORT_END:  # other addresses are no help
            raise
        options = [f"--kernels {file}" for file in kernels] + ["--profile"] * profile
        again = " ".join(["ipuopt solve WORKLOAD --plan", str(run / "plan.json"), *options])
        raise InputError(f"{error}; {again} places data so that there is room") from error
