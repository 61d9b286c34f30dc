"""``ipuopt assign``: a layout assignment problem to a solution, a report and a row."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ipuopt.cli.exit_codes import code_of_search
from ipuopt.cli.flags import output_options, solve_options
from ipuopt.cli.interrupts import Interrupts
from ipuopt.cli.logs import logging_options
from ipuopt.cli.overdue import Overdue, end_process
from ipuopt.cli.progress import Mode, Progress
from ipuopt.cli.searching import config_text, last_result, settings_of
from ipuopt.cli.streams import as_json_text, tell
from ipuopt.errors import Infeasibility, InfeasibleError
from ipuopt.settings import options_of

if TYPE_CHECKING:
    from ipuopt.models.assignment import Problem, Solution
    from ipuopt.report import SolveReport

    Answer = tuple[Problem, Solution, SolveReport]

TIME_LIMIT_S = 120.0
"""Default limit in seconds; that of the smaller instances of the contest."""

KEPT = 0.04, 2.0
"""Part of the time limit, and most seconds, kept for the last checks and for writing."""


@click.command(epilog="Example: ipuopt assign asplos-2025-iopddl-G.json.gz --time-limit 2m")
@click.argument("problem", type=click.Path(path_type=Path), metavar="PROBLEM")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Solution to write.  [default: NAME.solution.json]",
)
@solve_options(TIME_LIMIT_S, without=("space",))
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
    """
    settings = settings_of(flags, TIME_LIMIT_S)
    if print_config:
        tell(config_text(settings, as_json))
        return 0
    options = options_of(settings)
    shown = Progress(Mode.NONE if quiet else Mode(progress), started)
    with Interrupts(last_words=shown.close) as interrupts:
        from ipuopt.cli.assign_outcome import AssignOutcome
        from ipuopt.limits import limits_of
        from ipuopt.models.assignment import solution_file
        from ipuopt.models.assignment.problem_file import load_problem
        from ipuopt.models.assignment.solve import solve
        from ipuopt.watch import Watch

        files = solution_file.names(problem, output)
        solution_file.check_outputs(*files, force=force)
        overdue: Overdue[Answer] = Overdue(
            started, options.time_limit_s, "before any solution was found"
        )
        watch = Watch(interrupts.requested, options.memory_limit_bytes)
        limits = limits_of(options, shown.events(watch), started, kept=KEPT)

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

        (whole, solution, report), late = last_result(
            work, shown, interrupts, overdue, str(problem)
        )
        code = code_of_search([(report.limit, report.gap)], options.gap)
        if interrupts.requested():
            code = interrupts.exit_code
        wall_time_s = time.monotonic() - started
        outcome = AssignOutcome(whole, solution, report, settings, files, code, wall_time_s)
        outcome.write()
        tell(as_json_text(outcome.content()) if as_json else "\n".join(outcome.lines()))
        if late:
            end_process(code)
        return code


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
