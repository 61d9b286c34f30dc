"""``ipuopt check``: independent check of a finished run."""

from __future__ import annotations

from pathlib import Path

import click

from ipuopt.cli.exit_codes import EXIT_REJECTED
from ipuopt.cli.logs import logging_options
from ipuopt.cli.streams import as_json_text, tell


@click.command(epilog="Example: ipuopt check runs/siglip-mlp")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@logging_options
@click.pass_obj
def check(started: float, /, run: Path, as_json: bool, quiet: bool) -> int:
    """Check a finished run; no solver is started.

    RUN is a run directory. Every table is held against its formulation.
    """
    from ipuopt.cli.underway import underway

    with underway(f"checking {run}", started, quiet=quiet):
        from ipuopt.pipeline import check_run

        summary = check_run(run)
    code = EXIT_REJECTED if summary.violations else 0
    if as_json:
        violations = [{"label": label, "message": text} for label, text in summary.violations]
        content = {"exit_code": code, "checks": summary.lines, "violations": violations}
        tell(as_json_text(content))
        return code
    count = len(summary.violations)
    verdict = f"{count} violation{'s' if count > 1 else ''}" if count else "no violations"
    found = [f"{label}: {text}" for label, text in summary.violations]
    tell("\n".join([*summary.lines, *found, f"{run}: {verdict}"]))
    return code
