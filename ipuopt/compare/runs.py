"""What differs between two finished runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ipuopt.report import name_of
from ipuopt.rundir import read_run
from ipuopt.strict_json import load_object

Change = tuple[Any, Any]
"""A value in the first run and in the second; None where it is not there."""


@dataclass(frozen=True, slots=True)
class StageChange:
    """One stage or phase in both runs.

    Attributes
    ----------
    name, unit
        As in the reports.
    objective, bound, gap
        In the first and in the second run, None where a run has no such stage or figure.
    """

    name: str
    unit: str
    objective: Change
    bound: Change
    gap: Change

    @property
    def saved(self) -> int | None:
        """What the second run saves against the first; None where one has no figure."""
        first, second = self.objective
        return None if first is None or second is None else first - second


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Two runs, side by side.

    Attributes
    ----------
    same_input
        Whether both solve the same workload.
    options, versions
        Those that differ, by name.
    plan
        What differs in the mapping plan: ``(step or value, key)`` with both values.
    stages
        Every stage and phase of either run, in the order of the first; then the total.
    """

    same_input: bool
    options: Mapping[str, Change]
    versions: Mapping[str, Change]
    plan: Mapping[tuple[str, str], Change]
    stages: tuple[StageChange, ...]

    @property
    def phases(self) -> tuple[StageChange, ...]:
        """The exchange phases that both runs have."""
        return tuple(
            s for s in self.stages if s.name.startswith("exchange") and s.saved is not None
        )


def differences(first: Path, second: Path) -> Differences:
    """Compare two run directories.

    Raises
    ------
    InputError
        If one of them is no finished run.
    """
    runs = [read_run(path) for path in (first, second)]
    reports = [report for _, _, report in runs]
    plans = [built.plan.to_json() for _, built, _ in runs]
    configs = [
        load_object(path / "workload.json", "the workload of a run").get("config", {})
        for path in (first, second)
    ]
    options = [{key: entry.get("value") for key, entry in config.items()} for config in configs]
    return Differences(
        same_input=reports[0].get("input_sha256") == reports[1].get("input_sha256"),
        options=changes(*options),
        versions=changes(*(report.get("versions", {}) for report in reports)),
        plan=dict(_plan_changes(*plans)),
        stages=tuple(_stages(*reports)),
    )


def changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Change]:
    """Keys whose values differ, in the order of the first mapping."""
    pairs = {key: (first.get(key), second.get(key)) for key in {**first, **second}}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _plan_changes(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, str], Change]]:
    """What differs in steps and values of the same names; numbers of values do not matter."""
    hidden = {"left", "right", "value", "result", "inputs", "terms"}
    for kind in ("steps", "values"):
        named = [{entry["name"]: entry for entry in plan[kind]} for plan in (first, second)]
        for name in {**named[0], **named[1]}:
            one, other = named[0].get(name), named[1].get(name)
            label = f"{kind.removesuffix('s')} {name}"
            if one is None or other is None:
                yield (label, ""), (one and "there", other and "there")
                continue
            for key, change in changes(one, other).items():
                if key not in hidden:
                    yield (label, key), change


def _by_key(report: Mapping[str, Any]) -> dict[tuple[str, int], tuple[str, Mapping[str, Any]]]:
    """Stages and phases with their names; phases by what they do, as another plan may have more."""
    found: dict[tuple[str, int], tuple[str, Mapping[str, Any]]] = {}
    for part in report["reports"]:
        name = name_of(str(part["stage"]), str(part["model"]))
        what = re.sub(r"^(exchange) \d+ ", r"\1 ", name)
        found[what, sum(key[0] == what for key in found)] = name, part
    return found


def _stages(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[StageChange]:
    ours, theirs = _by_key(first), _by_key(second)
    nothing: tuple[str, Mapping[str, Any]] = ("", {})
    parts = []
    for key in {**ours, **theirs}:
        (one_name, one), (other_name, other) = ours.get(key, nothing), theirs.get(key, nothing)
        both = one_name and other_name and one_name != other_name
        parts.append((f"{one_name} / {other_name}" if both else one_name or other_name, one, other))
    for name, one, other in [*parts, ("total", first["total"], second["total"])]:
        unit = one.get("unit") or other["unit"]
        pairs = ((one.get(key), other.get(key)) for key in ("objective", "bound", "gap"))
        yield StageChange(name, unit, *pairs)
