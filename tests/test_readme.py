"""What the README tells a newcomer to type is what the project holds."""

from __future__ import annotations

import re
from pathlib import Path

from ipuopt.errors import Error
from ipuopt.workload import load, to_dict

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def test_the_two_commands_stand_as_promised() -> None:
    lines = [line.strip() for line in README.splitlines()]
    start = "python3 -m venv .venv && .venv/bin/pip install "
    commands = [line for line in lines if line.startswith(start)]
    assert commands == [
        start + ". && .venv/bin/ipuopt solve examples/siglip-mlp.yaml",
        start + "-e '.[test]' && .venv/bin/pytest",
    ]


def test_every_path_that_it_names_exists() -> None:
    """Links and examples of the text, and the folders of the map."""
    linked = re.findall(r"\]\(([^)#:]+)\)", README)
    source_map = README.partition("## Map of the sources")[2].partition("\n## ")[0]
    mapped = re.findall(r"^\| `([\w/.-]+)`", source_map, flags=re.MULTILINE)
    examples = re.findall(r"examples/[\w.-]+\.yaml", README)
    assert linked and mapped and examples
    missing = [path for path in {*linked, *mapped, *examples} if not (ROOT / path).exists()]
    assert missing == []


def _block(language: str) -> str:
    text = README.partition(f"```{language}\n")[2].partition("```")[0]
    assert text
    return text


def test_the_workload_that_it_prints_is_the_example(tmp_path: Path) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text(_block("yaml"))
    printed = to_dict(load(file))
    assert printed.pop("solve") == {"time_limit": 120, "seed": 0}
    example = to_dict(load(ROOT / "examples" / "siglip-mlp.yaml"))
    example.pop("solve", None)
    assert printed == example


def test_every_exit_code_of_an_error_is_explained() -> None:
    explained = {int(code) for code in re.findall(r"^\| (\d+) \|", README, flags=re.MULTILINE)}
    classes: list[type[Error]] = [Error, *Error.__subclasses__()]
    assert {error.exit_code for error in classes} <= explained
    assert {0, 4, 130, 143} <= explained
