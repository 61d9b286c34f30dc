"""A label stands in the formulation, in the checker and on the page, or it is not one."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "model.md").read_text()

EXCHANGE = [f"models/exchange/check{part}.py" for part in ("", "_controls", "_memory", "_width")]

FORMULATIONS = [
    ("ipuopt.models.mapping", "M", ["models/mapping/check.py"]),
    ("ipuopt.models.assignment", "N", ["models/assignment/check.py"]),
    ("ipuopt.models.placement", "A", ["models/placement/check.py"]),
    ("ipuopt.models.placement.space", "S", ["models/placement/space/check.py"]),
    ("ipuopt.models.exchange", "E", EXCHANGE),
    ("ipuopt.codegen.check", "L", ["codegen/check"]),
]


def _sources(paths: list[str]) -> str:
    """Text of files and of all modules in folders, package docstrings left out."""
    folders = [ROOT / path for path in paths if (ROOT / path).is_dir()]
    files = [ROOT / path for path in paths if not (ROOT / path).is_dir()]
    files += [file for folder in folders for file in folder.glob("[!_]*.py")]
    return "\n".join(file.read_text() for file in files)


@pytest.mark.parametrize(("package", "letter", "checker"), FORMULATIONS)
def test_labels_agree(package: str, letter: str, checker: list[str]) -> None:
    """The docstring defines them at the start of a line; page and checker name the same ones."""
    text = inspect.getdoc(importlib.import_module(package)) or ""
    defined = re.findall(rf"^\(({letter}\d)\)", text, flags=re.MULTILINE)
    assert defined == [f"{letter}{number}" for number in range(1, len(defined) + 1)]
    assert defined
    assert re.findall(rf"^\| \(({letter}\d)\) \|", PAGE, flags=re.MULTILINE) == defined
    reported = set(re.findall(rf"\"({letter}\d)\"", _sources(checker)))
    assert reported == set(defined)
