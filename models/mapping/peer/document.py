"""A YAML document whose every entry knows its file, line and key, for one-line errors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from ipuopt.errors import InputError

Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a document: its data, and where it stands."""

    data: Any
    path: Path
    line: int
    key: str

    def wrong(self, expected: str) -> InputError:
        """The error that this entry is not what is expected."""
        found = type(self.data).__name__ if isinstance(self.data, (dict, list)) else self.data
        return self.error(f"found {found!r}, expected {expected}")

    def error(self, message: str) -> InputError:
        """An error at this entry."""
        return InputError(f"{self.path}:{self.line}: {self.key or 'document'}: {message}")

    def __getitem__(self, name: str) -> Entry:
        if not isinstance(self.data, CommentedMap):
            raise self.wrong("a mapping")
        key = f"{self.key}.{name}" if self.key else name
        if name not in self.data:
            raise InputError(f"{self.path}:{self.line}: {key}: missing")
        return Entry(self.data[name], self.path, self.data.lc.key(name)[0] + 1, key)

    def __iter__(self) -> Iterator[Entry]:
        if not isinstance(self.data, CommentedSeq):
            raise self.wrong("a list")
        for index, item in enumerate(self.data):
            line = self.data.lc.item(index)[0] + 1
            yield Entry(item, self.path, line, f"{self.key}[{index}]")

    def integer(self, least: int = 1, most: int | None = None) -> int:
        """A whole number in ``[least, most]``."""
        value = self.data
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < least or (most is not None and value > most):
            upper = "" if most is None else f" and at most {most}"
            raise self.wrong(f"a whole number of at least {least}{upper}")
        return int(value)

    def optional_integer(self, least: int) -> int | None:
        """A whole number of at least ``least``, or null."""
        return None if self.data is None else self.integer(least)

    def choice(self, choices: dict[str, Choice]) -> Choice:
        """The meaning of one of a few words."""
        if not isinstance(self.data, str) or self.data not in choices:
            raise self.wrong(_one_of(choices))
        return choices[self.data]


def _one_of(words: Collection[str]) -> str:
    return " or ".join(repr(word) for word in words)


def read_document(path: Path) -> Entry:
    """Read a YAML file.

    Raises
    ------
    InputError
        If the file cannot be read or is no YAML; one line.
    """
    try:
        data = YAML(typ="rt", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no UTF-8 text") from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = " ".join(str(error.problem).split())
        raise InputError(f"{path}:{line}: is no YAML: {problem}") from error
    except YAMLError as error:
        raise InputError(f"{path}: is no YAML: {' '.join(str(error).split())}") from error
    return Entry(data, path, 1, "")
