"""``NAME.solution.json``: the strategies on one line, as the contest asks for them."""

from __future__ import annotations

import os
from pathlib import Path

from ipuopt.errors import InputError
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
    for path, begin in ((solution, b"["), (report, b'{\n  "problem":')):
        try:
            folder = next(parent for parent in path.absolute().parents if parent.exists())
            if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
                raise InputError(
                    f"{path}: found a directory, or a place that is read-only, expected a file "
                    "that can be written"
                )
            if path.exists() and not force:
                with path.open("rb") as file:
                    if not file.read(len(begin)).startswith(begin):
                        raise InputError(
                            f"{path}: found a file that is not of this command, expected a new "
                            "name (--force replaces it)"
                        )
        except OSError as error:  # a name that is too long, a loop of links
            found = error.strerror or str(error)
            raise InputError(f"{path}: found {found}, expected a file to write") from None


def text(solution: Solution) -> bytes:
    """``[s_0, s_1, ...]`` and a newline."""
    return f"[{', '.join(map(str, solution.strategy.tolist()))}]\n".encode()
