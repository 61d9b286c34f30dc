"""The pages of ``docs`` do what they say: their commands are run, their output is compared.

In a block of ``console`` a line with ``$`` is a command and the lines below it are its output, of
both streams; ``...`` stands for any text. A block of ``python`` is run too, and where "It prints"
follows, the block below is its output. All pages share one folder, in the order of ``PAGES``, so
that a later page may use the run that an earlier one makes.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ipuopt.cli import main, progress

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    *("solve", "peer-model", "check", "report", "compare", "inspect", "package", "run"),
    *("device", "log", "exchange", "place", "assign", "versions"),
)
LINKED = ("README.md", "examples")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_PRINTS = re.compile(r"```python\n(.*?)```\n\s*It prints\s*```\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("docs")
    for name in LINKED:
        (path / name).symlink_to(ROOT / name)
    return path


def commands(page: str) -> list[tuple[str, str]]:
    """Commands of a page and the output that stands below each."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", page, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def differences(expected: str, found: str) -> str:
    """Nothing where ``found`` is what is expected, else both."""
    if doctest.OutputChecker().check_output(expected, found, _FLAGS):
        return ""
    return f"expected:\n{expected}\nfound:\n{found}"


@pytest.mark.parametrize("name", PAGES)
def test_commands_print_what_the_page_shows(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(progress, "HEARTBEAT_S", 1e9)  # no signs of life where a machine is slow
    code = 0
    ran = commands((ROOT / "docs" / f"{name}.md").read_text())
    assert ran
    for command, expected in ran:
        if command == "echo $?":
            printed = f"{code}\n"
        else:
            program, *arguments = shlex.split(command)
            assert program == "ipuopt"
            outcome = CliRunner().invoke(main, arguments, prog_name="ipuopt")
            code, printed = outcome.exit_code, outcome.output
        assert differences(expected, printed) == "", command


@pytest.mark.parametrize("name", PAGES)
def test_examples_of_the_library_print_what_the_page_shows(name: str, folder: Path) -> None:
    for source, expected in _PRINTS.findall((ROOT / "docs" / f"{name}.md").read_text()):
        command = [sys.executable, "-c", source]
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.stderr == ""
        assert differences(expected, done.stdout) == ""


@pytest.mark.parametrize("name", main.commands)
def test_every_command_has_its_page_and_an_example(name: str) -> None:
    """What ``--help`` shows begins with what it does and ends with an example."""
    assert (ROOT / "docs" / f"{name}.md").exists()
    text = CliRunner().invoke(main, [name, "--help"], prog_name="ipuopt").stdout
    assert re.search(rf"Examples?: ipuopt {name} ", text)


def test_completion_lists_commands_and_options() -> None:
    """As a shell asks for it."""
    for words, expected in (("ipuopt re", "report"), ("ipuopt solve --time", "--time-limit")):
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        done = subprocess.run(
            [sys.executable, "-m", "ipuopt"],
            env=os.environ | asked | {"_IPUOPT_COMPLETE": "bash_complete"},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stdout == f"plain,{expected}\n"
