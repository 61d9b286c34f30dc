"""``NAME.schedule.json``: start event and width of every transfer, one line a phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from ipuopt.files import check_file, replace_file
from ipuopt.models.exchange.group import Answer
from ipuopt.models.exchange.snapshot_text import WIDTHS
from ipuopt.strict_json import plain

SCHEDULE_SCHEMA = 1
"""Version of the file."""

_BEGIN = b'{"schema_version":'


def schedule_name(snapshot: Path) -> str:
    """``NAME.schedule.json`` of ``NAME.json.gz``, ``NAME.json`` or another name."""
    name = snapshot.name if str(snapshot) != "-" else "stdin"
    for ending in (".gz", ".json"):
        name = name.removesuffix(ending)
    return f"{name}.schedule.json"


def check_schedule_output(path: Path, *, force: bool) -> None:
    """Refuse, before any work, a file that could not be written, or that is no schedule.

    Raises
    ------
    InputError
        If ``path`` is a directory or lies in none, may not be written, or holds something else
        than a schedule and ``force`` is not given.
    """
    check_file(
        path,
        "schedule",
        lambda begin: begin.startswith(_BEGIN) and b'"snapshot_hash"' in begin,
        force=force,
    )


def write_schedule(
    path: Path,
    sha256: str,
    head: Mapping[str, Any],
    numbers: Sequence[int],
    answers: Sequence[Answer],
    *,
    repeatable: bool = False,
) -> None:
    """Write a schedule under a temporary name and rename it.

    Parameters
    ----------
    path
        The file.
    sha256
        Of the snapshot's text.
    head
        More keys for the whole: versions, seed.
    numbers, answers
        Number and answer of every phase.
    repeatable
        Write null for times, so that equal schedules give equal files.

    Raises
    ------
    InputError
        When writing fails (disk full).
    """
    first = {"schema_version": SCHEDULE_SCHEMA, "snapshot_hash": sha256, **head}
    lines = [
        orjson.dumps(_phase(number, answer, repeatable), option=orjson.OPT_SERIALIZE_NUMPY)
        for number, answer in zip(numbers, answers, strict=True)
    ]
    body = orjson.dumps(plain(first))[:-1] + b',"phases":[\n' + b",\n".join(lines) + b"\n]}\n"
    replace_file(path, body)


def _phase(number: int, answer: Answer, repeatable: bool) -> dict[str, Any]:
    """An object of ``phases``."""
    report = answer.report
    return {
        "phase": number,
        "status": report.status,
        "limit": report.limit,
        "heuristic": report.heuristic,
        "horizon": report.objective,
        "bound": report.bound,
        "bound_source": report.bound_source,
        "gap": report.gap,
        "wall_time_s": None if repeatable else report.wall_time_s,
        "start": np.ascontiguousarray(answer.solution.start, np.int64),
        "width": [WIDTHS[paired] for paired in answer.solution.paired.tolist()],
    }
