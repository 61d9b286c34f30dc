"""The five logs against the tables that were read out of them: row for row, in every form."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ipuopt.errors import InputError
from ipuopt.models.mapping.peer import read_plan
from ipuopt.peerlog import TABLES, Log, Table, horizon_sums, plan_document, read_log, tables
from ipuopt.peerlog.document import workload_document
from ipuopt.peerlog.messages import KNOWN
from ipuopt.strict_json import dumps
from ipuopt.workload import from_dict

ENDS = {"000": "panic", "001": "pass", "002": "pass", "003": "pass", "004": "cut"}


@pytest.fixture(scope="module")
def files(shared: Path) -> dict[str, Path]:
    return {file.name[:3]: file for file in sorted((shared / "data/seeds/logs").iterdir())}


@pytest.fixture(scope="module")
def logs(files: dict[str, Path]) -> dict[str, Log]:
    return {name: read_log(file) for name, file in files.items()}


@pytest.fixture(scope="module")
def found(logs: dict[str, Log]) -> dict[str, dict[str, Table]]:
    return {name: tables(log) for name, log in logs.items()}


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_the_expected_ones(
    name: str, found: dict[str, dict[str, Table]], shared: Path
) -> None:
    """Header and rows of all five logs, one after another, are those of the CSV."""
    with (shared / f"data/seeds/{name}.csv").open() as stream:
        header, *expected = csv.reader(stream)
    parts = [of_log[name] for of_log in found.values()]
    assert all(list(part.columns) == header for part in parts)
    assert [row for part in parts for row in part.texts()] == expected


def test_everything_is_understood(logs: dict[str, Log]) -> None:
    """No text is left over, every message is known, and the ends are told."""
    assert {name: str(log.status) for name, log in logs.items()} == ENDS
    assert [len(log.events) for log in logs.values()] == [235, 209, 136, 880, 103]
    assert all(log.unread == () for log in logs.values())
    assert {event.message for log in logs.values() for event in log.events} <= KNOWN
    panic = logs["000"].panic
    assert panic is not None
    assert panic.place == "crates/ipu-codegen/src/tile.rs:661:34"
    assert panic.message == "a shared exchange row has patch offsets"


def test_sums_are_the_headline(found: dict[str, dict[str, Table]]) -> None:
    """Sums of horizons and bounds as in headline.md."""
    sums = {name: horizon_sums(of_log["exchange_phases"]) for name, of_log in found.items()}
    assert [(s.horizon, s.bound) for s in sums["000"]] == [(410_337, 325_952)]
    assert [(s.stage, s.variant, s.horizon, s.bound) for s in sums["001"]] == [
        ("select_finalist", "mapped=false", 46_309, 31_776),
        ("select_finalist", "mapped=true", 48_001, 29_616),
        ("lower_exchanges", "mapped=false", 46_309, 31_776),
    ]
    assert [(s.phases, s.horizon - s.bound) for s in sums["004"]] == [(2, 16_209)]
    assert sums["002"] == sums["003"] == ()


def coloured(text: str) -> str:
    """The text as a terminal capture has it: dim time, green level, bold braces, italic keys."""
    text = re.sub(r"^(\S+Z)", "\x1b[2m\\1\x1b[0m", text, flags=re.MULTILINE)
    text = re.sub(r"Z\x1b\[0m +(INFO|DEBUG|WARN) ", "Z\x1b[0m \x1b[32m \\1\x1b[0m ", text)
    text = re.sub(r"(\w[\w.]*)\{(?=\w+=)", "\x1b[1m\\1\x1b[0m\x1b[1m{\x1b[0m", text)
    return re.sub(r"\b([a-z_]+)=", "\x1b[3m\\1\x1b[0m\x1b[2m=\x1b[0m", text)


def as_json(log: Log) -> str:
    """The log as ``tracing-subscriber`` writes JSON lines, plain output between them."""
    lines = []
    for index, event in enumerate(log.events):
        lines += _printed(log, index)
        spans = [
            {**{key: _value(value) for key, value in span.fields.items()}, "name": span.name}
            for span in event.spans
        ]
        fields = {"message": event.message, **{k: _value(v) for k, v in event.fields.items()}}
        data: dict[str, object] = {"timestamp": event.time, "level": event.level, "fields": fields}
        data |= {"target": "ipu_codegen"} | ({"span": spans[-1], "spans": spans} if spans else {})
        lines.append(json.dumps(data))
    lines += _printed(log, len(log.events))
    if log.panic is not None:
        lines.append(f"thread 'main' (1) panicked at {log.panic.place}:\n{log.panic.message}")
    return "\n".join(lines)


def _printed(log: Log, after: int) -> list[str]:
    """Lines of standard output behind so many events."""
    return [
        " ".join(f"{key}={value}" for key, value in output.fields.items())
        for output in log.outputs
        if output.after == after
    ]


def _value(text: str) -> object:
    if re.fullmatch(r"\d+", text):
        return int(text)
    return {"true": True, "false": False}.get(text, text)


@pytest.mark.parametrize("name", ["000", "003"])
def test_colours_change_nothing(
    name: str, files: dict[str, Path], logs: dict[str, Log], tmp_path: Path
) -> None:
    file = tmp_path / files[name].name
    original = files[name].read_text()
    if name == "000":  # as before its line ends were lost
        original = re.sub(r" (?=2026-\d\d-\d\dT)", "\n", original)
    file.write_text(coloured(original))
    assert "\x1b[3m" in file.read_text()
    read = read_log(file)
    assert tables(read) == tables(logs[name])
    assert (read.status, read.panic, read.unread) == (logs[name].status, logs[name].panic, ())


@pytest.mark.parametrize("flattened", [False, True])
@pytest.mark.parametrize("name", ["000", "003"])
def test_json_gives_the_same(
    name: str, flattened: bool, files: dict[str, Path], logs: dict[str, Log], tmp_path: Path
) -> None:
    file = tmp_path / files[name].name
    content = as_json(logs[name])
    file.write_text(" ".join(content.split("\n")) if flattened else content)
    read = read_log(file)
    assert read.form == "json"
    assert tables(read) == tables(logs[name])
    assert (read.status, read.panic, read.unread) == (logs[name].status, logs[name].panic, ())


def test_plan_of_the_log_is_the_plan_file(
    logs: dict[str, Log], shared: Path, tmp_path: Path
) -> None:
    """The plan read out of the log's ``Debug`` text equals the one restated as YAML."""
    document = plan_document(logs["004"])
    file = tmp_path / "plan.yaml"
    file.write_bytes(dumps(document))
    assert read_plan(file) == read_plan(shared / "data/seeds/plan_siglip_mlp.yaml")
    workload = from_dict(workload_document(logs["004"], document))
    shapes = {name: tensor.shape for name, tensor in workload.tensors.items()}
    assert shapes["x"] == (729, 1152) and shapes["w2"] == (4304, 1152)
    without = replace(logs["004"], command=None)
    with pytest.raises(InputError, match="no command line with --mlp-tokens"):
        plan_document(without)
    assert [operation.kind for operation in workload.operations] == ["MatMul", "Gelu", "MatMul"]
