"""Problems in the format of the ASPLOS 2025 contest on intra-operator parallelism.

JSON, packed by gzip or not: node intervals, costs and usages, edges with tables of costs, a limit
(repository ``google/iopddl``, README). An edge with one end, or with the same node as both ends,
is a cost of the node and is added to it; edges with three ends or more are refused.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from ipuopt.errors import InputError
from ipuopt.models.assignment.graph import offsets
from ipuopt.models.assignment.problem import LARGEST, IntArray, Problem

_RANGE = f"an integer from 0 to {LARGEST - 1}"


def load_problem(path: Path) -> Problem:
    """Read a problem; ``-`` is standard input.

    Raises
    ------
    InputError
        Names the file, the key with the number of node or edge, what was found, what would be
        right.
    """
    whole = _parsed(path)
    problem = _member(f"{path}:", whole, "problem", dict)
    at = f"{path}: problem"
    nodes = _member(at, problem, "nodes", dict)
    edges = _member(at, problem, "edges", dict)
    intervals = _member(f"{at}.nodes", nodes, "intervals", list)
    costs = _member(f"{at}.nodes", nodes, "costs", list)
    usages = _member(f"{at}.nodes", nodes, "usages", list)
    ends = _member(f"{at}.edges", edges, "nodes", list)
    tables = _member(f"{at}.edges", edges, "costs", list)
    for key, listed in (("costs", costs), ("usages", usages)):
        _same_length(f"{at}.nodes.{key}", listed, intervals, "nodes")
    _same_length(f"{at}.edges.costs", tables, ends, "edges")
    if not intervals:
        raise InputError(f"{at}.nodes.intervals: found no node, expected at least one")
    spans, size = _rows(f"{at}.nodes.intervals", intervals)
    _expect(f"{at}.nodes.intervals", size != 2, intervals, "[lower, upper]")
    spans = spans.reshape(-1, 2)
    wrong = spans[:, 0] > spans[:, 1]
    _expect(f"{at}.nodes.intervals", wrong, intervals, "lower <= upper")
    cost, strategies = _rows(f"{at}.nodes.costs", costs)
    _expect(f"{at}.nodes.costs", strategies == 0, costs, "at least one strategy")
    usage, used = _rows(f"{at}.nodes.usages", usages)
    _lengths(f"{at}.nodes.usages", used, strategies, "usages, one a strategy")
    first = offsets(strategies)
    columns = _edges(f"{at}.edges", ends, tables, strategies, first, cost)
    limit = problem.get("usage_limit")
    if limit is not None and (type(limit) is not int or not 0 <= limit < LARGEST):
        raise InputError(f"{at}.usage_limit: found {limit!r:.40}, expected {_RANGE}, or none")
    name = problem.get("name", path.name)
    try:
        return Problem(
            str(name), spans[:, 0].copy(), spans[:, 1].copy(), first, cost, usage, *columns, limit
        )
    except ValueError as error:
        raise InputError(f"{at}: found {error}, expected a smaller sum") from None


def _parsed(path: Path) -> Any:
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise InputError(
            f"{place}: found bad JSON ({error.msg}), expected a layout assignment problem"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: the compressed file is damaged or cut short") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _member(where: str, owner: object, key: str, kind: type[Any]) -> Any:
    value = owner.get(key) if isinstance(owner, dict) else None
    if not isinstance(value, kind):
        found = "nothing" if value is None else f"{value!r:.40}"
        expected = "an object" if kind is dict else "a list"
        separator = " " if where.endswith(":") else "."
        raise InputError(f"{where}{separator}{key}: found {found}, expected {expected}")
    return value


def _same_length(where: str, listed: list[Any], other: list[Any], what: str) -> None:
    if len(listed) != len(other):
        raise InputError(f"{where}: found {len(listed)} entries, expected {len(other)} ({what})")


def _rows(where: str, rows: Sequence[Any]) -> tuple[IntArray, IntArray]:
    """All numbers of a list of lists in a row, and the lengths of the lists."""
    if set(map(type, rows)) - {list}:
        at = next(i for i, row in enumerate(rows) if type(row) is not list)
        raise InputError(f"{where}[{at}]: found {rows[at]!r:.40}, expected a list of integers")
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    flat = list(chain.from_iterable(rows))
    # Types first: numpy would take true for 1, and turn all into floats for one of them.
    good = set(map(type, flat)) <= {int}
    if good and flat:
        good = 0 <= min(flat) and max(flat) < LARGEST
    if not good:
        for at, row in enumerate(rows):
            for place, value in enumerate(row):
                if type(value) is not int or not 0 <= value < LARGEST:
                    raise InputError(
                        f"{where}[{at}][{place}]: found {value!r:.40}, expected {_RANGE}"
                    )
    return np.array(flat, dtype=np.int64), sizes


def _expect(where: str, wrong: Any, rows: Sequence[Any], expected: str) -> None:
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(f"{where}[{at}]: found {rows[at]!r:.40}, expected {expected}")


def _lengths(where: str, found: IntArray, wanted: IntArray, what: str) -> None:
    if (found != wanted).any():
        at = int((found != wanted).argmax())
        raise InputError(f"{where}[{at}]: found {found[at]} entries, expected {wanted[at]} {what}")


def _edges(
    where: str,
    ends: list[Any],
    tables: list[Any],
    strategies: IntArray,
    first: IntArray,
    cost: IntArray,
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Tail, head, offsets and tables of the edges between two nodes; adds the others to ``cost``."""
    flat, degree = _rows(f"{where}.nodes", ends)
    _expect(f"{where}.nodes", (degree < 1) | (degree > 2), ends, "one or two nodes")
    begin = offsets(degree)[:-1]
    tail, head = flat[begin], flat[begin + degree - 1]
    missing = np.maximum(tail, head) >= len(strategies)
    _expect(f"{where}.nodes", missing, ends, f"nodes from 0 to {len(strategies) - 1}")
    table, cells = _rows(f"{where}.costs", tables)
    wanted = strategies[tail] * np.where(degree == 2, strategies[head], 1)
    _lengths(f"{where}.costs", cells, wanted, "costs, one a pair of strategies")
    table_first = offsets(cells)
    pairs = tail != head
    for edge in np.flatnonzero(~pairs).tolist():
        count = int(strategies[tail[edge]])
        step = 1 if degree[edge] == 1 else count + 1
        added = table[table_first[edge] : table_first[edge + 1] : step]
        cost[first[tail[edge]] : first[tail[edge]] + count] += added
        if cost[first[tail[edge]] : first[tail[edge]] + count].max() >= LARGEST:
            raise InputError(
                f"{where}.costs[{edge}]: found costs that with those of node {tail[edge]} pass "
                f"{LARGEST - 1}, expected less"
            )
    kept = _kept(table, np.repeat(pairs, cells))
    return tail[pairs], head[pairs], offsets(cells[pairs]), kept


def _kept(table: IntArray, keep: Any) -> IntArray:
    return table if keep.all() else table[keep]
