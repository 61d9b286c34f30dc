"""Packages, links and folders agree, and nothing but ``ipuopt`` can be imported at top level."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("codegen", "device", "models", "solvers")
"""Folders of the root that are subpackages of ipuopt."""


def _setuptools() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    setuptools: dict[str, Any] = table["setuptools"]
    return setuptools


def _modules(top: Path) -> list[Path]:
    """Python files of a folder, without following links."""
    return [path for path in top.rglob("*.py") if not path.is_relative_to(top / "__pycache__")]


def _real_packages() -> set[str]:
    """Names of all folders that hold Python files, by where they install."""
    own = {path.parent for path in _modules(ROOT / "ipuopt")}
    links = {ROOT / "ipuopt" / name for name in BESIDE}
    own = {folder for folder in own if not links & {folder, *folder.parents}}
    beside = {path.parent for name in BESIDE for path in _modules(ROOT / name)}
    dotted = {".".join(folder.relative_to(ROOT).parts) for folder in own}
    return dotted | {".".join(("ipuopt", *folder.relative_to(ROOT).parts)) for folder in beside}


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this Python in ``folder``, which is not put on the module path."""
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


def test_every_folder_with_modules_is_listed_once() -> None:
    """A nested package left out of ``packages`` would be missing from the wheel without a word."""
    listed = _setuptools()["packages"]
    assert len(listed) == len(set(listed))
    assert set(listed) == _real_packages()


def test_every_package_has_its_init() -> None:
    package_dir = _setuptools()["package-dir"]
    for package in _setuptools()["packages"]:
        top = next((p for p in package_dir if f"{package}.".startswith(f"{p}.")), None)
        nested = package.removeprefix(top).replace(".", "/") if top else ""
        folder = package_dir[top] + nested if top else package.replace(".", "/")
        assert (ROOT / folder / "__init__.py").is_file(), package


def test_package_dir_and_links_name_the_folders() -> None:
    """Links serve type checkers and ``python -m ipuopt`` at the root; package-dir serves pip."""
    assert _setuptools()["package-dir"] == {f"ipuopt.{name}": name for name in BESIDE}
    links = {
        path.name: path.readlink() for path in (ROOT / "ipuopt").iterdir() if path.is_symlink()
    }
    assert links == {name: Path("..") / name for name in BESIDE}


def test_packages_are_excluded_from_the_top_level(tmp_path: Path) -> None:
    """From another folder the subpackages exist below ``ipuopt`` and nowhere else."""
    script = (
        "import importlib.util as util, sys\n"
        f"print([name for name in {BESIDE!r} if util.find_spec(name)])\n"
        f"print([name for name in {BESIDE!r} if not util.find_spec('ipuopt.' + name)])\n"
    )
    result = _run(tmp_path, "-c", script)
    assert (result.stdout, result.stderr) == ("[]\n[]\n", "")


def test_subpackages_are_the_files_of_the_folders(tmp_path: Path) -> None:
    """One module a file: reached through a link, a class would exist twice."""
    script = "import ipuopt.models as m, pathlib; print(pathlib.Path(m.__file__).resolve())"
    assert _run(tmp_path, "-c", script).stdout.strip().endswith("models/__init__.py")


@pytest.mark.parametrize("folder", ["elsewhere", "root"])
def test_module_runs_as_a_command(folder: str, tmp_path: Path) -> None:
    result = _run(ROOT if folder == "root" else tmp_path, "-m", "ipuopt", "--help")
    assert result.returncode == 0, result.stderr
    assert "solve" in result.stdout
    assert "check" in result.stdout
