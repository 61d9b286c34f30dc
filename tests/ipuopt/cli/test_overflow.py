"""A tile that overflows: by data, by exchange buffers, by exchange rows; exit 3 and the whole line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.limits import Limits
from ipuopt.models import mapping
from ipuopt.models.mapping.space import build_space
from ipuopt.workload import load

FOLDER = Path(__file__).parents[2] / "instances" / "overflow"

CASES = sorted(path.stem for path in FOLDER.glob("*.txt"))
"""Workloads by name; those that end in ``.plan`` with the plan of that name."""


def test_every_kind_is_there() -> None:
    kinds = {"data", "exchange_buffers", "rows"}
    assert {path.stem for path in FOLDER.glob("*.yaml")} == kinds
    assert {case.removesuffix(".plan") for case in CASES} == kinds


@pytest.mark.parametrize("case", CASES)
def test_message(case: str, tmp_path: Path) -> None:
    name = case.removesuffix(".plan")
    arguments = ["solve", str(FOLDER / f"{name}.yaml"), "--deterministic", "-q"]
    if case != name:
        arguments += ["--plan", str(FOLDER / f"{case}.json")]
    outcome = CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / "run")])
    assert outcome.exit_code == 3
    assert outcome.stderr == (FOLDER / f"{case}.txt").read_text(encoding="utf-8")
    assert outcome.stdout == "" and not (tmp_path / "run").exists()


@pytest.mark.parametrize("case", CASES)
def test_figures_add_up(case: str) -> None:
    """Demand above capacity; the parts make up the demand, the owners are the largest first."""
    line = (FOLDER / f"{case}.txt").read_text(encoding="utf-8")
    found = re.search(r"needs (\d+) bytes of (\d+), (.*) \(largest: (.*)\); would fit with", line)
    assert found is not None
    demand, capacity = int(found[1]), int(found[2])
    parts, owners = ([_amount(text) for text in found[i].split(", ")] for i in (3, 4))
    assert demand > capacity
    returns = 4 * 3 if case == "rows.plan" else 0  # one word in each of three phases
    assert sum(parts) + returns == demand
    assert owners == sorted(owners, reverse=True) and sum(owners) <= demand and len(owners) <= 5


def _amount(text: str) -> int:
    return int(re.findall(r" (\d{1,3}(?: \d{3})*)$", text)[0].replace(" ", ""))


@pytest.mark.parametrize("case", ["data", "exchange_buffers"])
def test_what_would_make_it_fit_does(case: str, tmp_path: Path) -> None:
    """With the tiles that the message names there is a mapping; with one less none is found."""
    line = (FOLDER / f"{case}.txt").read_text(encoding="utf-8")
    tiles = int(re.findall(r"would fit with: target: tiles: (\d+)", line)[0])
    text = (FOLDER / f"{case}.yaml").read_text(encoding="utf-8")
    for count in (tiles, tiles - 1):
        other = tmp_path / f"{count}.yaml"
        other.write_text(re.sub(r"tiles: \d+", f"tiles: {count}", text, count=1), encoding="utf-8")
        arguments = ["solve", str(other), "--solver", "heuristic", "--json", "-q"]
        outcome = CliRunner().invoke(main, [*arguments, "-o", str(tmp_path / f"run{count}")])
        if count == tiles:
            assert outcome.exit_code == 0
            assert json.loads(outcome.stdout)["total"]["objective"] > 0
        else:
            space = build_space(load(other), Limits(deterministic=True))
            assert mapping.beam_search(space.problem, Limits(deterministic=True)) is None
