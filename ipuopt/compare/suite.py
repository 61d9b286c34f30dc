"""A suite of workloads: which are solved and how, and what all of them give together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ipuopt.errors import InputError
from ipuopt.workload.document import MAX_BYTES, decode, parse
from ipuopt.workload.field import Field, check_name

SUITE_SCHEMA = 1
"""Version of the format, the value of the key ``ipuopt_suite``."""

_KEYS = ("ipuopt_suite", "solve", "cases")
_CASE_KEYS = ("workload", "plan", "solve")
_OPTION = "an option of 'ipuopt solve' as in the solve: section of a workload"


@dataclass(frozen=True, slots=True)
class Case:
    """One solve of a suite; ``solve`` holds its options, those of the suite included."""

    name: str
    workload: Path
    plan: Path | None
    solve: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of a suite file, in its order."""

    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """Result of a case.

    Attributes
    ----------
    heuristic, objective, bound
        Totals in cycles; None where there is none. A given plan has no bound of the total.
    gap
        Of the total.
    wall_time_s
        Of the whole solve.
    solves, proven
        Stages and phases, and those among them that are proven to be optimal.
    exit_code
        Of the solve.
    """

    name: str
    heuristic: int | None
    objective: int | None
    bound: int | None
    gap: float | None
    wall_time_s: float | None
    solves: int
    proven: int
    exit_code: int

    @classmethod
    def of(cls, name: str, report: Mapping[str, Any] | None, exit_code: int) -> CaseResult:
        """Result of the report that a solve prints as JSON; None where it has no program."""
        total = {} if report is None else report["total"]
        parts = [] if report is None else report["reports"]
        return cls(
            name=name,
            heuristic=total.get("heuristic"),
            objective=total.get("objective"),
            bound=total.get("bound"),
            gap=total.get("gap"),
            wall_time_s=None if report is None else report["wall_time_s"],
            solves=len(parts),
            proven=sum(part["status"] == "optimal" for part in parts),
            exit_code=exit_code,
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """All cases together.

    Attributes
    ----------
    solver_to_heuristic, solver_to_bound
        Geometric means over the cases that have both figures; None without any.
    proven
        Share of all stages and phases that are proven to be optimal; None without any.
    """

    solver_to_heuristic: float | None
    solver_to_bound: float | None
    proven: float | None


def summary(results: Sequence[CaseResult]) -> Summary:
    """Sum up the results of a suite."""
    solves = sum(result.solves for result in results)
    return Summary(
        geometric_mean([(result.objective, result.heuristic) for result in results]),
        geometric_mean([(result.objective, result.bound) for result in results]),
        sum(result.proven for result in results) / solves if solves else None,
    )


def geometric_mean(pairs: Sequence[tuple[int | None, int | None]]) -> float | None:
    """Geometric mean of the quotients of those pairs that have two positive numbers."""
    logs = [math.log(one / other) for one, other in pairs if one and other]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None


def load_suite(path: Path) -> Suite:
    """Read a suite; its paths are relative to its own folder.

    Raises
    ------
    InputError
        If it cannot be read or is no suite: file, line and key.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: found {error.strerror or error}, expected a suite") from None
    root = Field(str(path), "", parse(decode(raw, str(path)), str(path)))
    top = root.keys(_KEYS, "a mapping with the keys of a suite")
    for key, expected in (("ipuopt_suite", f"{SUITE_SCHEMA}"), ("cases", "at least one case")):
        if key not in top:
            raise root.missing(key, expected)
    top["ipuopt_suite"].integer(SUITE_SCHEMA, SUITE_SCHEMA, f"version {SUITE_SCHEMA}")
    usual = _options(top)
    cases = []
    for name, field in top["cases"].entries("a mapping of cases").items():
        check_name(name, field)
        keys = field.keys(_CASE_KEYS, "a mapping with the keys of a case")
        if "workload" not in keys:
            raise field.missing("workload", "the path of a workload file")
        workload = path.parent / keys["workload"].text("the path of a workload file")
        plan = keys.get("plan")
        given = None if plan is None else path.parent / plan.text("the path of a plan file")
        cases.append(Case(name, workload, given, usual | _options(keys)))
    if not cases:
        raise top["cases"].error("no case", "at least one")
    return Suite(tuple(cases))


def _options(keys: Mapping[str, Field]) -> dict[str, Any]:
    if "solve" not in keys:
        return {}
    entries = keys["solve"].entries("a mapping of options")
    return {name: field.scalar(_OPTION) for name, field in entries.items()}
