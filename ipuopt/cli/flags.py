"""Flags that all solving commands share: options of the search, and of what is shown and written."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import click

from ipuopt.cli.progress import Mode
from ipuopt.options import DEFAULT_TIME_LIMIT_S, OPTIONS


def solve_options(
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
    *,
    without: Collection[str] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a flag for every option; their values arrive as text and are read with the others.

    Parameters
    ----------
    time_limit_s
        Default of the time limit of this command, for ``--help``.
    without
        Keys of options that mean nothing to this command.
    """
    usual, own = (f"[default: {limit:.0f}s]" for limit in (DEFAULT_TIME_LIMIT_S, time_limit_s))

    def add_all(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed([option for option in OPTIONS if option.key not in without]):
            help_text = option.help.replace(usual, own)
            if option.metavar:
                add = click.option(
                    option.flag, option.key, metavar=option.metavar, help=help_text, default=None
                )
            else:
                names = f"{option.flag}/{option.negation}"
                add = click.option(names, option.key, help=help_text, default=None)
            command = add(command)
        return command

    return add_all


def output_options(force_help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--json``, ``--progress``, ``--force`` with its help, and ``--print-config``."""
    added = (
        click.option(
            "--json", "as_json", is_flag=True, help="Print one JSON object instead of a table."
        ),
        click.option(
            "--progress",
            type=click.Choice([mode.value for mode in Mode]),
            default=Mode.AUTO.value,
            help="On stderr: a live line on a terminal, plain lines, or nothing.  [default: auto]",
        ),
        click.option("--force", is_flag=True, help=force_help),
        click.option(
            "--print-config", is_flag=True, help="Print every option with its origin and stop."
        ),
    )

    def add_all(command: Callable[..., Any]) -> Callable[..., Any]:
        for add in reversed(added):
            command = add(command)
        return command

    return add_all
