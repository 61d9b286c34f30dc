"""Packages as files: one message in the standard unpacked framing (``package.md`` 1)."""

from __future__ import annotations

import mmap
import os
import struct
from itertools import chain
from pathlib import Path

from ipuopt.codegen.package.check import load_violations, violations
from ipuopt.codegen.package.records import Package
from ipuopt.codegen.package.wire import WireError, from_message, to_bytes
from ipuopt.errors import CheckError, InputError
from ipuopt.files import replace_file

MOST_SEGMENTS = 511
"""Segments of one message (package.md 1)."""


def read_package(path: Path, *, loadable: bool = False, ruled: bool = True) -> Package:
    """Read and check a package.

    Parameters
    ----------
    loadable
        Whether it must also pass the rules of a loader.
    ruled
        Whether it must pass those of the format that concern more than the message.

    Raises
    ------
    InputError
        If the file cannot be read, is no package, or breaks a rule; the first one is named.
    """
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise InputError(f"{path}: found an empty file, expected a package")
            # Not closed here: an error keeps views of it for its traceback.
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        package = from_message(content[: _message_bytes(content)])
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(f"{path}: found {found}, expected a package") from None
    except WireError as error:
        raise InputError(f"{path}: found {error}, expected a package") from None
    checks = chain(
        violations(package) if ruled else (), load_violations(package) if loadable else ()
    )
    for message in checks:
        raise InputError(f"{path}: {message}")
    return package


def _message_bytes(content: memoryview) -> int:
    """Bytes of the message by its segment table; what follows it is ignored."""
    if len(content) < 8:
        raise WireError(f"a file of {len(content)} bytes")
    segments = struct.unpack_from("<I", content)[0] + 1
    if segments > MOST_SEGMENTS:
        raise WireError(f"a table of {segments} segments, not 1..{MOST_SEGMENTS}")
    table = 4 + 4 * segments
    table += table % 8
    if table > len(content):
        raise WireError("a segment table that is cut short")
    size: int = table + 8 * sum(struct.unpack_from(f"<{segments}I", content, 4))
    if size > len(content):
        raise WireError(f"{len(content)} bytes of a message of {size}")
    return size


def package_bytes(package: Package) -> bytes:
    """Content of the file of a package that a loader takes.

    Raises
    ------
    CheckError
        With every rule that it breaks.
    """
    found = tuple(
        ("package", message) for message in chain(violations(package), load_violations(package))
    )
    if found:
        raise CheckError("package", found)
    return to_bytes(package)


def write_package(path: Path, package: Package) -> None:
    """Write a package that a loader takes, under a temporary name that is changed at the end.

    Raises
    ------
    CheckError
        With every rule that it breaks.
    InputError
        If the file cannot be written.
    """
    replace_file(path, package_bytes(package))
