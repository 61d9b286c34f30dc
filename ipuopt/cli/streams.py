"""Standard output and error: closed pipes and poor encodings are no errors."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import click

from ipuopt.errors import InputError


def fail(message: str, code: int) -> int:
    """Print ``message`` on one line and return ``code``."""
    say(f"error: {' '.join(message.split())}")
    return code


def say(line: str) -> None:
    """One line on standard error; a reader that went away is no error."""
    try:
        click.echo(line, err=True)
    except (OSError, ValueError):  # ValueError: the stream is closed
        _silence(sys.stderr)


def tell(text: str) -> None:
    """Results on standard output; a reader that went away is no error.

    Raises
    ------
    InputError
        When it cannot be written for another reason: a full disk.
    """
    try:
        click.echo(text)
    except (BrokenPipeError, ValueError):
        _silence(sys.stdout)
    except OSError as error:
        _silence(sys.stdout)
        found = error.strerror or str(error)
        raise InputError(f"standard output: found {found}, expected to write results") from None


def as_json_text(content: Any) -> str:
    """``content`` as JSON to print: without the newline that ends a file."""
    from ipuopt.strict_json import dumps

    return dumps(content).decode().rstrip("\n")


def tolerate_any_text() -> None:
    """Names with characters that the terminal's encoding lacks are escaped, not an error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Flush here, where a closed pipe can be told from a bug."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # tell has reported what matters
            _silence(stream)


def _silence(stream: Any) -> None:
    """Send what is still buffered nowhere, so that the interpreter's last flush is quiet."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError, AttributeError):  # no descriptor: nothing to flush at exit
        return
