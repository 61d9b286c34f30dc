"""Rows as files: one a tile and an index."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from ipuopt.codegen.rows.encode import Rows
from ipuopt.errors import InputError
from ipuopt.files import umask
from ipuopt.strict_json import dumps

ROWS_SCHEMA = 1
"""Version of ``index.json``."""
INDEX = "index.json"


def write_rows(directory: Path, rows: Rows) -> None:
    """Write ``tile_0000.row`` and so on, and ``index.json``, into a new or empty directory.

    A ``.row`` file holds the words of one tile, little-endian, 32 bits each. The index lists the
    tiles with their files, words and last events, and the phase's horizon in events. All is
    written under a temporary name and renamed at the end.

    Raises
    ------
    InputError
        If the directory holds something, is a file, or cannot be written.
    """
    directory = Path(directory)
    try:
        if directory.is_dir() and any(directory.iterdir()):
            found = "a directory that is not empty"
            raise InputError(f"{directory}: found {found}, expected an empty or new directory")
        directory.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".ipuopt-", suffix=".tmp", dir=directory.parent))
        try:
            _write(staging, rows)
            staging.chmod(0o777 & ~umask())
            staging.rename(directory)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(f"{directory}: found {found}, expected to write it") from error


def _write(folder: Path, rows: Rows) -> None:
    words, bounds = rows.words.astype("<u4"), rows.bounds.tolist()
    listed: list[dict[str, Any]] = []
    for tile, done in enumerate(rows.done.tolist()):
        name = f"tile_{tile:04d}.row"
        first, stop = bounds[tile], bounds[tile + 1]
        (folder / name).write_bytes(words[first:stop].tobytes())
        listed.append({"tile": tile, "file": name, "words": stop - first, "done": done})
    index = {"schema_version": ROWS_SCHEMA, "horizon": rows.horizon, "tiles": listed}
    (folder / INDEX).write_bytes(dumps(index))
