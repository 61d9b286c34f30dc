"""Reads ``plan.json``: what leaves here has the types and ranges that readers of a plan rely on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import chain
from pathlib import Path
from typing import Any, get_type_hints

from ipuopt.errors import InputError
from ipuopt.plan import ConversionStep, MatMulStep, Plan, PlanStep, PointwiseStep
from ipuopt.strict_json import load_object
from ipuopt.target.constants import TILES

_SCALARS = (int, str, bool)


def read_plan_json(path: Path) -> Plan:
    """The plan in a ``plan.json``; whether it computes a workload is its checker's business.

    Raises
    ------
    InputError
        If the file is missing or holds no plan.
    """
    data = load_object(path, "a plan")
    try:
        plan = Plan.from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        missing = isinstance(error, KeyError)
        found = f"no key {error}" if missing else " ".join(str(error).split())
        raise InputError(f"{path}: found {found}, expected a plan") from None
    # One after the other: numbers are only compared once their types are right.
    for place, found, expected in chain(_wrong_types(plan, ""), _wrong_numbers(plan)):
        raise InputError(f"{path}: {place}: found {found}, expected {expected}")
    return plan


def _wrong_types(record: Any, place: str) -> Iterator[tuple[str, str, str]]:
    """Scalars of a record, and of the records in it, that are not of the annotated type."""
    hints = get_type_hints(type(record))
    for item in fields(record):
        value, hint = getattr(record, item.name), hints[item.name]
        inner = f"{place}.{item.name}".lstrip(".")
        if hint in _SCALARS and type(value) is not hint:
            yield inner, repr(value), f"a value of type {hint.__name__}"
        elif hint == int | None and value is not None and type(value) is not int:
            yield inner, repr(value), "a whole number or null"
        elif is_dataclass(value):
            yield from _wrong_types(value, inner)
        elif item.name == "terms" and not isinstance(value, Mapping):
            yield inner, repr(value), "cycles by name"
        elif item.name == "terms":
            for name, cycles in value.items():
                if type(cycles) is not int:
                    yield f"{inner}.{name}", repr(cycles), "a whole number"
        elif isinstance(value, tuple):
            for index, element in enumerate(value):
                if is_dataclass(element):
                    yield from _wrong_types(element, f"{inner}[{index}]")


def _wrong_numbers(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Counts out of range, and references to values that are not there."""
    tiles = f"1 to {TILES} tiles"
    if not 1 <= plan.tiles <= TILES:
        yield "tiles", str(plan.tiles), tiles
    for index, value in enumerate(plan.values):
        if min(value.rows, value.columns) < 1 or value.dtype not in ("float16", "float32"):
            found = f"{value.dtype} {value.rows} x {value.columns}"
            yield f"values[{index}]", found, "float16 or float32 and extents of at least 1"
        layout = value.layout
        if not 1 <= layout.tiles <= TILES or layout.replicas < 1:
            found = f"{layout.tiles} tiles with {layout.replicas} replicas"
            yield f"values[{index}].layout", found, tiles
    for index, step in enumerate(plan.steps):
        for reference in _references(step):
            if type(reference) is not int or not 0 <= reference < len(plan.values):
                found = f"a reference to value {reference!r}"
                yield f"steps[{index}]", found, f"one of the {len(plan.values)} values"
        if isinstance(step, MatMulStep):
            counts = (step.rows, step.columns, step.inner, step.block_inner, step.block_columns)
            if min(counts) < 1:
                yield f"steps[{index}]", f"grid and blocks {counts}", "numbers of at least 1"


def _references(step: PlanStep) -> tuple[int, ...]:
    match step:
        case ConversionStep():
            return step.value, step.result
        case MatMulStep():
            return step.left, step.right, step.result
        case PointwiseStep():
            return *step.inputs, step.result
