"""``ipuopt package``: the package of a finished run, written again."""

from __future__ import annotations

from pathlib import Path

import click

from ipuopt.cli.logs import logging_options
from ipuopt.cli.package_file import kernels_option, profile_option, read_kernels, write_built
from ipuopt.cli.streams import as_json_text, tell


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
        content = listing.summary(write_built(run, built, library, profile=profile))
    if as_json:
        tell(as_json_text({"exit_code": 0, "package": str(run / PACKAGE), **content}))
        return 0
    lines = [f"Package: {run / PACKAGE} ({content['storedBytes'] / 1e6:.1f} MB on the tiles)"]
    tell("\n".join([*lines, *listing.kernel_lines(content)]))
    return 0
