"""Values of fields: quoted strings, bare words and the ``Debug`` text of Rust values."""

from __future__ import annotations

import re
from collections.abc import Mapping

_OPEN, _CLOSE = "([{", ")]}"
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_PLAIN_KEY = re.compile(r"profile|package|[a-z0-9]+[A-Z]\w*")
_NAME = re.compile(r"[A-Za-z_][\w:]*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|(.))", re.DOTALL)


class CutError(Exception):
    """A value, or the context of an event, does not end."""


def string_end(text: str, start: int) -> int:
    """Index behind the closing quote of the Rust string literal that starts at ``start``."""
    position = start + 1
    while position < len(text):
        if text[position] == '"':
            return position + 1
        position += 2 if text[position] == "\\" else 1
    raise CutError


def unquoted(literal: str) -> str:
    """Content of a Rust string literal."""

    def replace(match: re.Match[str]) -> str:
        code, byte, letter = match.groups()
        if letter is not None:
            return _ESCAPES.get(letter, letter)
        number = int(code or byte, 16)
        return chr(number) if number < 0x110000 else match[0]

    return _ESCAPE.sub(replace, literal[1:-1])


def value_end(text: str, start: int) -> int:
    """Index behind the value that starts at ``start``.

    A bare word ends at a blank or at a bracket that it did not open. In ``Debug`` text brackets
    match, strings are skipped, and a name before `` {`` goes on into the body of its struct.
    """
    if text.startswith('"', start):
        return string_end(text, start)
    position, depth = start, 0
    while position < len(text):
        letter = text[position]
        if letter == '"' and depth:
            position = string_end(text, position)
            continue
        if letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            if depth == 0:
                return position
            depth -= 1
        elif letter.isspace() and depth == 0:
            body = text.startswith(" {", position) and _NAME.fullmatch(text, start, position)
            if not body:
                return position
        position += 1
    if depth:
        raise CutError
    return position


def read_fields(text: str, start: int) -> tuple[Mapping[str, str], int]:
    """Fields ``key=value`` from ``start`` on, and the index where they end.

    They end at what is no field, and at a key of standard output: ``profile``, ``package`` or
    one in camelCase, which stick to an event where line ends were lost.

    Raises
    ------
    CutError
        If a value does not end, or the last field has none.
    """
    fields: dict[str, str] = {}
    position = start
    while True:
        while text.startswith(" ", position):
            position += 1
        key = _KEY.match(text, position)
        if key is None or _PLAIN_KEY.fullmatch(key[1]):
            return fields, position
        end = value_end(text, key.end())
        value = text[key.end() : end]
        if not value and end == len(text):
            raise CutError
        fields[key[1]] = unquoted(value) if value.startswith('"') else value
        position = end
