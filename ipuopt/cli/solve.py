"""``ipuopt solve``: workload to run directory and table."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ipuopt.cli.exit_codes import code_of_search
from ipuopt.cli.flags import output_options, solve_options
from ipuopt.cli.interrupts import Interrupts
from ipuopt.cli.logs import logging_options
from ipuopt.cli.overdue import INTERRUPTED, NO_PROGRAM, Overdue, end_process
from ipuopt.cli.package_file import (
    Written,
    kernels_option,
    profile_option,
    read_kernels,
    write_package_of,
)
from ipuopt.cli.progress import Mode, Progress
from ipuopt.cli.searching import config_text, last_result
from ipuopt.cli.streams import as_json_text, fail, tell
from ipuopt.errors import CheckError, InputError, LimitError
from ipuopt.events import Events
from ipuopt.options import SolveOptions
from ipuopt.settings import Setting, options_of, resolve

if TYPE_CHECKING:
    from ipuopt.codegen.link import Library
    from ipuopt.plan import Plan
    from ipuopt.result import Result
    from ipuopt.workload import Workload


@click.command(
    epilog="Example: ipuopt solve examples/siglip-mlp.yaml --time-limit 2m -o runs/siglip"
)
@click.argument("workload", metavar="WORKLOAD")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Run directory.  [default: runs/NAME]"
)
@solve_options()
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Build this plan (plan.json, or a plan of the public compiler) instead of searching.",
)
@kernels_option
@profile_option
@output_options("Replace the run in the output directory.")
@logging_options
@click.pass_obj
def solve(
    started: float,
    /,
    workload: str,
    output: Path | None,
    plan_file: Path | None,
    kernels: tuple[Path, ...],
    profile: bool,
    as_json: bool,
    progress: str,
    force: bool,
    print_config: bool,
    quiet: bool,
    **flags: Any,
) -> int:
    """Map, place and schedule a workload.

    WORKLOAD is a YAML or JSON file; - reads standard input. Prints one row a stage, then the
    total, and writes a run directory.
    """
    shown = Progress(Mode.NONE if quiet else Mode(progress), started)
    with Interrupts(last_words=shown.close) as interrupts:
        from ipuopt.workload import load

        graph = load(workload)
        settings = resolve(flags, os.environ, graph.solve)
        if print_config:
            tell(config_text(settings, as_json))
            return 0
        from ipuopt.rundir import check_output

        folder = output or Path("runs", graph.name)
        check_output(folder, force=force)
        plan = None if plan_file is None else _read_plan(plan_file, graph)
        library = read_kernels(kernels)
        package = partial(write_package_of, library=library, profile=profile)
        options = options_of(settings)
        overdue: Overdue[Result] = Overdue(started, options.time_limit_s, NO_PROGRAM)
        events = replace(shown.events(interrupts.requested), on_result=overdue.keep)

        def work() -> Result:
            return _pipeline(graph, options, plan, events, started, library, profile)

        from ipuopt.warm import compiling_beside

        with compiling_beside():
            try:
                result, late = last_result(work, shown, interrupts, overdue, graph.name)
            except CheckError as error:
                return fail(f"{error}{_save_rejected(folder, graph, error)}", error.exit_code)
            except LimitError:
                if not interrupts.requested():
                    raise
                return fail(f"{graph.name}: {INTERRUPTED}", interrupts.exit_code)
            code = _finish(folder, result, settings, interrupts, started, as_json, force, package)
            if late:
                end_process(code)
        return code


def _pipeline(
    workload: Workload,
    options: SolveOptions,
    plan: Plan | None,
    events: Events,
    started: float,
    library: Library | None,
    profile: bool,
) -> Result:
    from ipuopt import pipeline
    from ipuopt.solvers.parallel import Workers

    with Workers(options.threads, options.cluster) as workers:
        return pipeline.solve(
            workload,
            options,
            plan=plan,
            events=events,
            started_s=started,
            workers=workers,
            library=library,
            profile=profile,
        )


def _finish(
    folder: Path,
    result: Result,
    settings: Mapping[str, Setting],
    interrupts: Interrupts,
    started: float,
    as_json: bool,
    force: bool,
    package: Callable[[Path, Result, float], Written],
) -> int:
    from ipuopt.cli.table import remarks, table
    from ipuopt.rundir import PACKAGE, config_of, report_of, write_run

    wall_time_s = time.monotonic() - started
    write_run(folder, result, settings, wall_time_s=wall_time_s, force=force)
    code = exit_code(result, settings["gap"].value)
    written = Written(None, "the run was interrupted")
    if interrupts.requested():
        code = interrupts.exit_code
    else:
        written = package(folder, result, started)
        code = written.exit_code or code
    if as_json:
        report = report_of(result, settings, wall_time_s)
        head = {"output": str(folder), "exit_code": code, "config": config_of(settings)}
        head["package"] = None if written.package is None else PACKAGE
        head["package_reason"] = written.reason or None
        tell(as_json_text(head | report))
        return code
    lines = table(result.reports, result.total, wall_time_s)
    cut = bool(settings["deterministic"].value) and not result.repeatable
    lines += ["", *remarks(result.reports, result.total, result.limit, cut=cut)]
    lines += written.lines
    lines.append(f"Run directory: {folder}")
    tell("\n".join(lines))
    return code


def exit_code(result: Result, asked_gap: float | None) -> int:
    """0, 4 or 130 for a run that has a plan (the table of exit codes).

    A given plan has no gap of the total; then the largest gap of a stage counts.
    """
    gaps = [result.total.gap]
    if result.total.gap is None:
        gaps = [report.gap for report in result.reports]
    return code_of_search([(result.limit, gap) for gap in gaps], asked_gap)


def _read_plan(path: Path, workload: Workload) -> Plan:
    """A plan of ours (JSON) or of the public compiler (YAML), by the file's ending.

    Raises
    ------
    InputError
        If the file holds no plan, or one that does not compute ``workload``.
    """
    from ipuopt.models.mapping.check_plan import check_plan
    from ipuopt.models.mapping.peer import adopt, read_plan

    if path.suffix == ".json":
        from ipuopt.plan_file import read_plan_json

        plan = read_plan_json(path)
    else:
        plan = adopt(read_plan(path), workload)
    violations = check_plan(workload, plan)
    if violations:
        label, message = violations[0]
        found = f"a plan that breaks {len(violations)} rules ({label}: {message})"
        raise InputError(f"{path}: found {found}, expected a plan of workload {workload.name}")
    return plan


def _save_rejected(folder: Path, workload: Workload, error: CheckError) -> str:
    """Keep what a checker refused beside the run directory; the end of the message says where."""
    from ipuopt.strict_json import dumps
    from ipuopt.versions import versions
    from ipuopt.workload import to_dict

    file = folder.with_name(f"{folder.name}.rejected.json")
    content = {
        "versions": versions(),
        "workload": to_dict(workload),
        "violations": error.violations,
        "artifacts": error.artifacts,
    }
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(dumps(content))
    except OSError as problem:
        return f" (could not be saved in {file}: {problem.strerror})"
    return f" (saved in {file}; please send it)"
