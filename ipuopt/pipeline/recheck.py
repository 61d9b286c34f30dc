"""Independent check of a finished run: every table against its formulation, no solver involved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ipuopt.codegen.check import check as check_lowering
from ipuopt.codegen.package import read_package
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.tile import check_package
from ipuopt.models import exchange, placement
from ipuopt.models.mapping.check_plan import check_plan
from ipuopt.pipeline.build import step_cycles
from ipuopt.pipeline.complete import total_cycles
from ipuopt.program import StepKind
from ipuopt.result import Built
from ipuopt.rundir import PACKAGE, read_run

Violation = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """What was checked, a line a part, and every violation as ``(label, message)``."""

    lines: tuple[str, ...]
    violations: tuple[Violation, ...]


def check_run(path: Path) -> CheckSummary:
    """Check the run directory at ``path``.

    Raises
    ------
    InputError
        If it is no run directory, or a file of it is missing or corrupt.
    """
    workload, built, report = read_run(path)
    program = built.program
    lines: list[str] = []
    found: list[Violation] = []

    def part(name: str, violations: tuple[Violation, ...]) -> None:
        lines.append(f"{name}: {'ok' if not violations else f'{len(violations)} violations'}")
        found.extend((f"{name} {label}", message) for label, message in violations)

    refused = check_plan(workload, built.plan)
    part("mapping plan", refused)
    if refused:  # the tables would be held against layouts that may not even be applicable
        lines.append("lowering: not checked, the plan is refused")
    else:
        violations = check_lowering(built.plan, program)
        part("lowering", violations)
        if any(label == "L1" for label, _ in violations):  # the others would follow wrong numbers
            lines.append("placement, exchange, totals: not checked, the tables are malformed")
            return CheckSummary(tuple(lines), tuple(found))
    part("placement", placement.check_program(program, built.address, built.boundary))
    horizon = np.zeros(len(program.phases), dtype=np.int64)
    for phase, step in enumerate(program.phases):
        try:
            problem = exchange_problem(program, built.address, phase)
        except ValueError as error:  # an address that no transfer can have
            part(f"exchange {phase}", (("form", str(error)),))
            continue
        solution = exchange.Solution(built.start[phase_slice(program, step)])
        part(problem.name, exchange.check(problem, solution))
        horizon[phase] = exchange.horizon(problem, solution)
    part("charges", tuple(uncharged(built)))
    part("totals", tuple(_totals(built, horizon, report)))
    if not (path / PACKAGE).exists():
        lines.append(f"package: not checked, there is no {PACKAGE}")
    elif found:
        lines.append("package: not checked, the run is refused")
    else:
        package = read_package(path / PACKAGE, ruled=False)
        part("package", check_package(built, package))
    return CheckSummary(tuple(lines), tuple(found))


def uncharged(built: Built) -> Iterator[Violation]:
    """(charge): the mapping model charges no plan step more than its program steps take.

    This is what makes the mapping bound a bound of the program. Plans of the public compiler carry
    its own estimates, which are no bounds, and are left out.
    """
    if built.plan.joins_phases:
        return
    cycles = step_cycles(built.plan, built.program, built.horizon)
    for step, spent in zip(built.plan.steps, cycles.tolist(), strict=True):
        charged = sum(step.terms.values())
        if charged > spent:
            yield "charge", f"step {step.name} is charged {charged} cycles and takes {spent}"


def _totals(built: Built, horizon: Any, report: Mapping[str, Any]) -> Iterator[Violation]:
    phases = sum(step.kind is StepKind.PHASE for step in built.program.steps)
    if phases != len(built.horizon) or np.any(horizon != built.horizon):
        yield "horizon", f"stored horizons {built.horizon.tolist()}, recomputed {horizon.tolist()}"
    total = total_cycles(built)
    stored = report["total"]["objective"]
    if total != stored:
        yield "total", f"report.json says {stored} cycles, recomputed {total}"
    bound = report["total"]["bound"]
    if bound is not None and bound > total:
        yield "bound", f"report.json has bound {bound} above the total of {total}"
