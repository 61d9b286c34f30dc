"""What ``ipuopt compare`` prints: two runs side by side, and the table of a suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ipuopt.cli.table import aligned, with_unit
from ipuopt.compare import CaseResult, Differences, StageChange, summary
from ipuopt.figures import duration, percent, thousands
from ipuopt.strict_json import dumps

_SHOWN = 12
"""Differences of a plan that are printed."""


def run_object(first: Path, second: Path, found: Differences) -> dict[str, Any]:
    """The JSON object of two runs."""
    return {
        "runs": [str(first), str(second)],
        "same_input": found.same_input,
        "options": found.options,
        "versions": found.versions,
        "plan": [
            {"where": where, "key": key, "values": change}
            for (where, key), change in found.plan.items()
        ],
        "stages": [asdict(stage) | {"saved": stage.saved} for stage in found.stages],
    }


def run_lines(first: Path, second: Path, found: Differences, *, markdown: bool) -> Iterator[str]:
    """Options, versions and plan that differ, then every stage, then what got better or worse."""
    yield f"A: {first}"
    yield f"B: {second}"
    if not found.same_input:
        yield "The workloads differ."
    for kind, pairs in (("option", found.options), ("version of", found.versions)):
        for name, change in pairs.items():
            yield f"{kind} {name}: {_either(change)}"
    plan = list(found.plan.items())
    yield f"plan: {'the same' if not plan else f'{len(plan)} differences'}"
    for (where, key), change in plan[:_SHOWN]:
        yield f"  {where}{f' {key}' if key else ''}: {_either(change)}"
    if len(plan) > _SHOWN:
        yield f"  ... and {len(plan) - _SHOWN} more (--json has all)"
    yield ""
    titles = ("stage", "A", "B", "saved", "bound A", "bound B", "gap A", "gap B")
    yield from _table([titles, *(_stage(stage) for stage in found.stages)], markdown=markdown)
    phases = [stage.saved for stage in found.phases if stage.saved is not None]
    if phases:
        better, worse = sum(saved > 0 for saved in phases), sum(saved < 0 for saved in phases)
        equal = len(phases) - better - worse
        yield ""
        yield f"Exchange phases in B: {better} better, {worse} worse, {equal} equal."


def _either(change: tuple[Any, Any]) -> str:
    one, other = ("-" if value is None else dumps(value).decode() for value in change)
    return f"{' '.join(one.split())} -> {' '.join(other.split())}"


def _stage(stage: StageChange) -> tuple[str, ...]:
    saved = "-" if stage.saved is None else thousands(stage.saved)
    figures = (*map(thousands, stage.objective), saved, *map(thousands, stage.bound))
    return (with_unit(stage.name, stage.unit), *figures, *map(percent, stage.gap))


def suite_object(file: Path, results: Sequence[CaseResult], code: int) -> dict[str, Any]:
    """The JSON object of a suite."""
    return {
        "suite": str(file),
        "exit_code": code,
        "cases": [asdict(result) for result in results],
        "summary": asdict(summary(results)),
    }


def suite_lines(results: Sequence[CaseResult], *, markdown: bool) -> Iterator[str]:
    """A row a case, then the means."""
    titles = ("case", "heuristic", "solver", "bound", "gap", "proven", "time")
    yield from _table([titles, *(_case(result) for result in results)], markdown=markdown)
    whole = summary(results)
    yield ""
    if whole.solver_to_heuristic is not None:
        yield f"Solver to heuristic, geometric mean: {whole.solver_to_heuristic:.3f}."
    if whole.solver_to_bound is not None:
        yield f"Solver to bound, geometric mean: {whole.solver_to_bound:.3f}."
    if whole.proven is not None:
        yield f"Stages and phases proven to be optimal: {percent(whole.proven)}."


def _case(result: CaseResult) -> tuple[str, ...]:
    figures = map(thousands, (result.heuristic, result.objective, result.bound))
    proven = f"{result.proven} of {result.solves}"
    time = "-" if result.wall_time_s is None else duration(result.wall_time_s)
    return (result.name, *figures, percent(result.gap), proven, time)


def _table(rows: Sequence[Sequence[str]], *, markdown: bool) -> list[str]:
    if not markdown:
        return aligned(rows)
    titles, *others = [f"| {' | '.join(row)} |" for row in rows]
    return [titles, f"|---|{'---:|' * (len(rows[0]) - 1)}", *others]
