"""Machine code is kept outside the package; numba's own settings stay as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

MODULE = """
import numba
from ipuopt.compiled import kernel

@kernel
def probe(number: int) -> int:
    return number

print(probe.stats.cache_path)
print(repr(numba.config.CACHE_DIR))
"""


def _run(folder: Path, **environment: str) -> list[str]:
    """Lines that a module with a kernel prints when it is imported."""
    file = folder / "probe.py"
    file.write_text(MODULE)
    inherited = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "HOME")}
    result = subprocess.run(
        [sys.executable, str(file)],
        env=inherited | environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return result.stdout.splitlines()


def test_cache_of_the_user(tmp_path: Path) -> None:
    """A folder of kernels left in site-packages would hide a later editable installation."""
    path, setting = _run(tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert Path(path).is_relative_to(tmp_path / "ipuopt")
    assert Path(path).is_dir()
    assert setting == "''"


def test_cache_below_home(tmp_path: Path) -> None:
    path, _ = _run(tmp_path, XDG_CACHE_HOME="", HOME=str(tmp_path))
    assert Path(path).is_relative_to(tmp_path / ".cache" / "ipuopt")


def test_folder_of_the_environment_wins(tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    path, setting = _run(
        tmp_path, XDG_CACHE_HOME=str(tmp_path / "other"), NUMBA_CACHE_DIR=str(chosen)
    )
    assert Path(path).is_relative_to(chosen)
    assert setting == repr(str(chosen))


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """Numba falls back to a folder of its own choice."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    path, _ = _run(tmp_path, XDG_CACHE_HOME=str(blocked), HOME=str(tmp_path))
    assert not Path(path).is_relative_to(blocked)
