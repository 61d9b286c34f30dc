"""Files that appear at once under their name when they are complete."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ipuopt.errors import InputError


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
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(handle, 0o666 & ~mask)
            file.write(body)
        os.replace(staged, path)
    except OSError as error:
        if staged:
            Path(staged).unlink(missing_ok=True)
        raise InputError(
            f"{path}: found {error.strerror or error}, expected to write it"
        ) from error
