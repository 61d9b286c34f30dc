"""``ipuopt solve`` as a part of another command: its report instead of its table."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import click

from ipuopt.cli.solve import solve


def solve_within(
    context: click.Context,
    workload: Path,
    plan: Path | None,
    output: Path | None,
    *,
    force: bool,
    quiet: bool,
    options: dict[str, Any],
) -> tuple[int, dict[str, Any] | None]:
    """Exit code and JSON report of a solve within ``context``.

    The report is None where there is no program; the reason has been printed then.

    Parameters
    ----------
    options
        Values of the flags that :func:`ipuopt.cli.flags.solve_options` adds; None where not given.
    """
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code: int = context.invoke(
            solve,
            workload=str(workload),
            output=output,
            plan_file=plan,
            as_json=True,
            progress="none" if quiet else "auto",
            force=force,
            print_config=False,
            quiet=quiet,
            **options,
        )
    return code, json.loads(printed.getvalue()) if printed.getvalue() else None
