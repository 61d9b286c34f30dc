"""``check`` finds what was changed in a finished run, without any solver."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import ipuopt
from ipuopt.codegen.package import write_package
from ipuopt.codegen.package.wire import to_bytes
from ipuopt.codegen.tile import build_package
from ipuopt.errors import InputError
from ipuopt.options import SolveOptions
from ipuopt.pipeline import check_run
from ipuopt.pipeline.recheck import uncharged
from ipuopt.result import Result, Total

WORKLOAD = {
    "ipuopt": 1,
    "name": "small",
    "target": {"chip": "ipu21", "tiles": 4},
    "inputs": {"x": {"shape": [24, 32]}},
    "parameters": {"w1": {"shape": [32, 64]}, "w2": {"shape": [64, 32]}},
    "operations": {
        "h": {"op": "MatMul", "inputs": ["x", "w1"]},
        "a": {"op": "Gelu", "inputs": ["h"]},
        "y": {"op": "MatMul", "inputs": ["a", "w2"]},
    },
    "outputs": ["y"],
}


@pytest.fixture(scope="module")
def solved() -> Result:
    options = SolveOptions(time_limit_s=30.0, threads=1, deterministic=True)
    return ipuopt.solve(ipuopt.from_dict(WORKLOAD), options)


def labels(result: Result, folder: Path) -> set[str]:
    """Labels that the check reports for a saved result."""
    result.save(folder)
    return {label for label, _ in check_run(folder).violations}


def test_sound_run_has_no_violation(solved: Result, tmp_path: Path) -> None:
    """A saved result reads back and passes every check, a line a part."""
    solved.save(tmp_path / "run")
    summary = check_run(tmp_path / "run")
    assert summary.violations == ()
    parts = len(solved.built.horizon)
    assert len(summary.lines) == 6 + parts
    assert all(line.endswith(": ok") for line in summary.lines[:-1])
    assert summary.lines[-1] == "package: not checked, there is no package.ipuexe"


def test_package(solved: Result, tmp_path: Path) -> None:
    """It is of this program, or it is told; a refused run is not compared with it."""
    file = tmp_path / "run" / "package.ipuexe"
    solved.save(tmp_path / "run")
    package = build_package(solved.built)
    write_package(file, package)
    summary = check_run(tmp_path / "run")
    assert (summary.lines[-1], summary.violations) == ("package: ok", ())
    write_package(file, replace(package, weights=package.weights[1:]))
    summary = check_run(tmp_path / "run")
    assert summary.lines[-1] == "package: 1 violations"
    found = "weight 'w1': found no such tensor, expected it"
    assert summary.violations == (("package data", found),)
    file.write_bytes(to_bytes(replace(package, tiles=package.tiles[:-1])))
    rules = [text for label, text in check_run(tmp_path / "run").violations if "rule" in label]
    assert "found 1471 tiles, expected a multiple of 64 (rule L)" in rules
    file.write_bytes(b"no package")
    with pytest.raises(InputError, match=r"package\.ipuexe: found .*, expected a package"):
        check_run(tmp_path / "run")
    total = replace(solved.total, objective=solved.total.objective + 1)
    replace(solved, total=total).save(tmp_path / "other")
    (tmp_path / "other" / "package.ipuexe").write_bytes(b"no package")
    summary = check_run(tmp_path / "other")
    assert summary.lines[-1] == "package: not checked, the run is refused"


def test_moved_start_event_is_found(solved: Result, tmp_path: Path) -> None:
    """A transfer that leaves at event 0 collides, or its window opens too early."""
    assert len(solved.built.start), "the workload has transfers"
    start = solved.built.start.copy()
    start[:] = 0
    broken = replace(solved, built=replace(solved.built, start=start))
    assert any(label.startswith("exchange") for label in labels(broken, tmp_path / "run"))


def test_moved_buffer_is_found(solved: Result, tmp_path: Path) -> None:
    """Two buffers at one address, or one outside memory."""
    address = np.full_like(solved.built.address, solved.built.address.min())
    broken = replace(solved, built=replace(solved.built, address=address))
    assert any(label.startswith("placement") for label in labels(broken, tmp_path / "run"))


def test_odd_address_is_found(solved: Result, tmp_path: Path) -> None:
    """An address that no transfer can have ends neither the check nor names a bug."""
    broken = replace(solved, built=replace(solved.built, address=solved.built.address + 1))
    found = labels(broken, tmp_path / "run")
    assert any(label.startswith("placement") for label in found)
    assert "exchange 0 form" in found


@pytest.mark.parametrize(("change", "label"), [("groups", "W3"), ("tile_offset", "W4")])
def test_layout_that_cannot_be_is_a_violation(
    change: str, label: str, solved: Result, tmp_path: Path
) -> None:
    """Layouts that do not apply, or operands on other tiles: named by the check, which goes on."""
    index, value = next((i, v) for i, v in enumerate(solved.plan.values) if v.tensor == "a")
    axis, *others = value.layout.axes
    if change == "groups":
        axes = (replace(axis, groups=2**40), *others)
        value = replace(value, layout=replace(value.layout, axes=axes))
    else:
        value = replace(value, tile_offset=-1)
    values = tuple(value if i == index else v for i, v in enumerate(solved.plan.values))
    plan = replace(solved.plan, values=values)
    found = labels(replace(solved, built=replace(solved.built, plan=plan)), tmp_path / "run")
    assert f"mapping plan {label}" in found


def test_malformed_tables_end_the_check(solved: Result, tmp_path: Path) -> None:
    """More words than a transfer can have: a violation, not an error of the parts that follow."""
    transfers = solved.built.program.transfers
    words = transfers.words.copy()
    words[0] = 2**40
    program = replace(solved.built.program, transfers=replace(transfers, words=words))
    broken = replace(solved, built=replace(solved.built, program=program))
    assert "lowering L1" in labels(broken, tmp_path / "run")


def test_shorter_total_is_found(solved: Result, tmp_path: Path) -> None:
    """A report that claims fewer cycles than the tables take."""
    claimed = Total(heuristic=None, objective=solved.total.objective - 1, bound=None)
    assert "totals total" in labels(replace(solved, total=claimed), tmp_path / "run")


def test_shorter_horizon_is_found(solved: Result, tmp_path: Path) -> None:
    """A stored horizon below the recomputed one."""
    broken = replace(solved, built=replace(solved.built, horizon=solved.built.horizon - 1))
    assert "totals horizon" in labels(broken, tmp_path / "run")


def test_charge_above_the_program_is_found(solved: Result) -> None:
    """A plan step that is charged more than it takes would make the mapping bound invalid."""
    assert list(uncharged(solved.built)) == []
    first = solved.plan.steps[0]
    dear = replace(first, terms=MappingProxyType({"kernel": 10**9}))
    plan = replace(solved.plan, steps=(dear, *solved.plan.steps[1:]))
    found = list(uncharged(replace(solved.built, plan=plan)))
    assert [label for label, _ in found] == ["charge"]
    assert first.name in found[0][1]
