"""The operator plan that a log at debug level prints, as the plan file that ``--plan`` reads.

The plan tells layouts and grids, and only the command line the dimensions of the workload, so both
must be in the log. Known is the chain of products of the compiler's MLP benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ipuopt.errors import InputError
from ipuopt.peerlog.debug import Node, parse
from ipuopt.peerlog.log import Log
from ipuopt.peerlog.messages import SELECTED_OPERATION

FORMAT = "ipuopt seed plan 1"
"""Of the files that :func:`ipuopt.models.mapping.peer.read_plan` reads."""

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def plan_document(log: Log) -> dict[str, Any]:
    """The plan of ``log`` as a document for :func:`ipuopt.models.mapping.peer.read_plan`.

    Raises
    ------
    InputError
        If the log has no plan, not the dimensions of its workload, or a plan of another form.
    """
    selected = [
        (event, place) for event, place in log.placed() if event.message == SELECTED_OPERATION
    ]
    if not selected:
        raise InputError(f"{log.name}: found no plan, expected '{SELECTED_OPERATION}' in the log")
    try:
        kinds = [parse(event.text("kind") or "") for event, _ in selected]
        shapes = _shapes(log)
        steps = [_step(kind, shapes) for kind in kinds]
    except (ValueError, StopIteration) as error:
        found = str(error) or "more products than the command line tells"
        raise InputError(f"{log.name}: plan: {found}") from None
    _name_steps(steps)
    return {"format": FORMAT, "workload": {"tiles": selected[0][1].tiles}, "steps": steps}


def workload_document(log: Log, plan: Mapping[str, Any]) -> dict[str, Any]:
    """The workload that ``plan`` computes, in the form of a workload file."""
    operators = [step for step in plan["steps"] if step["kind"] == "operator"]
    first = next(step for step in operators if "shape" in step)["shape"]
    parameters: dict[str, Any] = {}
    operations: dict[str, Any] = {}
    value = "x"
    for step in operators:
        inputs = [value]
        if step["operator"] == "gemm":
            name = f"w{len(parameters) + 1}"
            parameters[name] = {"shape": [step["shape"]["k"], step["shape"]["n"]]}
            inputs.append(name)
        value = step["name"]
        kind = {"gemm": "MatMul", "gelu": "Gelu"}[step["operator"]]
        operations[value] = {"op": kind, "inputs": inputs}
    return {
        "ipuopt": 1,
        "name": f"log-{log.name}",
        "target": {"chip": "ipu21", "tiles": plan["workload"]["tiles"]},
        "defaults": {"dtype": "float16"},
        "inputs": {"x": {"shape": [first["m"], first["k"]]}},
        "parameters": parameters,
        "operations": operations,
        "outputs": [value],
    }


def _shapes(log: Log) -> Iterator[dict[str, int]]:
    """Shapes of the products in their order, from the options of the command line."""
    options = dict(re.findall(r"--mlp-([a-z-]+) (\d{1,9})\b", log.command or ""))
    missing = [f"--mlp-{key}" for key in ("tokens", "dim", "hidden-dim") if key not in options]
    if missing:
        raise ValueError(f"found no command line with {missing[0]}, which dimensions need")
    rows = int(options["tokens"]) * int(options.get("batch", 1))
    widths = [int(options["dim"]), int(options["hidden-dim"])] * int(options.get("blocks", 1))
    for inner, columns in pairwise([*widths, widths[0]]):
        yield {"m": rows, "n": columns, "k": inner}


def _step(kind: Node, shapes: Iterator[dict[str, int]]) -> dict[str, Any]:
    """One step of the document, without its name."""
    if kind.name == "Rearrange":
        return {"kind": "conversion", "from": _layout(kind["from"]), "to": _layout(kind["to"])}
    plan = kind.only("Operator")
    needs = plan["requirements"]
    step: dict[str, Any] = {
        "kind": "operator",
        "operator": _word(plan["operator"].name),
        "inputs": [_operand(operand) for operand in needs["inputs"].items],
        "output": _operand(needs["output"]),
    }
    if step["operator"] == "gelu":
        return step
    if step["operator"] != "gemm":
        raise ValueError(f"found the operator {step['operator']}, expected gemm or gelu")
    options = plan["operator"]["options"]
    if any(options[side].name != "false" for side in ("transpose_left", "transpose_right")):
        raise ValueError("found a transposed product, expected one that is not")
    return step | {"shape": next(shapes), "dispatch": _dispatch(plan["dispatch"])}


def _dispatch(node: Node) -> dict[str, Any]:
    geometry = node.only("BlockedGemm")["geometry"]
    split = geometry["distribution"].only("ParallelReduction")
    return {
        "kind": "blocked_gemm",
        "orientation": _word(geometry["orientation"].name),
        "block": _numbers(geometry["block"], ("inner", "output_columns")),
        "compute_grid": _numbers(split["compute"], ("rows", "columns", "inner")),
        "partial_staging": _word(split["staging"].name),
    }


def _operand(node: Node) -> dict[str, Any]:
    kept = node["format"]
    return {"precision": kept["precision"].name.lower(), **_layout(kept["layout"])}


def _layout(node: Node) -> dict[str, Any]:
    tiling = node["tiling"]
    return {
        "order": _order(node["order"]),
        **_numbers(tiling, ("tile_count", "replicas")),
        "memory_class": _word(node["memory_class"].name),
        "axes": [_axis(axis) for axis in tiling["axes"].items],
    }


def _order(node: Node) -> dict[str, Any]:
    kind = _word(node.name)
    if kind == "amp":
        return {"kind": kind, "operand": _word(node.only("Amp").name)}
    if kind == "block_major":
        form = node.only("BlockMajor")
        blocks = _numbers(form, ("row_block", "column_block"))
        return {"kind": kind, "form": _word(form.name), **blocks}
    return {"kind": kind}


def _axis(node: Node) -> dict[str, Any]:
    axis, stride = node["axis"], node["tile_stride"]
    of_end = f"from_end_{axis.items[0].integer()}" if axis.items else _word(axis.name)
    counts = ("partitions", "padding_groups", "block_size", "padding_multiple")
    return {
        "axis": of_end,
        **_numbers(node, (*counts, "shard_padding_multiple")),
        "padding": _word(node["padding"].name),
        "tile_stride": None if stride.name == "None" else stride.only("Some").integer(),
    }


def _numbers(node: Node, keys: Sequence[str]) -> dict[str, int]:
    return {key: node[key].integer() for key in keys}


def _word(name: str) -> str:
    """``ParallelReduction`` as ``parallel_reduction``."""
    return _WORDS.sub("_", name).lower()


def _name_steps(steps: list[dict[str, Any]]) -> None:
    """Name operators after their kind, numbered where it returns, and conversions after them."""
    kinds = [step.get("operator") for step in steps]
    for index, step in enumerate(steps):
        kind = step.get("operator")
        if kind is not None:
            number = f"_{kinds[: index + 1].count(kind)}" if kinds.count(kind) > 1 else ""
            step["name"] = f"{kind}{number}"
    following = "output"
    for step in reversed(steps):
        if step["kind"] == "conversion":
            step["name"] = f"convert_{following}_input"
        else:
            following = step["name"]
