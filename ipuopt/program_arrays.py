"""Tile program tables as named arrays, for ``program.npz``."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ipuopt.program import (
    CopyTable,
    Program,
    ProgramStep,
    Repeat,
    RunTable,
    ShardTable,
    StepKind,
    TransferTable,
)
from ipuopt.program_columns import none

PROGRAM_SCHEMA = 1
"""Version of ``program.npz``."""
REPEATS_SCHEMA = 2
"""Version of one with repeats, which readers of the other would take for steps executed once."""

_DAMAGED = (
    *(AttributeError, TypeError),  # one array, no archive
    *(EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error),
    *(IndexError, KeyError, SyntaxError, tokenize.TokenError),  # a header that does not parse
)
"""What numpy and the archive raise beside ``ValueError`` for files that are none of theirs."""

_TABLES = {
    "shards": ShardTable,
    "runs": RunTable,
    "copies": CopyTable,
    "transfers": TransferTable,
}


def to_arrays(program: Program) -> dict[str, npt.NDArray[Any]]:
    """Named arrays for ``program.npz``."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "schema_version": np.array([REPEATS_SCHEMA if program.repeats else PROGRAM_SCHEMA]),
        "tiles": np.array([program.tiles]),
        "distinct": program.distinct,
        "step_kind": np.array([int(step.kind) for step in program.steps], dtype=np.int64),
        "step_plan_step": np.array([step.plan_step for step in program.steps], dtype=np.int64),
        "step_name": np.array([step.name for step in program.steps], dtype=np.str_),
    }
    for name, cls in _TABLES.items():
        for column in _columns(cls, repeats=bool(program.repeats)):
            arrays[f"{name}.{column}"] = getattr(getattr(program, name), column)
    if program.repeats:
        rows = [(repeat.first, repeat.stop, repeat.count) for repeat in program.repeats]
        arrays["repeats"] = np.array(rows, dtype=np.int64)
    return arrays


def _columns(table: type, *, repeats: bool) -> list[str]:
    """Columns of a table; those that say how operands move exist in programs with repeats only."""
    return [c.name for c in fields(table) if repeats or c.default_factory is not none]


def from_arrays(arrays: dict[str, npt.NDArray[Any]]) -> Program:
    """Read what :func:`to_arrays` made.

    Raises
    ------
    ValueError
        For another schema version or a missing array, and as :class:`ipuopt.program.Program`.
    """
    try:
        version = int(arrays["schema_version"][0])
        if version not in (PROGRAM_SCHEMA, REPEATS_SCHEMA):
            expected = f"{PROGRAM_SCHEMA} or {REPEATS_SCHEMA}"
            raise ValueError(f"program schema {version}, expected {expected}")
        repeats = version == REPEATS_SCHEMA
        tables = {
            name: cls(**{c: arrays[f"{name}.{c}"] for c in _columns(cls, repeats=repeats)})
            for name, cls in _TABLES.items()
        }
        steps = tuple(
            ProgramStep(StepKind(int(kind)), int(plan_step), str(name))
            for kind, plan_step, name in zip(
                arrays["step_kind"], arrays["step_plan_step"], arrays["step_name"], strict=True
            )
        )
        return Program(
            tiles=int(arrays["tiles"][0]),
            steps=steps,
            distinct=arrays["distinct"],
            repeats=_repeats(arrays["repeats"]) if repeats else (),
            **tables,
        )
    except KeyError as error:
        raise ValueError(f"program has no array {error}") from error


def _repeats(rows: npt.NDArray[Any]) -> tuple[Repeat, ...]:
    if rows.dtype.kind not in "iu" or rows.ndim != 2 or rows.shape[1:] != (3,):
        found = f"repeats of {rows.dtype} {list(rows.shape)}"
        raise ValueError(f"{found}, expected first step, stop and count of each")
    return tuple(Repeat(*row) for row in rows.tolist())


def load_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an ``.npz`` file; pickled objects are refused.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no such archive, or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as data:
            return dict(data)
    except _DAMAGED as error:
        raise ValueError(str(error)) from error
