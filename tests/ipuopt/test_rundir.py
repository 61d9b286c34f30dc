"""Run directories: repeatable, whole or absent, never overwritten by accident, read with care."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt import rundir
from ipuopt.errors import InputError
from ipuopt.result import Result
from ipuopt.rundir import check_output, input_hash, read_run, write_run
from ipuopt.settings import resolve
from ipuopt.tables import save_arrays

FILES = ["plan.json", "program.npz", "report.json", "workload.json"]
SETTINGS = resolve({"seed": "7", "threads": "2"}, {}, {})


def _write(path: Path, result: Result, *, force: bool = False, wall_time_s: float = 1.5) -> None:
    write_run(path, result, SETTINGS, wall_time_s=wall_time_s, force=force)


def test_round_trip(tiny_result: Result, tmp_path: Path) -> None:
    path = tmp_path / "runs" / "tiny"
    _write(path, tiny_result)
    assert sorted(os.listdir(path)) == FILES
    assert os.listdir(tmp_path / "runs") == ["tiny"]
    workload, built, report = read_run(path)
    assert workload == tiny_result.workload
    assert built.plan == tiny_result.plan
    assert built.program.steps == tiny_result.built.program.steps
    for name in ("address", "boundary", "start", "horizon"):
        assert np.array_equal(getattr(built, name), getattr(tiny_result.built, name))
    assert report["total"] == {
        "heuristic": 810,
        "objective": 800,
        "bound": 700,
        "gap": 0.125,
        "unit": "cycles",
    }
    assert report["limit"] == "time"
    assert (report["seed"], report["threads"]) == (7, 2)
    assert report["input_sha256"] == input_hash(workload)
    assert report["versions"]["ortools"][0].isdigit()
    keys = {"stage", "model", "status", "limit", "heuristic", "objective", "bound"}
    keys |= {"bound_source", "gap", "unit", "wall_time_s"}
    assert all(keys <= set(row) for row in report["reports"])
    config = json.loads((path / "workload.json").read_bytes())["config"]
    assert config["seed"] == {"value": 7, "origin": "flag --seed"}
    assert config["solver"] == {"value": "auto", "origin": "default"}
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o777 & ~umask


def test_equal_plans_give_equal_bytes(tiny_result: Result, tmp_path: Path) -> None:
    """Whatever else differs: clock, wall time, reports, seed."""
    _write(tmp_path / "a", tiny_result)
    time.sleep(2.1)  # the archive format counts time in steps of two seconds
    other = replace(tiny_result, reports=(), limit=None)
    settings = resolve({"seed": "8", "time_limit": "5"}, {}, {})
    write_run(tmp_path / "b", other, settings, wall_time_s=99.0)
    for name in ("plan.json", "program.npz"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_hash_is_of_the_graph(tiny_result: Result) -> None:
    workload = tiny_result.workload
    assert input_hash(replace(workload, solve={"seed": 3})) == input_hash(workload)
    assert input_hash(replace(workload, outputs=("x",))) != input_hash(workload)


def test_refuses_to_overwrite(tiny_result: Result, tmp_path: Path) -> None:
    path = tmp_path / "tiny"
    path.mkdir()
    _write(path, tiny_result)  # an empty directory is fine
    before = {name: (path / name).read_bytes() for name in FILES}
    with pytest.raises(InputError, match=r"not empty, expected an empty or new .*--force"):
        _write(path, tiny_result)
    assert {name: (path / name).read_bytes() for name in FILES} == before
    (path / "notes.txt").write_text("mine", encoding="utf-8")
    _write(path, tiny_result, force=True, wall_time_s=2.0)
    assert sorted(os.listdir(path)) == sorted([*FILES, "notes.txt"])
    assert read_run(path)[2]["wall_time_s"] == 2.0


def test_force_replaces_runs_only(tiny_result: Result, tmp_path: Path) -> None:
    """A folder of something else is kept; a run whose replacement was cut short is one."""
    path = tmp_path / "photos"
    path.mkdir()
    (path / "a.jpg").write_bytes(b"mine")
    with pytest.raises(InputError, match="found a directory that holds no run") as caught:
        check_output(path, force=True)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="holds no run"):
        _write(path, tiny_result, force=True)
    assert os.listdir(path) == ["a.jpg"]
    _write(tmp_path / "run", tiny_result)
    (tmp_path / "run" / "report.json").unlink()
    _write(tmp_path / "run", tiny_result, force=True)
    assert sorted(os.listdir(tmp_path / "run")) == FILES


def test_output_that_cannot_be(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="found a file, expected a directory"):
        check_output(file, force=True)
    with pytest.raises(InputError, match="expected a directory that can be written"):
        check_output(file / "run", force=True)
    with pytest.raises(InputError, match="name too long, expected a directory"):
        check_output(tmp_path / ("n" * 300), force=True)
    with pytest.raises(InputError, match="name too long, expected a run directory"):
        read_run(tmp_path / ("n" * 300))
    check_output(tmp_path / "new" / "run", force=False)
    assert os.listdir(tmp_path) == ["file"]


def test_longest_name_that_a_folder_may_have(tiny_result: Result, tmp_path: Path) -> None:
    """What is written aside has a short name of its own."""
    _write(tmp_path / ("n" * 255), tiny_result)
    assert os.listdir(tmp_path) == ["n" * 255]


@pytest.mark.parametrize("existing", [False, True])
def test_failed_write_leaves_nothing(
    existing: bool, tiny_result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, or an interrupt, in the middle of writing."""
    path = tmp_path / "tiny"
    if existing:
        path.mkdir()

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rundir, "save_built", full)
    with pytest.raises(InputError, match="found No space left on device"):
        _write(path, tiny_result)
    assert path.exists() == existing
    assert os.listdir(tmp_path) == (["tiny"] if existing else [])
    assert not existing or os.listdir(path) == []

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rundir, "save_built", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _write(path, tiny_result)
    assert os.listdir(tmp_path) == (["tiny"] if existing else [])


def test_replacement_cut_short_is_recognised(
    tiny_result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first and the last rename there is no report."""
    path = tmp_path / "tiny"
    _write(path, tiny_result)
    rename = Path.replace

    def stop_at_program(self: Path, target: Path) -> Path:
        if target.name == "program.npz":
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", stop_at_program)
    with pytest.raises(KeyboardInterrupt):
        _write(path, tiny_result, force=True)
    with pytest.raises(InputError, match=r"found no report\.json, expected a finished run"):
        read_run(path)


def _edit(file: Path, change: dict[str, Any]) -> None:
    data = json.loads(file.read_bytes())
    file.write_text(json.dumps(data | change), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("report.json", {"schema_version": 2}, "found schema_version 2, expected 1"),
        ("report.json", {"total": None}, "found no total or no reports"),
        ("report.json", {"total": {"objective": "x"}}, "total.objective: found 'x', expected a wh"),
        ("report.json", {"reports": 3}, "found no total or no reports"),
        ("workload.json", {"schema_version": None}, "found schema_version None, expected 1"),
        ("workload.json", {"workload": {}}, "ipuopt: found nothing, expected ipuopt: 1"),
        ("workload.json", {"workload": [1]}, "found a list, expected a mapping"),
        ("plan.json", {"schema_version": 9}, "found plan schema 9, expected 1, expected a plan"),
        ("plan.json", {"values": [{}]}, "found no key 'layout', expected a plan"),
        ("plan.json", {"values": 3}, "not iterable, expected a plan"),
        ("plan.json", {"steps": [{"step": "loop"}]}, "found plan step 'loop'"),
        ("plan.json", {"steps": [{"step": "conversion", "method": "x"}]}, "expected a plan"),
    ],
)
def test_foreign_json(
    name: str, change: dict[str, Any], message: str, tiny_result: Result, tmp_path: Path
) -> None:
    path = tmp_path / "tiny"
    _write(path, tiny_result)
    _edit(path / name, change)
    with pytest.raises(InputError) as caught:
        read_run(path)
    assert str(caught.value).startswith(str(path / name))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "noise"])
def test_damaged_files(name: str, damage: str, tiny_result: Result, tmp_path: Path) -> None:
    path = tmp_path / "tiny"
    _write(path, tiny_result)
    file = path / name
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes({"empty": b"", "cut": content[:-40], "noise": b"\x80PK" * 50}[damage])
    with pytest.raises(InputError) as caught:
        read_run(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def _columns(path: Path) -> dict[str, Any]:
    with np.load(path / "program.npz") as data:
        return dict(data)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("address", np.zeros(5, dtype=np.int64), "array address of int64 [5], expected int64 [6]"),
        ("address", np.zeros(6), "array address of float64 [6], expected int64 [6]"),
        ("horizon", np.zeros(0, dtype=np.int64), "array horizon of int64 [0], expected int64 [1]"),
        ("schema_version", np.array([5]), "found program schema 5, expected 1"),
        ("shards.tile", np.array([0, 1, 1, 0, 1, 2]), "found 0..2 in shards.tile, expected 0..1"),
        ("shards.value", np.array([0, 0, 1, 1, 2, 3]), "in shards.value, expected 0..2"),
        ("transfers.destination", np.array([2, -1]), "in transfers.destination, expected 0..5"),
        ("transfers.destination_start", np.array([0, 2, 1]), "expected a CSR list"),
        ("transfers.step", np.array([0, 1]), "transfers in a step that is no exchange phase"),
        ("step_plan_step", np.array([0, 2]), "in step_plan_step, expected -1..1"),
        ("step_kind", np.array([0, 7]), "7 is not a valid StepKind"),
        ("runs.input1", np.array([-2, -1]), "in runs.input1, expected -1..5"),
        (
            "distinct",
            np.array([[0, 1, 2]]),
            "found distinct of int64 [1, 3], expected pairs [n, 2]",
        ),
        ("runs.kernel", np.array([0, 99]), "in runs.kernel, expected 0..7"),
        ("shards.order", np.full(6, 2**40), "in shards.order, expected 0.."),
        ("schema_version", np.zeros(0, dtype=np.int64), "expected the program tables of a run"),
        ("runs.step", np.array([1]), "columns differ in length"),
    ],
)
def test_tables_that_do_not_fit(
    column: str, value: Any, message: str, tiny_result: Result, tmp_path: Path
) -> None:
    path = tmp_path / "tiny"
    _write(path, tiny_result)
    save_arrays(path / "program.npz", _columns(path) | {column: value})
    with pytest.raises(InputError) as caught:
        read_run(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_array_and_pickle(tiny_result: Result, tmp_path: Path) -> None:
    path = tmp_path / "tiny"
    _write(path, tiny_result)
    columns = _columns(path)
    start = columns.pop("start")
    save_arrays(path / "program.npz", columns)
    with pytest.raises(InputError, match="found no array 'start'"):
        read_run(path)
    reals = np.zeros((0, 2), dtype=np.float64)
    save_arrays(path / "program.npz", columns | {"start": start, "distinct": reals})
    with pytest.raises(InputError, match="found distinct of float64"):
        read_run(path)
    np.savez(path / "program.npz", start=np.array([{}], dtype=object))
    with pytest.raises(InputError, match="Object arrays cannot be loaded"):
        read_run(path)


@pytest.mark.parametrize("key", ["objective", "bound", "heuristic"])
def test_total_without_a_figure(key: str, tiny_result: Result, tmp_path: Path) -> None:
    """A figure that may be null must still be there."""
    path = tmp_path / "tiny"
    _write(path, tiny_result)
    report = json.loads((path / "report.json").read_bytes())
    del report["total"][key]
    (path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    with pytest.raises(InputError, match=rf"found no total\.{key}"):
        read_run(path)


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found no such directory, expected a run directory"):
        read_run(tmp_path / "none")
    with pytest.raises(InputError, match=r"found no report\.json, expected a finished run"):
        read_run(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="found a file, expected a run directory"):
        read_run(tmp_path / "file")
