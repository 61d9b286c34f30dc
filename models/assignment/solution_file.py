"""``NAME.solution.json``: the strategies on one line, as the contest asks for them."""

from __future__ import annotations

from pathlib import Path

from ipuopt.files import check_file
from ipuopt.models.assignment.problem import Solution


def names(problem: Path, output: Path | None) -> tuple[Path, Path]:
    """Solution and report of a problem file, or beside ``output``."""
    name = problem.name if str(problem) != "-" else "stdin"
    for ending in (".gz", ".json"):
        name = name.removesuffix(ending)
    solution = output or Path(f"{name}.solution.json")
    stem = solution.name.removesuffix(".json").removesuffix(".solution")
    return solution, solution.with_name(f"{stem}.report.json")


def check_outputs(solution: Path, report: Path, *, force: bool) -> None:
    """Refuse, before any work, files that could not be written, or that hold something else.

    Raises
    ------
    InputError
        If a path is a directory or lies in none, may not be written, or holds no earlier solution
        or report and ``force`` is not given.
    """
    check_file(
        solution,
        "solution of a layout assignment",
        lambda begin: begin.startswith(b"["),
        force=force,
    )
    check_file(
        report,
        "report of a layout assignment",
        lambda begin: begin.startswith(b'{\n  "problem":'),
        force=force,
    )


def text(solution: Solution) -> bytes:
    """``[s_0, s_1, ...]`` and a newline."""
    return f"[{', '.join(map(str, solution.strategy.tolist()))}]\n".encode()
