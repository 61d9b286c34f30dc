"""Suites: their files, and what all cases give together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.compare import CaseResult, load_suite, summary
from ipuopt.compare.suite import geometric_mean
from ipuopt.errors import InputError

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def report(heuristic: int | None, objective: int, bound: int | None, *proven: bool) -> Any:
    total = {"heuristic": heuristic, "objective": objective, "bound": bound, "gap": None}
    reports = [{"status": "optimal" if one else "feasible"} for one in proven]
    return {"total": total, "reports": reports, "wall_time_s": 1.5}


def test_suite_of_the_examples() -> None:
    """Every workload and plan that it names is there."""
    cases = load_suite(EXAMPLES / "suite.yaml").cases
    assert {case.name for case in cases} >= {"mlp-tiny", "siglip-mlp"}
    for case in cases:
        assert case.workload.exists() and (case.plan is None or case.plan.exists())
        assert case.solve["time_limit"] > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cases: {a: {workload: x}}", "ipuopt_suite"),
        ("ipuopt_suite: 2\ncases: {a: {workload: x}}", "version 1"),
        ("ipuopt_suite: 1\ncases: {}", "at least one"),
        ("ipuopt_suite: 1\ncases: {a: {plan: x}}", "a workload file"),
        ("ipuopt_suite: 1\ncases: {a: {workload: x, time: 1}}", "time"),
        ("ipuopt_suite: 1\ncases: [a]", "a mapping"),
        ("ipuopt_suite: [", "s.yaml:1"),
    ],
)
def test_bad_suite_names_line_and_key(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"s\.yaml") as error:
        load_suite(file)
    assert words in str(error.value)


def test_options_of_a_case_go_before_those_of_the_suite(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "ipuopt_suite: 1\nsolve: {time_limit: 9, seed: 1}\n"
        "cases: {a: {workload: w.yaml, plan: p.json, solve: {seed: 2}}}"
    )
    (case,) = load_suite(file).cases
    assert case.solve == {"time_limit": 9, "seed": 2}
    assert (case.workload, case.plan) == (tmp_path / "w.yaml", tmp_path / "p.json")


def test_summary() -> None:
    """sqrt(0.5 * 0.8) and sqrt(2 * 1); 3 of 5 stages; a case without a program counts for nothing."""
    results = [
        CaseResult.of("a", report(200, 100, 50, True, False), 4),
        CaseResult.of("b", report(50, 40, 40, True, True, False), 0),
        CaseResult.of("c", None, 5),
    ]
    whole = summary(results)
    assert whole.solver_to_heuristic == pytest.approx(0.4**0.5)
    assert whole.solver_to_bound == pytest.approx(2**0.5)
    assert whole.proven == 3 / 5
    assert summary([results[2]]).proven is None
    assert geometric_mean([(1, 0), (None, 3)]) is None


def test_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each case is solved into its folder; one without a program does not end the suite."""
    file = tmp_path / "s.yaml"
    file.write_text(
        "ipuopt_suite: 1\nsolve: {time_limit: 9}\n"
        "cases: {a: {workload: a.yaml}, b: {workload: b.yaml, solve: {seed: 2}}, c: {workload: c}}"
    )
    seen: list[tuple[str, str, Any, Any]] = []

    def fake(workload: Path, plan: Any, output: Path, **rest: Any) -> Any:
        del plan
        options = rest["options"]
        seen.append((workload.name, output.name, options["time_limit"], options["seed"]))
        if workload.name == "c":
            return 5, None
        return 4, report(200, 100, 80, True, False)

    monkeypatch.setattr("ipuopt.cli.within.solve_within", fake)
    arguments = ["compare", "--suite", str(file), "-o", str(tmp_path / "out"), "--seed", "5"]
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 5
    assert seen == [("a.yaml", "a", 9, "5"), ("b.yaml", "b", 9, "5"), ("c", "c", 9, "5")]
    lines = outcome.stdout.splitlines()
    assert lines[1].split() == ["a", "200", "100", "80", "-", "1", "of", "2", "1.5", "s"]
    assert lines[3].split() == ["c", "-", "-", "-", "-", "0", "of", "0", "-"]
    assert lines[5:] == [
        "Solver to heuristic, geometric mean: 0.500.",
        "Solver to bound, geometric mean: 1.250.",
        "Stages and phases proven to be optimal: 50.0 %.",
    ]
    assert outcome.stderr == "case a\ncase b\ncase c\n"
    data = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout)
    assert data["summary"]["proven"] == 0.5 and data["cases"][0]["objective"] == 100
    assert "| a | 200 | 100 |" in CliRunner().invoke(main, [*arguments, "--markdown"]).stdout


def test_unknown_option_of_a_case(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("ipuopt_suite: 1\ncases: {a: {workload: a.yaml, solve: {speed: 1}}}")
    outcome = CliRunner().invoke(main, ["compare", "--suite", str(file), "-o", str(tmp_path / "o")])
    assert outcome.exit_code == 2
    assert "a: found option 'speed'" in outcome.stderr


def test_a_solve_of_its_own_process(tmp_path: Path) -> None:
    """Flags reach the solve, its error and its exit code come back."""
    from ipuopt.cli.within import solve_within

    missing = tmp_path / "none.yaml"
    options = {"seed": 3, "deterministic": True, "gap": None}
    where = tmp_path / "run"
    assert solve_within(missing, None, where, force=True, quiet=True, options=options) == (2, None)


def test_an_interrupt_ends_the_suite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("ipuopt_suite: 1\ncases: {a: {workload: a}, b: {workload: b}}")
    ended = (130, report(3, 2, 1, False))
    monkeypatch.setattr("ipuopt.cli.within.solve_within", lambda *args, **rest: ended)
    outcome = CliRunner().invoke(main, ["compare", "--suite", str(file), "-o", str(tmp_path / "o")])
    assert outcome.exit_code == 130
    assert outcome.stderr == "case a\n"
