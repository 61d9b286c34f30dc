"""``ipuopt inspect``: packages, plans, snapshots, and what is none of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

from ipuopt.cli import main
from ipuopt.codegen.isa import assemble
from ipuopt.codegen.package import Package, Region, Segment, TileImage, write_package
from ipuopt.result import Result
from ipuopt.strict_json import dumps


def run(*arguments: str | Path) -> Outcome:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)], prog_name="ipuopt")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    code = assemble("setzi $m0, 0x4c018\nbr $m0\nkernel:\ntrap 0\n.word 0xffffffff", 0x4C010)
    data = b"".join(word.to_bytes(4, "little") for word in code.words)
    images = tuple(
        TileImage(n, (Segment(0x4C010, 16, data, 5),), 0x4C010, 0, 0x58000) for n in range(64)
    )
    path = tmp_path / "a.ipuexe"
    content = Package(
        producer="a test",
        tiles=images,
        symbols=(("kernel", 0x4C018),),
        regions=(Region(0xFFFFFFFF, 0x4C018, 4, "missing kernels"),),
    )
    write_package(path, content)
    return path


def test_package(package: Path) -> None:
    outcome = run(package, "--tile", "3", "--disassemble")
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines() == [
        "producer=a test tiles=64 storedBytes=1024 inputs=0 outputs=0 weights=0 entries=0 calls=0",
        "simulator only: 1 kernels have no body: kernel",
        "tile=3 entry=0x4c010 command=0x0 diagnostic=0x58000 segments=1",
        "segment address=0x4c010 memorySize=16 dataBytes=16 flags=0x5",
        "    setzi $m0, 0x4c018                       // 0x4c010  1904c018",
        "    br $m0                                   // 0x4c014  43000000",
        "// missing kernels",
        "kernel:",
        "    trap 0                                   // 0x4c018  41801000",
        "    .word 0xffffffff                         // 0x4c01c  ffffffff",
    ]
    content = json.loads(run(package, "--tile", "3", "--json").stdout)
    assert content["loadable"] is True
    assert content["missingKernels"] == ["kernel"]
    assert content["tile"]["segments"][0]["dataBytes"] == 16


def test_counts_of_the_vector(vector_package: Path) -> None:
    """The lines are those of the public compiler's own tool, for its own package."""
    lines = run(vector_package, "--bindings", "--tile", "2").stdout.splitlines()
    assert lines[0] == (
        "producer=vec-1 tiles=3 storedBytes=36 inputs=1 outputs=1 weights=1 entries=1 calls=1"
    )
    assert 'binding kind=input name="x" dtype=f16 shape=[2, 8] slices=2' in lines
    assert "cannot be loaded: found 3 tiles, expected a multiple of 64 (rule L)" in lines
    assert "segment address=0x80000 memorySize=64 dataBytes=4 flags=0x3" in lines


@pytest.fixture
def vector_package(shared: Path, tmp_path: Path) -> Path:
    vectors = json.loads((shared / "data" / "ipu21_vectors.json").read_text())
    path = tmp_path / "vector.ipuexe"
    path.write_bytes(bytes.fromhex(vectors["package"]["hex"]))
    return path


def test_plan(tiny_result: Result, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(dumps(tiny_result.plan.to_json()))
    assert run(path).stdout.splitlines() == [
        "tiles=2 cycles=700",
        "value=x shape=2 x 4 dtype=float16 order=row_major tiles=2 replicas=1 memory=standard",
        "value=x for a shape=2 x 4 dtype=float16 order=row_major tiles=2 replicas=1 memory=standard",
        "value=a shape=2 x 4 dtype=float16 order=row_major tiles=2 replicas=1 memory=standard",
        "step=x for a cycles=670",
        "step=a cycles=30",
    ]


def test_snapshot(tmp_path: Path) -> None:
    transfer = {
        "source": 0,
        "source_addresses": [0x64000],
        "destinations": [[1, 0x68000], [2, 0x68000]],
        "words": 5,
        "width": "Word32",
    }
    phases = [{"phase": 4, "transfers": [transfer]}]
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps({"schema_version": 4, "tile_count": 64, "phases": phases}))
    content = json.loads(run(path, "--json").stdout)
    assert content["phases"] == [{"phase": 4, "transfers": 1, "receivers": 2, "words": 5}]
    assert run(path).stdout.splitlines()[1] == "phase=4 transfers=1 receivers=2 words=5"


def test_mistakes(package: Path, tmp_path: Path) -> None:
    plan = tmp_path / "other.json"
    plan.write_text("{}")
    for arguments, message in (
        ((package, "--disassemble"), "--disassemble needs --tile N"),
        ((package, "--tile", "64"), f"{package}: found no physical tile 64, expected one of 64"),
        ((plan,), f"{plan}: found plan schema None, expected 1"),
        ((plan, "--bindings"), "--bindings and --tile are for packages"),
        ((tmp_path / "none.ipuexe",), "found No such file or directory, expected a package"),
        ((tmp_path,), "found Is a directory, expected a package"),
    ):
        outcome = run(*arguments)
        assert (outcome.exit_code, outcome.stdout) == (2, ""), arguments
        assert message in outcome.stderr
        assert outcome.stderr.count("\n") == 1
