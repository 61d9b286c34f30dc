"""``ipuopt report``: the pictures of a finished run in one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from ipuopt.cli.logs import logging_options
from ipuopt.cli.streams import tell


@click.command(epilog="Example: ipuopt report runs/siglip-mlp -o siglip.html")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write.  [default: report.html in RUN]",
)
@logging_options
@click.pass_obj
def report(started: float, /, run: Path, output: Path | None, quiet: bool) -> int:
    """Write the pictures of a finished run into one HTML file.

    RUN is a run directory; nothing else is read and nothing is solved. The file needs no network:
    summary, floor plan, memory of a tile, bus windows of a phase, convergence, tables that sort.
    """
    from ipuopt.cli.underway import underway
    from ipuopt.files import replace_file
    from ipuopt.rundir import REPORT_PAGE

    with underway(f"drawing {run}", started, quiet=quiet):
        from ipuopt.htmlreport import render

        page = render(run).encode()
    file = output or run / REPORT_PAGE
    replace_file(file, page)
    tell(f"Report: {file} ({len(page) / 1e6:.1f} MB)")
    return 0
