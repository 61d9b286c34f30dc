"""A node together with its path: typed access with errors that name file, line and key."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from ipuopt.errors import InputError
from ipuopt.workload.document import NOWHERE, Entry, Mark, Node, joined, kind_of, located, shown

MAX_NAME = 200
"""Longest name in characters."""


def nearest(word: str, known: Collection[str]) -> str:
    """``"; did you mean 'x'?"`` for the nearest of ``known``, or nothing."""
    matches = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if not matches:
        folded = {name.casefold(): name for name in known}
        matches = [folded[word.casefold()]] if word.casefold() in folded else []
    return f"; did you mean {shown(matches[0])}?" if matches else ""


def listed(names: Collection[str]) -> str:
    """``"a, b or c"``, shortened past ten names."""
    few = list(names)[:10]
    if len(few) < len(names):
        return f"{', '.join(few)} or {len(names) - len(few)} more"
    return " or ".join(filter(None, (", ".join(few[:-1]), few[-1])))


@dataclass(frozen=True, slots=True)
class Field:
    """A value of the document and where it belongs.

    Attributes
    ----------
    file
        For messages.
    path
        ``"operations.h.inputs[0]"``; empty for the document itself.
    node
        The value.
    key_mark
        Where its key stands; the node's own place when it has none.
    """

    file: str
    path: str
    node: Node
    key_mark: Mark = NOWHERE

    @property
    def key(self) -> str:
        """Last part of the path."""
        return self.path.rpartition(".")[2]

    def error(self, found: str, expected: str) -> InputError:
        """An error at this value."""
        return located(self.file, self.node.mark, self.path, found, expected)

    def key_error(self, found: str, expected: str) -> InputError:
        """An error at this value's key."""
        mark = self.key_mark if self.key_mark.line else self.node.mark
        return located(self.file, mark, self.path, found, expected)

    def missing(self, key: str, expected: str) -> InputError:
        """The error for an absent key of this mapping."""
        return located(self.file, self.node.mark, joined(self.path, key), "nothing", expected)

    def _wrong(self, expected: str) -> NoReturn:
        value = self.node.value
        found = f"a {kind_of(value)}" if isinstance(value, tuple | Mapping) else shown(value)
        raise self.error("null" if value is None else found, expected)

    def scalar(self, expected: str) -> str | int | float | bool:
        """A scalar other than null."""
        value = self.node.value
        if value is None or isinstance(value, tuple | Mapping):
            self._wrong(expected)
        return value

    def text(self, expected: str) -> str:
        """A string."""
        value = self.node.value
        if not isinstance(value, str):
            self._wrong(f"{expected} (quote it)" if isinstance(value, int | float) else expected)
        return value

    def integer(self, low: int, high: int, expected: str) -> int:
        """A whole number in ``[low, high]``; ``1e3`` is one."""
        value = self.node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._wrong(expected)
        if not low <= value <= high or value != int(value):  # false for nan, infinities are out
            self._wrong(expected)
        return int(value)

    def items(self, expected: str) -> tuple[Field, ...]:
        """Elements of a list."""
        value = self.node.value
        if not isinstance(value, tuple):
            self._wrong(expected)
        return tuple(
            Field(self.file, f"{self.path}[{index}]", node, node.mark)
            for index, node in enumerate(value)
        )

    def entries(self, expected: str) -> dict[str, Field]:
        """Values of a mapping with free keys, in file order."""
        value = self.node.value
        if not isinstance(value, Mapping):
            self._wrong(expected)
        return dict(self._fields(value))

    def keys(self, known: Collection[str], expected: str) -> dict[str, Field]:
        """Values of a mapping whose keys must be among ``known``."""
        fields = self.entries(expected)
        for key, field in fields.items():
            if key not in known:
                raise field.key_error("an unknown key", listed(known) + nearest(key, known))
        return fields

    def _fields(self, entries: Mapping[str, Entry]) -> Iterator[tuple[str, Field]]:
        for key, entry in entries.items():
            path = joined(self.path, key)
            yield key, Field(self.file, path, entry.node, entry.key_mark)


def check_name(name: str, field: Field) -> None:
    """Refuse names that would break a message or a table."""
    if not name or len(name) > MAX_NAME or not name.isprintable() or name != name.strip():
        expected = f"1 to {MAX_NAME} printable characters without blanks at the ends"
        raise field.key_error(f"the name {shown(name)}", expected)
