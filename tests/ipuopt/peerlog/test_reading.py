"""Reading of broken, foreign and unusual logs, and the values of fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipuopt.errors import InputError
from ipuopt.peerlog import Log, Status, plan_document, read_log, tables
from ipuopt.peerlog.cells import short_path
from ipuopt.peerlog.debug import Node, parse
from ipuopt.peerlog.kernels import decoded
from ipuopt.peerlog.text import Gap, parts
from ipuopt.peerlog.values import read_fields, value_end

CONTEXT = (
    'ipu_codegen.package.build{tile_count=8 operations=1}:ipu_codegen.package.phase{phase="p"}'
)
OPTIMIZED = (
    f"2026-01-01T00:00:01.000000Z  INFO {CONTEXT}: optimized physical exchange schedule phase=3 "
    "initial_horizon=20 selected_horizon=10 endpoint_lower_bound=8 lower_bound_gap=2 "
    'selected_kind="matching-waves" neighborhood_improvements=0\n'
)
WRITTEN = "2026-01-01T00:00:02.000000Z  INFO application package written\n"


def read(folder: Path, text: str, name: str = "007_x.txt") -> Log:
    file = folder / name
    file.write_text(text)
    return read_log(file)


def test_a_small_log(tmp_path: Path) -> None:
    """Unknown fields and missing partners of an event do no harm; a package alone is an end."""
    log = read(tmp_path, OPTIMIZED.replace("phase=3", "phase=3 colour=red") + WRITTEN)
    assert (log.name, log.status, log.unread) == ("007", Status.BUILT, ())
    (row,) = tables(log)["exchange_phases"].rows
    assert (row["phase"], row["selected_horizon"], row["tiles"]) == (3, 10, 8)
    assert "transfers" not in row and "busiest_tile" not in row


def test_cut_event_is_dropped_and_reported(tmp_path: Path) -> None:
    """A field without its value, an open bracket, an open context."""
    for cut in ("x y=", "x y=Some(", 'x y="ab', "x y=Name { k: 1,", "a.b{c=1", "a.b{c="):
        log = read(tmp_path, f"{WRITTEN}2026-01-01T00:00:03.000000Z  INFO {cut}")
        assert [event.message for event in log.events] == ["application package written"]
        assert log.unread == (f"2026-01-01T00:00:03.000000Z  INFO {cut}",)


def test_what_is_not_understood_is_kept(tmp_path: Path) -> None:
    log = read(tmp_path, f"hello there\n{WRITTEN}warning: something\nprofile=a.json tiles=8\n")
    assert log.unread == ("hello there", "warning: something")
    assert [output.fields for output in log.outputs] == [{"profile": "a.json", "tiles": "8"}]


def test_cut_json_line(tmp_path: Path) -> None:
    """The last object of a JSON log that was cut off is reported, the others are read."""
    whole = '{"timestamp":"t","level":"INFO","message":"application package written"}\n'
    log = read(tmp_path, whole + '{"timestamp":"t","level":"IN')
    assert (log.form, len(log.events)) == ("json", 1)
    assert log.unread == ('{"timestamp":"t","level":"IN',)


@pytest.mark.parametrize(
    "content", ["", "hello\n", "2026-01-01T00:00:02.000000Z  INFO other program a=1", '{"a": 1}']
)
def test_foreign_file_is_refused(content: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"f\.txt: found .*, expected a log of the public"):
        read(tmp_path, content, "f.txt")
    with pytest.raises(InputError, match="found No such file"):
        read_log(tmp_path / "none")


def test_files_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_bytes(bytes(range(256)) + WRITTEN.encode())
    assert len(read_log(file).events) == 1


@given(st.text(alphabet='ab=_ "{}()[],:\\\n1Z', max_size=80))
def test_no_text_of_an_event_raises(noise: str) -> None:
    """Whatever stands behind a time and a level is an event or a gap."""
    text = f"2026-01-01T00:00:02.000000Z  INFO {noise}"
    assert all(isinstance(part, Gap) or part.level == "INFO" for part in parts(text))


@given(st.integers(0, len(OPTIMIZED + WRITTEN)))
def test_every_prefix_is_read(length: int) -> None:
    """A log cut off anywhere gives its whole events."""
    found = list(parts((OPTIMIZED + WRITTEN)[:length]))
    assert length < len(OPTIMIZED) or not isinstance(found[0], Gap)


def test_values_end_where_they_should() -> None:
    text = 'a=1 b="x y\\"z" c=Some(Id(1)) d=Changes { a: [1, 2], b: "}" } e={1, 2} F=x tail G=1'
    fields, end = read_fields(text, 0)
    assert fields == {
        "a": "1",
        "b": 'x y"z',
        "c": "Some(Id(1))",
        "d": 'Changes { a: [1, 2], b: "}" }',
        "e": "{1, 2}",
        "F": "x",
    }
    assert text[end:] == "tail G=1"
    assert read_fields("tiles=8 samplesTaken=3", 0) == ({"tiles": "8"}, 8)
    assert value_end("a}:b", 0) == 1


def test_debug_text() -> None:
    node = parse('Plan { a: Some(3), b: [X, (1, "q")], c: D::E, f: {} }')
    assert node["a"].only("Some").integer() == 3
    assert node["b"].items == (Node("X"), Node("", (Node("1"), Node("q"))))
    assert (node["c"].name, node["f"].items) == ("D::E", ())
    for bad in ("", "Plan {", "Plan { a 1 }", "[1 2]", "(1,", "a b", "[" * 200):
        with pytest.raises(ValueError, match="found"):
            parse(bad)
    with pytest.raises(ValueError, match="without 'z'"):
        node["z"]


def test_log_without_a_plan(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="007: found no plan"):
        plan_document(read(tmp_path, WRITTEN))
    line = "2026-01-01T00:00:02.000000Z DEBUG selected mid-level operation kind="
    for kind, found in (("Other(1)", "expected Operator"), ("Rearrange {", "no plan")):
        with pytest.raises(InputError, match=found):
            plan_document(read(tmp_path, f"{WRITTEN}{line}{kind}\n"))


def test_paths_lose_what_is_personal() -> None:
    assert short_path("/home/me/src/device/gemm.S") == "device/gemm.S"
    assert short_path("/home/me/.cache/kernels/ab/kernel.o") == "ab/kernel.o"
    assert short_path("/tmp/a.lock") == "a.lock"
    assert short_path("artifacts/a/b.json") == "artifacts/a/b.json"
    assert short_path(None) is None


def test_name_of_an_unknown_kernel_says_nothing() -> None:
    assert decoded("softmax_of_tomorrow") == {}
