"""Times and verdicts of the public compiler, transfer by transfer (``ipu21_vectors.json``).

Its transfers are appended one after another without rules of memory, and without reserving the
partner of a Paired64 source, so these are not compared.
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

LABELS = {
    "send-overlap": "E2",
    "receive-overlap": "E3",
    "control-at-send-start": "E4",
    "paired-coincident": "E8",
}
"""Labels of refusals."""
LATE_REFUSALS = {
    "control-at-send-start": {"E4"},
    "send-control-order": {"E4"},
    "control-collision": {"E7"},
    "pair-alignment": set(),
}
"""Labels of refusals when the row is encoded. A pair that the public compiler cannot align is one
that it only pads from the event before: there is room earlier in the row."""
RESERVED = "time reserved as partner"

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
        """Labels but for those of memory and of reservations."""
        told = check(self.problem, self.solution)
        return {label for label, text in told if RESERVED not in text} - {"E5", "E6"}

    @property
    def solution(self) -> Solution:
        return Solution(np.array(self.start, np.int64), self.problem.paired)

    @property
    def reserves(self) -> bool:
        """Whether a reservation is broken; then rows are not judged."""
        return any(RESERVED in text for _, text in check(self.problem, self.solution))

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
    """Steps of a phase, but for receivers that no problem can have."""
    transfers: list[Any] = []
    start: list[int] = []
    paired: list[bool] = []
    for entry in phase["steps"]:
        appended = "timing" in entry
        *transfer, width = entry["t"]
        assert not entry["point"]
        try:
            problem = make_phase(
                [*transfers, transfer], tiles=phase["tiles"], paired=[*paired, width == 64]
            )
        except ValueError:
            assert entry["reject"] == "receiver-set"
            continue
        offset = entry.get("offset", entry.get("requested")) or 0
        at = int(timing(problem).head[-1]) + offset
        yield Step(phase["name"], entry, problem, [*start, at], appended)
        if appended:
            transfers.append(transfer)
            start.append(at)
            paired.append(width == 64)


def is_defect(step: Step) -> bool:
    """The one refusal that ``ipu21_vectors.json`` calls a defect of the compiler's search."""
    return step.name == "chain-64-52-contiguous" and not step.appended


def assert_times(step: Step) -> None:
    expected = step.entry["timing"]
    times, at = timing(step.problem), step.start[-1]
    items = int(times.items[-1])
    receivers = slice(*step.problem.destination_start[-2:].tolist())
    assert at == expected["P"]
    assert at + times.send_done[-1] == expected["s_done"]
    assert at + items == expected["send_end"]
    assert (at + times.write[receivers]).tolist() == expected["Y"]
    assert (at + times.write[receivers] + items).tolist() == expected["write_end"]
    assert (at + times.done[receivers]).tolist() == expected["t_done"]


def assert_phases(vectors: list[dict[str, Any]], make_phase: MakePhase) -> Counter[Any]:
    """Compare all phases; what was compared, by kind."""
    seen: Counter[Any] = Counter()
    for phase in vectors:
        labels: set[str] = set()
        last = None
        for step in steps_of(phase, make_phase):
            labels = step.labels
            if step.appended:
                last = step
                assert_times(step)
                seen["appended", step.entry["t"][4]] += 1
                # What the encoder refuses later is appended without complaint.
                assert labels <= LATE_REFUSALS.get(phase.get("finish_reject", ""), set()), step
            elif not is_defect(step):
                reason = step.entry["reject"]
                assert LABELS[reason] in labels or step.before_another, step
                seen[reason] += 1
        if last is None or last.reserves:
            continue
        refused = phase.get("finish_reject")
        assert last.labels == (LATE_REFUSALS[refused] if refused else set()), phase["name"]
        seen["refused late"] += refused is not None
        if "horizon" in phase:
            assert horizon(last.problem, last.solution) == phase["horizon"]
            seen["horizon"] += 1
    return seen


def test_extract(make_phase: MakePhase) -> None:
    """Phases copied from the vectors, for where those are absent."""
    seen = assert_phases(json.loads(EXTRACT.read_text())["phases"], make_phase)
    kinds = {("appended", 32), ("appended", 64), "refused late", "horizon"}
    assert set(seen) == {*LABELS, *kinds}


@pytest.mark.parametrize("part", ["phases_list", "random"])
def test_all_vectors(shared: Path, make_phase: MakePhase, part: str) -> None:
    vectors = json.loads((shared / "data" / "ipu21_vectors.json").read_text())
    seen = assert_phases(vectors[part], make_phase)
    least = {
        "phases_list": {("appended", 32): 50, ("appended", 64): 2, "horizon": 17},
        "random": {("appended", 32): 1000, ("appended", 64): 170, "horizon": 190}
        | {"refused late": 25, "paired-coincident": 13}
        | {"send-overlap": 60, "receive-overlap": 80, "control-at-send-start": 10},
    }
    assert all(seen[kind] >= count for kind, count in least[part].items()), seen


def test_schedules_of_the_compiler_hold_in_full(shared: Path, make_phase: MakePhase) -> None:
    """Rules of memory and reservations too. Its point form only starts later (``ipu21.md`` 3.1)."""
    vectors = json.loads((shared / "data" / "ipu21_vectors.json").read_text())
    for phase in vectors["phases_compiler"]:
        assert phase["valid"]
        transfers = [transfer[:4] for transfer in phase["transfers"]]
        paired = [transfer[4] == 64 for transfer in phase["transfers"]]
        problem = make_phase(transfers, tiles=phase["tiles"], paired=paired)
        start = {a[0]: a[3] for a in phase["activities"] if a[2] == "send"}
        solution = Solution(np.array([start[j] for j in range(len(problem))]), problem.paired)
        assert check(problem, solution) == (), phase["name"]
        assert horizon(problem, solution) == phase["horizon"]


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
            if step.problem.paired.any():  # the compiler has more rules for the partner
                break
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
            if step.problem.paired[-1]:
                continue
            source, receiver = step.problem.source[-1], step.problem.destination_tile[-1]
            mux = time_to_mux(step.problem.tiles)[source, receiver]
            assert timing(step.problem).window[-1] == mux + 1
