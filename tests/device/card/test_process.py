"""A run on a card from the run directory to the verdict, in the process of its own."""

from __future__ import annotations

import os
import pickle
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipuopt.cli import main
from ipuopt.codegen.package import read_package
from ipuopt.codegen.package.listing import missing_kernels
from ipuopt.device.card import Setup
from ipuopt.device.card.process import Job, start
from ipuopt.errors import DeviceError, InputError, MissingPartError
from ipuopt.pipeline.execute import execute_run

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, elf: Any) -> Path:
    """The example mlp-tiny, solved; bodies that do nothing stand for those of its kernels."""
    folder = tmp_path_factory.mktemp("run")
    path, objects = folder / "tiny", folder / "kernels.o"
    options = ["--solver", "heuristic", "-o", str(path), "-q"]
    solve = ["solve", str(ROOT / "examples" / "mlp-tiny.yaml"), *options]
    assert CliRunner().invoke(main, solve).exit_code in (0, 4)
    missing = missing_kernels(read_package(path / "package.ipuexe"))
    body = bytes.fromhex("0000a043")  # br $m10
    part = elf.Part(".text", body * len(missing))
    content = elf.elf([part], {name: (".text", 4 * n) for n, name in enumerate(missing)})
    objects.write_bytes(content)
    link = ["package", str(path), "--kernels", str(objects), "--profile", "-q"]
    outcome = CliRunner().invoke(main, link)
    assert outcome.exit_code == 0, outcome.output
    return path


@pytest.fixture
def setup(
    monkeypatch: pytest.MonkeyPatch,
    fake: Any,
    run: Path,
    configuration_file: Path,
    secondary_file: Path,
) -> Setup:
    """A fake card that the other process imports, too."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(Path(__file__).parent), str(ROOT))))
    return Setup(run / "package.ipuexe", configuration_file, secondary_file, fake.card_of)


def test_a_whole_run_passes(run: Path, setup: Setup) -> None:
    """Initialised, loaded in batches of frames, fed and read back: as numpy has it."""
    done = execute_run(run, seed=3, profile=True, card=setup)
    assert done.profile is not None and done.profile.total > 0
    assert done.passed and [output.name for output in done.outputs] == ["y"]
    assert (done.phases, done.steps, done.kernels) == ((), (), ())


def test_what_goes_wrong_there_comes_back(
    run: Path, setup: Setup, fake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """With its type and message; where the tiles stood is logged."""
    bad = replace(setup, configuration=setup.secondary)
    with pytest.raises(InputError, match=r"secondary.elf: found .*ELF.*, expected b'IPUCFG1"):
        execute_run(run, card=bad)
    with pytest.raises(DeviceError, match=r"package.ipuexe: found it lost, expected it here"):
        execute_run(run, card=replace(setup, driver=fake.lost_card_of))
    assert [record.message for record in caplog.records] == ["tile 3: gone", "tile 5: too"]


def test_a_process_that_dies(run: Path, setup: Setup, fake: Any) -> None:
    with pytest.raises(DeviceError, match="found its process ended without an answer"):
        execute_run(run, card=replace(setup, driver=fake.dead_card_of))


def test_signals_and_the_end_of_the_parent(run: Path, setup: Setup, fake: Any) -> None:
    """Signals wait; when the parent goes away, routing is restored and the card closed."""
    job = Job(replace(setup, driver=fake.Witness), run / "package.ipuexe", b"", b"")
    trace = run / "trace"
    trace.unlink(missing_ok=True)
    with start() as child:
        assert child.stdin is not None and child.stdout is not None
        pickle.dump(job, child.stdin)
        child.stdin.flush()
        for _ in range(600):
            if trace.exists() and trace.read_text() == "open":
                break
            time.sleep(0.05)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child.send_signal(number)
        time.sleep(0.3)
        assert child.poll() is None
        child.stdin.close()
        assert child.wait(9) == 0
        assert child.stdout.read() == b""
    found = trace.read_text()
    assert found.endswith("('write', 8192, 263171), ('read', 8192), ('detach', 0), ('close',)]")


def test_what_a_machine_lacks(run: Path, package: Any, tmp_path: Path) -> None:
    """Everything in one line, before anything is begun."""
    with pytest.raises(MissingPartError) as error:
        execute_run(run, card=Setup(tmp_path / "ipu0", None, None))
    assert str(error.value) == (
        f"a run on a card lacks the card's kernel driver ({tmp_path}/ipu0), a configuration file"
        " (--card-config FILE), the vendor's secondary loader (--card-loader FILE) (see docs/device.md)"
    )
