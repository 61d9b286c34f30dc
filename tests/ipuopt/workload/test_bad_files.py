"""Every bad file gives its one expected line; the lines stand beside the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipuopt.errors import InputError
from ipuopt.workload import load

FOLDER = Path(__file__).parents[2] / "instances" / "bad"
EXPECTED = {
    line.partition(":")[0]: line
    for line in (FOLDER / "expected.txt").read_text(encoding="utf-8").splitlines()
}
FILES = sorted(path.name for path in FOLDER.iterdir() if path.name != "expected.txt")


def test_every_file_has_a_line() -> None:
    assert sorted(EXPECTED) == FILES
    assert len(FILES) >= 70


@pytest.mark.parametrize("name", FILES)
def test_message(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    with pytest.raises(InputError) as caught:
        load(name)
    assert str(caught.value) == EXPECTED[name]
    assert caught.value.exit_code == 2


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "large.yaml").write_bytes(b"#" * (4 << 20) + b"\n")
    cases = {
        "missing.yaml": "missing.yaml: found no such file, expected a workload",
        "folder.yaml": "folder.yaml: found a directory, expected a workload file",
        "nul\0.yaml": "nul\0.yaml: found embedded null byte, expected a readable file",
        "large.yaml": "large.yaml: found more than 4194304 bytes, expected a workload below that",
        "/dev/zero": "/dev/zero: found more than 4194304 bytes, expected a workload below that",
    }
    for name, message in cases.items():
        with pytest.raises(InputError) as caught:
            load(name)
        assert str(caught.value) == message
