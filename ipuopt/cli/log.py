"""``ipuopt log``: what a log of the public compiler says, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ipuopt.cli.flags import solve_options
from ipuopt.cli.logs import logging_options
from ipuopt.cli.streams import as_json_text, tell
from ipuopt.errors import InputError


@click.command(epilog="Example: ipuopt log build.txt --table exchange_phases --csv > phases.csv")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "--table",
    "chosen",
    multiple=True,
    metavar="NAME",
    help="Only this table; may be given again.  [default: all that have rows]",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the one chosen table as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with all tables.")
@click.option(
    "--solve", "solves", is_flag=True, help="Build the plan of the log here, and compare."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="With --solve: the run directory.  [default: runs/log-NAME]",
)
@click.option("--force", is_flag=True, help="With --solve: replace the run in that directory.")
@solve_options(without=("space",))
@logging_options
def log(
    file: Path,
    chosen: tuple[str, ...],
    as_csv: bool,
    as_json: bool,
    solves: bool,
    output: Path | None,
    force: bool,
    quiet: bool,
    **flags: Any,
) -> int:
    """Read a log of the public compiler.

    FILE is its text or JSON form, also with colours, flattened to one line, cut off or ended by a
    panic; - reads standard input. Prints how the run ended, what was not understood, sums of
    horizons and bounds, and a table of every kind of event. With --solve, a log that prints its
    operator plan (debug level) is built by our scheduler within the limits given; the other
    options of a solve only matter then.
    """
    from ipuopt.cli.log_text import as_object, summary_lines, table_lines
    from ipuopt.peerlog import TABLES, read_log, tables

    for name in chosen:
        if name not in TABLES:
            raise InputError(f"--table: found {name!r}, expected one of {', '.join(TABLES)}")
    if as_csv and len(chosen) != 1:
        raise InputError(f"--csv: found {len(chosen)} tables, expected one --table")
    read = read_log(file)
    found = tables(read)
    shown = [found[name] for name in chosen or TABLES]
    if as_csv:
        tell(shown[0].csv().rstrip("\n"))
        return 0
    if not solves:
        if as_json:
            tell(as_json_text(as_object(file, read, shown, found)))
        else:
            tell("\n".join([*summary_lines(file, read, found), *table_lines(shown)]))
        return 0
    from ipuopt.cli.log_solve import built, comparison, comparison_lines

    code, report = built(read, output, force=force, quiet=quiet, flags=flags)
    if report is None:
        return code
    rows = comparison(found, report)
    if as_json:
        answer = {"exit_code": code, "comparison": rows, "run": report}
        tell(as_json_text(as_object(file, read, shown, found) | answer))
    else:
        lines = comparison_lines(rows, found, report)
        tell("\n".join([*summary_lines(file, read, found), "", *lines]))
    return code
