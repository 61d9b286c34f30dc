"""The ``Debug`` text of a Rust value as a tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ipuopt.peerlog.values import CutError, string_end, unquoted

_NAME = re.compile(r"[A-Za-z_]\w*(?:::\w+)*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_COMMA = re.compile(r" *(, *)?")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Node:
    """A value: ``name { fields }``, ``name(items)``, a bare name, or a list, tuple or set of items.

    ``name`` is empty for lists, tuples and sets, and the digits or the content of numbers and
    strings.
    """

    name: str = ""
    items: tuple[Node, ...] = ()
    fields: Mapping[str, Node] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Node:
        """A field.

        Raises
        ------
        ValueError
            If there is none of this name.
        """
        if key not in self.fields:
            raise ValueError(f"found {self.name or 'a list'} without {key!r}")
        return self.fields[key]

    def only(self, name: str) -> Node:
        """The item of ``name(item)``.

        Raises
        ------
        ValueError
            For anything else.
        """
        if self.name != name or len(self.items) != 1:
            raise ValueError(f"found {self.name or 'a list'}, expected {name}(...)")
        return self.items[0]

    def integer(self) -> int:
        """The number that this is.

        Raises
        ------
        ValueError
            If it is none.
        """
        if not re.fullmatch(r"-?\d{1,18}", self.name):
            raise ValueError(f"found {self.name!r}, expected a whole number")
        return int(self.name)


def parse(text: str) -> Node:
    """The tree of a text.

    Raises
    ------
    ValueError
        If it is no ``Debug`` text, or goes on behind one.
    """
    try:
        node, end = _value(text, 0, 0)
    except (CutError, IndexError):
        raise ValueError("found a value that does not end") from None
    if text[end:].strip():
        raise ValueError(f"found {text[end : end + 20]!r} behind a value")
    return node


def _value(text: str, start: int, depth: int) -> tuple[Node, int]:
    if depth > _MAX_DEPTH:
        raise ValueError("found values nested too deep")
    if text[start] == '"':
        end = string_end(text, start)
        return Node(unquoted(text[start:end])), end
    if text[start] in _CLOSING:
        items, end = _items(text, start, depth)
        return Node("", items), end
    name = _NAME.match(text, start) or _NUMBER.match(text, start)
    if name is None:
        raise ValueError(f"found {text[start : start + 20]!r}, expected a value")
    end = name.end()
    if text.startswith("(", end):
        items, end = _items(text, end, depth)
        return Node(name[0], items), end
    if text.startswith(" {", end):
        fields, end = _fields(text, end + 1, depth)
        return Node(name[0], (), fields), end
    return Node(name[0]), end


def _items(text: str, start: int, depth: int) -> tuple[tuple[Node, ...], int]:
    """Values between brackets, parted by commas."""
    closing, position = _CLOSING[text[start]], start + 1
    items: list[Node] = []
    while text[position] != closing:
        item, position = _value(text, position, depth + 1)
        items.append(item)
        position = _after_comma(text, position, closing)
    return tuple(items), position + 1


def _fields(text: str, start: int, depth: int) -> tuple[dict[str, Node], int]:
    """``{ key: value, ... }``."""
    position = start + 1
    while text[position] == " ":
        position += 1
    fields: dict[str, Node] = {}
    while text[position] != "}":
        key = _NAME.match(text, position)
        if key is None or not text.startswith(": ", key.end()):
            raise ValueError(f"found {text[position : position + 20]!r}, expected a field")
        fields[key[0]], position = _value(text, key.end() + 2, depth + 1)
        position = _after_comma(text, position, "}")
    return fields, position + 1


def _after_comma(text: str, position: int, closing: str) -> int:
    """Position of the next value, or of the closing bracket."""
    comma = _COMMA.match(text, position)
    end = position if comma is None else comma.end()
    if text[end] != closing and (comma is None or comma[1] is None):
        raise ValueError(f"found {text[position : position + 20]!r}, expected a comma")
    return end
