"""``ipuopt log --solve``: the plan of a log built here, beside what the log says of it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ipuopt.cli.table import aligned
from ipuopt.cli.within import solve_within
from ipuopt.figures import percent, thousands
from ipuopt.peerlog import Log, Table
from ipuopt.peerlog.document import plan_document, workload_document
from ipuopt.report import gap_of
from ipuopt.strict_json import dumps


def built(
    log: Log,
    output: Path | None,
    *,
    force: bool,
    quiet: bool,
    flags: dict[str, Any],
) -> tuple[int, dict[str, Any] | None]:
    """Exit code and report of ``ipuopt solve --plan`` with the plan of ``log``.

    The report is None where there is no program; the reason has been printed then.

    Raises
    ------
    InputError
        If the log has no plan that can be built.
    """
    plan = plan_document(log)
    workload = workload_document(log, plan)
    with tempfile.TemporaryDirectory(prefix="ipuopt-") as folder:
        plan_file, workload_file = Path(folder, "plan.yaml"), Path(folder, "workload.json")
        plan_file.write_bytes(dumps(plan))
        workload_file.write_bytes(dumps(workload))
        return solve_within(
            workload_file,
            plan_file,
            output,
            force=force,
            quiet=quiet,
            options=flags,
        )


def comparison(found: Mapping[str, Table], report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for each exchange phase: logged horizon and bound, and ours.

    Phases have the same numbers: a plan of the public compiler is lowered as it lowers it. Of
    several logged schedules of a phase the last one counts.
    """
    logged = {row.get("phase"): row for row in found["exchange_phases"].rows}
    ours = [part for part in report["reports"] if part["stage"] == "exchange"]
    rows = []
    for phase, part in enumerate(ours):
        row = logged.get(phase, {})
        rows.append(
            {
                "phase": part["model"],
                "logged_horizon": row.get("selected_horizon"),
                "logged_bound": row.get("endpoint_lower_bound"),
                **{key: part[key] for key in ("heuristic", "objective", "bound", "gap")},
                "bound_source": part["bound_source"],
            }
        )
    return rows


def comparison_lines(
    rows: Sequence[Mapping[str, Any]], found: Mapping[str, Table], report: Mapping[str, Any]
) -> list[str]:
    """The rows as a table, with the sum over the phases that the log has, and the totals."""
    figures = ("logged_horizon", "logged_bound", "heuristic", "objective", "bound")
    titles = ("phase", "logged", "its bound", "heuristic", "solver", "bound", "gap", "proven by")
    lines: list[Sequence[str]] = [titles]
    for row in rows:
        cells = [thousands(row[key]) for key in figures]
        lines.append((row["phase"], *cells, percent(row["gap"]), row["bound_source"]))
    both = [row for row in rows if row["logged_horizon"] is not None]
    if both:
        sums = [sum(row[key] or 0 for row in both) for key in figures]
        lines.append(
            ("sum of logged phases", *map(thousands, sums), percent(gap_of(*sums[3:])), "")
        )
    plans = [row for row in found["finalists"].rows if row.get("estimated_cycles") is not None]
    estimate = f", estimated {thousands(int(str(plans[-1]['estimated_cycles'])))}" if plans else ""
    total = thousands(report["total"]["objective"])
    end = f"Total of the plan: {total} cycles as built here{estimate} by the compiler."
    return [*aligned(lines), "", end, f"Run directory: {report['output']}"]
