"""The child that compiles kernels beside a first run, and the folders it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest

from ipuopt import compiled, interpreted, warm


@pytest.fixture(autouse=True)
def nobody_compiles() -> Iterator[None]:
    """The children of these tests are none; later tests must not wait for their code."""
    yield
    interpreted.while_compiling(None)


def test_no_child_when_the_code_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that has compiled all means that no other is started."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a child was started"))
    warm._mark(str(tmp_path)).touch()
    assert warm.start_if_cold() is None


def test_no_child_where_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that cannot be written to would start one with each run."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a child was started"))
    monkeypatch.setattr("os.access", lambda *_: False)
    assert warm.start_if_cold() is None


def test_child_when_the_cache_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache starts the module with this interpreter."""
    started: list[list[str]] = []
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("subprocess.Popen", lambda command, **_: started.append(command))
    warm.start_if_cold()
    assert [command[-2:] for command in started] == [["-m", "ipuopt.warm"]]


def test_child_does_what_it_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problems that the child solves are legal ones; it says so at its end."""
    monkeypatch.setattr(warm, "cache_folder", lambda: str(tmp_path))
    warm.main()
    assert warm._mark(str(tmp_path)).exists()


def test_child_ends_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes on compiling when the run has ended, with an error or without."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    monkeypatch.setattr(warm, "start_if_cold", lambda: child)
    with pytest.raises(KeyError), warm.compiling_beside():
        assert child.poll() is None
        raise KeyError
    assert child.poll() is not None


def test_old_states_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the latest states of the sources keep their machine code."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: None)
    for age in range(warm.KEPT_STATES + 2):
        (tmp_path / "ipuopt" / f"state{age}").mkdir(parents=True)
        os.utime(tmp_path / "ipuopt" / f"state{age}", (1000 - age, 1000 - age))
    warm.start_if_cold()
    kept = {folder.name for folder in (tmp_path / "ipuopt").iterdir()}
    assert kept == {f"state{age}" for age in range(warm.KEPT_STATES)}


def test_young_states_are_kept(tmp_path: Path) -> None:
    for number in range(warm.KEPT_STATES + 2):
        (tmp_path / f"state{number}").mkdir()
    warm._prune(tmp_path)
    assert len(list(tmp_path.iterdir())) == warm.KEPT_STATES + 2


def test_stamp_follows_the_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A module of kernels that changes gives another folder."""
    (tmp_path / "module.py").write_text("\n@kernel\ndef a() -> int: ...\n")
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "compiled.py"))
    compiled.sources_stamp.cache_clear()
    before = compiled.sources_stamp()
    (tmp_path / "module.py").write_text("\n@kernel\ndef longer() -> int: ...\n")
    compiled.sources_stamp.cache_clear()
    assert compiled.sources_stamp() != before
    monkeypatch.undo()
    compiled.sources_stamp.cache_clear()
