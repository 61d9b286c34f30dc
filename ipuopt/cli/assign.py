"""``ipuopt assign``: a layout assignment problem to a solution, a report and a row."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ipuopt.cli.flags import output_options, solve_options
from ipuopt.cli.interrupts import EXIT_INTERRUPTED, Interrupts
from ipuopt.cli.logs import logging_options
from ipuopt.cli.overdue import Overdue, OverdueError, end_process
from ipuopt.cli.progress import Mode, Progress
from ipuopt.cli.solve import EXIT_LIMIT, announcing, config_text, kept_result
from ipuopt.cli.streams import fail, tell
from ipuopt.errors import Error, Infeasibility, InfeasibleError
from ipuopt.events import Events
from ipuopt.files import replace_file
from ipuopt.options import Setting, SolveOptions, options_of, resolve

if TYPE_CHECKING:
    from ipuopt.limits import Limits
    from ipuopt.models.assignment import Problem, Solution
    from ipuopt.report import SolveReport

    Answer = tuple[Problem, Solution, SolveReport]

TIME_LIMIT_S = 120.0
"""Default limit in seconds; that of the smaller instances of the contest."""

KEPT_SHARE, KEPT_S = 0.04, 2.0
"""Part of the time limit, and most seconds, kept for the last checks and for writing."""


@click.command()
@click.argument("problem", type=click.Path(path_type=Path), metavar="PROBLEM")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Solution to write.  [default: NAME.solution.json]",
)
@solve_options(TIME_LIMIT_S)
@output_options("Replace whatever the output files hold.")
@logging_options
@click.pass_obj
def assign(
    started: float,
    /,
    problem: Path,
    output: Path | None,
    as_json: bool,
    progress: str,
    force: bool,
    print_config: bool,
    quiet: bool,
    **flags: Any,
) -> int:
    """Assign layouts: one strategy a node, at least cost, within the memory.

    PROBLEM is a file of the ASPLOS 2025 contest on intra-operator parallelism (JSON, also packed by
    gzip); - reads standard input. Writes the strategies in the contest's format, and a report.

    Example: ipuopt assign asplos-2025-iopddl-G.json.gz --time-limit 2m
    """
    settings = resolve({k: v for k, v in flags.items() if v is not None}, os.environ, {})
    if settings["time_limit"].origin == "default":
        settings["time_limit"] = Setting(TIME_LIMIT_S, "default")
    if print_config:
        tell(config_text(settings, as_json))
        return 0
    options = options_of(settings)
    shown = Progress(Mode.NONE if quiet else Mode(progress), started)
    with Interrupts(last_words=shown.close) as interrupts:
        from ipuopt.models.assignment import solution_file
        from ipuopt.models.assignment.reading import load_problem
        from ipuopt.models.assignment.solve import solve
        from ipuopt.pipeline.watch import Watch

        file, report_file = solution_file.names(problem, output)
        solution_file.check_outputs(file, report_file, force=force)
        overdue: Overdue[Answer] = Overdue(started, options.time_limit_s)
        watch = Watch(interrupts.requested, options.memory_limit_bytes)
        limits = _limits(options, shown.events(watch), started)

        def work() -> Answer:
            whole = load_problem(problem)
            solution, report = solve(
                whole,
                limits,
                backend=str(options.solver),
                publish=lambda found, so_far: overdue.keep((whole, found, so_far)),
            )
            if solution is None:
                raise InfeasibleError(_why(whole))
            return whole, solution, report

        late = False
        try:
            answer = interrupts.run(
                work, tick=announcing(shown, interrupts, overdue), patience=overdue.check
            )
        except OverdueError as error:
            shown.close()
            late = True
            answer = kept_result(overdue, error, interrupts, str(problem))
        except Error as error:
            shown.close()
            return fail(str(error), error.exit_code)
        finally:
            shown.close()
        code = _exit_code(answer[2], options.gap)
        if interrupts.requested():
            code = interrupts.exit_code
        _finish(answer, (file, report_file), settings, code, started, as_json)
        if late:
            end_process(code)
        return code


def _limits(options: SolveOptions, events: Events, started: float) -> Limits:
    """Limits of the search; the time limit holds for the whole command, reading included."""
    from ipuopt.limits import Limits

    limit_s = math.inf if options.time_limit_s is None else options.time_limit_s
    return Limits(
        deadline=started + limit_s - min(KEPT_S, KEPT_SHARE * limit_s),
        budget_s=limit_s,
        gap=options.gap or 0.0,
        threads=options.threads,
        seed=options.seed,
        deterministic=options.deterministic,
        memory_bytes=options.memory_limit_bytes,
        should_stop=events.should_stop,
        on_solution=events.on_solution,
        on_bound=events.on_bound,
    )


def _why(problem: Problem) -> Infeasibility:
    """Where the least memory of all choices is above the limit."""
    from ipuopt.models.assignment.least_memory import peak

    time_of, demand, owners = peak(problem)
    return Infeasibility(
        where=f"{problem.name}: time {time_of}, every node at its least usage",
        demand=demand,
        capacity=problem.limit or 0,
        unit="units of memory",
        owners=tuple(owners),
        levers=(f"usage_limit of {demand} or more",),
    )


def _exit_code(report: SolveReport, asked_gap: float | None) -> int:
    """0, 4 or 130 for a run that has a solution."""
    from ipuopt.report import Limit

    if report.limit is Limit.INTERRUPT:
        return EXIT_INTERRUPTED
    if report.limit in (None, Limit.GAP):
        return 0
    return 0 if report.gap is not None and report.gap <= (asked_gap or 0.0) else EXIT_LIMIT


def _finish(
    answer: Answer,
    files: tuple[Path, Path],
    settings: Mapping[str, Setting],
    code: int,
    started: float,
    as_json: bool,
) -> None:
    """Write solution and report, and print the row."""
    from ipuopt.cli.table import aligned
    from ipuopt.figures import duration, percent, thousands
    from ipuopt.models.assignment import solution_file
    from ipuopt.rundir import config_of
    from ipuopt.strict_json import dumps
    from ipuopt.versions import versions

    problem, solution, report = answer
    replace_file(files[0], solution_file.text(solution))
    content = {
        "problem": problem.name,
        "solution": str(files[0]),
        "exit_code": code,
        "versions": versions(),
        "config": config_of(settings),
        "wall_time_s": time.monotonic() - started,
        "report": report.to_json(),
    }
    replace_file(files[1], dumps(content))
    if as_json:
        tell(dumps(content).decode().rstrip("\n"))
        return
    figures = (report.heuristic, report.objective, report.bound)
    rows = [
        ("stage", "nodes", "edges", "heuristic", "solver", "bound", "gap", "proven by", "time"),
        (
            problem.name,
            thousands(len(problem)),
            thousands(len(problem.tail)),
            *(thousands(figure) for figure in figures),
            percent(report.gap),
            report.bound_source,
            duration(time.monotonic() - started),
        ),
    ]
    lines = [*aligned(rows), ""]
    if report.limit is not None:
        lines.append(f"Stopped by {report.limit}.")
    if report.run.note:
        lines.append(f"Note: {report.run.note}")
    tell("\n".join([*lines, f"Solution: {files[0]}", f"Report: {files[1]}"]))
