"""Python values to the same nodes that a file gives, so that both are read by one reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ipuopt.workload.document import (
    MAX_DEPTH,
    NOWHERE,
    Entry,
    Node,
    joined,
    kind_of,
    located,
    shown,
)


def from_python(value: Any, file: str, path: str = "", depth: int = 0) -> Node:
    """Nodes of mappings, sequences and scalars.

    Raises
    ------
    InputError
        For other types, keys that are no strings, and nesting past ``MAX_DEPTH``.
    """
    if depth > MAX_DEPTH:
        raise located(file, NOWHERE, path, "deeper nesting", f"at most {MAX_DEPTH} levels")
    if value is None or isinstance(value, str | int | float | bool):
        return Node(value, NOWHERE)
    if isinstance(value, Mapping):
        entries = {}
        for key, item in value.items():
            if not isinstance(key, str):
                found = f"the {kind_of(key)} {shown(key)} as key"
                raise located(file, NOWHERE, path, found, "a string")
            inner = from_python(item, file, joined(path, key), depth + 1)
            entries[key] = Entry(inner, NOWHERE)
        return Node(entries, NOWHERE)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return Node(
            tuple(
                from_python(item, file, f"{path}[{index}]", depth + 1)
                for index, item in enumerate(value)
            ),
            NOWHERE,
        )
    if hasattr(value, "__index__"):  # numpy integers
        return Node(int(value), NOWHERE)
    found = f"a {type(value).__name__}"
    raise located(file, NOWHERE, path, found, "a mapping, list, string or number")
