"""Every way out of a command: one line on standard error, and the exit code."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from ipuopt.cli.logs import detach
from ipuopt.errors import Error

logger = logging.getLogger(__name__)

EXIT_INTERNAL = 1
EXIT_USAGE = 2
EXIT_NO_MEMORY = 5
EXIT_INTERRUPTED = 130


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
        _flush()
        sys.exit(code)


def guarded(run: Callable[[], Any]) -> int:
    """Exit code of ``run``, with every exception as one line."""
    _tolerate_any_text()
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
        return fail("out of memory before there was a plan", EXIT_NO_MEMORY)
    except BrokenPipeError:
        return 0
    except Exception as error:
        logger.debug("the error was raised here", exc_info=True)
        what = f"{type(error).__name__}: {error}"
        send = "this line, the input, 'ipuopt versions' and the file of --log-file"
        return fail(f"internal error, a bug: {what} (please send {send})", EXIT_INTERNAL)
    finally:
        detach()
    return code if isinstance(code, int) else 0


def fail(message: str, code: int) -> int:
    """Print ``message`` on one line and return ``code``."""
    say(f"error: {' '.join(message.split())}")
    return code


def say(line: str) -> None:
    """One line on standard error; a reader that went away is no error."""
    try:
        click.echo(line, err=True)
    except (BrokenPipeError, ValueError):  # ValueError: the stream is closed
        _silence(sys.stderr)


def tell(text: str) -> None:
    """Results on standard output; a reader that went away is no error."""
    try:
        click.echo(text)
    except (BrokenPipeError, ValueError):
        _silence(sys.stdout)


def _hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f" (see '{context.command_path} --help')" if context else ""


def _tolerate_any_text() -> None:
    """Names with characters that the terminal's encoding lacks are escaped, not an error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _flush() -> None:
    """Flush here, where a closed pipe can be told from a bug."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (BrokenPipeError, ValueError):
            _silence(stream)


def _silence(stream: Any) -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush is quiet."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError, AttributeError):  # no descriptor: nothing to flush at exit
        return
