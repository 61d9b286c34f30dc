"""Wrong seed plans end in one line that names file, line and key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ipuopt.errors import InputError
from ipuopt.layout import LEFT, AxisTiling, Layout, MemoryClass
from ipuopt.models.mapping.peer import read_plan
from ipuopt.models.mapping.peer.rotation import rotate_parameters
from ipuopt.plan import Origin, PlannedValue


@pytest.fixture(scope="module")
def seed_text(shared: Path) -> str:
    return (shared / "data" / "seeds" / "plan_siglip_mlp.yaml").read_text()


def change(old: str, new: str, which: int = 0) -> Callable[[str], str]:
    """Replace one occurrence of ``old``."""

    def edit(text: str) -> str:
        parts = text.split(old)
        assert len(parts) > which + 1, f"{old!r} is not there"
        return old.join(parts[: which + 1]) + new + old.join(parts[which + 1 :])

    return edit


@pytest.mark.parametrize(
    ("edit", "where", "what"),
    [
        (lambda text: "", "plan.yaml:1: document", "expected a mapping"),
        (lambda text: "- 1\n", "plan.yaml:1: document", "expected a mapping"),
        (lambda text: "a: [1\n", "plan.yaml:2", "is no YAML"),
        (lambda text: "a: 1\na: 2\n", "plan.yaml:2", "is no YAML"),
        (change("seed plan 1", "seed plan 2"), "plan.yaml:3: format", "expected 'ipuopt seed plan"),
        (change("  tiles: 1472", "  tiles: 1473"), "workload.tiles", "at most 1472"),
        (change("  tiles: 1472", "  tiles: 1400"), "steps[1].to.tile_count", "at most 1400"),
        (change("steps:\n", "steps: 3\nrest:\n"), "steps", "expected a list"),
        (change("kind: operator", "kind: operand"), "steps[0].kind", "'conversion' or 'operator'"),
        (change("operator: gemm", "operator: conv"), "steps[0].operator", "found 'conv'"),
        (change("name: gemm_1", "name: 7"), "steps[0].name", "expected a name"),
        (change("name: gemm_2", "name: gelu"), "steps[4].name", "'gelu' is taken already"),
        (change("k: 4304}", "k: 4300}"), "steps[4].shape", "has shape 729 x 4304"),
        (change("inner: 5}", "inner: 4}"), "dispatch.compute_grid", "lies on 1350 tiles"),
        (change("inner: 5}", "inner: yes}"), "dispatch.compute_grid.inner", "whole number"),
        (change("inner: 240,", "outer: 240,"), "dispatch.block.inner", "missing"),
        (change("tile_count: 1350", "tile_count: 1349"), "steps[0].inputs[0]", "1349 tiles"),
        (change("order: {kind: amp", "order: {kind: amq"), "order.kind", "'amq'"),
        (change("operand: left", "operand: right"), "order.operand", "'right'"),
        (change("row_block: 240", "row_block: -1"), "order.row_block", "at least 16"),
        (change("padding: reject", "padding: one"), "axes[0].padding", "'zero' or 'reject'"),
        (change("tile_stride: 1", "tile_stride: 0"), "axes[0].tile_stride", "at least 1"),
        (change("memory_class: standard", "memory_class: dual"), "memory_class", "'dual'"),
        (
            change("precision: f16\n        order", "precision: f8\n        order"),
            "precision",
            "f8",
        ),
        (change("replicas: 135", "replicas: 0"), "steps[0].inputs[0].replicas", "at least 1"),
        (change("block_size: 16", "block_size: 32", 2), "steps[1].from", "not that of gemm_1"),
    ],
)
def test_wrong_files_are_refused_in_one_line(
    seed_text: str, tmp_path: Path, edit: Callable[[str], str], where: str, what: str
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(edit(seed_text))
    with pytest.raises(InputError) as caught:
        read_plan(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}:") and where in message and what in message


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_plan(tmp_path / "absent.yaml")
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is no UTF-8 text"):
        read_plan(path)


def test_a_file_without_steps(seed_text: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(change("steps:\n", "steps: []\nrest:\n")(seed_text))
    with pytest.raises(InputError, match=r"steps: found no step"):
        read_plan(path)


def parameter(columns: int, parts: int) -> PlannedValue:
    layout = Layout(LEFT, parts, 1, (AxisTiling(1, parts, 16, 16),), MemoryClass.INTERLEAVED)
    return PlannedValue("w", "w", 4, columns, "float16", layout, Origin.PARAMETER)


def test_rotation_levels_the_largest_sum() -> None:
    """Tiles 0..3: the second parameter goes beside the first, the third over the smaller of them."""
    values = (parameter(64, 2), parameter(96, 2), parameter(16, 1))
    assert [value.tile_offset for value in rotate_parameters(values, 4)] == [0, 2, 0]


def test_rotation_leaves_other_values_alone() -> None:
    value = parameter(64, 2)
    inputs = PlannedValue("x", "x", 4, 64, "float16", value.layout, Origin.INPUT)
    assert [v.tile_offset for v in rotate_parameters((inputs, value, value), 4)] == [0, 0, 2]
