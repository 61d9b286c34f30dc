"""Logging of a command: handlers are attached here and nowhere else."""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ipuopt.errors import InputError

_LOGGER = logging.getLogger("ipuopt")
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _StandardError(logging.Handler):
    """Writes to the stream of the moment: a live progress line puts its own in place."""

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        with contextlib.suppress(OSError, ValueError):  # the reader went away
            sys.stderr.write(f"{line}\n")


def logging_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-v``, ``-q`` and ``--log-file``; the command gets ``quiet`` and finds logging set up."""

    @functools.wraps(command)
    def run(verbose: int, quiet: bool, log_file: Path | None, **arguments: Any) -> Any:
        _attach(_handlers(verbose, quiet, log_file))
        return command(quiet=quiet, **arguments)

    for option in (
        click.option("-v", "--verbose", count=True, help="More on stderr; -vv with tracebacks."),
        click.option("-q", "--quiet", is_flag=True, help="Errors only on stderr."),
        click.option(
            "--log-file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write everything that is logged to this file.",
        ),
    ):
        run = option(run)
    return run


def _attach(handlers: list[logging.Handler]) -> None:
    _LOGGER.setLevel(logging.DEBUG)
    _LOGGER.propagate = False
    for handler in handlers:
        _LOGGER.addHandler(handler)


def detach() -> None:
    """Undo what the options set up; called when the outcome of the command has been logged."""
    _LOGGER.setLevel(logging.NOTSET)
    _LOGGER.propagate = True
    for handler in list(_LOGGER.handlers):
        _LOGGER.removeHandler(handler)
        handler.close()


def _handlers(verbose: int, quiet: bool, log_file: Path | None) -> list[logging.Handler]:
    level = logging.ERROR if quiet else max(logging.DEBUG, logging.WARNING - 10 * verbose)
    stderr = _StandardError()
    stderr.setLevel(level)
    stderr.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    handlers: list[logging.Handler] = [stderr]
    if log_file is not None:
        try:
            file = logging.FileHandler(log_file, mode="w", encoding="utf-8")
        except OSError as error:
            found = error.strerror or str(error)
            raise InputError(f"{log_file}: found {found}, expected to write the log") from None
        file.setFormatter(logging.Formatter(_FORMAT))
        handlers.append(file)
    return handlers
