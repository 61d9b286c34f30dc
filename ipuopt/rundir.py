"""The run directory: ``workload.json``, ``plan.json``, ``program.npz``, ``report.json``.

``report.json`` is renamed into place last and removed first when a run is replaced, so that a
directory without one is recognised as unfinished.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from ipuopt.errors import InputError
from ipuopt.files import umask
from ipuopt.plan import PLAN_SCHEMA
from ipuopt.plan_file import read_plan_json
from ipuopt.report import SolveReport
from ipuopt.result import Built, Result, Total
from ipuopt.settings import Setting
from ipuopt.strict_json import dumps, load_object
from ipuopt.tables import load_built, save_built
from ipuopt.versions import versions
from ipuopt.workload import Workload, from_dict, to_dict

RUN_SCHEMA = 1
"""Version of ``workload.json`` and ``report.json``."""
REPORT = "report.json"
REPORT_PAGE = "report.html"
PACKAGE = "package.ipuexe"
_FILES = frozenset({"workload.json", "plan.json", "program.npz", PACKAGE, REPORT, REPORT_PAGE})
_STAGING = ".ipuopt-"


def input_hash(workload: Workload) -> str:
    """SHA-256 of the normalised workload without its solve options, as hexadecimal digits."""
    data = {key: value for key, value in to_dict(workload).items() if key != "solve"}
    return hashlib.sha256(orjson.dumps(data, option=orjson.OPT_SORT_KEYS)).hexdigest()


def report_of(
    result: Result, settings: Mapping[str, Setting], wall_time_s: float
) -> dict[str, Any]:
    """Content of ``report.json``."""
    return {
        "schema_version": RUN_SCHEMA,
        "workload": result.workload.name,
        "input_sha256": input_hash(result.workload),
        "versions": versions(),
        "seed": settings["seed"].value,
        "threads": settings["threads"].value,
        "deterministic": settings["deterministic"].value,
        "repeatable": result.repeatable,
        "limit": result.limit,
        "wall_time_s": wall_time_s,
        "total": figures_of(result.total),
        "reports": [report.to_json() for report in result.reports],
    }


def figures_of(total: Total | SolveReport) -> dict[str, Any]:
    """A sum over stages or phases, for reports in JSON."""
    return {
        "heuristic": total.heuristic,
        "objective": total.objective,
        "bound": total.bound,
        "gap": total.gap,
        "unit": total.unit,
    }


def config_of(settings: Mapping[str, Setting]) -> dict[str, Any]:
    """Every option with its value and origin."""
    return {key: {"value": s.value, "origin": s.origin} for key, s in settings.items()}


def check_output(path: Path, *, force: bool) -> None:
    """Refuse, before any work, a directory that could not be written.

    Raises
    ------
    InputError
        If ``path`` is a file, no possible name, holds something without ``force`` or something
        that is no run, or may not be written.
    """
    try:
        place = _place(path, force=force)
        writable = place.is_dir() and os.access(place, os.W_OK | os.X_OK)
    except OSError as error:  # a name that is too long, a loop of links
        found = error.strerror or str(error)
        raise InputError(f"{path}: found {found}, expected a directory") from None
    if not writable:
        raise InputError(
            f"{path}: found {place} read-only, expected a directory that can be written"
        )


def _place(path: Path, *, force: bool) -> Path:
    """The directory that will be written: ``path``, or its nearest parent that exists."""
    if path.is_dir():
        names = {entry.name for entry in path.iterdir()}
        if names and not force:
            expected = "an empty or new directory (--force replaces a run)"
            raise InputError(f"{path}: found a directory that is not empty, expected {expected}")
        if not _is_run(names):
            expected = "an empty or new directory, or a run to replace"
            raise InputError(f"{path}: found a directory that holds no run, expected {expected}")
        return path
    if path.exists() or path.is_symlink():
        raise InputError(f"{path}: found a file, expected a directory")
    return next(parent for parent in path.absolute().parents if parent.exists())


def _is_run(names: set[str]) -> bool:
    """Whether a directory of these names is empty or a run, perhaps one that was cut short."""
    others = {name for name in names - _FILES if not name.startswith(_STAGING)}
    return not others or len(names & _FILES) > 1


def write_run(
    path: Path,
    result: Result,
    settings: Mapping[str, Setting],
    *,
    wall_time_s: float,
    force: bool = False,
) -> None:
    """Write a run; equal plans of equal workloads give equal ``plan.json`` and ``program.npz``.

    Raises
    ------
    InputError
        As :func:`check_output`, and when writing fails (disk full).
    """
    check_output(path, force=force)
    stamp = {"versions": versions(), "input_sha256": input_hash(result.workload)}
    workload = {
        "schema_version": RUN_SCHEMA,
        **stamp,
        "workload": to_dict(result.workload),
        "config": config_of(settings),
    }
    # The stamp stands before the plan's own keys and repeats none of them.
    plan = {"schema_version": PLAN_SCHEMA, **stamp, **result.plan.to_json()}
    report = report_of(result, settings, wall_time_s)
    writers: dict[str, Callable[[Path], object]] = {
        "workload.json": lambda file: file.write_bytes(dumps(workload)),
        "plan.json": lambda file: file.write_bytes(dumps(plan)),
        "program.npz": lambda file: save_built(file, result.built),
        REPORT: lambda file: file.write_bytes(dumps(report)),
    }
    try:
        _write_files(path, writers)
    except OSError as error:
        raise InputError(
            f"{path}: found {error.strerror or error}, expected to write it"
        ) from error


def _write_files(path: Path, writers: Mapping[str, Callable[[Path], object]]) -> None:
    """Write all files aside, then rename: the directory at once if it is new, else each file."""
    fresh = not path.exists()
    folder = path.parent if fresh else path
    folder.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, suffix=".tmp", dir=folder))
    try:
        for name, write in writers.items():
            write(staging / name)
        if fresh:
            staging.chmod(0o777 & ~umask())
            staging.rename(path)
            return
        for name in (REPORT, REPORT_PAGE, PACKAGE):  # page and package are of the run that goes
            (path / name).unlink(missing_ok=True)
        for name in writers:
            (staging / name).replace(path / name)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _check_total(path: Path, report: Mapping[str, Any]) -> None:
    """The figures that readers of a run rely on are there and are numbers."""
    total = report.get("total")
    if not isinstance(total, dict) or not isinstance(report.get("reports"), list):
        raise InputError(f"{path}: found no total or no reports, expected the report of a run")
    for key, may_be_null in (("objective", False), ("bound", True), ("heuristic", True)):
        if key not in total:
            raise InputError(f"{path}: found no total.{key}, expected it")
        value = total[key]
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole and not (may_be_null and value is None):
            expected = f"a whole number{' or null' if may_be_null else ''}"
            raise InputError(f"{path}: total.{key}: found {value!r}, expected {expected}")


def read_run(path: Path) -> tuple[Workload, Built, dict[str, Any]]:
    """Workload, built program and report of a run directory.

    Raises
    ------
    InputError
        If the directory or a file is missing, unfinished, damaged or foreign.
    """
    try:
        found = None if path.is_dir() else "a file" if path.exists() else "no such directory"
    except OSError as error:
        found = error.strerror or str(error)
    if found is not None:
        raise InputError(f"{path}: found {found}, expected a run directory")
    if not (path / REPORT).exists():
        raise InputError(f"{path}: found no {REPORT}, expected a finished run")
    report = load_object(path / REPORT, "the report of a run")
    stored = load_object(path / "workload.json", "the workload of a run")
    for name, data in ((REPORT, report), ("workload.json", stored)):
        if data.get("schema_version") != RUN_SCHEMA:
            found = f"schema_version {data.get('schema_version')!r}"
            raise InputError(f"{path / name}: found {found}, expected {RUN_SCHEMA}")
    _check_total(path / REPORT, report)
    workload = from_dict(stored.get("workload") or {}, source=str(path / "workload.json"))
    plan = read_plan_json(path / "plan.json")
    return workload, load_built(path / "program.npz", plan), report
