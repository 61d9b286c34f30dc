"""Phases of a snapshot of the public compiler (JSON or .json.gz, schema 4) as problems.

A snapshot of 100 MB has millions of small lists: the text is cut at the transfers, and read in
parts, so that few of them exist at a time.
"""

from __future__ import annotations

import gc
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from ipuopt.compiled import kernel
from ipuopt.errors import InputError
from ipuopt.models.exchange.problem import IntArray, Problem

SCHEMA = 4
PART = 20_000
"""Transfers read at a time."""

ByteArray = npt.NDArray[np.uint8]


def read_snapshot(path: Path) -> list[Problem]:
    """Problems of all phases of a snapshot, named by file and phase.

    Widths are ignored: every transfer is taken as Word32, which any transfer may be.

    Raises
    ------
    InputError
        If the file cannot be read, is no snapshot of schema 4, is cut short, holds transfers that
        no phase can have, or holds several source addresses of one transfer (one for each
        iteration of a repeat), which is not supported yet.
    """
    with _no_collection():
        return _read(path)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Millions of lists without cycles: looking for cycles takes most of the time otherwise."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read(path: Path) -> list[Problem]:
    text = _text(path)
    array = np.frombuffer(text, np.uint8)
    cuts, ends = _transfers(array)
    frame = _frame(path, text, cuts, ends)
    tiles = _field(path, frame, "tile_count", int)
    problems = []
    done = 0
    for number, phase in enumerate(_field(path, frame, "phases", list)):
        where = f"{path}: phase {number}"
        listed = _field(where, phase, "transfers", list)
        columns = [np.zeros(0, np.int64)] * 6
        if listed:
            begin = _first_object(where, listed, done, len(cuts))
            done = begin + len(listed)
            parts = [
                _columns(where, text[cuts[first] : ends[stop - 1]], first - begin)
                for first, stop in _parts(begin, done)
            ]
            columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        source, address, words, receivers, tile, at = columns
        bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(receivers)))
        try:
            problem = Problem(
                name=f"{path.name} phase {number}",
                tiles=tiles,
                source=source,
                source_address=address,
                words=words,
                destination_start=bounds,
                destination_tile=tile,
                destination_address=at,
            )
        except ValueError as error:
            raise InputError(f"{where}: {error}") from None
        problems.append(problem)
    return problems


def _parts(first: int, stop: int) -> Iterator[tuple[int, int]]:
    for at in range(first, stop, PART):
        yield at, min(at + PART, stop)


def _text(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (EOFError, zlib.error):
        raise InputError(f"{path}: the compressed file is damaged or cut short") from None


@kernel
def _transfers(text: ByteArray) -> tuple[IntArray, IntArray]:
    """Where the objects of depth 3 begin and end: those of the transfers in a snapshot.

    The text may be anything; only strings and braces are looked at.
    """
    count = 0
    begins = np.empty(1024, np.int64)
    ends = np.empty(1024, np.int64)
    depth = 0
    quoted = False
    at = 0
    while at < len(text):
        byte = text[at]
        if quoted:
            if byte == 92:  # backslash
                at += 1
            elif byte == 34:  # quote
                quoted = False
        elif byte == 34:
            quoted = True
        elif byte == 123:  # {
            depth += 1
            if depth == 3:
                if count == len(begins):
                    wider = np.empty(2 * count, np.int64)
                    wider[:count] = begins
                    begins = wider
                    wider = np.empty(2 * count, np.int64)
                    wider[:count] = ends
                    ends = wider
                begins[count] = at
        elif byte == 125:  # }
            if depth == 3:
                ends[count] = at + 1
                count += 1
            depth -= 1
        at += 1
    return begins[:count], ends[:count]


def _frame(path: Path, text: bytes, cuts: IntArray, ends: IntArray) -> dict[str, Any]:
    """The file with its number in place of every object of depth 3."""
    pieces = []
    last = 0
    for number, (begin, end) in enumerate(zip(cuts.tolist(), ends.tolist(), strict=True)):
        pieces += [text[last:begin], b"%d" % number]
        last = end
    pieces.append(text[last:])
    try:
        frame = orjson.loads(b"".join(pieces))
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: no JSON, or cut short: {error.msg}") from None
    if not isinstance(frame, dict) or "schema_version" not in frame:
        raise InputError(f"{path}: no exchange snapshot: expected an object with schema_version")
    if frame["schema_version"] != SCHEMA:
        found = frame["schema_version"]
        raise InputError(f"{path}: schema_version {found!r}, expected {SCHEMA}")
    return frame


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


def _columns(where: str, text: bytes, first: int) -> tuple[IntArray, ...]:
    """Columns source, address, words, receivers, and tile and address of receivers."""
    try:
        transfers = orjson.loads(b"[" + text + b"]")
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: transfer {first} or later: {error.msg}") from None
    try:
        addresses = [transfer["source_addresses"] for transfer in transfers]
        for number, several in enumerate(addresses):
            if len(several) != 1:
                raise InputError(
                    f"{where}: transfer {first + number}: {len(several)} source_addresses, "
                    "expected 1: transfers of a repeat are not supported yet"
                )
        lists = [transfer["destinations"] for transfer in transfers]
        pairs = list(chain.from_iterable(lists))
        if any(map((2).__ne__, map(len, pairs))):
            raise ValueError("a destination that is no pair")
        flat = _integers(list(chain.from_iterable(pairs)))
        return (
            _integers([transfer["source"] for transfer in transfers]),
            _integers([address for (address,) in addresses]),
            _integers([transfer["words"] for transfer in transfers]),
            np.array([len(receivers) for receivers in lists], np.int64),
            flat[0::2],
            flat[1::2],
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{where}: transfers {first}..{first + len(transfers) - 1}: expected integers source, "
            f"words, source_addresses [address], destinations [[tile, address], ...] ({error})"
        ) from None


def _integers(values: list[Any]) -> IntArray:
    if not set(map(type, values)) <= {int}:
        raise ValueError("a value that is no integer")
    return np.fromiter(values, np.int64, len(values))
