"""Every way out of a command: one line on standard error, and the exit code."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click
import psutil

from ipuopt.cli.exit_codes import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_NOTHING, EXIT_USAGE
from ipuopt.cli.logs import detach
from ipuopt.cli.streams import fail, flush, tolerate_any_text
from ipuopt.errors import Error

logger = logging.getLogger(__name__)

MAX_START_S = 10.0
"""Longest start of the interpreter that is believed; more is a clock that was set."""


class Commands(click.Group):
    """A group whose commands return their exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run and exit; ``standalone_mode`` is always the guard's own."""
        del standalone_mode
        extra.setdefault("obj", _started(own_process=args is None))
        run = super().main
        code = guarded(
            lambda: run(
                args,
                prog_name,
                complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )
        )
        flush()
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a pipe that breaks in it is no reader that went away.

        click takes every broken pipe for one and exits in silence. Commands write through
        :mod:`ipuopt.cli.streams`, so here it is the pipe to a child process.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise RuntimeError("the pipe to a child process broke") from error


def _started(*, own_process: bool) -> float:
    """:func:`time.monotonic` at the start of the process, or now where the process is a caller's.

    A time limit holds for the whole command, so what the interpreter's start took counts.
    """
    now = time.monotonic()
    if not own_process:
        return now
    age_s: float = time.time() - psutil.Process().create_time()
    return now - min(max(0.0, age_s), MAX_START_S)


def guarded(run: Callable[[], Any]) -> int:
    """Exit code of ``run``, with every exception as one line."""
    tolerate_any_text()
    try:
        code = run()
    except click.ClickException as error:
        return fail(f"{error.format_message()}{_hint(error)}", EXIT_USAGE)
    except Error as error:
        logger.debug("the error was raised here", exc_info=True)
        return fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return fail("interrupted", EXIT_INTERRUPTED)
    except MemoryError:
        logger.debug("the error was raised here", exc_info=True)
        return fail("out of memory before there was a plan", EXIT_NOTHING)
    except Exception as error:
        logger.debug("the error was raised here", exc_info=True)
        what = f"{type(error).__name__}: {error}"
        send = "this line, the input, 'ipuopt versions' and the file of --log-file"
        return fail(f"internal error, a bug: {what} (please send {send})", EXIT_INTERNAL)
    finally:
        detach()
    return code if isinstance(code, int) else 0


def _hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f" (see '{context.command_path} --help')" if context else ""
