"""The sections of a workload file, key by key; the graph is checked in :mod:`.graph`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ipuopt.options import OPTIONS
from ipuopt.target.constants import TILES
from ipuopt.workload.document import kind_of, shown
from ipuopt.workload.field import Field, check_name, listed, nearest
from ipuopt.workload.model import Operation, Target, Tensor, TensorKind
from ipuopt.workload.operators import OPERATORS

WORKLOAD_SCHEMA = 1
"""Value of the key ``ipuopt``."""
MAX_ELEMENTS = 2**31
"""Most elements of a tensor; the whole chip holds fewer (1472 tiles x 624 KiB)."""
MAX_RANK = 4
CHIPS = {"ipu21": TILES}
"""Chips and their tiles."""
DTYPES = ("float16", "float32")

_KEYS = (
    "ipuopt",
    "name",
    "target",
    "defaults",
    "inputs",
    "parameters",
    "operations",
    "outputs",
    "solve",
)
_DATA = re.compile(r"(?P<file>[^#]+\.npz)#(?P<name>[^#]+)")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Draft:
    """A file whose keys are right; names are not resolved yet.

    Attributes
    ----------
    tensors
        Inputs and parameters.
    operations
        In file order.
    outputs
        As written.
    fields
        Where each tensor and operation was declared, by name.
    output_fields
        Where each output was named.
    """

    name: str
    target: Target
    tensors: Mapping[str, Tensor]
    operations: tuple[Operation, ...]
    outputs: tuple[str, ...]
    solve: Mapping[str, Any]
    fields: Mapping[str, Field]
    output_fields: tuple[Field, ...]


def read(root: Field, default_name: str) -> Draft:
    """Read every section of the document.

    Raises
    ------
    InputError
        For the first value that is not as it must be.
    """
    top = root.entries("a mapping with the keys of a workload")
    version = top.get("ipuopt")
    if version is None:
        raise root.missing("ipuopt", f"ipuopt: {WORKLOAD_SCHEMA} (the version of the format)")
    version.integer(WORKLOAD_SCHEMA, WORKLOAD_SCHEMA, f"version {WORKLOAD_SCHEMA}")
    root.keys(_KEYS, "a mapping")
    for key, expected in (("operations", "at least one operation"), ("outputs", "a list of names")):
        if key not in top:
            raise root.missing(key, expected)
    dtype = _default_dtype(top)
    fields: dict[str, Field] = {}
    tensors: dict[str, Tensor] = {}
    for section, kind in (("inputs", TensorKind.INPUT), ("parameters", TensorKind.PARAMETER)):
        for name, field in _named(top, section, fields):
            tensors[name] = _tensor(name, field, kind, dtype)
    operations = tuple(_operation(name, field) for name, field in _named(top, "operations", fields))
    if not operations:
        raise top["operations"].error("no operation", "at least one")
    output_fields = top["outputs"].items("a list of names of operations")
    if not output_fields:
        raise top["outputs"].error("an empty list", "at least one name of an operation")
    return Draft(
        name=_workload_name(top, default_name),
        target=_target(top),
        tensors=tensors,
        operations=operations,
        outputs=tuple(field.text("the name of an operation") for field in output_fields),
        solve=_solve(top),
        fields=fields,
        output_fields=output_fields,
    )


def _workload_name(top: Mapping[str, Field], default: str) -> str:
    if "name" not in top:
        return re.sub(r"[^A-Za-z0-9._-]+", "-", default).strip("-.")[:100] or "workload"
    expected = "a name of letters, digits, '.', '_' and '-' (it names the run directory)"
    name = top["name"].text(expected)
    if not _FILE_NAME.fullmatch(name):
        raise top["name"].error(shown(name), expected)
    return name


def _target(top: Mapping[str, Field]) -> Target:
    if "target" not in top:
        return Target()
    keys = top["target"].keys(("chip", "tiles"), "a mapping with chip and tiles")
    chip = Target().chip
    if "chip" in keys:
        chip = _choice(keys["chip"], tuple(CHIPS))
    most = CHIPS[chip]
    tiles = most
    if "tiles" in keys:
        tiles = keys["tiles"].integer(1, most, f"a whole number from 1 to {most} (tiles of {chip})")
    return Target(chip, tiles)


def _default_dtype(top: Mapping[str, Field]) -> str:
    if "defaults" in top:
        keys = top["defaults"].keys(("dtype",), "a mapping with dtype")
        if "dtype" in keys:
            return _choice(keys["dtype"], DTYPES)
    return DTYPES[0]


def _choice(field: Field, known: tuple[str, ...]) -> str:
    value = field.text(listed(known))
    if value not in known:
        raise field.error(shown(value), listed(known) + nearest(value, known))
    return value


def _named(
    top: Mapping[str, Field], section: str, seen: dict[str, Field]
) -> list[tuple[str, Field]]:
    """Entries of a section; their names must be new in the whole file."""
    if section not in top:
        return []
    named = list(top[section].entries(f"a mapping from names to {section}").items())
    for name, field in named:
        check_name(name, field)
        if name in seen:
            other = seen[name]
            line = f" (line {other.key_mark.line})" if other.key_mark.line else ""
            found = f"a name that {other.path} has too{line}"
            raise field.key_error(found, "each name once among inputs, parameters and operations")
        seen[name] = field
    return named


def _tensor(name: str, field: Field, kind: TensorKind, dtype: str) -> Tensor:
    known = ("shape", "dtype") + (("data",) if kind is TensorKind.PARAMETER else ())
    keys = field.keys(known, "a mapping with shape")
    if "shape" not in keys:
        raise field.missing("shape", "a list of 1 to 4 extents")
    if "dtype" in keys:
        dtype = _choice(keys["dtype"], DTYPES)
    data = None
    if "data" in keys:
        data = keys["data"].text("weights.npz#name")
        if not _DATA.fullmatch(data):
            raise keys["data"].error(shown(data), "a file and an array as weights.npz#name")
    return Tensor(name, _shape(keys["shape"]), dtype, kind, data)


def _shape(field: Field) -> tuple[int, ...]:
    items = field.items(f"a list of 1 to {MAX_RANK} extents")
    if not 1 <= len(items) <= MAX_RANK:
        raise field.error(_count(len(items), "extent"), f"1 to {MAX_RANK}")
    expected = f"a whole number from 1 to {MAX_ELEMENTS}"
    shape = tuple(item.integer(1, MAX_ELEMENTS, expected) for item in items)
    check_elements(shape, field)
    return shape


def check_elements(shape: tuple[int, ...], field: Field) -> None:
    """Refuse a tensor that no chip could hold."""
    if math.prod(shape) > MAX_ELEMENTS:
        found = f"{math.prod(shape)} elements ({' x '.join(map(str, shape))})"
        raise field.error(found, f"at most {MAX_ELEMENTS} a tensor")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _operation(name: str, field: Field) -> Operation:
    fields = field.entries("a mapping with op and inputs")
    if "op" not in fields:
        raise field.missing("op", listed(OPERATORS))
    operator = OPERATORS[_choice(fields["op"], tuple(OPERATORS))]
    field.keys(("op", "inputs", *operator.attributes), "a mapping")
    arity = _count(len(operator.operands), "tensor name")
    if "inputs" not in fields:
        raise field.missing("inputs", f"a list of {arity}")
    items = fields["inputs"].items(f"a list of {arity}")
    if len(items) != len(operator.operands):
        expected = f"{len(operator.operands)} for {operator.kind} ({', '.join(operator.operands)})"
        raise fields["inputs"].error(_count(len(items), "input"), expected)
    attributes = {}
    for key, values in operator.attributes.items():
        if key not in fields:
            raise field.missing(key, listed(values))
        attributes[key] = _choice(fields[key], values)
    names = tuple(item.text("the name of a tensor") for item in items)
    return Operation(name, operator.kind, names, attributes)


def _solve(top: Mapping[str, Field]) -> dict[str, Any]:
    if "solve" not in top:
        return {}
    known = {option.key: option for option in OPTIONS}
    settings = {}
    for key, field in top["solve"].keys(tuple(known), "a mapping of solve options").items():
        value = field.node.value
        try:
            settings[key] = known[key].parse(value)
        except ValueError as error:
            collection = isinstance(value, tuple | Mapping)
            found = f"a {kind_of(value)}" if collection else shown(value)
            raise field.error(found, str(error)) from None
    return settings
