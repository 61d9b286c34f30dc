"""``ipuopt place``: buffers of one address space to offsets."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ipuopt.cli.flags import output_options, solve_options
from ipuopt.cli.interrupts import Interrupts
from ipuopt.cli.logs import logging_options
from ipuopt.cli.overdue import Overdue, end_process
from ipuopt.cli.progress import Mode, Progress
from ipuopt.cli.searching import config_text, last_result, limits_of_search, settings_of
from ipuopt.cli.streams import fail, say, tell
from ipuopt.errors import Error, InputError
from ipuopt.options import SolveOptions, Solver
from ipuopt.quantities import size_bytes
from ipuopt.settings import options_of

if TYPE_CHECKING:
    from ipuopt.limits import Limits
    from ipuopt.models.placement.space import Answer
    from ipuopt.models.placement.space.buffers_file import BuffersFile

TIME_LIMIT_S = 60.0
"""Default limit in seconds: what is not placed or proven by then rarely is in five minutes."""


@click.command(epilog="Example: ipuopt place buffers.csv --capacity 1MiB -o placed.csv")
@click.argument("buffers", type=click.Path(path_type=Path), metavar="BUFFERS.csv")
@click.option(
    "--capacity",
    metavar="N",
    help="Ask whether the buffers fit into N bytes (1048576, 1MiB), not for the least height.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="CSV to write, with a column offset.  [default: standard output]",
)
@solve_options(TIME_LIMIT_S, without=("space",))
@output_options("Replace whatever the output file holds.")
@logging_options
@click.pass_obj
def place(
    started: float,
    /,
    buffers: Path,
    capacity: str | None,
    output: Path | None,
    as_json: bool,
    progress: str,
    force: bool,
    print_config: bool,
    quiet: bool,
    **flags: Any,
) -> int:
    """Place buffers in one address space.

    BUFFERS.csv is MiniMalloc's format: id, lower, upper, size, and optionally alignment, hint,
    gaps, offset; - reads standard input. Prints the file with an offset for every buffer.
    """
    settings = settings_of(flags, TIME_LIMIT_S)
    if print_config:
        tell(config_text(settings, as_json))
        return 0
    options = options_of(settings)
    most = _capacity(capacity)
    if options.solver is Solver.HIGHS:
        raise InputError("--solver: found highs, expected auto, cpsat or heuristic")
    shown = Progress(Mode.NONE if quiet else Mode(progress), started)
    with Interrupts(last_words=shown.close) as interrupts:
        from ipuopt.cli.place_outcome import PlaceOutcome, exit_code
        from ipuopt.files import check_file, replace_file
        from ipuopt.models.placement.space.buffers_file import read_buffers
        from ipuopt.watch import Watch

        if output is not None:
            check_file(output, "CSV file with offsets", _has_offsets, force=force)
        overdue: Overdue[Answer] = Overdue(
            started, options.time_limit_s, "before any placement was found"
        )
        watch = Watch(interrupts.requested, options.memory_limit_bytes)
        limits = limits_of_search(options, shown.events(watch), started)

        read: list[BuffersFile] = []

        def work() -> Answer:
            read.append(read_buffers(buffers))
            return _place(read[0], most, limits, options, overdue)

        try:
            answer, late = last_result(work, shown, interrupts, overdue, str(buffers))
        except InputError:
            raise  # names the file, too
        except Error as error:
            return fail(f"{buffers}: {error}", error.exit_code)
        code = exit_code(answer, options.gap, fits=most is not None)
        if interrupts.requested():
            code = interrupts.exit_code
        outcome = PlaceOutcome(buffers, read[0], answer, settings, most)
        text = outcome.csv()
        if output is not None and text:
            replace_file(output, text.encode())
        if as_json:
            tell(outcome.as_json(output, code, time.monotonic() - started))
        elif output is not None or not text:
            tell("\n".join(outcome.lines(output)))
        else:
            tell(text.removesuffix("\n"))
            for line in [] if quiet else outcome.lines(None):
                say(line)
        if answer.solution is None:
            fail(f"{buffers}: {outcome.why_not()}", code)
        if late:
            end_process(code)
        return code


def _place(
    file: BuffersFile,
    most: int | None,
    limits: Limits,
    options: SolveOptions,
    overdue: Overdue[Answer],
) -> Answer:
    from ipuopt.models.placement.space import place as place_buffers

    return place_buffers(
        replace(file.problem, capacity=most),
        limits,
        warm=file.hint,
        only_fit=most is not None,
        searches=options.solver is Solver.AUTO,
        solver=options.solver is not Solver.HEURISTIC,
        publish=overdue.keep,
    )


def _capacity(text: str | None) -> int | None:
    """Bytes of ``--capacity``; None without it."""
    if text is None:
        return None
    from ipuopt.models.placement.space.problem import MAX_NUMBER

    try:
        most = size_bytes(text)
    except ValueError as error:
        raise InputError(f"--capacity: found {text!r}, expected {error}") from None
    if most > MAX_NUMBER:
        raise InputError(f"--capacity: found {text!r}, expected at most {MAX_NUMBER} bytes")
    return most


def _has_offsets(begin: bytes) -> bool:
    """Whether the first line of a file names a column of offsets."""
    return b"offset" in begin.splitlines()[0].split(b",") if begin else True
