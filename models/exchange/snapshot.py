"""Phases of a snapshot of the public compiler (JSON or .json.gz, schema 4) as problems.

A snapshot of 100 MB has millions of small lists: the text is cut at the transfers, whose columns
are read without an object for any of them (``snapshot_text.py``).
"""

from __future__ import annotations

import gzip
import hashlib
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from ipuopt.errors import InputError
from ipuopt.models.exchange.columns import by_iteration
from ipuopt.models.exchange.problem import IntArray, Problem
from ipuopt.models.exchange.snapshot_object import read_object
from ipuopt.models.exchange.snapshot_text import (
    ADDRESSES,
    PAIRED,
    RECEIVERS,
    SOURCE,
    WORDS,
    ByteArray,
    frame,
    objects,
    scan,
)
from ipuopt.models.exchange.widths import qualifying

SCHEMA = 4


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a snapshot holds.

    Attributes
    ----------
    sha256
        Of the text, unpacked; hexadecimal digits.
    numbers
        Number of every phase in the file, ascending or not, each once.
    problems
        The phases, named by file and number.
    """

    sha256: str
    numbers: tuple[int, ...]
    problems: tuple[Problem, ...]


def load_snapshot(path: Path) -> Snapshot:
    """Read a snapshot; ``-`` is standard input.

    Raises
    ------
    InputError
        If the file cannot be read, is no snapshot of schema 4, is cut short, or holds transfers
        that no phase can have; the message names phase, transfer and field.
    """
    text = _text(path)
    array = np.frombuffer(text, np.uint8)
    begins, ends = objects(array)
    outline = _frame(path, frame(array, begins, ends))
    tiles = _field(path, outline, "tile_count", int)
    problems: dict[int, Problem] = {}
    done = 0
    for place, phase in enumerate(_field(path, outline, "phases", list)):
        number = _number(path, place, phase)
        where = f"{path}: phase {number}"
        if number in problems:
            raise InputError(f"{where}: found a second phase of this number, expected one")
        listed = _field(where, phase, "transfers", list)
        begin = _first_object(where, listed, done, len(begins)) if listed else done
        done = begin + len(listed)
        spans = begins[begin:done], ends[begin:done]
        name = f"{path.name} phase {number}"
        problems[number] = _problem(where, name, tiles, _columns(where, text, array, *spans))
    return Snapshot(hashlib.sha256(text).hexdigest(), tuple(problems), tuple(problems.values()))


def _text(path: Path) -> bytes:
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: the compressed file is damaged or cut short") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _frame(path: Path, text: ByteArray) -> dict[str, Any]:
    """The file with its number in place of every object of depth 3."""
    try:
        outline = orjson.loads(text.tobytes())
    except orjson.JSONDecodeError as error:
        place = _place(text.tobytes()[: error.pos])
        raise InputError(f"{path}: no JSON, or cut short{place}: {error.msg}") from None
    if not isinstance(outline, dict) or "schema_version" not in outline:
        raise InputError(f"{path}: no exchange snapshot: expected an object with schema_version")
    if outline["schema_version"] != SCHEMA:
        found = outline["schema_version"]
        raise InputError(f"{path}: schema_version {found!r}, expected {SCHEMA}")
    return outline


def _place(outline: bytes) -> str:
    """Where an outline with numbers for transfers ends: in which phase, after which transfer."""
    before, found, listed = outline.rpartition(b'"transfers"')
    if not found:
        return ""
    phase = re.findall(rb'"phase"\s*:\s*(\d+)', before)
    name = phase[-1].decode() if phase else str(before.count(b'"transfers"'))
    complete = re.findall(rb"[0-9]+", listed.partition(b"{")[0])
    return f" in phase {name} after {len(complete)} transfers"


def _number(path: Path, place: int, phase: object) -> int:
    """Number of a phase: what it says, or its place where it says nothing."""
    if isinstance(phase, dict) and "phase" not in phase:
        return place
    number: int = _field(f"{path}: phase {place}", phase, "phase", int)
    return number


def _first_object(where: str, listed: list[Any], done: int, objects: int) -> int:
    """Number of the first of a phase's transfers, if they are objects and nothing else.

    Then their numbers follow each other, and on those of the phases before.
    """
    first = listed[0]
    if type(first) is int and first >= done:
        numbers = list(range(first, first + len(listed)))
        if listed == numbers and numbers[-1] < objects:
            return first
    raise InputError(f"{where}: transfers holds something else, expected objects only")


def _field(where: Path | str, owner: object, key: str, kind: type[Any]) -> Any:
    value = owner.get(key) if isinstance(owner, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{where}: {key} is {value!r:.40}, expected {_KINDS[kind]}")
    return value


_KINDS = {int: "an integer", list: "a list"}


def _columns(
    where: str, text: bytes, array: ByteArray, begins: IntArray, ends: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Columns of all transfers of a phase, as :func:`scan` gives them."""
    parts = [scan(array, begins, ends)]
    done = len(parts[0][0])
    while done < len(begins):
        transfer = f"{where}: transfer {done}"
        parts.append(read_object(transfer, text[begins[done] : ends[done]]))
        parts.append(scan(array, begins[done + 1 :], ends[done + 1 :]))
        done += 1 + len(parts[-1][0])
    columns, addresses, receivers = zip(*parts, strict=True)
    return np.concatenate(columns), np.concatenate(addresses), np.concatenate(receivers)


def _problem(
    where: str, name: str, tiles: int, columns: tuple[IntArray, IntArray, IntArray]
) -> Problem:
    fixed, addresses, receivers = columns
    start = np.zeros(1, np.int64)
    try:
        problem = Problem(
            name=name,
            tiles=tiles,
            source=fixed[:, SOURCE],
            source_address=by_iteration(addresses, fixed[:, ADDRESSES]),
            words=fixed[:, WORDS],
            destination_start=np.concatenate((start, np.cumsum(fixed[:, RECEIVERS]))),
            destination_tile=receivers[0::2],
            destination_address=receivers[1::2],
            paired=fixed[:, PAIRED] == 1,
        )
    except ValueError as error:
        raise InputError(f"{where}: {str(error).removeprefix(f'{name}: ')}") from None
    bad = np.zeros(0, np.int64)
    if problem.paired.any():
        bad = np.flatnonzero(problem.paired & ~qualifying(problem))
    if len(bad):
        raise InputError(
            f"{where}: transfer {bad[0]}: width: found Paired64, expected Word32: words, addresses "
            "or receivers of the transfer do not allow pairs"
        )
    return problem
