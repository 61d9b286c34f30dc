"""Programs whose code and rows need more memory than placement leaves to them at first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ipuopt
from ipuopt import pipeline
from ipuopt.cli import main
from ipuopt.codegen.isa import assemble
from ipuopt.codegen.link import read_library
from ipuopt.codegen.lower import lower
from ipuopt.codegen.package import ALL_TILES
from ipuopt.codegen.package.listing import missing_kernels, tile_programs
from ipuopt.codegen.phases import exchange_problem, phase_slice
from ipuopt.codegen.rows.room import least_row_words
from ipuopt.codegen.tile import (
    build_package,
    check_package,
    least_ends,
    support,
    support_ends,
    taken_names,
)
from ipuopt.device import Simulator
from ipuopt.errors import InputError
from ipuopt.events import Events
from ipuopt.limits import Limits
from ipuopt.models import exchange, placement
from ipuopt.models.placement.tiles import conflict_pairs
from ipuopt.options import Solver
from ipuopt.pipeline.complete import Complete
from ipuopt.pipeline.execute import MOST_ERROR, tensors_of
from ipuopt.pipeline.phases import scheduled
from ipuopt.pipeline.reference import reference
from ipuopt.pipeline.support import UNLINKED, Support, _phase
from ipuopt.pipeline.tensors import packed, unpacked
from ipuopt.plan_file import read_plan_json
from ipuopt.program import IntArray, ShardTable
from ipuopt.result import Built, Result
from ipuopt.rundir import PACKAGE, write_run
from ipuopt.settings import resolve
from ipuopt.strict_json import dumps
from ipuopt.target.constants import TILES
from ipuopt.target.memory import EXECUTABLE_END, LOOKAHEAD, STANDARD_ELEMENT, SUPPORT_END
from ipuopt.workload import to_dict

OPTIONS = ipuopt.SolveOptions(solver=Solver.HEURISTIC, deterministic=True)
LIMITS = Limits(deterministic=True)
CODE_BYTES = 50_000
"""Of one object: with it, code from 0x5c000 on ends above 0x64000."""


@pytest.fixture(scope="module")
def solved(small_workload: ipuopt.Workload) -> Result:
    return ipuopt.solve(small_workload, OPTIONS)


@pytest.fixture(scope="module")
def linkable(
    solved: Result, elf: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Path]:
    """``linkable(size)``: bodies of all kernels that return at once, and a table one refers to."""

    def make(size: int) -> Path:
        path = tmp_path_factory.mktemp("kernels") / "all.o"
        content = b"".join(
            word.to_bytes(4, "little") for word in assemble("br $m10\n.word 0", 0).words
        )
        names = missing_kernels(build_package(solved.built))
        parts = [elf.Part(f".text.{name}", content, alignment=8) for name in names]
        parts[0].relocations.append((4, 4, ".data.table", 0))
        table = elf.Part(".data.table", size=size, kind=elf.NOBITS, flags=3)
        symbols = {name: (f".text.{name}", 0) for name in names}
        path.write_bytes(elf.elf([*parts, table], symbols))
        return path

    return make


@pytest.fixture(scope="module")
def objects(linkable: Callable[[int], Path]) -> Path:
    return linkable(CODE_BYTES)


def test_large_code(small_workload: ipuopt.Workload, solved: Result, objects: Path) -> None:
    """Refused where data lie as usual; data give way when placement is told."""
    library = read_library([objects], taken_names())
    with pytest.raises(InputError):
        build_package(solved.built, library)
    ends = support_ends(solved.built, library)
    assert ends is not None and ends.max() > SUPPORT_END
    result = pipeline.solve(small_workload, OPTIONS, library=library)
    built = result.built
    assert np.all(built.address >= ends[built.program.shards.tile])
    assert placement.check_program(built.program, built.address, built.boundary, ends) == ()
    assert check_package(built, build_package(built, library)) == ()
    unmoved = pipeline.solve(small_workload, OPTIONS).built
    np.testing.assert_array_equal(unmoved.address, solved.built.address)
    np.testing.assert_array_equal(unmoved.start, solved.built.start)


def test_programs_on_the_way_have_room(small_workload: ipuopt.Workload, objects: Path) -> None:
    """A run that is cut off hands out the last one of these."""
    library = read_library([objects], taken_names())
    handed: list[Built] = []
    events = Events(on_result=lambda result: handed.append(result.built))
    options = replace(OPTIONS, solver=Solver.AUTO)
    pipeline.solve(small_workload, options, events=events, library=library)
    assert len(handed) > 2
    for built in handed:
        assert check_package(built, build_package(built, library)) == ()


def test_too_large_code(solved: Result, linkable: Callable[[int], Path]) -> None:
    """What fits below no data is no proof of anything: the program stays as it is."""
    library = read_library([linkable(200_000)], taken_names())
    assert support_ends(solved.built, library) is None
    program = Complete(built=solved.built, reports=solved.reports[1:])
    assert Support(library).with_room(program, LIMITS) is program


def test_solve_check_and_run(
    small_workload: ipuopt.Workload, objects: Path, tmp_path: Path
) -> None:
    file, run = tmp_path / "small.json", tmp_path / "run"
    file.write_bytes(dumps(to_dict(small_workload)))
    arguments = ["--solver", "heuristic", "--deterministic", "-q", "--kernels", str(objects)]
    outcome = CliRunner().invoke(main, ["solve", str(file), *arguments, "-o", str(run)])
    assert outcome.exit_code in (0, 4) and "not written" not in outcome.stdout
    assert CliRunner().invoke(main, ["check", str(run)]).exit_code == 0
    outcome = CliRunner().invoke(main, ["run", str(run)])
    assert outcome.exit_code == 0 and "PASS" in outcome.stdout


def test_objects_that_come_too_late(
    small_workload: ipuopt.Workload, solved: Result, objects: Path, tmp_path: Path
) -> None:
    """The error tells the command that places data so that they find room."""
    workload, run = tmp_path / "small.json", tmp_path / "run"
    workload.write_bytes(dumps(to_dict(small_workload)))
    write_run(run, solved, resolve({}, {}, {}), wall_time_s=0.0, force=False)
    arguments = ["--kernels", str(objects)]
    outcome = CliRunner().invoke(main, ["package", str(run), *arguments, "-q"])
    assert outcome.exit_code == 2 and "Traceback" not in outcome.output
    line = outcome.stderr.strip()
    assert "\n" not in line and " places data so that there is room" in line
    told = line[line.index("ipuopt solve WORKLOAD") :].split(" places data")[0].split()[1:]
    told[1] = str(workload)
    other = tmp_path / "other"
    more = ["-o", str(other), "-q", "--solver", "heuristic", "--deterministic"]
    outcome = CliRunner().invoke(main, [*told, *more])
    assert outcome.exit_code in (0, 4), outcome.output
    assert (other / PACKAGE).exists() and "not written" not in outcome.output


def test_long_rows(solved: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for programs alone below the data: rows do not fit; phases hold at the new addresses."""
    package = build_package(solved.built)
    shared = max(r.address + r.size for r in package.regions if r.physical_tile == ALL_TILES)
    longest = max(map(len, tile_programs(package).values()))
    high = (SUPPORT_END - LOOKAHEAD - longest) & -8

    def below_data(shards: ShardTable, address: IntArray) -> list[tuple[tuple[int, int], ...]]:
        lowest = np.full(TILES, EXECUTABLE_END)
        np.minimum.at(lowest, shards.tile, address // STANDARD_ELEMENT * STANDARD_ELEMENT)
        return [((high, stop - LOOKAHEAD),) for stop in lowest.tolist()]

    monkeypatch.setattr("ipuopt.codegen.tile.build.free_ranges", below_data)
    for name in ("build", "code", "room", "support"):
        monkeypatch.setattr(f"ipuopt.codegen.tile.{name}.HIGH", high)
    monkeypatch.setattr("ipuopt.codegen.tile.room.RUNTIME_END", high)
    monkeypatch.setattr(support, "_BELOW", ())
    monkeypatch.setattr("ipuopt.codegen.tile.room.HOST_WINDOW", (shared, 0x58000))
    with pytest.raises(InputError):
        build_package(solved.built)
    program = Complete(built=solved.built, reports=solved.reports[1:])
    found = UNLINKED.with_room(program, LIMITS)
    assert found is not program
    built = found.built
    assert check_package(built, build_package(built)) == ()
    for phase, step in enumerate(built.program.phases):
        problem = exchange_problem(built.program, built.address, phase)
        solution = exchange.Solution(built.start[phase_slice(built.program, step)])
        assert exchange.check(problem, solution) == ()
        assert exchange.horizon(problem, solution) == built.horizon[phase]
    assert UNLINKED.with_room(found, LIMITS) is found


def test_least_rows_tell_before_any_schedule(
    solved: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, address = solved.built.program, solved.built.address
    assert set(least_ends(program, address).tolist()) == {SUPPORT_END}
    monkeypatch.setattr(support, "_BELOW", ())
    monkeypatch.setattr(support, "HIGH", SUPPORT_END - 128)
    monkeypatch.setattr(support, "free_ranges", lambda *_: [()] * program.tiles)
    ends = least_ends(program, address)
    needs = 4 * least_row_words(program).sum(axis=(0, 1))
    assert ends.tolist() == [SUPPORT_END + STANDARD_ELEMENT * (need > 0) for need in needs]


@pytest.mark.parametrize("search", [False, True])
def test_phase_whose_schedule_breaks_a_rule(solved: Result, search: bool) -> None:
    """Sends and receives at one time from what is now one element: another schedule, which holds."""
    built, program = solved.built, solved.built.program
    limits = Limits(deterministic=True, effort=0.01)
    before = Complete(built=built, reports=solved.reports[1:])
    for one, other in conflict_pairs(program).pair.tolist():
        address = built.address.copy()
        address[other] = address[one] + program.shards.size_bytes[one] + 7 & -8
        moved = replace(before, built=replace(built, address=address))
        for number in range(len(program.phases)):
            problem = moved.problem(number)
            if not exchange.check(problem, before.phase(number).solution):
                continue
            found = _phase(before, moved, number, limits, search=search)
            assert exchange.check(problem, found.solution) == ()
            assert found.report.objective == exchange.horizon(problem, found.solution)
            return
    pytest.fail("no pair breaks a schedule")


def test_rows_of_many_transfers(tmp_path: Path) -> None:
    """75 KiB of rows a tile, with more data than lie above 0x80000: placed again, and run."""
    folder = Path(__file__).parents[2] / "instances" / "overflow"
    for name in ("rows.yaml", "rows.plan.json"):  # a quarter of what fits nowhere
        text = (folder / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("2048", "512"), encoding="utf-8")
    workload = ipuopt.load(tmp_path / "rows.yaml")
    plan = read_plan_json(tmp_path / "rows.plan.json")
    program = lower(plan)
    placed, report = placement.solve_program(program, LIMITS, heuristic_only=True)
    assert placed is not None
    problems = [exchange_problem(program, placed.address, n) for n in range(len(program.phases))]
    phases = [scheduled(problem, exchange.schedule_quickly(problem), None) for problem in problems]
    built = Built(
        plan=plan,
        program=program,
        address=placed.address,
        boundary=placed.boundary,
        start=np.concatenate([phase.solution.start for phase in phases]),
        horizon=np.array([phase.report.objective for phase in phases]),
    )
    with pytest.raises(InputError, match="bytes of rows or host tables"):
        build_package(built)
    reports = (report, *(phase.report for phase in phases))
    found = UNLINKED.with_room(Complete(built=built, reports=reports), LIMITS).built
    package = build_package(found)
    assert check_package(found, package) == ()
    given = tensors_of(workload, None, 0)
    named = {value.name: given[value.tensor] for value in plan.values if value.tensor in given}
    with Simulator(package) as device:
        device.start()
        device.call("initialize", packed(found, package.weights, named))
        device.call("run", packed(found, package.inputs, named))
        result = unpacked(found, package.outputs[:1], device.finish())["y"]
        assert list(device.machine.phases) == found.horizon.tolist()
    expected = reference(workload, given)["y"]
    assert np.abs(result.astype(float) - expected).max() < MOST_ERROR * expected.std()
