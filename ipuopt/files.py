"""Files that appear at once under their name when they are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from ipuopt.errors import InputError


def check_file(path: Path, kind: str, is_kind: Callable[[bytes], bool], *, force: bool) -> None:
    """Refuse, before any work, a file that could not be written, or that is no such result.

    Parameters
    ----------
    kind
        What the file would be, for the message.
    is_kind
        Whether the first 200 bytes of an existing file are those of such a result.

    Raises
    ------
    InputError
        If ``path`` is a directory or lies in none, may not be written, or holds something else
        and ``force`` is not given.
    """
    expected = "a file that can be written"
    try:
        if path.is_dir():
            raise InputError(f"{path}: found a directory, expected {expected}")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(
                f"{path}: found {folder} read-only or no directory, expected {expected}"
            )
        if path.exists() and not force:
            with path.open("rb") as file:
                begin = file.read(200)
            if not is_kind(begin):
                raise InputError(
                    f"{path}: found a file that is no {kind}, "
                    "expected a new name (--force replaces it)"
                )
    except OSError as error:  # a name that is too long, a loop of links
        found = error.strerror or str(error)
        raise InputError(f"{path}: found {found}, expected {expected}") from None


def replace_file(path: Path, body: bytes) -> None:
    """Write a file aside and rename it; what stood there before is replaced.

    Raises
    ------
    InputError
        When writing fails (disk full).
    """
    staged = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, staged = tempfile.mkstemp(prefix=".ipuopt-", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, 0o666 & ~umask())
            file.write(body)
        os.replace(staged, path)
    except OSError as error:
        if staged:
            Path(staged).unlink(missing_ok=True)
        raise InputError(
            f"{path}: found {error.strerror or error}, expected to write it"
        ) from error


def umask() -> int:
    """Permission bits that new files of this process do not get; temporary ones get fewer still."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
