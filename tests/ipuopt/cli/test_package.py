"""``package``, and ``--kernels`` of ``solve``: what is linked, what is missing, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

from ipuopt.cli import main

GELU = "ipu_stack_gelu_tanh_approx_f16"
WORKLOAD = """
ipuopt: 1
name: tiny
target: {tiles: 2}
inputs: {x: {shape: [16, 32]}}
operations: {a: {op: Gelu, inputs: [x]}}
outputs: [a]
solve: {solver: heuristic, time_limit: 60}
"""


def run(*arguments: str | Path) -> Outcome:
    return CliRunner().invoke(main, list(map(str, arguments)), prog_name="ipuopt")


@pytest.fixture
def folder(clean_folder: Path, elf: Any) -> Path:
    """A workload and objects: a body of its kernel, none of use, one that is broken."""
    (clean_folder / "tiny.yaml").write_text(WORKLOAD, encoding="utf-8")
    body = bytes.fromhex("0000a043")  # br $m10
    for name, symbol, relocations in (
        ("gelu.o", GELU, []),
        ("other.o", "other", []),
        ("broken.o", GELU, [(0, 8, "gone", 0)]),
    ):
        part = elf.Part(".text", body, relocations=relocations)
        content = elf.elf([part], {symbol: (".text", 0), "gone": (0, 0)})
        (clean_folder / name).write_bytes(content)
    return clean_folder


def test_kernels(folder: Path) -> None:
    outcome = run("solve", "tiny.yaml", "--kernels", "other.o", "--kernels", "gelu.o", "-q")
    assert outcome.exit_code == 0, outcome.output
    assert f"all kernels have a body: {GELU}" in outcome.stdout.splitlines()
    package = folder / "runs" / "tiny" / "package.ipuexe"
    linked = package.read_bytes()
    assert run("run", "runs/tiny").stdout.splitlines()[-1] == "PASS"
    outcome = run("package", "runs/tiny")
    assert outcome.exit_code == 0
    first, second = outcome.stdout.splitlines()
    assert first.startswith("Package: runs/tiny/package.ipuexe (")
    assert second == f"simulator only: 1 kernels have no body: {GELU}"
    assert package.read_bytes() != linked
    assert second in run("inspect", package).stdout.splitlines()
    outcome = run("package", "runs/tiny", "--kernels", "gelu.o", "--json")
    content = json.loads(outcome.stdout)
    assert (content["missingKernels"], content["linkedKernels"]) == ([], [GELU])
    assert package.read_bytes() == linked
    assert f"all kernels have a body: {GELU}" in run("inspect", package).stdout.splitlines()
    outcome = run("package", "runs/tiny", "--kernels", "broken.o")
    assert outcome.exit_code == 2
    found = "broken.o: .text+0x0: gone: found no definition"
    assert outcome.stderr == f"error: {found}, expected one in an object or in ipuopt's runtime\n"
    assert package.read_bytes() == linked


def test_profile(folder: Path) -> None:
    assert run("solve", "tiny.yaml", "-q").exit_code == 0
    outcome = run("run", "runs/tiny", "--profile")
    assert outcome.exit_code == 2
    found = "runs/tiny/package.ipuexe: found no cycle samples"
    expected = "some: ipuopt package runs/tiny --profile takes them"
    assert outcome.stderr == f"error: {found}, expected {expected}\n"
    plain = (folder / "runs" / "tiny" / "package.ipuexe").read_bytes()
    assert run("package", "runs/tiny", "--profile").exit_code == 0
    lines = run("run", "runs/tiny", "--profile").stdout.splitlines()
    at = lines.index(next(line for line in lines if line.startswith("sampled step")))
    step, total = lines[at + 1].split(), lines[at + 2].split()
    assert step[:4] == ["gelu", "a", "gelu_tanh_approx_f16", "2"]
    assert total == ["total", *step[-2:]]
    content = json.loads(run("run", "runs/tiny", "--profile", "--json").stdout)
    cycles = content["steps"][0]["device"]
    assert content["profile"]["total"] == content["profile"]["steps"][0]["longest"] == cycles
    assert run("run", "runs/tiny").stdout.splitlines()[-1] == "PASS"
    assert run("solve", "tiny.yaml", "-q", "--force").exit_code == 0
    assert (folder / "runs" / "tiny" / "package.ipuexe").read_bytes() == plain


def test_objects_that_cannot_be_used(folder: Path) -> None:
    """What is no object ends the command before it solves; what does not fit, after it has."""
    outcome = run("solve", "tiny.yaml", "--kernels", "tiny.yaml", "-q")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: tiny.yaml: found Magic number does not match, expect")
    assert not (folder / "runs").exists()
    outcome = run("solve", "tiny.yaml", "--kernels", "broken.o", "-q")
    assert outcome.exit_code == 2
    line = "package.ipuexe is not written: broken.o: .text+0x0: gone: found no definition"
    assert any(text.startswith(line) for text in outcome.stdout.splitlines())
    files = sorted(path.name for path in (folder / "runs" / "tiny").iterdir())
    assert files == ["plan.json", "program.npz", "report.json", "workload.json"]
    outcome = run("run", "runs/tiny")
    assert outcome.exit_code == 2
    assert "found no package.ipuexe, expected one: ipuopt package writes it" in outcome.stderr
    outcome = run("solve", "tiny.yaml", "--kernels", "broken.o", "-q", "--force", "--json")
    content = json.loads(outcome.stdout)
    assert (outcome.exit_code, content["exit_code"], content["package"]) == (2, 2, None)
    assert content["package_reason"].startswith("broken.o: .text+0x0: gone: found no definition")
