"""Times and verdicts of the public compiler, transfer by transfer (``ipu21_vectors.json``).

Its transfers are appended one after another without rules of memory, so only (E1)..(E4) are
compared; 64-bit transfers are outside the model, and end what a phase can be compared for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ipuopt.models.exchange import Problem, Solution, check, horizon
from ipuopt.models.exchange.timing import timing
from ipuopt.target.fabric import time_to_mux

MakePhase = Callable[..., Problem]
EXTRACT = Path(__file__).parents[2] / "instances" / "ipu21_phases.json"

LABELS = {"send-overlap": "E2", "receive-overlap": "E3", "control-at-send-start": "E4"}
"""Labels of the refusals that the model has a rule for."""
LATE_REFUSALS = {"control-at-send-start", "send-control-order"}
"""Refusals found only when the row is encoded: a control event on P or P + 1."""

ALIGNED_LATER = {"r643"}
"""Phases where an earlier offset would only put a two-word instruction at an odd word of the row
(``ipu21.md`` 3.3 rule 6): a rule of the encoding, not of this model."""


@dataclass(frozen=True)
class Step:
    """One appended or refused transfer, as a phase with those appended before it."""

    name: str
    entry: dict[str, Any]
    problem: Problem
    start: list[int]
    appended: bool

    @property
    def labels(self) -> set[str]:
        told = check(self.problem, Solution(np.array(self.start, np.int64)))
        return {label for label, _ in told} - {"E5", "E6"}

    @property
    def before_another(self) -> bool:
        """Whether it enters a gap, which the appending compiler refuses as such."""
        columns = (self.problem.source, self.problem.destination_tile)
        times = timing(self.problem)
        start = np.array(self.start)
        window = np.repeat(start, np.diff(self.problem.destination_start)) + times.window
        for tiles, begin, own in zip(columns, (start, window), self._last(), strict=True):
            for place in own:
                others = tiles[: own.start] == tiles[place]
                if np.any(begin[: own.start][others] > begin[place]):
                    return True
        return False

    def _last(self) -> tuple[range, range]:
        """Places of the last transfer among the transfers, and of its receivers."""
        first, stop = self.problem.destination_start[-2:].tolist()
        return range(len(self.problem) - 1, len(self.problem)), range(first, stop)


def steps_of(phase: dict[str, Any], make_phase: MakePhase) -> Iterator[Step]:
    """Word32 steps of a phase up to the first appended paired transfer."""
    transfers: list[Any] = []
    start: list[int] = []
    for entry in phase["steps"]:
        appended = "timing" in entry
        *transfer, width = entry["t"]
        if width == 64:
            if appended:
                return
            continue
        assert not entry["point"]
        problem = make_phase([*transfers, transfer], tiles=phase["tiles"])
        offset = entry.get("offset", entry.get("requested"))
        at = int(timing(problem).head[-1]) + offset
        yield Step(phase["name"], entry, problem, [*start, at], appended)
        if appended:
            transfers.append(transfer)
            start.append(at)


def is_defect(step: Step) -> bool:
    """The one refusal that ``ipu21_vectors.json`` calls a defect of the compiler's search."""
    return step.name == "chain-64-52-contiguous" and not step.appended


def all_word32(phase: dict[str, Any]) -> bool:
    return not any(step["t"][4] == 64 and "timing" in step for step in phase["steps"])


def assert_times(step: Step) -> None:
    expected, words = step.entry["timing"], int(step.problem.words[-1])
    times, at = timing(step.problem), step.start[-1]
    receivers = slice(*step.problem.destination_start[-2:].tolist())
    assert at == expected["P"]
    assert at + times.send_done[-1] == expected["s_done"]
    assert at + words == expected["send_end"]
    assert (at + times.write[receivers]).tolist() == expected["Y"]
    assert (at + times.write[receivers] + words).tolist() == expected["write_end"]
    assert (at + times.done[receivers]).tolist() == expected["t_done"]


def assert_phases(vectors: list[dict[str, Any]], make_phase: MakePhase) -> Counter[str]:
    """Compare all phases; what was compared, by kind."""
    seen: Counter[str] = Counter()
    for phase in vectors:
        labels: set[str] = set()
        last = None
        for step in steps_of(phase, make_phase):
            labels = step.labels
            if step.appended:
                last = step
                assert_times(step)
                seen["appended"] += 1
                # What the encoder refuses later is appended without complaint.
                assert not labels or phase.get("finish_reject") in LATE_REFUSALS, step
                assert labels <= {"E4"}, step
            elif not is_defect(step):
                reason = step.entry["reject"]
                assert LABELS[reason] in labels or step.before_another, step
                seen[reason] += 1
        if last is not None and all_word32(phase):
            found = Solution(np.array(last.start, np.int64))
            refused = phase.get("finish_reject") in LATE_REFUSALS
            assert (last.labels == {"E4"}) == refused, phase["name"]
            seen["refused late"] += refused
            if "horizon" in phase:
                assert horizon(last.problem, found) == phase["horizon"]
                seen["horizon"] += 1
    return seen


def test_extract(make_phase: MakePhase) -> None:
    """Phases copied from the vectors, for where those are absent."""
    seen = assert_phases(json.loads(EXTRACT.read_text())["phases"], make_phase)
    assert set(seen) == {*LABELS, "appended", "refused late", "horizon"}


@pytest.mark.parametrize("part", ["phases_list", "random"])
def test_all_vectors(shared: Path, make_phase: MakePhase, part: str) -> None:
    vectors = json.loads((shared / "data" / "ipu21_vectors.json").read_text())
    seen = assert_phases(vectors[part], make_phase)
    least = {
        "phases_list": {"appended": 35, "horizon": 14},
        "random": {"appended": 800, "horizon": 100, "refused late": 12}
        | {"send-overlap": 60, "receive-overlap": 80, "control-at-send-start": 10},
    }
    assert all(seen[kind] >= count for kind, count in least[part].items()), seen


def test_earliest_offset_is_where_the_checker_stops_complaining(
    shared: Path, make_phase: MakePhase
) -> None:
    """Every offset from the requested one to that chosen breaks a rule or the order in time."""
    vectors = json.loads((shared / "data" / "ipu21_vectors.json").read_text())
    tried = 0
    for phase in vectors["phases_list"] + vectors["random"]:
        if "finish_reject" in phase or phase["name"] in ALIGNED_LATER:
            continue
        for step in steps_of(phase, make_phase):
            if not step.appended or step.entry["mode"] != "earliest":
                continue
            for back in range(1, min(8, step.entry["offset"] - step.entry["requested"]) + 1):
                start = [*step.start[:-1], step.start[-1] - back]
                earlier = Step(step.name, step.entry, step.problem, start, False)
                assert earlier.labels or earlier.before_another, step
                tried += 1
    assert tried > 100


def test_window_of_the_extract_follows_the_fabric(make_phase: MakePhase) -> None:
    """X = P + T + 1, the one time that the vectors do not list."""
    for phase in json.loads(EXTRACT.read_text())["phases"]:
        for step in steps_of(phase, make_phase):
            source, receiver = step.problem.source[-1], step.problem.destination_tile[-1]
            mux = time_to_mux(step.problem.tiles)[source, receiver]
            assert timing(step.problem).window[-1] == mux + 1
