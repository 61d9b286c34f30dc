"""``ipuopt exchange``: phases of a snapshot to a schedule and a table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ipuopt.cli.flags import output_options, solve_options
from ipuopt.cli.interrupts import Interrupts
from ipuopt.cli.logs import logging_options
from ipuopt.cli.overdue import Overdue, end_process
from ipuopt.cli.progress import Mode, Progress
from ipuopt.cli.searching import config_text, last_result, limits_of_search, settings_of
from ipuopt.cli.streams import tell
from ipuopt.errors import InputError
from ipuopt.settings import options_of

if TYPE_CHECKING:
    from ipuopt.models.exchange.group import Answer
    from ipuopt.models.exchange.snapshot import Snapshot

TIME_LIMIT_S = 85.0
"""Default limit in seconds; phases of up to 100 000 transfers gain little from more."""


@click.command(epilog="Example: ipuopt exchange phases.json.gz --time-limit 60 --rows rows")
@click.argument("snapshot", type=click.Path(path_type=Path), metavar="SNAPSHOT")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Schedule to write.  [default: NAME.schedule.json]",
)
@click.option(
    "--phase",
    "chosen",
    type=int,
    multiple=True,
    metavar="N",
    help="Only the phase of this number; may be given again.",
)
@click.option(
    "--width",
    type=click.Choice(["given", "free"]),
    default="given",
    help="Keep the widths of the snapshot, or choose them.  [default: given]",
)
@click.option(
    "--rows",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the encoded row of every tile, in a folder a phase.",
)
@solve_options(TIME_LIMIT_S, without=("space",))
@output_options("Replace whatever the output files hold.")
@logging_options
@click.pass_obj
def exchange(
    started: float,
    /,
    snapshot: Path,
    output: Path | None,
    chosen: tuple[int, ...],
    width: str,
    rows: Path | None,
    as_json: bool,
    progress: str,
    force: bool,
    print_config: bool,
    quiet: bool,
    **flags: Any,
) -> int:
    """Schedule the phases of an exchange snapshot.

    SNAPSHOT is a JSON file of the public compiler (schema 4), also packed by gzip; - reads standard
    input. Prints one row a phase, then their sum, and writes start event and width of every
    transfer.
    """
    settings = settings_of(flags, TIME_LIMIT_S)
    if print_config:
        tell(config_text(settings, as_json))
        return 0
    options = options_of(settings)
    shown = Progress(Mode.NONE if quiet else Mode(progress), started)
    with Interrupts(last_words=shown.close) as interrupts:
        from ipuopt.cli.exchange_outcome import ExchangeOutcome, exit_code
        from ipuopt.models.exchange.schedule_file import check_schedule_output, schedule_name
        from ipuopt.models.exchange.several import solve_all
        from ipuopt.models.exchange.snapshot import load_snapshot
        from ipuopt.solvers.parallel import Workers
        from ipuopt.watch import Watch

        file = output or Path(schedule_name(snapshot))
        check_schedule_output(file, force=force)
        _check_rows(rows)
        overdue: Overdue[tuple[Snapshot, Sequence[Answer]]] = Overdue(
            started, options.time_limit_s, "before all phases had a schedule"
        )
        watch = Watch(interrupts.requested, options.memory_limit_bytes)
        workers = Workers(options.threads, options.cluster)

        def work() -> tuple[Snapshot, Sequence[Answer]]:
            limits = limits_of_search(options, shown.events(watch), started, workers=workers)
            part = _chosen(snapshot, load_snapshot(snapshot), chosen)
            return part, solve_all(
                part.problems,
                limits,
                free=width == "free",
                publish=lambda answers: overdue.keep((part, answers)),
            )

        (part, answers), late = last_result(
            work, shown, interrupts, overdue, str(snapshot), within=workers
        )
        code = exit_code(answers, options.gap)
        if interrupts.requested():
            code = interrupts.exit_code
        outcome = ExchangeOutcome(snapshot, part, answers, settings, width)
        outcome.write(file)
        kept = outcome.keep_refused(file)
        wall_time_s = time.monotonic() - started
        if as_json:
            tell(outcome.as_json(file, code, wall_time_s))
        else:
            tell("\n".join([*outcome.lines(wall_time_s), *kept, f"Schedule: {file}"]))
        if rows is not None:
            outcome.write_rows(rows)
        if late:
            end_process(code)
        return code


def _chosen(path: Path, whole: Snapshot, chosen: tuple[int, ...]) -> Snapshot:
    """The phases of the given numbers, in the order of the file; all without numbers."""
    from ipuopt.models.exchange.snapshot import Snapshot

    missing = [number for number in chosen if number not in whole.numbers]
    if missing:
        listed = ", ".join(map(str, whole.numbers[:20])) + (
            " ..." if len(whole.numbers) > 20 else ""
        )
        raise InputError(f"--phase: found {missing[0]}, expected a phase of {path}: {listed}")
    if not chosen:
        return whole
    pairs = zip(whole.numbers, whole.problems, strict=True)
    kept = [(number, problem) for number, problem in pairs if number in chosen]
    return Snapshot(whole.sha256, *zip(*kept, strict=True))


def _check_rows(folder: Path | None) -> None:
    """Refuse, before any work, a folder for rows that could not be written."""
    if folder is None or not folder.exists():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        found = "a directory that is not empty" if folder.is_dir() else "a file"
        raise InputError(f"{folder}: found {found}, expected an empty or new directory")
