"""Command line: results on standard output, everything else on standard error.

Modules here import the solvers only inside the commands, so that ``--help`` is fast.
"""

from __future__ import annotations

import click

from ipuopt.cli.assign import assign
from ipuopt.cli.check import check
from ipuopt.cli.compare import compare
from ipuopt.cli.exchange import exchange
from ipuopt.cli.exit_codes import EXIT_USAGE
from ipuopt.cli.guard import Commands
from ipuopt.cli.inspect import inspect
from ipuopt.cli.log import log
from ipuopt.cli.package import package
from ipuopt.cli.place import place
from ipuopt.cli.report import report
from ipuopt.cli.run import run
from ipuopt.cli.solve import solve
from ipuopt.cli.versions import versions

__all__ = ["main"]


@click.group(
    cls=Commands,
    invoke_without_command=True,
    epilog="Example: ipuopt solve examples/mlp-tiny.yaml, then: ipuopt report runs/mlp-tiny",
    commands=[
        solve,
        assign,
        check,
        compare,
        exchange,
        inspect,
        log,
        package,
        place,
        report,
        run,
        versions,
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="ipuopt")
@click.pass_context
def main(context: click.Context) -> int | None:
    """Map, place and schedule programs for Graphcore IPUs, with bounds and gaps."""
    if context.invoked_subcommand is not None:
        return None
    click.echo(context.get_help(), err=True)
    return EXIT_USAGE
