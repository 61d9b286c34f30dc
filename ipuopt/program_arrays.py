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
    RunTable,
    ShardTable,
    StepKind,
    TransferTable,
)

PROGRAM_SCHEMA = 1
"""Version of ``program.npz``."""

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
        "schema_version": np.array([PROGRAM_SCHEMA]),
        "tiles": np.array([program.tiles]),
        "distinct": program.distinct,
        "step_kind": np.array([int(step.kind) for step in program.steps], dtype=np.int64),
        "step_plan_step": np.array([step.plan_step for step in program.steps], dtype=np.int64),
        "step_name": np.array([step.name for step in program.steps], dtype=np.str_),
    }
    for name in _TABLES:
        table = getattr(program, name)
        for column in fields(table):
            arrays[f"{name}.{column.name}"] = getattr(table, column.name)
    return arrays


def from_arrays(arrays: dict[str, npt.NDArray[Any]]) -> Program:
    """Read what :func:`to_arrays` made.

    Raises
    ------
    ValueError
        For another schema version or a missing array.
    """
    try:
        version = int(arrays["schema_version"][0])
        if version != PROGRAM_SCHEMA:
            raise ValueError(f"program schema {version}, expected {PROGRAM_SCHEMA}")
        tables = {
            name: cls(*(arrays[f"{name}.{column.name}"] for column in fields(cls)))
            for name, cls in _TABLES.items()
        }
        steps = tuple(
            ProgramStep(StepKind(int(kind)), int(plan_step), str(name))
            for kind, plan_step, name in zip(
                arrays["step_kind"], arrays["step_plan_step"], arrays["step_name"], strict=True
            )
        )
        return Program(
            tiles=int(arrays["tiles"][0]), steps=steps, distinct=arrays["distinct"], **tables
        )
    except KeyError as error:
        raise ValueError(f"program has no array {error}") from error


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
