"""Workloads: YAML or JSON files, or Python mappings, to a checked graph.

:func:`load` reads a file, :func:`from_dict` a mapping of the same form, :func:`to_dict` writes it
back. Errors are one line: file, line, column, key, what was found, what would be right.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ipuopt.errors import InputError
from ipuopt.workload.document import MAX_BYTES, Node, decode, parse
from ipuopt.workload.field import Field
from ipuopt.workload.graph import resolve
from ipuopt.workload.model import Operation, Target, Tensor, TensorKind, Workload
from ipuopt.workload.reading import WORKLOAD_SCHEMA, read
from ipuopt.workload.tree import from_python

__all__ = [
    "Operation",
    "Target",
    "Tensor",
    "TensorKind",
    "Workload",
    "from_dict",
    "load",
    "to_dict",
]


def load(path: str | os.PathLike[str]) -> Workload:
    """Read a workload file; ``"-"`` reads standard input.

    Raises
    ------
    InputError
        If it cannot be read, or is no workload.
    """
    if os.fspath(path) == "-":
        raw, file, stem = _standard_input(), "<stdin>", "workload"
    else:
        raw, file, stem = _read(Path(path)), os.fspath(path), Path(path).stem
    return _workload(parse(decode(raw, file), file), file, stem)


def from_dict(data: Mapping[str, Any], *, source: str = "workload") -> Workload:
    """Read a workload from a mapping with the keys of the file; ``source`` opens messages.

    Raises
    ------
    InputError
        If it is no workload.
    """
    return _workload(from_python(data, source), source, "workload")


def to_dict(workload: Workload) -> dict[str, Any]:
    """The mapping that :func:`from_dict` reads back; every default is spelled out."""
    tensors = workload.tensors.values()
    return {
        "ipuopt": WORKLOAD_SCHEMA,
        "name": workload.name,
        "target": {"chip": workload.target.chip, "tiles": workload.target.tiles},
        "inputs": {t.name: _tensor(t) for t in tensors if t.kind is TensorKind.INPUT},
        "parameters": {t.name: _tensor(t) for t in tensors if t.kind is TensorKind.PARAMETER},
        "operations": {
            operation.name: {
                "op": operation.kind,
                "inputs": list(operation.inputs),
                **operation.attributes,
            }
            for operation in workload.operations
        },
        "outputs": list(workload.outputs),
        "solve": dict(workload.solve),
    }


def _tensor(tensor: Tensor) -> dict[str, Any]:
    data = {} if tensor.data is None else {"data": tensor.data}
    return {"shape": list(tensor.shape), "dtype": tensor.dtype, **data}


def _standard_input() -> bytes:
    """At most ``MAX_BYTES + 1`` bytes, as :func:`_read`."""
    try:
        if sys.stdin is None:  # the caller closed it
            raise OSError("closed")
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise InputError(f"<stdin>: found {found}, expected a readable stream") from None


def _read(path: Path) -> bytes:
    """At most ``MAX_BYTES + 1`` bytes, so that devices and huge files end."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: found no such file, expected a workload") from None
    except IsADirectoryError:
        raise InputError(f"{path}: found a directory, expected a workload file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{path}: found {reason}, expected a readable file") from None


def _workload(root: Node, file: str, default_name: str) -> Workload:
    return resolve(read(Field(file, "", root), default_name))
