"""``ipuopt compare``: run against run, or solver against heuristic over a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ipuopt.cli.flags import solve_options
from ipuopt.cli.logs import logging_options
from ipuopt.cli.streams import as_json_text, say, tell
from ipuopt.errors import InputError


@click.command(
    epilog="Examples: ipuopt compare runs/a runs/b; ipuopt compare --suite examples/suite.yaml"
)
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN_A RUN_B]")
@click.option(
    "--suite", type=click.Path(path_type=Path), metavar="FILE", help="Solve every case of a suite."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="With --suite: folder of the run directories, one a case.  [default: runs/NAME]",
)
@click.option("--force", is_flag=True, help="With --suite: replace the runs in that folder.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", is_flag=True, help="Print tables of Markdown.")
@solve_options()
@logging_options
def compare(
    runs: tuple[Path, ...],
    suite: Path | None,
    output: Path | None,
    force: bool,
    as_json: bool,
    markdown: bool,
    quiet: bool,
    **flags: Any,
) -> int:
    """Tell two runs apart, or the solver from the heuristic.

    RUN_A and RUN_B are run directories; what differs is printed: options, versions, plan, and
    every stage and phase that got better or worse. With --suite every case of a suite is solved,
    and a table tells heuristic, solver, bound, gap and time, with geometric means and the share of
    stages that are proven. Options of a solve go before those of the suite.
    """
    if (suite is None) != (len(runs) == 2) or (suite is not None and runs):
        found = f"{len(runs)} runs{' and --suite' if suite else ''}"
        raise InputError(f"compare: found {found}, expected two runs or --suite FILE")
    if as_json and markdown:
        raise InputError("compare: found --json and --markdown, expected one of them")
    if suite is None:
        from ipuopt.cli.compare_text import run_lines, run_object
        from ipuopt.compare import differences

        first, second = runs
        found_between = differences(first, second)
        if as_json:
            tell(as_json_text(run_object(first, second, found_between)))
        else:
            tell("\n".join(run_lines(first, second, found_between, markdown=markdown)))
        return 0
    return _solve_suite(suite, output, flags, as_json, markdown, force, quiet)


def _solve_suite(
    file: Path,
    output: Path | None,
    flags: dict[str, Any],
    as_json: bool,
    markdown: bool,
    force: bool,
    quiet: bool,
) -> int:
    """Solve the cases one after another; the first interrupt ends the suite after its case."""
    from ipuopt.cli.compare_text import suite_lines, suite_object
    from ipuopt.cli.within import SIGNALLED, solve_within
    from ipuopt.compare import CaseResult, load_suite
    from ipuopt.rundir import check_output

    cases = load_suite(file).cases
    folder = output or Path("runs", file.stem)
    for case in cases:
        check_output(folder / case.name, force=force)
        if unknown := set(case.solve) - set(flags):
            found = f"{file}: {case.name}: found option {min(unknown)!r}"
            raise InputError(f"{found}, expected one of {', '.join(flags)}")
    given = {key: value for key, value in flags.items() if value is not None}
    results = []
    code = 0
    for case in cases:
        if not quiet:
            say(f"case {case.name}")
        options = {**case.solve, **given}
        exit_code, report = solve_within(
            case.workload,
            case.plan,
            folder / case.name,
            force=force,
            quiet=quiet,
            options=options,
        )
        results.append(CaseResult.of(case.name, report, exit_code))
        code = max(code, exit_code)
        if exit_code >= SIGNALLED:
            break
    if as_json:
        tell(as_json_text(suite_object(file, results, code)))
    else:
        tell("\n".join(suite_lines(results, markdown=markdown)))
    return code
